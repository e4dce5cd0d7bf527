/* eval_run.c - runs a case on its recordings and scores the analysis.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/eval.h"

#include <unistd.h>

#define CALLED_MAX 1000
#define TAGS_MAX 4096

/* ---- tools ---- */

/* Without the server's name: SERVER.TOOL, SERVER__TOOL. */
static str eval_run_bare(str name)
{
    for (size_t i = name.n; i > 0; i--) {
        if (name.p[i - 1] == '.')
            return str_slice(name, i, name.n);
        if (i >= 2 && name.p[i - 1] == '_' && name.p[i - 2] == '_')
            return str_slice(name, i, name.n);
    }
    return name;
}

static bool eval_was_called(const struct eval_result *r, str name)
{
    for (size_t i = 0; i < r->called_count; i++)
        if (str_eq(r->called[i], name) || str_eq(eval_run_bare(r->called[i]), name))
            return true;
    return false;
}

static void eval_read_called(struct eval_result *r, struct arena *a)
{
    const struct json_node *root;
    struct json doc;
    struct err e;
    str name;

    r->called = arena_zero(a, CALLED_MAX, sizeof *r->called);
    json_init(&doc);
    if (r->report.tools.n && json_parse(&doc, r->report.tools, &e)) {
        root = json_root(&doc);
        for (const struct json_node *v = json_first(&doc, root); v && r->called_count < CALLED_MAX;
             v = json_next(&doc, root, v))
            if (json_text(&doc, v, a, &name) && !eval_was_called(r, eval_run_bare(name)))
                r->called[r->called_count++] = arena_dup(a, eval_run_bare(name));
    }
    json_release(&doc);
    assert(r->called_count <= CALLED_MAX);
}

static void eval_compare_tools(struct eval_result *r, struct arena *a)
{
    r->tools_called = arena_zero(a, r->of->tool_count + 1, sizeof *r->tools_called);
    for (size_t i = 0; i < r->of->tool_count; i++) {
        r->tools_called[i] = eval_was_called(r, r->of->tools[i]);
        r->tools_met += r->tools_called[i];
    }
    assert(r->tools_met <= r->of->tool_count);
}

/* ---- score and tags ---- */

/* The analysis alone: the report also quotes outputs of tools. */
static double eval_run_score_of(struct eval_result *r, struct arena *a)
{
    const struct eval_case *c = r->of;

    score_analysis(r->report.final_analysis, c->evidence, &c->expected, a, &r->analysis);
    assert(r->analysis.score >= 0 && r->analysis.score <= 1 && r->tools_met <= c->tool_count);
    if (!c->tool_count)
        return r->analysis.score;
    return r->analysis.score *
           (1 - EVAL_TOOLS_SHARE + EVAL_TOOLS_SHARE * (double)r->tools_met / (double)c->tool_count);
}

/* From the run's data and the score, never from prose. */
static str eval_tags_of(const struct eval_result *r, struct arena *a)
{
    const struct {
        const char *tag;
        bool set;
    } all[] = {
        {"facts_missing", r->analysis.facts_met < r->of->expected.facts.n},
        {"no_tool_called", r->of->recordings && !r->report.tool_calls},
        {"expected_tool_not_called", r->tools_met < r->of->tool_count},
        {"failed", r->report.end == INCIDENT_FAILED},
        {"cancelled", r->report.end == INCIDENT_CANCELLED || r->report.end == INCIDENT_LEFT},
        {"empty_report", !r->report.final_analysis.n},
    };
    struct json_text t;

    json_text_begin_array(&t, TAGS_MAX);
    for (size_t i = 0; i < COUNT_OF(all); i++)
        if (all[i].set)
            json_out_str(&t.o, str_c(all[i].tag));
    if (r->analysis.verdict != SCORE_VERDICT_FOUND)
        json_out_str(&t.o, str_c(score_verdict_name(r->analysis.verdict)));
    if (r->report.reason.n)
        json_out_str(&t.o, r->report.reason);
    return json_text_end(&t, a, STR("[]"));
}

