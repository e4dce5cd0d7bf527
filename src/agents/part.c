/* part.c - runs one agent.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agents/runner_state.h"

#include "agent/work.h"

const struct config_agents *agents_job_config(const struct agents_job *j)
{
    return j->setup->config->agents;
}

str agents_job_masked(const struct agents_job *j, str json, struct arena *a)
{
    struct buf out;

    buf_init(&out, 4 * json.n + 65536);
    if (j->setup->mask && mask_json(j->setup->mask, json, &out, NULL))
        json = buf_full(&out) ? STR("\"" MASK_LEFT_OUT "\"") : buf_str(&out);
    json = arena_dup(a, json);
    buf_release(&out);
    return json;
}

/* Wakes the threads that wait for the run; they read its log again. */
static void part_on_effect(void *ctx, const struct agent_effect *f)
{
    struct agents_job *j = ctx;

    (void)f;
    pthread_mutex_lock(&j->runner->lock);
    j->version++;
    pthread_cond_broadcast(&j->runner->changed);
    pthread_mutex_unlock(&j->runner->lock);
}

struct agent_options agents_job_options(struct agents_job *j, str run, bool root)
{
    const struct agents_host *h = &j->runner->host;

    assert(run.n && j->session.n);
    return (struct agent_options){
        .run = run,
        .app = root ? STR(AGENTS_APP) : STR(AGENTS_PART),
        .session = j->session,
        .title = STR(""),
        .key = j->q.key,
        .defined = true,
        .input = root ? j->input : STR("{}"),
        .model_name = STR(""),
        .level = STR(""),
        .system = STR(""),
        .user = STR(""),
        .messages = STR(""),
        .extra = STR(AGENTS_EXTRA),
        .output = STR(""),
        .ask = agent_ask_gateway(h->gl),
        .limits = {.tokens = -1},
        .part = !root,
        .keep_reasoning = j->setup->config->keep == CONFIG_KEEP_TEXT,
        .log = h->log,
        .mask = j->setup->mask,
        .store = h->gateway->store,
        .hub = h->gateway->hub,
        .clock = h->clock,
        .cancel = &j->stop,
        .leave = &j->left,
        .on_effect = part_on_effect,
        .ctx = j,
    };
}

/* ---- limits ---- */

static bool limits_reached(struct agent_result *out, const char *reason, str detail)
{
    out->end = AGENT_STOPPED;
    assert(reason[0]);
    out->reason = str_c(reason);
    out->detail = detail;
    return false;
}

bool agents_limits_left(const struct agents_part *p, const struct agent_result *used,
                        struct agent_limits *left, struct agent_result *out)
{
    const struct agent_limits *l = &p->limits;
    int64_t tokens = used->input_tokens + used->output_tokens;

    *left = *l;
    if (used->iterations >= l->iterations)
        return limits_reached(out,
                              "max_iterations_reached",
                              arena_printf(p->arena,
                                           "there was no answer after %u turn%s",
                                           l->iterations,
                                           l->iterations == 1 ? "" : "s"));
    left->iterations = l->iterations - used->iterations;
    if (l->tokens > 0 && tokens >= l->tokens)
        return limits_reached(out,
                              "token_budget_exceeded",
                              arena_printf(p->arena,
                                           "%lld of %lld tokens were used",
                                           (long long)tokens,
                                           (long long)l->tokens));
    if (l->tokens > 0)
        left->tokens = l->tokens - tokens;
    if (l->cost_usd > 0 && used->cost_usd >= l->cost_usd)
        return limits_reached(
            out,
            "cost_limit_exceeded",
            arena_printf(p->arena, "%.4f of %.4f dollars were used", used->cost_usd, l->cost_usd));
    if (l->cost_usd > 0)
        left->cost_usd = l->cost_usd - used->cost_usd;
    if (l->time_ms)
        left->time_ms = (int64_t)l->time_ms > used->spent_ms
                            ? (uint64_t)((int64_t)l->time_ms - used->spent_ms)
                            : 1;
    return true;
}

/* ---- the result ---- */

/* Why a cancelled run ended. If only the process ends, the run is not over. */
static const char *part_cancel_reason(const struct agents_part *p)
{
    return atomic_load(&p->job->left) ? "left" : "cancelled";
}

/* agent_options.ctx while the part runs; on_effect needs the job as the first member. */
struct part_run {
    struct agents_job *job;
    struct agents_part *part;
};

static void part_run_on_effect(void *ctx, const struct agent_effect *f)
{
    part_on_effect(((struct part_run *)ctx)->job, f);
}

static bool part_check_output(struct agents_part *p, struct arena *a, struct agent_result *out,
                              struct err *e)
{
    struct agents_question q = {.guard = &p->guard_output,
                                .what = "output",
                                .text = out->finish.n ? out->finish : out->text};
    struct agents_verdict v;

    assert(p->tools);
    if (p->guard_output.kind == CONFIG_GUARD_NONE)
        return true;
    if (out->end != AGENT_FINISHED) { /* no answer to check */
        out->text = out->end == AGENT_WAITING ? out->text : STR("");
        return true;
    }
    if (!agents_limits_left(p, out, &q.left, out)) {
        out->text = out->finish = STR(""); /* the guard did not allow it */
        return true;
    }
    if (!agents_guard_ask(p, &q, &v, e))
        return false;
    agent_result_add_usage(out, &v.used);
    if (v.waiting) {
        out->end = AGENT_WAITING;
        out->reason = STR("guard_waits");
    } else if (v.cancelled) {
        out->end = AGENT_CANCELLED;
        out->reason = str_c(part_cancel_reason(p));
        out->text = out->finish = STR(""); /* the guard did not allow it */
    } else if (!v.allow) {
        out->end = AGENT_STOPPED;
        out->reason = STR("guard_denied");
        out->detail = arena_printf(a, "the output was denied: " STR_FMT, STR_ARG(v.reason));
        out->text = out->finish = STR("");
    }
    return true;
}

