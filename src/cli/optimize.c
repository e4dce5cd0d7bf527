/* `rationale optimize`: improves texts from graded runs.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/tune/tune.h"
#include "cli/cli.h"
#include "optimize/problem.h"
#include "optimize/run.h"

#include <signal.h>

#define ARENA_MAX ((size_t)4 << 30)
#define LINE_SIZE_MAX ((size_t)1 << 30)

enum {
    APP,
    TRAIN,
    VAL,
    BUDGET,
    RESUME,
    CONFIG,
    MODEL,
    REFLECTION,
    FRONTIER,
    SEED,
    JSON,
    REFERENCE,
    RUN
};

static const struct cli_option options[] = {
    [APP] = {"app", 0, "NAME", "policy orders incidents", "whose prompts are improved"},
    [TRAIN] = {"train", 0, "DIR", NULL, "labelled cases to learn from"},
    [VAL] = {"val", 0, "DIR", NULL, "labelled cases that decide; else those of --train"},
    [BUDGET] = {"budget", 0, "N", NULL, "evaluations at most; else by the size of --val"},
    [RESUME] = {"resume", 0, "ID", NULL, "continue a run that was left or killed"},
    [CONFIG] = {"config", 'c', "FILE", NULL, "the configuration; else rationale.yaml"},
    [MODEL] = {"model", 'm', "NAME", NULL, "whose runs are graded; else the first"},
    [REFLECTION] = {"reflection-model", 0, "NAME", NULL, "who proposes; else the same"},
    [FRONTIER] = {"frontier",
                  0,
                  "KIND",
                  "instance objective hybrid cartesian",
                  "what a candidate must be best at; else hybrid"},
    [SEED] = {"seed", 0, "N", NULL, "of the random numbers; else 0"},
    [JSON] = {"json", 0, NULL, NULL, "print events, one JSON object a line"},
    [REFERENCE] = {"reference", 0, "FILE", NULL, "the run a file describes, faults and all"},
    [RUN] = {"run", 0, "FOLDER", NULL, "keep the run there, or continue the one there"},
};

/* A path in a run file is relative to that file. */
static bool optimize_read_beside(void *ctx, struct arena *a, str path, str *out, struct err *e)
{
    str *folder = ctx, file;

    if (path.n == 0 || memchr(path.p, '\0', path.n))
        return err_input(e, "problem: must be a path, or the problem itself");
    file = path.p[0] == '/' ? arena_dup(a, path) : arena_join(a, *folder, path, STR(""));
    return file_read(a, file.p, PROBLEM_FILE_MAX, out, e);
}

static bool optimize_read_run(struct arena *a, const char *path, struct problem_run *out,
                              struct err *e)
{
    const char *slash = strrchr(path, '/');
    str folder = slash ? (str){path, (size_t)(slash - path) + 1} : STR("");
    struct problem_source source = {optimize_read_beside, &folder};
    str text;

    assert(path);
    if (!file_read(a, path, PROBLEM_FILE_MAX, &text, e))
        return false;
    return problem_run_read(a, text, source, out, e) || err_prefix(e, "%s: ", path);
}

struct printer {
    struct cli *cli;
    struct progress progress;
    struct buf line;
};

static void optimize_command_print_event(void *ctx, const struct optimize_event *ev)
{
    struct printer *p = ctx;

    assert(ev->run);
    buf_reset(&p->line);
    optimize_event_json(ev, &p->line);
    cli_put_json(p->cli, buf_str(&p->line));
    if (p->cli->terminal)
        file_out_flush(&p->cli->out);
}

static bool optimize_run_plain(const struct optimize_task *task, struct err *e)
{
    struct optimize *o = NULL;
    bool ok = optimize_new(task, &o, e) && optimize_run(o, e);

    optimize_free(o);
    return ok;
}

static bool optimize_run_kept(const struct optimize_task *task, const char *path, struct arena *a,
                              struct err *e)
{
    struct optimize_run *run = NULL;
    struct optimize_folder folder;
    str kept;
    bool ok;

    if (!optimize_folder_open(path, a, &folder, &kept, e))
        return false;
    ok = (optimize_run_new(task, kept, optimize_folder_keeper(&folder), &run, e) &&
          optimize_run_go(run, e)) ||
         err_prefix(e, "%s: ", path);
    optimize_run_free(run);
    optimize_folder_close(&folder);
    return ok;
}

