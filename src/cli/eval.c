/* `rationale eval`: runs cases with known answers on their recordings and scores them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/eval.h"
#include "cli/table.h"

#include <signal.h>

#define ARENA_MAX ((size_t)4 << 30)
#define OUT_MAX ((size_t)256 << 20)
#define MODE_WIDTH 3 /* of eval_mode_name */

enum { CONFIG, CASE, STRATEGY, REASONING, RUNBOOKS, MODEL, PROMPT, MIN, OUT, JSON };

static const struct cli_option options[] = {
    [CONFIG] = {"config", 'c', "FILE", NULL, "the configuration; else " CLI_CONFIG_FILE},
    [CASE] = {"case", 0, "NAME", NULL, "this case alone"},
    [STRATEGY] = {"strategy", 's', "NAME", "classic react native", "instead of the agents' own"},
    [REASONING] = {"reasoning", 0, "SWITCH", "on off ab", "with, without, or both and compare"},
    [RUNBOOKS] = {"runbooks", 0, "DIR", NULL, "where runbooks are, found by the alert's name"},
    [MODEL] = {"model", 'm', "NAME", NULL, "the model; else the configuration's"},
    [PROMPT] = {"prompt", 0, "ID", NULL, "this version of the prompt; else what is in force"},
    [MIN] = {"min", 0, "SCORE", NULL, "exit with 1 if the score is below (0 to 1)"},
    [OUT] = {"out", 0, "DIR", NULL, "write the reports there, and report.md, results.json"},
    [JSON] = {"json", 0, NULL, NULL, "print one JSON object"},
};

struct work {
    struct cli *cli;
    const struct cli_args *args;
    struct arena arena;
    struct app_local local;
    struct incident_setup *setup, *any;
    struct eval_options options;
    struct eval_case *cases;
    size_t case_count;
    struct prompt prompt;
    struct eval_result *results;
    size_t result_count;
    const char *name; /* the name of the case that runs */
    size_t all;
    struct progress progress;
    double min;
    struct table table;
    struct table_column columns[8];
};

/* ---- output ---- */

static void eval_on_progress(void *ctx, const struct incident_progress *p)
{
    struct work *w = ctx;
    char note[80];
    int n = snprintf(note, sizeof note, "%.24s %d %%", w->name, p->percent);

    assert(n > 0 && (size_t)n < sizeof note);
    progress_note(&w->progress, (str){note, (size_t)n});
}

static const char *eval_mode_name(enum incident_tri t)
{
    return t == INCIDENT_ON ? " +r" : t == INCIDENT_OFF ? " -r" : "";
}

/* As wide as the longest name with its mode. */
static void eval_begin_table(struct work *w)
{
    static const struct table_column columns[] = {{"CASE", TABLE_TEXT, 0},
                                                  {"SCORE", TABLE_RIGHT, 6},
                                                  {"VERDICT", TABLE_TEXT, 14},
                                                  {"FACTS", TABLE_RIGHT, 5},
                                                  {"TOOLS", TABLE_RIGHT, 5},
                                                  {"TOKENS", TABLE_RIGHT, 8},
                                                  {"TIME", TABLE_RIGHT, 8},
                                                  {"STATUS", TABLE_STATUS, 9}};

    memcpy(w->columns, columns, sizeof columns);
    w->columns[0].width = sizeof "all, without reasoning" - 1;
    for (size_t i = 0; i < w->case_count; i++) {
        size_t width = table_text_width(w->cases[i].name) + MODE_WIDTH;

        w->columns[0].width = width > w->columns[0].width ? width : w->columns[0].width;
    }
    table_begin(&w->table, w->cli, w->columns, COUNT_OF(w->columns));
}

struct eval_row {
    str name;
    double score;
    size_t facts_met, facts;
    unsigned tool_calls;
    int64_t tokens, ms;
    const char *verdict, *status;
};

