/* incidents.c - the optimizer on incidents. An example is a case of `rationale eval`; an evaluation
 * investigates it with a candidate as the prompt and has the score of `rationale eval`.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/eval.h"
#include "apps/tune/folder.h"
#include "base/utf8.h"

#define OUT_MAX ((size_t)1 << 20)
#define STEPS_MAX 40
#define SHOWN ((size_t)600)       /* bytes of a thought or an observation that the reflector sees */
#define SHOWN_LONG ((size_t)6000) /* of an alert, a report */
#define PARTS_MAX (3 * EVAL_FACTS_MAX + 2)

enum { ANALYSIS, TOOLS, SCORES };
static const char *const objectives[] = {"analysis", "tools", NULL};

struct bench {
    struct incident_setup *setup, *any;
    char self[FILE_PATH_MAX];
};

static bool incidents_begin(const struct tune_env *env, struct arena *a, void **out, struct err *e)
{
    const struct config_incidents *c = &env->setup->config->incidents;
    struct bench *b = arena_zero(a, 1, sizeof *b);

    if (!eval_self(b->self, e) || !eval_anyone(&b->any, e))
        return false;
    if (c->agents.n && !incident_setup_load(c->agents.p, c->runbooks.p, &b->setup, e)) {
        incident_setup_free(b->any);
        return false;
    }
    *out = b;
    return true;
}

static void incidents_done(void *app)
{
    struct bench *b = app;

    incident_setup_free(b->setup);
    incident_setup_free(b->any);
}

/* ---- cases ---- */

static void tune_add_parts(str *parts, size_t *n, const struct score_texts *from)
{
    for (size_t i = 0; i < from->n; i++)
        parts[(*n)++] = from->at[i];
}

/* The texts of a case that a prompt may not copy: each on its own, so that short ones count too. */
static void tune_parts_of(const struct eval_case *c, struct arena *a, struct tune_example *out)
{
    str *parts = arena_zero(a, PARTS_MAX, sizeof *parts);
    size_t n = 0;

    tune_add_parts(parts, &n, &c->expected.facts);
    tune_add_parts(parts, &n, &c->expected.cause);
    if (c->runbook.n)
        parts[n++] = c->runbook;
    assert(n <= PARTS_MAX);
    *out = (struct tune_example){
        .id = c->name, .text = c->alert.data, .parts = parts, .part_count = n, .data = c};
}

static bool incidents_load(void *app, const char *folder, struct arena *a,
                           struct tune_example **out, size_t *n, struct err *e)
{
    struct eval_faults *faults = arena_zero(a, 1, sizeof *faults);
    struct eval_case *cases;
    size_t count;

    (void)app;
    if (!eval_load(&(struct eval_source){.folder = folder}, a, &cases, n, faults, e))
        return false;
    if (faults->n) /* an unreadable case would silently not count */
        return err_input(e, STR_FMT, STR_ARG(faults->at[0]));
    *out = arena_zero(a, *n + 1, sizeof **out);
    count = *n;
    *n = 0;
    for (size_t i = 0; i < count; i++)
        if (cases[i].weight > 0) /* a case without weight is not used for training */
            tune_parts_of(&cases[i], a, &(*out)[(*n)++]);
    assert(*n <= count);
    return true;
}

/* ---- the steps of a run ---- */

struct seen {
    struct buf steps; /* JSON objects, comma separated */
    size_t n;
};

static void tune_put_cut(struct json_out *o, const char *name, str text, size_t size_max)
{
    if (!text.n)
        return;
    json_member_str(o, name, utf8_cut_size(text, size_max));
}

static void tune_incidents_on_step(void *ctx, const struct incident_step *s)
{
    struct seen *seen = ctx;
    struct json_out o;

    if (seen->n++ >= STEPS_MAX)
        return;
    if (seen->steps.n)
        buf_add_c(&seen->steps, ',');
    json_out_init_object(&o, &seen->steps);
    tune_put_cut(&o, "action", s->action, SHOWN);
    tune_put_cut(&o, "reasoning", s->reasoning, SHOWN);
    tune_put_cut(&o, "reason", s->reason, SHOWN);
    tune_put_cut(&o, s->ok ? "observation" : "error", s->observation, SHOWN);
    json_out_end(&o);
}

/* ---- feedback ---- */

static const char *verdict_advice(enum score_verdict v)
{
    return NAME_OF(v,
                   [SCORE_VERDICT_FOUND] = "The analysis names the cause and the object.",
                   [SCORE_VERDICT_SILENT] =
                       "The analysis states nothing of its own. Quoted outputs do not count.",
                   [SCORE_VERDICT_REFUSED] = "The analysis says that the cause is not known.",
                   [SCORE_VERDICT_WRONG] = "The analysis names a wrong cause.",
                   [SCORE_VERDICT_CAUSE] =
                       "The analysis does not state the cause in its own words.",
                   [SCORE_VERDICT_OBJECT] = "The analysis does not name the object.");
}

