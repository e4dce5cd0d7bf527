/* `rationale verify`: checks whether cases meet a policy, and prints the reasons of each
 * verdict.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/service.h"
#include "apps/policy/version.h"
#include "cli/cases.h"
#include "cli/history.h"
#include "cli/table.h"

#define LINE_MAX_SHOWN 2000
#define ROWS_MAX 1000 /* printed at once */
#define OUT_MAX ((size_t)64 << 20)
#define ARENA_MAX ((size_t)2 << 30)

enum { POLICY, CONFIG, CONTROLLER, RUN, MODEL, VERSION, AS_OF, JSON };

static const struct cli_option options[] = {
    [POLICY] = {"policy", 'p', "FILE", NULL, "the policy: Markdown, PDF, DOCX, HTML or JSON"},
    [CONFIG] = {"config", 'c', "FILE", NULL, "providers, documents and switches"},
    [CONTROLLER] = {"controller",
                    0,
                    "WHICH",
                    "heuristic react auto",
                    "who decides (default: auto, by the switches)"},
    [RUN] = {"run", 0, "ID", NULL, "the run's id; one that was cut off continues"},
    [MODEL] = {"model", 'm', "NAME", NULL, "the model to ask"},
    [VERSION] = {"policy-version", 0, "NAME", NULL, "this version, whatever the case names"},
    [AS_OF] = {"as-of", 0, "DAY", NULL, "the version in force on that day (YYYY-MM-DD)"},
    [JSON] = {"json", 0, NULL, NULL, "the response envelope, one a line"},
};

struct verifying {
    struct cli *cli;
    const struct cli_args *args;
    struct policy_doc *doc; /* of --policy, or NULL */
    struct app_local local;
    struct policy_service *service; /* NULL: no configuration, so neither a model nor a record */
    struct cases cases;
    struct table rows; /* of several cases */
    size_t done, met, missing, uncertain, failed;
    bool all_met;
    int code;       /* exit code of the failure */
    uint64_t *took; /* for one criterion, without the time of the model */
    size_t took_count, took_cap;
};

/* ---- output ---- */

static void verify_line(struct verifying *v, struct arena *a, const char *indent, str text)
{
    file_out_add(&v->cli->out, str_c(indent));
    file_out_add(&v->cli->out, history_line(a, text, LINE_MAX_SHOWN));
    file_out_add(&v->cli->out, STR("\n"));
}

static str verify_evidence(const struct policy_evidence *e, struct arena *a)
{
    str place = e->doc_id.n ? e->doc_id : STR("the case names no document");

    if (e->page)
        place = arena_printf(a, STR_FMT ", p. %u", STR_ARG(place), e->page);
    return arena_join(a, place, STR(": "), e->text_excerpt);
}

static void verify_show_result(struct verifying *v, const struct policy_result *r, struct arena *a)
{
    struct cli *cli = v->cli;
    str pages = STR("");

    for (size_t i = 0; i < r->citation.page_count && i < 8; i++)
        pages = arena_printf(
            a, STR_FMT "%s%u", STR_ARG(pages), i ? ", " : ", p. ", r->citation.pages[i]);
    file_out_printf(&cli->out,
                    "\n  %s" STR_FMT "%s  %s%s%s  %.3f",
                    cli_bold(cli),
                    STR_ARG(history_line(a, r->criterion_id, LINE_MAX_SHOWN)),
                    cli_plain(cli),
                    cli_status(cli, str_c(policy_status_name(r->status))),
                    policy_status_name(r->status),
                    cli_plain(cli),
                    r->confidence);
    if (r->reason_code.n)
        file_out_printf(&cli->out, "  (" STR_FMT ")", STR_ARG(r->reason_code));
    file_out_add(&cli->out, STR("\n"));
    verify_line(v, a, "    ", r->rationale);
    if (r->citation.section.n)
        verify_line(v, a, "    policy: ", arena_join(a, r->citation.section, pages, STR("")));
    if (r->has_evidence)
        verify_line(v, a, "    evidence: ", verify_evidence(&r->evidence, a));
    for (size_t i = 0; i < r->trace_count; i++) {
        file_out_add(&cli->out, str_c(cli_dim(cli)));
        verify_line(v, a, arena_printf(a, "    %2u ", r->trace[i].step).p, r->trace[i].action);
        verify_line(v, a, "       ", r->trace[i].observation);
        file_out_add(&cli->out, str_c(cli_plain(cli)));
    }
}

static void verify_show_case(struct verifying *v, const struct policy_review *r, struct arena *a)
{
    struct cli *cli = v->cli;

    file_out_printf(&cli->out,
                    "%s" STR_FMT "%s",
                    cli_bold(cli),
                    STR_ARG(history_line(a, r->c.case_id, LINE_MAX_SHOWN)),
                    cli_plain(cli));
    if (r->options.react.doc)
        file_out_printf(
            &cli->out,
            "  policy version " STR_FMT,
            STR_ARG(history_line(a, policy_doc_version(r->options.react.doc), LINE_MAX_SHOWN)));
    file_out_printf(&cli->out,
                    "  by %s, prompt " STR_FMT "\n",
                    policy_controller_name(r->options.controller),
                    STR_ARG(policy_prompt_id(&r->options)));
    for (size_t i = 0; i < r->verdict.n; i++)
        verify_show_result(v, &r->verdict.results[i], a);
    if (r->run.n)
        file_out_printf(&cli->out, "\n  run " STR_FMT "\n", STR_ARG(r->run));
}