static void eval_print_row(struct work *w, const struct eval_row *r)
{
    char time[CLOCK_DURATION_SIZE];
    struct table *t = &w->table;

    assert(r->verdict && r->status);
    table_add(t, r->name);
    table_printf(t, "%.2f", r->score);
    table_add(t, str_c(r->verdict));
    table_printf(t, "%zu/%zu", r->facts_met, r->facts);
    table_printf(t, "%u", r->tool_calls);
    table_printf(t, "%lld", (long long)r->tokens);
    table_add(t, clock_duration_ms(r->ms, time));
    table_add(t, str_c(r->status));
    table_flush(t);
}

static void eval_print_result(struct work *w, const struct eval_result *r)
{
    static const char *const ends[] = {"completed", "error", "cancelled", "left", "waiting"};
    str name = arena_join(&w->arena, r->of->name, str_c(eval_mode_name(r->reasoning)), STR(""));

    assert((size_t)r->report.end < COUNT_OF(ends));
    if (w->args->value[JSON])
        return;
    eval_print_row(w,
                   &(struct eval_row){.name = name,
                                      .score = r->score,
                                      .facts_met = r->analysis.facts_met,
                                      .facts = r->of->expected.facts.n,
                                      .tool_calls = r->report.tool_calls,
                                      .tokens = r->report.input_tokens + r->report.output_tokens,
                                      .ms = r->report.duration_ms,
                                      .verdict = score_verdict_name(r->analysis.verdict),
                                      .status = ends[r->report.end]});
    if (r->report.error.n)
        (void)cli_complain(
            CLI_OK, STR_FMT ": " STR_FMT, STR_ARG(r->of->name), STR_ARG(r->report.error));
}

static void eval_print_total(struct work *w, const char *name, const struct eval_result *list,
                             size_t n)
{
    struct eval_total t;

    eval_sum(list, n, &t);
    eval_print_row(w,
                   &(struct eval_row){.name = str_c(name),
                                      .score = t.score,
                                      .facts_met = t.facts_met,
                                      .facts = t.facts,
                                      .tool_calls = t.tool_calls,
                                      .tokens = t.input_tokens + t.output_tokens,
                                      .ms = t.duration_ms,
                                      .verdict = "",
                                      .status = ""});
}

/* ---- files ---- */

static bool eval_put(struct work *w, str name, str text, struct err *e)
{
    str path = arena_printf(
        &w->arena, "%s/" STR_FMT, w->args->value[OUT], STR_ARG(str_slice(name, 0, 200)));

    assert(w->args->value[OUT]);
    return file_write_atomic(path.p, text, 0644, e);
}

static bool eval_write_files(struct work *w, bool ab, struct err *e)
{
    struct buf out;
    bool ok;

    if (!w->args->value[OUT])
        return true;
    buf_init(&out, OUT_MAX);
    ok = file_mkdirs(w->args->value[OUT], 0755, e);
    for (size_t i = 0; ok && i < w->result_count; i++) {
        const struct eval_result *r = &w->results[i];
        const char *mode = r->reasoning == INCIDENT_ON    ? ".on"
                           : r->reasoning == INCIDENT_OFF ? ".off"
                                                          : "";

        ok = eval_put(w,
                      arena_printf(&w->arena, STR_FMT "%s.md", STR_ARG(r->of->name), mode),
                      r->report.markdown,
                      e);
    }
    eval_markdown(w->results, w->result_count, ab, &out);
    ok = ok && eval_put(w, STR("report.md"), buf_str(&out), e);
    buf_reset(&out);
    eval_json(w->results, w->result_count, ab, &out);
    buf_add_c(&out, '\n');
    ok = ok && eval_put(w, STR("results.json"), buf_str(&out), e);
    buf_release(&out);
    return ok;
}

/* ---- running ---- */

