/* react.c - see react.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/extract.h"
#include "apps/policy/metrics.h"
#include "apps/policy/react_state.h"
#include "base/json_get.h"

#define ARENA_MAX ((size_t)256 << 20)
#define USER_MAX ((size_t)4 << 20)
#define BAD_STEPS 3      /* so many failed calls at the end of a run are no work */
#define FIELDS_NAMED 200 /* the model finds the rest by searching the list of facts_get */

static const char insist[] =
    "That was no call. If you have decided, call finish with status, rationale, confidence, "
    "policy_section and policy_pages; if not, call the tool you need.";

/* ---- the request ---- */

bool react_ask(struct react *r, const struct ask_request *q, const _Atomic bool *cancel,
               struct arena *a, struct ask_reply *reply)
{
    uint64_t began = clock_mono_ns(r->o->clock);
    bool ok = r->o->ask.ask(r->o->ask.ctx, q, cancel, a, reply);

    if (ok)
        agent_extract_reply(reply, a);
    pthread_mutex_lock(&r->lock);
    r->model_ns += clock_mono_ns(r->o->clock) - began;
    pthread_mutex_unlock(&r->lock);
    return ok;
}

/* The tokens of searches by a model count for the run: the next call reports them. */
static bool policy_ask_counted(void *ctx, const struct ask_request *q, const _Atomic bool *cancel,
                               struct arena *a, struct ask_reply *reply)
{
    struct react *r = ctx;
    bool ok = react_ask(r, q, cancel, a, reply);

    pthread_mutex_lock(&r->lock);
    if (ok) {
        reply->usage.input += reply->usage.input >= 0 ? r->search_tokens : 1 + r->search_tokens;
        r->search_tokens = 0;
    }
    pthread_mutex_unlock(&r->lock);
    return ok;
}

str react_title(const struct react *r, struct arena *a)
{
    const struct policy_case *c = r->o->c;

    if (!c->policy_id.n || !c->case_id.n)
        return c->policy_id.n ? c->policy_id : c->case_id;
    return arena_join(a, c->policy_id, STR(" \xC2\xB7 "), c->case_id);
}

static void policy_add_line(struct buf *out, const char *what, str value)
{
    if (value.n)
        buf_printf(out, "%s: " STR_FMT "\n", what, STR_ARG(value));
}

/* The same for the same case: no time, no chance, nothing of this process. */
static void policy_user_write(const struct policy_react_options *o, struct buf *out)
{
    const struct policy_tree *t = o->doc ? &o->doc->tree : NULL;

    policy_add_line(out, "Criterion", o->criterion);
    policy_add_line(out, "Case", o->c->case_id);
    policy_add_line(out, "Policy", o->c->policy_id);
    if (t) {
        policy_add_line(out, "Policy document", t->title.n ? t->title : t->doc_name);
        policy_add_line(out, "Version", policy_doc_version(o->doc));
    }
    policy_add_line(out, "Effective from", o->c->effective_start);
    policy_add_line(out, "Effective until", o->c->effective_end);
    policy_add_line(out, "Section named by the case", o->c->section_path);
    policy_add_line(out, "Hint", o->c->reasoning_hint);
    buf_add(out, STR("Facts of the case (names): "));
    for (size_t i = 0; i < o->c->field_count && i < FIELDS_NAMED; i++)
        buf_printf(out, "%s" STR_FMT, i ? ", " : "", STR_ARG(o->c->fields[i].name));
    if (o->c->field_count > FIELDS_NAMED)
        buf_printf(out, ", and %zu more", o->c->field_count - FIELDS_NAMED);
    buf_add(out, o->c->field_count ? STR("\n") : STR("none\n"));
    buf_add(out, STR("\nIs the criterion met by this case?"));
}

/* ---- the result ---- */

static void policy_react_on_step(void *ctx, const struct agent_step *s)
{
    struct react *r = ctx;

    if (r->o->metrics && s->tool.n)
        policy_metrics_tool(r->o->metrics, react_tool_place(s->tool), s->ok);
}