/* ---- on an application ---- */

static _Atomic bool asked_to_stop;

static void optimize_on_signal(int sig)
{
    (void)sig;
    asked_to_stop = true;
}

static void optimize_progress(struct printer *p, const struct optimize_event *ev)
{
    if (!p->progress.shown)
        p->progress = progress_begin("optimize", "evaluations", optimize_calls_max(ev->run));
    progress_set(&p->progress, optimize_calls(ev->run));
}

/* Prints the part of an event that a person wants to see. */
static void optimize_print_event(void *ctx, const struct optimize_event *ev)
{
    struct printer *p = ctx;
    struct file_out *out = &p->cli->out;
    unsigned long long calls = (unsigned long long)optimize_calls(ev->run);

    assert(ev->run);
    optimize_progress(p, ev);
    if (ev->kind == OPTIMIZE_EV_VALSET)
        file_out_printf(out, "%6llu  candidate %u scores %.3f\n", calls, ev->candidate, ev->mean);
    else if (ev->kind == OPTIMIZE_EV_REJECTED)
        file_out_printf(out, "%6llu  a proposal is no better and is dropped\n", calls);
    else if (ev->kind == OPTIMIZE_EV_SKIPPED)
        file_out_printf(out, "%6llu  nothing to learn from these cases\n", calls);
    else if (ev->kind == OPTIMIZE_EV_MERGE_ACCEPTED)
        file_out_printf(out, "%6llu  two branches are merged\n", calls);
    else if (ev->kind == OPTIMIZE_EV_NOTICE && ev->reason)
        file_out_printf(out, "%6llu  %s\n", calls, ev->reason);
    cli_flush(p->cli);
}

static void optimize_note(void *ctx, const char *words)
{
    (void)ctx;
    cli_complain(0, "%s", words);
}

static void optimize_print_result(struct cli *cli, const struct tune_result *r)
{
    struct file_out *out = &cli->out;

    file_out_printf(out,
                    "\nrun " STR_FMT ": %llu evaluation%s, %llu candidate%s, %.3f -> %.3f\n",
                    STR_ARG(r->run),
                    (unsigned long long)r->calls,
                    r->calls == 1 ? "" : "s",
                    (unsigned long long)r->candidates,
                    r->candidates == 1 ? "" : "s",
                    r->seed_score,
                    r->best_score);
    if (!r->finished)
        file_out_printf(out, "It was left; continue with: --resume " STR_FMT "\n", STR_ARG(r->run));
    else if (r->prompt_id.n == 0)
        file_out_add(out, STR("Nothing beat the prompt that is in force.\n"));
    else
        file_out_printf(out,
                        "The best is a draft: " STR_FMT "\n"
                        "Read it with `rationale prompts show`, then approve and activate it.\n",
                        STR_ARG(r->prompt_id));
}

static bool tune_options_of(const struct cli_args *args, struct tune_options *o, struct err *e)
{
    const char *frontier = args->value[FRONTIER] ? args->value[FRONTIER] : "hybrid";
    static const char *const kinds[] = {"instance", "objective", "hybrid", "cartesian"};

    o->settings = optimize_defaults();
    o->settings.merge = true;
    o->settings.pick = OPTIMIZE_USED_COMPONENTS;
    for (unsigned i = 0; i < COUNT_OF(kinds); i++)
        if (strcmp(frontier, kinds[i]) == 0)
            o->settings.frontier = (enum optimize_frontier)i;
    o->train = args->value[TRAIN];
    o->val = args->value[VAL];
    o->resume = args->value[RESUME] != NULL;
    o->run = str_c(args->value[RESUME] ? args->value[RESUME]
                   : args->value[RUN]  ? args->value[RUN]
                                       : "");
    o->model = str_c(args->value[MODEL] ? args->value[MODEL] : "");
    o->reflection_model = str_c(args->value[REFLECTION] ? args->value[REFLECTION] : "");
    o->seed = str_c(args->value[SEED] ? args->value[SEED] : "");
    if (o->resume && !o->run.n)
        return err_input(e, "--resume needs the id of a run");
    if (args->value[BUDGET] && (!str_u64(str_c(args->value[BUDGET]), &o->budget) || !o->budget))
        return err_input(e, "--budget must be a whole number above 0");
    return true;
}