static bool part_settle(void *ctx, struct arena *a, struct agent_result *out, struct err *e)
{
    struct agents_part *p = ((struct part_run *)ctx)->part;

    if (!agents_handoff_follow(p, out, e) || !part_check_output(p, a, out, e))
        return false;
    if (!p->root || out->end != AGENT_FINISHED)
        return true;
    return agents_memory_add(p->job, p->input, out->text, a, e);
}

bool agents_part_end(struct agents_part *p, struct agent_result *out, enum agent_end end,
                     const char *reason, str detail, struct err *e)
{
    struct agent_options o = agents_job_options(p->job, p->run, p->root);
    struct agent_work *w;

    assert(reason[0] && end != AGENT_FINISHED);
    o.before = &p->before;
    if (!agent_work_begin(&o, p->arena, out, &w, e))
        return false;
    out->end = end;
    out->reason = str_c(reason);
    out->detail = detail;
    return agent_work_end(w, STR(""), e);
}

void agents_parts_cancel(struct agents_runner *r, str run, str session)
{
    struct agent_rows parts = {NULL, 0};
    struct arena a;
    struct err e;
    bool ok = true;

    if (!r->host.log)
        return;
    arena_init(&a, AGENTS_ARENA);
    ok = agent_log_parts(r->host.log, run, session, &a, &parts, &e);
    for (size_t i = 0; ok && i < parts.n; i++) {
        struct agent_row *p = &parts.at[i];

        if (!str_eq(p->status, STR("running")) && !str_eq(p->status, STR("waiting")))
            continue;
        p->from = p->status;
        p->status = p->reason = STR("cancelled");
        p->updated_us = clock_wall_ms(r->host.clock) * 1000;
        ok = agent_log_run_put(r->host.log, p, &e);
    }
    if (!ok)
        log_warn("a part of a cancelled run is left unfinished", LOG_STR("run", run), LOG_ERR(&e));
    arena_release(&a);
}

/* ---- the run ---- */

static bool part_loop(struct agents_part *p, struct agent_result *out, struct err *e)
{
    const struct config_agent *d = p->agent;
    struct agent_options o = agents_job_options(p->job, p->run, p->root);
    struct part_run run = {p->job, p};

    assert(p->tools && d);
    o.model_name = p->model;
    o.level = p->level;
    o.system = p->system;
    o.messages = p->messages;
    o.user = p->input;
    if (p->root && p->job->q.content.n) {
        o.messages = arena_printf(p->arena,
                                  STR_FMT "%s{\"role\":\"user\",\"content\":" STR_FMT "}",
                                  STR_ARG(p->messages),
                                  p->messages.n ? "," : "",
                                  STR_ARG(p->job->q.content));
        o.user = STR("");
    }
    o.agent = d->name;
    o.stage = p->stage;
    o.tools = p->tools->box;
    o.results = p->tools->results;
    o.output = d->output;
    o.limits = p->limits;
    o.limits.tokens_hard = true;
    o.before = &p->before;
    p->tools->view.ask = o.ask;
    o.ask = agent_view_ask(&p->tools->view);
    o.settle = part_settle;
    o.on_effect = part_run_on_effect;
    o.ctx = &run;
    return agent_run(&o, p->arena, out, e);
}

static bool part_guarded(struct agents_part *p, struct agent_result *out, struct err *e)
{
    struct agents_question q = {
        .guard = &p->guard_input, .what = "input", .text = p->input, .left = p->limits};
    struct agents_verdict v = {.allow = true};

    assert(p->tools);
    if (p->guard_input.kind != CONFIG_GUARD_NONE && !agents_guard_ask(p, &q, &v, e))
        return false;
    p->before = v.used;
    if (v.waiting)
        return agents_part_end(p, out, AGENT_WAITING, "guard_waits", STR("the guard waits"), e);
    if (v.cancelled)
        return agents_part_end(
            p, out, AGENT_CANCELLED, part_cancel_reason(p), STR("the run was cancelled"), e);
    if (!v.allow)
        return agents_part_end(
            p,
            out,
            AGENT_STOPPED,
            "guard_denied",
            arena_printf(p->arena, "the input was denied: " STR_FMT, STR_ARG(v.reason)),
            e);
    return part_loop(p, out, e);
}

/* Ends the run before its loop: its tools are not available, or it was cancelled while they were
 * listed. */
static bool part_end_without_tools(struct agents_part *p, const struct err *why,
                                   struct agent_result *out, struct err *e)
{
    bool cancelled = why->code == ERR_CANCELLED && atomic_load(&p->job->stop);

    assert(!p->tools);
    return agents_part_end(p,
                           out,
                           cancelled ? AGENT_CANCELLED : AGENT_FAILED,
                           cancelled ? part_cancel_reason(p) : "tools_error",
                           arena_dup(p->arena, str_c(why->text)),
                           e);
}

bool agents_part_run(struct agents_part *p, struct agent_result *out, struct err *e)
{
    struct err why;
    bool ok;

    assert(p->agent && !p->tools);
    if (!agents_saved_load(p, &why) ||
        (p->root && !agents_request_add_tools(p->job->q.tools, p->tools->box, &why)) ||
        !agents_handoff_add_tools(p, &why)) {
        agents_close_tools(p->tools);
        p->tools = NULL;
        if (why.code == ERR_SYSTEM) {
            *e = why;
            return false;
        }
        return part_end_without_tools(p, &why, out, e);
    }
    ok = part_guarded(p, out, e);
    agents_close_tools(p->tools);
    p->tools = NULL;
    return ok;
}