static void policy_react_on_effect(void *ctx, const struct agent_effect *f)
{
    struct react *r = ctx;

    if (r->o->on_effect)
        r->o->on_effect(r->o->ctx, f);
}

/* The last proposal, if it was not taken: the code at the front of its refusal, and its words. */
static str policy_react_find_refusal(const struct agent_result *run, struct arena *a, str *words)
{
    static const char *const codes[] = {"citation_unknown_section",
                                        "citation_not_retrieved",
                                        "evidence_unknown",
                                        "invalid_confidence",
                                        "missing_policy_document_id"};
    const struct agent_step *last = NULL;
    str code = STR(""), why;

    for (size_t i = 0; i < run->step_count; i++)
        if (str_eq(run->steps[i].tool, STR("finish")))
            last = &run->steps[i];
    if (!last || last->ok)
        return code;
    *words = json_copy_member(last->observation, "error", a);
    why = words->n ? *words : last->observation;
    for (size_t k = 0; k < COUNT_OF(codes); k++)
        if (str_find(why, str_c(codes[k])) != STR_NONE && !code.n)
            code = str_c(codes[k]);
    return code;
}

/* Each step, with what the model thought before it as a step of its own. */
static void policy_react_trace_of(const struct agent_result *run, struct arena *a,
                                  struct policy_result *out)
{
    for (size_t i = 0; i < run->step_count; i++) {
        str thought = str_trim(run->steps[i].thought);

        if (thought.n > 0)
            policy_result_step(out, a, STR("think"), thought);
        policy_result_step(out, a, run->steps[i].action, run->steps[i].observation);
    }
}

/* Whether the model ended with unreadable calls: its last steps all failed, or its text is JSON in
 * place of a call. */
static bool policy_react_unreadable(const struct agent_result *run)
{
    str text = str_trim(run->text);
    size_t bad = 0;

    if (run->end == AGENT_FINISHED)
        return text.n > 0 && memchr("{[`", text.p[0], 3);
    while (bad < run->step_count && !run->steps[run->step_count - 1 - bad].ok)
        bad++;
    assert(bad <= run->step_count);
    return run->end == AGENT_STOPPED && bad >= BAD_STEPS;
}

/* No decision: the code has the reason, the text is the model's last one. */
static void policy_react_leave_undecided(const struct agent_result *run, str code, str words,
                                         struct arena *a, struct policy_result *out)
{
    out->status = POLICY_UNCERTAIN;
    out->reason_code = code;
    out->rationale =
        words.n         ? words
        : run->detail.n ? arena_dup(a, run->detail)
        : run->text.n
            ? arena_dup(a, run->text)
            : arena_printf(a, "the run ended without a decision: " STR_FMT, STR_ARG(code));
    policy_confide(out, 0, 0);
}

static bool policy_react_settle(struct react *r, const struct agent_result *run, struct arena *a,
                                struct policy_result *out, struct policy_react_info *info,
                                struct err *e)
{
    struct react_proposal p;
    str code, words = STR("");

    if (run->finish.n) {
        if (!react_check(r, run->finish, a, &p, e))
            return err_prefix(e, "a proposal that was taken: ");
        react_conclude(r, &p, a, out);
        return true;
    }
    assert(out->status == POLICY_UNCERTAIN);
    code = policy_react_find_refusal(run, a, &words);
    if (run->end == AGENT_FAILED) {
        info->llm_failed = true;
        code = run->reason;
        words = STR("");
    } else if (!code.n && policy_react_unreadable(run)) {
        info->llm_failed = true;
        code = STR("invalid_output");
        words = STR("the model made no call that can be read");
    } else if (!code.n) {
        code = run->end == AGENT_FINISHED                  ? STR("agent_uncertain")
               : run->end == AGENT_CANCELLED               ? STR("cancelled")
               : str_eq(run->reason, STR("loop_detected")) ? STR("max_iterations_reached")
                                                           : run->reason;
    }
    policy_react_leave_undecided(run, code, words, a, out);
    return true;
}