static void tune_put_facts_feedback(const struct eval_result *r, struct json_out *o,
                                    struct arena *a)
{
    json_member_array(o, "analysis");
    if (r->of->expected.cause.n || r->analysis.verdict != SCORE_VERDICT_FOUND)
        json_out_str(o,
                     arena_printf(a,
                                  "%s%s" STR_FMT,
                                  verdict_advice(r->analysis.verdict),
                                  r->analysis.missing.n ? " Not stated, or wrong: " : "",
                                  STR_ARG(r->analysis.missing)));
    json_out_str(o,
                 arena_printf(a,
                              "The analysis has %zu of the %zu expected facts.",
                              r->analysis.facts_met,
                              r->of->expected.facts.n));
    for (size_t i = 0; i < r->of->expected.facts.n; i++)
        if (!r->analysis.facts[i].met)
            json_out_str(o,
                         arena_printf(a,
                                      "Missing: " STR_FMT " (%.0f %% of it is stated; not: " STR_FMT
                                      ")",
                                      STR_ARG(r->of->expected.facts.at[i]),
                                      100 * r->analysis.facts[i].share,
                                      STR_ARG(r->analysis.facts[i].missing)));
    json_out_end(o);
}

static void tune_put_tools_feedback(const struct eval_result *r, struct json_out *o,
                                    struct arena *a)
{
    json_member_array(o, "tools");
    if (!r->report.tool_calls)
        json_out_str(o, STR("No tool was called."));
    for (size_t i = 0; i < r->of->tool_count; i++)
        if (!r->tools_called[i])
            json_out_str(
                o,
                arena_printf(a, "Not called, though expected: " STR_FMT, STR_ARG(r->of->tools[i])));
    json_out_end(o);
}

static void tune_incidents_put_trace(const struct eval_result *r, const struct seen *seen,
                                     struct arena *a, struct json_out *o)
{
    const struct incident_alert *alert = &r->of->alert;

    assert(r->called || !r->called_count);
    json_member_object(o, "Inputs");
    tune_put_cut(o, "alert_type", alert->alert_type, SHOWN);
    tune_put_cut(o, "severity", alert->severity, SHOWN);
    tune_put_cut(o, "alert", alert->data, SHOWN_LONG);
    json_out_end(o);
    json_member_object(o, "Generated Outputs");
    json_member_array(o, "steps");
    if (seen->steps.n)
        json_out_raw(o, buf_str(&seen->steps));
    json_out_end(o);
    json_member_texts(o, "tools_called", r->called, r->called_count);
    tune_put_cut(o, "analysis", r->report.final_analysis, SHOWN_LONG);
    tune_put_cut(o, "error", r->report.error, SHOWN);
    json_out_end(o);
    json_member_object(o, "Feedback");
    tune_put_facts_feedback(r, o, a);
    tune_put_tools_feedback(r, o, a);
    json_member_raw(o, "tags", r->tags);
}

static void tune_incidents_judge(const struct eval_result *r, const struct seen *seen,
                                 struct arena *a, struct optimize_grade *out)
{
    const struct eval_case *c = r->of;
    struct json_text t;

    assert(r->tools_met <= c->tool_count && r->analysis.facts_met <= c->expected.facts.n);
    out->score = r->score;
    out->objective_count = SCORES;
    for (uint32_t i = 0; i < SCORES; i++)
        out->objective[i] = i;
    out->value[ANALYSIS] = r->analysis.score;
    out->value[TOOLS] = c->tool_count ? (double)r->tools_met / (double)c->tool_count
                                      : (double)(r->report.tool_calls > 0);
    json_text_begin(&t, OUT_MAX);
    tune_incidents_put_trace(r, seen, a, &t.o);
    out->trace = json_text_end(&t, a, STR("{}"));
}

static void incidents_grade(const struct tune_env *env, const str *texts,
                            const struct tune_example *x, struct arena *a,
                            struct optimize_grade *out)
{
    const struct bench *b = env->app;
    struct seen seen = {.n = 0};
    struct prompt prompt;
    struct eval_options o = {.host = env->host,
                             .setup = b->setup,
                             .any = b->any,
                             .server = b->self,
                             .model = env->chosen_model, /* else each agent has its own */
                             .prompt = &prompt,
                             .session = env->session,
                             .cancel = env->cancel,
                             .on_step = tune_incidents_on_step,
                             .ctx = &seen};
    struct eval_result r;
    struct err e;

    if (!tune_prompt(&incidents_built_in, texts, a, &prompt, &e)) {
        out->trace = STR("{\"Feedback\":\"the texts are no prompt\"}");
        return;
    }
    buf_init(&seen.steps, OUT_MAX);
    eval_run(&o, x->data, INCIDENT_AS_CONFIGURED, a, &r);
    tune_incidents_judge(&r, &seen, a, out);
    if (str_eq(r.report.reason, STR("llm_error")))
        out->unasked = r.report.error;
    buf_release(&seen.steps);
}

/* The marks around text from outside; without them such text could give instructions. */
static const char names[] = "<data> </data>";

const struct tune_app tune_incidents = {.name = "incidents",
                                        .prompt = &incidents_built_in,
                                        .objectives = objectives,
                                        .names = names,
                                        .open = incidents_begin,
                                        .close = incidents_done,
                                        .load = incidents_load,
                                        .grade = incidents_grade};