static int optimize_run_app(struct cli *cli, const struct cli_args *args)
{
    struct printer p = {.cli = cli};
    struct tune_options o = {.app = tune_app_find(str_c(args->value[APP])),
                             .stop = &asked_to_stop,
                             .on_note = optimize_note};
    struct sigaction act = {.sa_handler = optimize_on_signal};
    struct tune_result r;
    struct app_local local;
    struct arena a;
    struct err e;
    int code;
    bool ok;

    assert(o.app);
    if (!args->value[TRAIN] && !args->value[RESUME])
        return cli_complain(CLI_USAGE, "optimize needs a folder of labelled cases: --train FOLDER");
    if (!tune_options_of(args, &o, &e))
        return cli_complain(CLI_USAGE, "%s", e.text);
    if (!file_check_readable(o.train, &e) || !file_check_readable(o.val, &e))
        return cli_fail(&e);
    if (!app_local_open(args->value[CONFIG] ? args->value[CONFIG] : CLI_CONFIG_FILE, &local, &e))
        return cli_fail_open(&e, NULL);
    if (strcmp(args->value[APP], "policy") == 0 &&
        !local.host.gateway->setup->config->policy.document_count) {
        app_local_close(&local);
        return cli_complain(CLI_CONFIG, "the configuration has no policy.documents");
    }
    (void)sigaction(SIGINT, &act, NULL);
    (void)sigaction(SIGTERM, &act, NULL);
    arena_init(&a, ARENA_MAX);
    buf_init(&p.line, LINE_SIZE_MAX);
    o.host = &local.host;
    o.sink = (struct optimize_sink){
        args->value[JSON] ? optimize_command_print_event : optimize_print_event, &p};
    progress_enable();
    ok = tune_run(&o, &a, &r, &e);
    progress_end(&p.progress);
    app_local_close(&local);
    buf_release(&p.line);
    if (ok && !args->value[JSON])
        optimize_print_result(cli, &r);
    code = !ok ? cli_fail(&e) : r.finished ? CLI_OK : CLI_TIMEOUT;
    arena_release(&a);
    return code;
}

static int cli_optimize_run(struct cli *cli, const struct cli_args *args)
{
    struct printer p = {.cli = cli};
    struct problem_run described;
    struct optimize_task task;
    struct arena a;
    struct err e;
    bool ok;

    if (args->value[APP] && !args->value[REFERENCE])
        return optimize_run_app(cli, args);
    if (!args->value[REFERENCE])
        return cli_complain(CLI_USAGE, "optimize needs --app NAME, or --reference FILE");
    arena_init(&a, ARENA_MAX);
    buf_init(&p.line, LINE_SIZE_MAX);
    ok = optimize_read_run(&a, args->value[REFERENCE], &described, &e);
    if (ok) {
        task = problem_task(&described);
        task.sink = (struct optimize_sink){optimize_command_print_event, &p};
        ok = args->value[RUN] ? optimize_run_kept(&task, args->value[RUN], &a, &e)
                              : optimize_run_plain(&task, &e);
    }
    buf_release(&p.line);
    arena_release(&a);
    return ok ? CLI_OK : cli_fail(&e);
}

const struct cli_command cli_optimize = {
    .name = "optimize",
    .summary = "improve prompts from graded runs",
    .words = "",
    .about =
        "Prompt optimisation by reflection (GEPA): propose new texts from graded runs, keep what "
        "is best somewhere, merge what different branches learnt.\n\n"
        "With --app the prompts of an application are improved on labelled cases. The run is kept "
        "in the store, answer by answer: killed or interrupted, it continues with --resume. The "
        "best "
        "candidate becomes a draft in the registry of prompts; a person approves it.\n\n"
        "With --reference it makes the run that FILE describes (problem, settings, seed, and an "
        "evaluator and a reflector that are data), exactly as the reference implementation makes "
        "it, so that the two logs can be compared. With --run the run is kept in a folder: killed "
        "at any point and started again, it continues and prints the same events.",
    .examples = "  rationale optimize --app policy --train example/policy/cases\n"
                "  rationale optimize --app incidents --train example/incidents/cases\n"
                "  rationale optimize --app policy --resume opt-01JX...\n"
                "  rationale optimize --reference example/optimize/run.json\n",
    .options = options,
    .option_count = COUNT_OF(options),
    .run = cli_optimize_run,
};