static void policy_result_init(const struct policy_react_options *o, struct policy_result *out)
{
    *out = (struct policy_result){.criterion_id = o->criterion,
                                  .status = POLICY_UNCERTAIN,
                                  .rationale = STR(""),
                                  .retrieval_method = STR("bm25+reranker"),
                                  .reason_code = STR("")};
    assert(o->criterion.n > 0);
    out->citation = (struct policy_citation){
        .doc = o->doc ? policy_doc_cited(o->doc, o->c->policy_document_id) : STR(""),
        .version = o->doc ? policy_doc_version(o->doc) : STR(""),
        .section = STR("")};
    out->evidence.doc_id = out->evidence.text_excerpt = STR("");
}

static bool policy_run_it(struct react *r, struct arena *a, struct agent_result *run, struct err *e)
{
    const struct policy_react_options *o = r->o;
    struct agent_options ao = {
        .run = o->run,
        .app = STR("policy"),
        .session = o->session,
        .title = react_title(r, &r->arena),
        .key = o->key,
        .input = o->input,
        .model_name = o->model,
        .level = STR(""),
        .system = prompt_text(o->prompt, &policy_built_in, "system_prompt", &r->arena),
        .messages = STR(""),
        .extra = STR(""),
        .tools = r->box,
        .ask = {policy_ask_counted, r},
        .limits = {.iterations = POLICY_ITERATIONS_MAX,
                   .tokens = o->tokens_max,
                   .tokens_hard = true,
                   .time_ms = o->time_max_ms},
        .insist = insist,
        .say_success = true,
        .part = true,
        .keep_reasoning = true,
        .log = o->log,
        .mask = o->mask,
        .store = o->store,
        .clock = o->clock,
        .cancel = o->cancel,
        .leave = o->leave,
        .on_step = policy_react_on_step,
        .on_effect = policy_react_on_effect,
        .ctx = r};
    struct buf user;
    bool ok;

    buf_init(&user, USER_MAX);
    policy_user_write(o, &user);
    ao.user = buf_str(&user);
    ok = buf_ok(&user, "what is asked", e) && agent_run(&ao, a, run, e);
    buf_release(&user);
    return ok;
}

/* The log does not match this run: a prompt, a document or the program changed. */
static bool policy_another_way(const struct err *e)
{
    return e->code == ERR_INPUT && strstr(e->text, "replay_mismatch");
}

static bool policy_react_verify(struct react *r, struct arena *a, struct policy_result *out,
                                struct policy_react_info *info, struct err *e)
{
    struct agent_result run;

    assert(r->box && r->seen && r->fact_count == 0);
    if (!react_tools(r, e) || !react_prime(r, e))
        return false;
    if (!policy_run_it(r, a, &run, e)) {
        if (!policy_another_way(e))
            return false;
        run = (struct agent_result){.detail = arena_dup(a, str_c(e->text)), .text = STR("")};
        policy_react_leave_undecided(&run, STR("agent_error"), STR(""), a, out);
        return true;
    }
    info->left = str_eq(run.reason, STR("left"));
    info->iterations = run.iterations;
    info->model_ns = r->model_ns;
    policy_react_trace_of(&run, a, out);
    return policy_react_settle(r, &run, a, out, info, e);
}

bool policy_react(const struct policy_react_options *o, struct arena *a, struct policy_result *out,
                  struct policy_react_info *info, struct err *e)
{
    struct react r = {.o = o};
    bool ok;

    *info = (struct policy_react_info){0};
    policy_result_init(o, out);
    if (!o->doc) {
        policy_react_leave_undecided(
            &(struct agent_result){.detail = STR("the case names no policy document that is "
                                                 "known here"),
                                   .text = STR("")},
            STR("missing_policy_document_id"),
            STR(""),
            a,
            out);
        return true;
    }
    arena_init(&r.arena, ARENA_MAX);
    pthread_mutex_init(&r.lock, NULL);
    r.seen = arena_zero(&r.arena, o->doc->tree.node_count + 1, sizeof *r.seen);
    r.box = toolbox_new(o->clock);
    ok = policy_react_verify(&r, a, out, info, e);
    toolbox_free(r.box);
    pthread_mutex_destroy(&r.lock);
    arena_release(&r.arena);
    return ok;
}
