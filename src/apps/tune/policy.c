/* policy.c - the optimizer on policy verification: an example is a labelled case, an evaluation a
 * run of the model's controller on one of its criteria.
 *
 * A case has its labels beside it: "expect": [{"criterion_id", "status", "section", "doc"}], or
 * one such object for all criteria. Members without a label are not compared.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/docs.h"
#include "apps/policy/version.h"
#include "apps/tune/folder.h"
#include "apps/tune/judge.h"
#include "base/json_get.h"

#define OUT_MAX ((size_t)1 << 20)

struct tune_policy {
    struct config *config;
    struct policy_docs *docs;
};

/* One criterion of one case. */
struct labelled {
    struct policy_case c;
    str criterion;
    str status, section, doc;
};

static bool policy_open(const struct tune_env *env, struct arena *a, void **out, struct err *e)
{
    struct tune_policy *p = arena_zero(a, 1, sizeof *p);

    p->config = env->setup->config;
    if (p->config->policy.document_count == 0)
        return err_input(e, "the configuration has no policy.documents");
    *out = p;
    return policy_docs_load(p->config, &p->docs, e);
}

static void policy_close(void *app)
{
    struct tune_policy *p = app;

    policy_docs_release(p->docs);
}

/* ---- cases ---- */

/* NULL: this criterion has no labels. */
static const struct json_node *policy_labels_of(const struct json *doc, str criterion)
{
    const struct json_node *all = json_find(doc, json_root(doc), STR("expect"));

    if (!all)
        all = json_find(doc, json_root(doc), STR("expected"));
    if (!all || all->kind != JSON_ARRAY)
        return all && all->kind == JSON_OBJECT ? all : NULL;
    JSON_FOREACH(v, doc, all)
        if (json_is(doc, json_find(doc, v, STR("criterion_id")), criterion))
            return v;
    return NULL;
}

static bool policy_settle_status(struct labelled *x, struct err *e)
{
    enum policy_status s;

    if (x->status.n == 0)
        return true;
    if (!policy_status_find(x->status, &s))
        return err_input(e,
                         "expect.status: \"" STR_FMT "\" is no status: met, missing or uncertain",
                         STR_ARG(str_slice(x->status, 0, 40)));
    x->status = str_c(policy_status_name(s));
    return true;
}

static bool tune_policy_read_case(const struct tune_file *f, struct arena *a,
                                  struct tune_example *out, size_t *n, struct err *e)
{
    struct policy_case c;
    struct json doc;
    bool ok;

    json_init(&doc);
    ok = tune_has_room(a, e) && json_parse(&doc, f->text, e) && policy_case_read(f->text, a, &c, e);
    for (size_t i = 0; ok && i < c.criterion_count; i++) {
        struct labelled *x = arena_zero(a, 1, sizeof *x);
        const struct json_node *l = policy_labels_of(&doc, c.criteria[i]);

        *x = (struct labelled){.c = c,
                               .criterion = c.criteria[i],
                               .status = json_copy_text(&doc, l, "status", a),
                               .section = json_copy_text(&doc, l, "section", a),
                               .doc = json_copy_text(&doc, l, "doc", a)};
        ok = (l || err_input(e, "expect: a criterion has no labels")) &&
             policy_settle_status(x, e) &&
             (*n < TUNE_EXAMPLES_MAX || err_set(e, ERR_LIMIT, "too many"));
        if (ok)
            out[(*n)++] =
                (struct tune_example){.id = arena_printf(a, STR_FMT "#%zu", STR_ARG(f->name), i),
                                      .text = f->text,
                                      .data = x};
    }
    json_release(&doc);
    return ok || err_prefix(e, STR_FMT ": ", STR_ARG(f->name));
}

static bool policy_load(void *app, const char *folder, struct arena *a, struct tune_example **out,
                        size_t *n, struct err *e)
{
    struct tune_file *files;
    size_t count;

    (void)app;
    if (!tune_folder(folder, a, &files, &count, e))
        return false;
    *out = arena_zero(a, TUNE_EXAMPLES_MAX, sizeof **out);
    *n = 0;
    assert(count <= TUNE_EXAMPLES_MAX);
    for (size_t i = 0; i < count; i++)
        if (!tune_policy_read_case(&files[i], a, *out, n, e))
            return false;
    return true;
}

/* ---- grading ---- */

