/* `rationale optimize`: texts that improve from graded runs.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/arena.h"
#include "cli/cli.h"
#include "optimize/event.h"
#include "optimize/problem.h"
#include "optimize/run.h"

#define ARENA_MAX ((size_t)4 << 30)
#define LINE_SIZE_MAX ((size_t)1 << 30)

enum { REFERENCE, RUN };

static const struct cli_option options[] = {
    [REFERENCE] = {"reference", 0, "FILE", NULL, "the run a file describes, faults and all"},
    [RUN] = {"run", 0, "FOLDER", NULL, "keep the run there, or go on with the one there"},
};

/* A path in a run file is relative to that file. */
static bool read_beside(void *ctx, struct arena *a, str path, str *out, struct err *e)
{
    str *folder = ctx, file;

    if (path.n == 0 || memchr(path.p, '\0', path.n))
        return err_set(e, ERR_INPUT, "problem: must be a path, or the problem itself");
    file = path.p[0] == '/' ? arena_dup(a, path) : arena_join(a, *folder, path, STR(""));
    return file_read(a, file.p, PROBLEM_FILE_MAX, out, e);
}

static bool read_run(struct arena *a, const char *path, struct problem_run *out, struct err *e)
{
    const char *slash = strrchr(path, '/');
    str folder = slash ? (str){path, (size_t)(slash - path) + 1} : STR("");
    struct problem_source source = {read_beside, &folder};
    str text;

    if (!file_read(a, path, PROBLEM_FILE_MAX, &text, e))
        return false;
    return problem_run_read(a, text, source, out, e) || err_prefix(e, "%s: ", path);
}

struct printer {
    struct cli *cli;
    struct buf line;
};

static void print_event(void *ctx, const struct optimize_event *ev)
{
    struct printer *p = ctx;

    buf_reset(&p->line);
    optimize_event_json(ev, &p->line);
    file_out_add(&p->cli->out, buf_str(&p->line));
    if (p->cli->terminal)
        file_out_flush(&p->cli->out);
}

static bool run_plain(const struct optimize_task *task, struct err *e)
{
    struct optimize *o = NULL;
    bool ok = optimize_new(task, &o, e) && optimize_run(o, e);

    optimize_free(o);
    return ok;
}

static bool run_kept(const struct optimize_task *task, const char *path, struct arena *a,
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

static int run(struct cli *cli, const struct cli_args *args)
{
    struct printer p = {.cli = cli};
    struct problem_run described;
    struct optimize_task task;
    struct arena a;
    struct err e;
    bool ok;

    if (!args->value[REFERENCE])
        return cli_complain(CLI_USAGE, "optimize needs a run: --reference FILE");
    arena_init(&a, ARENA_MAX);
    buf_init(&p.line, LINE_SIZE_MAX);
    ok = read_run(&a, args->value[REFERENCE], &described, &e);
    if (ok) {
        task = problem_task(&described);
        task.sink = (struct optimize_sink){print_event, &p};
        ok = args->value[RUN] ? run_kept(&task, args->value[RUN], &a, &e) : run_plain(&task, &e);
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
        "is best somewhere, merge what different branches learnt. Events are printed as they "
        "happen, one JSON object a line.\n\n"
        "With --reference it makes the run that FILE describes (problem, settings, seed, and an "
        "evaluator and a reflector that are data), exactly as the reference implementation makes "
        "it, so that the two logs can be compared. With --run the run is kept in a folder: killed "
        "at any point and started again, it goes on and prints the same events.",
    .examples = "  rationale optimize --reference run.json\n"
                "  rationale optimize --reference run.json --run kept/\n",
    .options = options,
    .option_count = COUNT_OF(options),
    .run = run,
};
