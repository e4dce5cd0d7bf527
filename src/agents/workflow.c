/* workflow.c - stages of agents: side by side or one after the other, each stage with what the one
 * before it has found.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agents/runner_state.h"

#include "agent/stage.h"
#include "agent/work.h"

struct stage_agent {
    struct agents_part part;
    struct arena arena;
    struct agent_result result;
    bool ok; /* the log did not fail */
    struct err err;
};

struct stage {
    const struct config_stage *config;
    struct stage_agent agents[CONFIG_STAGE_AGENTS_MAX];
};

static void stage_work(void *arg)
{
    struct stage_agent *x = arg;

    x->ok = agents_part_run(&x->part, &x->result, &x->err);
}

static void stage_begin(struct stage *s, struct agents_job *j, size_t index, str input)
{
    const struct config_agents *all = agents_job_config(j);

    for (size_t i = 0; i < s->config->agent_count; i++) {
        struct stage_agent *x = &s->agents[i];
        const struct config_agent *d = &all->agents[s->config->agents[i]];

        arena_init(&x->arena, AGENTS_ARENA);
        x->part = (struct agents_part){
            .job = j, .agent = d, .arena = &x->arena, .input = input, .messages = STR("")};
        x->part.run = arena_printf(&x->arena,
                                   STR_FMT "/%zu.%zu." STR_FMT,
                                   STR_ARG(j->q.run),
                                   index + 1,
                                   i + 1,
                                   STR_ARG(d->name));
    }
}

static bool stage_succeeded(const struct stage_agent *x)
{
    return x->result.end == AGENT_FINISHED && x->result.text.n + x->result.finish.n > 0;
}

/* What the stage has found. */
static void stage_text(const struct stage *s, struct arena *a, struct agent_result *out)
{
    struct agent_finding found[CONFIG_STAGE_AGENTS_MAX];
    size_t n = s->config->agent_count;

    for (size_t i = 0; i < n; i++) {
        const struct stage_agent *x = &s->agents[i];

        found[i] = (struct agent_finding){x->part.agent->name,
                                          x->result.finish.n ? x->result.finish : x->result.text,
                                          stage_succeeded(x)};
    }
    out->text = agent_stage_join(found, n, a);
    out->finish = n == 1 ? arena_dup(a, s->agents[0].result.finish) : STR("");
}

/* False: the log failed. */
static bool stage_judge(const struct stage *s, struct arena *a, struct agent_result *out,
                        struct err *e)
{
    const struct stage_agent *failed = NULL;
    size_t n = s->config->agent_count, ok = 0;

    out->end = AGENT_FINISHED;
    for (size_t i = 0; i < n; i++) {
        const struct stage_agent *x = &s->agents[i];

        if (!x->ok) {
            *e = x->err;
            return false;
        }
        agent_stage_add_usage(out, &x->result);
        ok += stage_succeeded(x);
        if (!stage_succeeded(x) && (!failed || x->result.end == AGENT_WAITING))
            failed = x;
    }
    stage_text(s, a, out);
    if (!failed || (ok && !s->config->all && failed->result.end != AGENT_WAITING &&
                    failed->result.end != AGENT_CANCELLED))
        return true;
    out->end = failed->result.end == AGENT_FINISHED ? AGENT_FAILED : failed->result.end;
    out->reason = failed->result.reason.n ? arena_dup(a, failed->result.reason) : STR("no_answer");
    out->detail = arena_printf(
        a, STR_FMT ": " STR_FMT, STR_ARG(failed->part.agent->name), STR_ARG(failed->result.detail));
    return true;
}

static bool agents_workflow_stage_run(struct agents_job *j, const struct config_workflow *w,
                                      size_t index, struct arena *a, struct agent_result *out,
                                      struct err *e)
{
    struct stage *s = base_alloc(sizeof *s);
    str input = j->q.input;
    bool ok;

    memset(s, 0, sizeof *s);
    s->config = &w->stages[index];
    if (index)
        input = arena_printf(a,
                             STR_FMT "\n\n<findings>\n" STR_FMT "\n</findings>",
                             STR_ARG(j->q.input),
                             STR_ARG(out->text));
    stage_begin(s, j, index, input);
    agent_stage_work(&(struct agent_stage){
        s->agents, sizeof s->agents[0], s->config->agent_count, s->config->parallel, stage_work});
    ok = stage_judge(s, a, out, e);
    for (size_t i = 0; i < s->config->agent_count; i++)
        arena_release(&s->agents[i].arena);
    free(s);
    return ok;
}

bool agents_workflow_run(struct agents_job *j, const struct config_workflow *w, struct arena *a,
                         struct agent_result *out, struct err *e)
{
    struct agent_options o = agents_job_options(j, j->q.run, true);
    struct agent_work *work;
    struct err ignored;
    bool ok = true;

    if (!agent_work_begin(&o, a, out, &work, e))
        return false;
    out->end = AGENT_FINISHED;
    for (size_t i = 0; ok && out->end == AGENT_FINISHED && i < w->stage_count; i++)
        ok = agents_workflow_stage_run(j, w, i, a, out, e);
    ok = ok && (out->end != AGENT_FINISHED || agents_memory_add(j, j->q.input, out->text, a, e));
    if (ok)
        return agent_work_end(work, STR(""), e);
    out->end = AGENT_CANCELLED;
    out->reason = STR("left"); /* the row stays as it is: the run can be resumed */
    (void)!agent_work_end(work, STR(""), &ignored);
    return false;
}