static bool eval_run_all(struct work *w, enum incident_tri reasoning)
{
    for (size_t i = 0; i < w->case_count; i++) {
        struct eval_result *r = &w->results[w->result_count];

        assert(w->result_count < w->all);
        if (atomic_load(&w->local.leave))
            return false;
        w->name = w->cases[i].name.p;
        progress_set(&w->progress, w->result_count);
        eval_run(&w->options, &w->cases[i], reasoning, &w->arena, r);
        w->result_count++;
        eval_print_result(w, r);
    }
    return true;
}

static int eval_finish(struct work *w, bool ab)
{
    size_t half = w->result_count / 2;
    struct eval_total t;
    struct buf out;
    struct err e;

    assert(!ab || w->result_count % 2 == 0);
    buf_init(&out, OUT_MAX);
    if (w->args->value[JSON]) {
        eval_json(w->results, w->result_count, ab, &out);
        buf_add_c(&out, '\n');
        cli_put_json(w->cli, buf_str(&out));
    } else if (ab) {
        eval_print_total(w, "all, without reasoning", w->results, half);
        eval_print_total(w, "all, with reasoning", w->results + half, half);
        eval_markdown(w->results, w->result_count, true, &out);
        file_out_add(&w->cli->out, STR("\n"));
        cli_put_text(w->cli, buf_str(&out));
    } else {
        eval_print_total(w, "all", w->results, w->result_count);
    }
    buf_release(&out);
    if (!eval_write_files(w, ab, &e))
        return cli_fail(&e);
    eval_sum(ab ? w->results + half : w->results, ab ? half : w->result_count, &t);
    if (t.score >= w->min)
        return CLI_OK;
    return cli_complain(CLI_NEGATIVE, "the score is %.2f, below %.2f", t.score, w->min);
}

static int eval_run_cases(struct work *w)
{
    const char *mode = w->args->value[REASONING];
    bool ab = mode && strcmp(mode, "ab") == 0;
    bool ok;
    int code;

    w->all = ab ? 2 * w->case_count : w->case_count;
    w->results = arena_zero(&w->arena, w->all + 1, sizeof *w->results);
    if (!w->args->value[JSON])
        eval_begin_table(w);
    w->progress = progress_begin("eval", "cases", w->all);
    if (ab)
        ok = eval_run_all(w, INCIDENT_OFF) && eval_run_all(w, INCIDENT_ON);
    else
        ok = eval_run_all(w,
                          !mode                     ? INCIDENT_AS_CONFIGURED
                          : strcmp(mode, "on") == 0 ? INCIDENT_ON
                                                    : INCIDENT_OFF);
    progress_end(&w->progress);
    code = ok ? eval_finish(w, ab) : cli_complain(CLI_SIGINT, "interrupted");
    if (!w->args->value[JSON])
        table_release(&w->table);
    return code;
}

/* ---- start ---- */

static enum incident_strategy eval_strategy_of(const char *name)
{
    static const char *const names[] = {"", "classic", "react", "native"};

    for (size_t i = 1; name && i < COUNT_OF(names); i++)
        if (strcmp(name, names[i]) == 0)
            return (enum incident_strategy)i;
    return INCIDENT_BY_AGENT;
}

static bool eval_load_setup(struct work *w, struct err *e)
{
    const struct config_incidents *c = &w->local.host.gateway->setup->config->incidents;

    assert(!w->setup && !w->any);
    if (c->agents.n && !incident_setup_load(c->agents.p, c->runbooks.p, &w->setup, e))
        return false;
    return eval_anyone(&w->any, e);
}

/* A version can be evaluated before it is approved. */
static bool eval_load_prompt(struct work *w, struct err *e)
{
    const char *id = w->args->value[PROMPT];
    struct registry *r = NULL;
    bool ok;

    if (!id)
        return true;
    w->options.prompt = &w->prompt;
    prompt_built_in(&incidents_built_in, &w->arena, &w->prompt);
    if (str_eq(str_c(id), w->prompt.id))
        return true;
    ok = registry_open(w->local.host.gateway->setup->config->store_url, &clock_real, &r, e) &&
         registry_get(r, str_c(id), &w->arena, &w->prompt, e);
    registry_close(r);
    if (ok && !str_eq(w->prompt.name, str_c(incidents_built_in.name)))
        return err_input(e, "%s is no prompt of incidents", id);
    return ok;
}

