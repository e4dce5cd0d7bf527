/* part.c - one agent at work.
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
    if (j->setup->mask && mask_json(j->setup->mask, json, &out, NULL) && !buf_full(&out))
        json = buf_str(&out);
    json = arena_dup(a, json);
    buf_release(&out);
    return json;
}

/* Whoever waits for the run looks at its log again. */
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
        .clock = h->clock,
        .cancel = &j->stop,
        .leave = &j->runner->leaving,
        .on_effect = part_on_effect,
        .ctx = j,
    };
}

/* ---- the result ---- */

/* What agent_options.ctx is while the part runs: the job's on_effect needs its job first. */
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
    struct agents_verdict v;
    str text = out->finish.n ? out->finish : out->text;

    if (p->agent->guard_output.kind == CONFIG_GUARD_NONE)
        return true;
    if (out->end != AGENT_FINISHED) { /* a run that has no answer has nothing to allow */
        out->text = out->end == AGENT_WAITING ? out->text : STR("");
        return true;
    }
    if (!agents_guard_ask(p, &p->agent->guard_output, "output", text, &v, e))
        return false;
    if (v.waiting) {
        out->end = AGENT_WAITING;
        out->reason = STR("guard_waits");
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

    if (!agent_work_begin(&o, p->arena, out, &w, e))
        return false;
    out->end = end;
    out->reason = str_c(reason);
    out->detail = detail;
    return agent_work_end(w, STR(""), e);
}

/* ---- the run ---- */

static bool part_loop(struct agents_part *p, struct agent_result *out, struct err *e)
{
    const struct config_agent *d = p->agent;
    struct agent_options o = agents_job_options(p->job, p->run, p->root);
    struct part_run run = {p->job, p};

    o.model_name = p->model;
    o.level = p->level;
    o.system = p->system;
    o.messages = p->messages;
    o.user = p->input;
    o.tools = p->tools->box;
    o.results = p->tools->results;
    o.output = d->output;
    o.limits = (struct agent_limits){.iterations = d->limits.steps,
                                     .tokens = d->limits.tokens ? d->limits.tokens : -1,
                                     .tokens_hard = true,
                                     .cost_usd = d->limits.usd,
                                     .time_ms = d->limits.time_ms};
    p->tools->view.ask = o.ask;
    o.ask = agent_view_ask(&p->tools->view);
    o.settle = part_settle;
    o.on_effect = part_run_on_effect;
    o.ctx = &run;
    return agent_run(&o, p->arena, out, e);
}

static bool part_guarded(struct agents_part *p, struct agent_result *out, struct err *e)
{
    struct agents_verdict v = {.allow = true};

    if (p->agent->guard_input.kind != CONFIG_GUARD_NONE &&
        !agents_guard_ask(p, &p->agent->guard_input, "input", p->input, &v, e))
        return false;
    if (v.waiting)
        return agents_part_end(p, out, AGENT_WAITING, "guard_waits", STR("the guard waits"), e);
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

bool agents_part_run(struct agents_part *p, struct agent_result *out, struct err *e)
{
    struct err why;
    bool ok;

    if (!agents_given_load(p, &why) ||
        (p->root && !agents_request_add_tools(p->job->q.tools, p->tools->box, &why)) ||
        !agents_handoff_add_tools(p, &why)) {
        agents_close_tools(p->tools);
        p->tools = NULL;
        if (why.code == ERR_SYSTEM) {
            *e = why;
            return false;
        }
        return agents_part_end(
            p, out, AGENT_FAILED, "tools_error", arena_dup(p->arena, str_c(why.text)), e);
    }
    ok = part_guarded(p, out, e);
    agents_close_tools(p->tools);
    p->tools = NULL;
    return ok;
}