static const struct table_column row_columns[] = {{"CASE", TABLE_TEXT, 24},
                                                  {"CRITERION", TABLE_TEXT, 24},
                                                  {"STATUS", TABLE_STATUS, 9},
                                                  {"CONFIDENCE", TABLE_RIGHT, 5},
                                                  {"REASON", TABLE_TEXT, 0}};

/* A model's verdicts take long, so each case is shown when it is done. */
static void verify_show_rows(struct verifying *v, const struct policy_review *r)
{
    for (size_t i = 0; i < r->verdict.n; i++) {
        const struct policy_result *x = &r->verdict.results[i];

        table_add(&v->rows, r->c.case_id);
        table_add(&v->rows, x->criterion_id);
        table_add(&v->rows, str_c(policy_status_name(x->status)));
        table_printf(&v->rows, "%.3f", x->confidence);
        table_add(&v->rows, x->reason_code);
    }
    if (v->service || v->rows.count > ROWS_MAX * COUNT_OF(row_columns))
        table_flush(&v->rows);
}

static int verify_by_size(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

static double verify_percentile_ms(const struct verifying *v, size_t percent)
{
    size_t at = (v->took_count * percent + 99) / 100;

    assert(at <= v->took_count);
    return v->took_count ? (double)v->took[at ? at - 1 : 0] / CLOCK_NS_PER_MS : 0;
}

/* Prints for people: with --json, stdout has only the JSON lines, so this goes to stderr. */
static void verify_show_sums(struct verifying *v)
{
    assert(v->took_count <= v->took_cap);
    qsort(v->took, v->took_count, sizeof v->took[0], verify_by_size);
    (void)fprintf(stderr,
                  "%zu case%s, %zu criteri%s: %zu met, %zu missing, %zu uncertain; "
                  "P50 %.2f ms, P95 %.2f ms a criterion, model time excluded\n",
                  v->done,
                  v->done == 1 ? "" : "s",
                  v->took_count,
                  v->took_count == 1 ? "on" : "a",
                  v->met,
                  v->missing,
                  v->uncertain,
                  verify_percentile_ms(v, 50),
                  verify_percentile_ms(v, 95));
}

/* ---- one case ---- */

static void verify_add_up(struct verifying *v, const struct policy_review *r)
{
    for (size_t i = 0; i < r->verdict.n; i++) {
        const struct policy_how *how = &r->verdict.how[i];

        v->met += r->verdict.results[i].status == POLICY_MET;
        v->missing += r->verdict.results[i].status == POLICY_MISSING;
        v->uncertain += r->verdict.results[i].status == POLICY_UNCERTAIN;
        v->took = base_grow(v->took, v->took_count, &v->took_cap, sizeof v->took[0]);
        assert(v->took_count < v->took_cap);
        v->took[v->took_count++] = how->took_ns > how->model_ns ? how->took_ns - how->model_ns : 0;
    }
    v->all_met &= policy_all_met(&r->verdict);
    v->done++;
}

/* Without a configuration: only the heuristic, and nothing is recorded. */
static bool verify_plainly(struct verifying *v, str text, struct arena *a, struct policy_review *r,
                           struct err *e)
{
    const char *version = v->args->value[VERSION], *as_of = v->args->value[AS_OF];
    const struct policy_doc *doc;
    char today[POLICY_DAY_SIZE];
    struct json_out o;
    struct buf json;

    assert(v->doc && !v->service);
    r->run = r->envelope = STR("");
    if (!policy_case_read(text, a, &r->c, e))
        return false;
    if (version || as_of) {
        r->c.policy_version_id = str_c(version);
        r->c.as_of_date = str_c(as_of);
    }
    if (!policy_file_doc(&r->c, v->doc, policy_today(&clock_real, today), &doc, e))
        return false;
    r->options = (struct policy_verify_options){
        .controller = POLICY_HEURISTIC,
        .mode = POLICY_MODE_HEURISTIC,
        .react = {.doc = doc, .c = &r->c, .run = STR(""), .clock = &clock_real}};
    if (!policy_verify(&r->options, a, &r->verdict, e))
        return false;
    buf_init(&json, OUT_MAX);
    json_out_init(&o, &json);
    policy_envelope(&r->options, &r->verdict, &o);
    r->envelope = arena_move_buf(a, &json);
    return true;
}

static bool verify_by_service(struct verifying *v, str text, struct arena *a,
                              struct policy_review *r, struct err *e)
{
    struct policy_ask q = {.body = text,
                           .run = str_c(v->args->value[RUN]),
                           .key = STR("cli"),
                           .operator_ = true,
                           .controller = str_c(v->args->value[CONTROLLER]),
                           .model = str_c(v->args->value[MODEL]),
                           .version = str_c(v->args->value[VERSION]),
                           .as_of = str_c(v->args->value[AS_OF]),
                           .doc = v->doc,
                           .doc_file = v->doc ? v->args->value[POLICY] : NULL,
                           .ctx = v};

    assert(v->service);
    return policy_review(v->service, &q, a, r, e);
}

static void verify_one(void *ctx, const char *name, str text)
{
    struct verifying *v = ctx;
    struct policy_review *r;
    struct arena a;
    struct err e;

    arena_init(&a, ARENA_MAX);
    r = arena_zero(&a, 1, sizeof *r);
    if (!(v->service ? verify_by_service(v, text, &a, r, &e)
                     : verify_plainly(v, text, &a, r, &e))) {
        v->failed++;
        err_prefix(&e, "%s: ", name);
        v->code = cli_fail(&e);
    } else {
        verify_add_up(v, r);
        if (v->args->value[JSON]) {
            cli_put_json(v->cli, r->envelope);
            file_out_add(&v->cli->out, STR("\n"));
        } else if (v->cases.many) {
            verify_show_rows(v, r);
        } else {
            verify_show_case(v, r, &a);
        }
        if (v->cli->terminal)
            cli_flush(v->cli);
    }
    arena_release(&a);
}

/* ---- the command ---- */

static bool verify_wants_config(const struct cli_args *args)
{
    const char *who = args->value[CONTROLLER];

    return args->value[CONFIG] || !args->value[POLICY] || (who && strcmp(who, "react") == 0);
}

static int verify_open_all(struct verifying *v)
{
    const struct cli_args *args = v->args;
    struct err e;

    assert(!v->doc && !v->service);
    for (int i = 0; i < args->word_count; i++)
        if (!file_check_readable(args->words[i], &e))
            return cli_fail(&e);
    if (args->value[POLICY] && !policy_doc_load(NULL, args->value[POLICY], &v->doc, &e))
        return cli_fail(&e);
    if (!verify_wants_config(args))
        return CLI_OK;
    if (!app_local_open(args->value[CONFIG] ? args->value[CONFIG] : CLI_CONFIG_FILE, &v->local, &e))
        return cli_fail_open(&e, "a daemon verifies, too: POST the case to /reason/auth-review");
    if (!policy_service_open(&v->local.host, &v->service, &e))
        return cli_fail_config(&e);
    return CLI_OK;
}

static int verify_run(struct cli *cli, const struct cli_args *args)
{
    struct verifying v = {.cli = cli, .args = args, .all_met = true, .code = CLI_OK};
    struct err e;
    int code;

    progress_enable();
    if (!args->word_count)
        return cli_complain(CLI_USAGE, "verify needs a case: rationale verify CASE.json");
    cases_init(&v.cases, args->words, (size_t)args->word_count);
    if (args->value[RUN] && v.cases.many)
        return cli_complain(CLI_USAGE, "--run is of one case: name its file");
    code = verify_open_all(&v);
    if (code == CLI_OK) {
        table_begin(&v.rows, cli, row_columns, COUNT_OF(row_columns));
        if (!cases_each(&v.cases, verify_one, &v, &e))
            code = cli_fail(&e);
        if (v.rows.count)
            table_end(&v.rows);
        else
            table_release(&v.rows);
        if (v.cases.many && v.done)
            verify_show_sums(&v);
        if (code == CLI_OK)
            code = v.failed ? v.code : v.done && v.all_met ? CLI_OK : CLI_NEGATIVE;
    }
    policy_service_close(v.service);
    if (v.local.local)
        app_local_close(&v.local);
    policy_doc_free(v.doc);
    free(v.took);
    return code;
}

const struct cli_command cli_verify = {
    .name = "verify",
    .summary = "verify cases against a policy, with reasons",
    .words = "CASE...",
    .about =
        "Decides for each criterion of a case whether the policy's rule is met, missing or "
        "uncertain, with the section it rests on, the evidence, a confidence and every step on "
        "the way.\n\n"
        "With --policy alone the heuristic decides: no model, no configuration, nothing is kept. "
        "With --config the switches of its policy section say who decides (--controller says it "
        "outright), runs are on record, and one that was cut off continues under the same "
        "--run.\n\n"
        "A CASE is a file, a folder of *.json, or a .jsonl file with a case a line; of several, "
        "a row each is printed, and sums at the end. Exit code 0: every criterion of every case "
        "is met; 1: some are not.",
    .examples = "  rationale verify case.json --policy policy.md\n"
                "  rationale verify cases/ --policy policy.md --json\n"
                "  rationale verify case.json --config rationale.yaml --controller react\n",
    .options = options,
    .option_count = COUNT_OF(options),
    .word_max = CLI_WORDS_MAX,
    .run = verify_run,
};