static bool eval_read_min(const char *text, double *out)
{
    char *end;

    if (!text)
        return true;
    *out = strtod(text, &end);
    return end != text && !*end && *out >= 0 && *out <= 1;
}

static int eval_begin(struct work *w)
{
    struct eval_source source = {w->args->words[0], w->args->value[CASE], w->args->value[RUNBOOKS]};
    struct eval_faults *faults = arena_zero(&w->arena, 1, sizeof *faults);
    char self[FILE_PATH_MAX];
    struct err e;
    int code;

    assert(w->args->word_count == 1);
    if (!eval_self(self, &e) ||
        !eval_load(&source, &w->arena, &w->cases, &w->case_count, faults, &e))
        return cli_fail(&e);
    for (size_t i = 0; i < faults->n; i++)
        (void)cli_complain(CLI_OK, STR_FMT, STR_ARG(faults->at[i]));
    if (!app_local_open(
            w->args->value[CONFIG] ? w->args->value[CONFIG] : CLI_CONFIG_FILE, &w->local, &e))
        return cli_fail_open(&e, NULL);
    code = CLI_CONFIG;
    w->options = (struct eval_options){.host = &w->local.host,
                                       .server = self,
                                       .model = str_c(w->args->value[MODEL]),
                                       .strategy = eval_strategy_of(w->args->value[STRATEGY]),
                                       .session = STR(""),
                                       .on_progress = eval_on_progress,
                                       .ctx = w};
    if (!eval_load_setup(w, &e)) {
        (void)cli_complain(code, "%s", e.text);
    } else if (!eval_load_prompt(w, &e)) {
        code = cli_fail(&e);
    } else {
        w->options.setup = w->setup;
        w->options.any = w->any;
        code = eval_run_cases(w);
    }
    incident_setup_free(w->setup);
    incident_setup_free(w->any);
    app_local_close(&w->local);
    return code == CLI_OK && faults->n ? CLI_NEGATIVE : code;
}

static int cli_eval_run(struct cli *cli, const struct cli_args *args)
{
    struct work w = {.cli = cli, .args = args};
    int code;

    progress_enable();
    if (args->word_count != 1)
        return cli_complain(CLI_USAGE, "eval needs one folder: of cases, or a case");
    if (!eval_read_min(args->value[MIN], &w.min))
        return cli_complain(CLI_USAGE, "--min is a number from 0 to 1");
    arena_init(&w.arena, ARENA_MAX);
    code = eval_begin(&w);
    arena_release(&w.arena);
    return code;
}

const struct cli_command cli_eval = {
    .name = "eval",
    .summary = "run incidents with known answers, and score them",
    .words = "FOLDER",
    .about =
        "Each case of FOLDER (or FOLDER itself, if it is one) is an alert, recorded outputs of "
        "tools, and the cause that a good analysis names. The command investigates the alert like "
        "any other, with the recordings in place of the tools. It scores the analysis by its "
        "words; quoted outputs do not count. No model judges, so the same analysis always has "
        "the same score. docs/reference/eval.md has the form of a case and the formula.\n\n"
        "With --reasoning ab the command runs every case without reasoning and with it, and "
        "compares the two: score, tools, tokens, time.\n\n"
        "Agents are those of the configuration; a built-in agent handles alerts that none of them "
        "handles. The exit code is 1 if the score is below --min or a case could not be read.",
    .examples = "  rationale eval example/incidents/cases --config example/incidents/eval.yaml\n"
                "  rationale eval cases --reasoning ab --out results\n"
                "  rationale eval cases --case disk-full --json --min 0.8\n",
    .options = options,
    .option_count = COUNT_OF(options),
    .word_max = 1,
    .run = cli_eval_run,
};