/* ---- running ---- */

bool eval_anyone(struct incident_setup **out, struct err *e)
{
    return incident_setup_parse(STR("agents:\n"
                                    "  Investigator:\n"
                                    "    alert_types: ['*']\n"
                                    "    strategy: native\n"),
                                "(built in)",
                                "",
                                out,
                                e);
}

bool eval_self(char path[FILE_PATH_MAX], struct err *e)
{
    ssize_t n = readlink("/proc/self/exe", path, FILE_PATH_MAX - 1);

    if (n <= 0)
        return err_sys(e, "cannot find the path of this program (/proc/self/exe)");
    assert(n < FILE_PATH_MAX);
    path[n] = '\0';
    return true;
}

static bool eval_run_taken(const struct incident_setup *s, str alert_type)
{
    const char *const *servers;
    str agent;

    return s && incident_assigned(s, alert_type, &agent, &servers);
}

void eval_run(const struct eval_options *o, const struct eval_case *c, enum incident_tri reasoning,
              struct arena *a, struct eval_result *out)
{
    const char *argv[] = {c->served ? o->server : NULL, "mcp", "--replay", c->folder, NULL};
    bool trial = o->session.n > 0;
    struct app_host host = *o->host;
    struct incident_options io = {.host = &host,
                                  .setup = eval_run_taken(o->setup, c->alert.alert_type) ? o->setup
                                                                                         : o->any,
                                  .alert = c->alert,
                                  .runbook_text = c->runbook,
                                  .model = o->model,
                                  .strategy = o->strategy,
                                  .reasoning = reasoning,
                                  .server_argv = argv,
                                  .cancel = o->cancel ? o->cancel : o->host->leave,
                                  .prompt = o->prompt,
                                  .prompt_id = STR(""),
                                  .trial = trial,
                                  .on_progress = o->on_progress,
                                  .on_step = o->on_step,
                                  .ctx = o->ctx};
    char id[RAND_ID_SIZE];
    struct err e;

    *out = (struct eval_result){.of = c, .reasoning = reasoning};
    io.run = arena_join(a, STR("eval-"), rand_id(&o->host->gateway->ids, id), STR(""));
    io.session = out->session = trial ? o->session : io.run;
    if (trial)
        host.log = NULL;
    if (!incident_run(&io, a, &out->report, &e)) {
        out->report = INCIDENT_REPORT_NONE;
        out->report.end = INCIDENT_FAILED;
        out->report.error = arena_dup(a, str_c(e.text));
        out->report.reason = str_c(err_name(e.code));
    }
    eval_read_called(out, a);
    eval_compare_tools(out, a);
    out->score = eval_run_score_of(out, a);
    out->tags = eval_tags_of(out, a);
}

const char *eval_scored_by(const struct eval_case *c)
{
    return c->expected.cause.n || c->expected.object.n ? "cause" : "facts";
}

void eval_sum(const struct eval_result *results, size_t n, struct eval_total *out)
{
    double weights = 0, sum = 0, plain = 0;

    *out = (struct eval_total){.cases = n};
    for (size_t i = 0; i < n; i++) {
        const struct eval_result *r = &results[i];

        assert(r->of->weight >= 0 && r->score >= 0 && r->score <= 1);
        weights += r->of->weight;
        sum += r->of->weight * r->score;
        plain += r->score;
        out->facts += r->of->expected.facts.n;
        out->facts_met += r->analysis.facts_met;
        out->model_calls += r->report.model_calls;
        out->tool_calls += r->report.tool_calls;
        out->input_tokens += r->report.input_tokens;
        out->output_tokens += r->report.output_tokens;
        out->reasoning_tokens += r->report.reasoning_tokens;
        out->duration_ms += r->report.duration_ms;
    }
    out->score = weights > 0 ? sum / weights : n ? plain / (double)n : 0;
}