static str tune_policy_trace_of(const struct labelled *x, const struct policy_result *r,
                                const struct verdict_truth *truth, const struct verdict_run *run,
                                const struct verdict_score *m, struct arena *a)
{
    struct json_text t;
    struct buf words;

    buf_init(&words, OUT_MAX);
    json_text_begin(&t, OUT_MAX);
    json_member_object(&t.o, "Inputs");
    json_member_str(&t.o, "criterion", x->criterion);
    json_out_end(&t.o);
    json_out_key(&t.o, STR("Generated Outputs"));
    policy_result_json(r, &t.o);
    json_member_object(&t.o, "Feedback");
    for (enum verdict_kind i = 0; i < VERDICT_COUNT; i++) {
        buf_reset(&words);
        buf_printf(&words, "%.2f. ", m->score[i]);
        verdict_feedback(truth, run, i, &words);
        json_member_str(&t.o, verdict_names[i], buf_str(&words));
    }
    buf_release(&words);
    return json_text_end(&t, a, STR("{}"));
}

static void tune_policy_failed(struct optimize_grade *g, struct arena *a, const char *why)
{
    struct json_text t;

    json_text_begin(&t, OUT_MAX);
    json_member_str(&t.o, "Feedback", str_c(why));
    g->score = 0;
    g->objective_count = 0;
    g->trace = json_text_end(&t, a, STR("{}"));
}

static void tune_policy_unasked(const struct policy_result *r, struct arena *a,
                                struct optimize_grade *out)
{
    tune_policy_failed(out, a, "the model call failed");
    if (!str_eq(r->reason_code, STR("invalid_output")))
        out->unasked = r->rationale.n ? r->rationale : r->reason_code;
}

static void tune_policy_judge(const struct labelled *x, const struct policy_result *r,
                              struct arena *a, struct optimize_grade *out)
{
    str doc = x->doc.n ? x->doc : r->citation.doc; /* not labelled: not compared */
    struct verdict_truth truth = judge_truth(x->status, doc, x->section, a);
    struct verdict_run run = judge_run(r, a);
    struct verdict_score m;

    verdict_judge(&truth, &run, &m);
    assert(m.total >= 0 && m.total < 1.001);
    assert(out->objective_count == 0);
    out->score = m.total;
    out->objective_count = VERDICT_COUNT;
    for (uint32_t i = 0; i < VERDICT_COUNT; i++) {
        out->objective[i] = i;
        out->value[i] = m.score[i];
    }
    out->trace = tune_policy_trace_of(x, r, &truth, &run, &m, a);
}

static void policy_grade(const struct tune_env *env, const str *texts, const struct tune_example *e,
                         struct arena *a, struct optimize_grade *out)
{
    const struct tune_policy *p = env->app;
    const struct labelled *x = e->data;
    struct policy_react_info info;
    struct policy_result r;
    struct prompt prompt;
    struct policy_react_options o = {.docs = policy_docs_all(p->docs),
                                     .doc_count = policy_docs_count(p->docs),
                                     .c = &x->c,
                                     .criterion = x->criterion,
                                     .prompt = &prompt,
                                     .model = env->model,
                                     .search = p->config->policy.search,
                                     .tokens_max = p->config->policy.tokens_max,
                                     .time_max_ms = p->config->policy.time_max_ms,
                                     .run = env->run,
                                     .session = env->session,
                                     .input = STR(""),
                                     .ask = agent_ask_gateway(env->host->gl),
                                     .mask = env->setup->mask,
                                     .clock = env->host->clock,
                                     .cancel = env->cancel,
                                     .leave = env->host->leave};
    char today[POLICY_DAY_SIZE];
    struct err why;

    assert(x->criterion.n > 0 && x->c.criterion_count > 0);
    if (!policy_case_doc(
            &x->c, o.docs, o.doc_count, policy_today(env->host->clock, today), &o.doc, &why) ||
        !tune_prompt(&policy_built_in, texts, a, &prompt, &why) ||
        !policy_react(&o, a, &r, &info, &why))
        tune_policy_failed(out, a, why.text);
    else if (info.llm_failed)
        tune_policy_unasked(&r, a, out);
    else
        tune_policy_judge(x, &r, a, out);
}

/* Every run uses the system prompt; a tool's description is used if the run called the tool. */
static bool policy_uses(const struct tune_env *env, str component, str trace)
{
    bool model = env->setup->config->policy.search == CONFIG_SEARCH_MODEL;

    if (str_eq(component, STR("system_prompt")))
        return true;
    if (str_eq(component, STR("tree_search")))
        return model && str_find(trace, STR("pi_search")) != STR_NONE;
    return str_find(trace, component) != STR_NONE;
}

static const char *const objectives[] = {"citation", "coherence", "calibration", "status", NULL};
/* Names that callers read: statuses, tools, and the arguments of finish. */
static const char names[] =
    "met missing uncertain finish pi_search facts_get spans_tighten policy_section "
    "policy_pages confidence rationale";

const struct tune_app tune_policy = {.name = "policy",
                                     .prompt = &policy_built_in,
                                     .objectives = objectives,
                                     .floors = verdict_floors,
                                     .names = names,
                                     .open = policy_open,
                                     .close = policy_close,
                                     .load = policy_load,
                                     .grade = policy_grade,
                                     .uses = policy_uses};
