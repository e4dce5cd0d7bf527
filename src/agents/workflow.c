/* workflow.c - runs stages of agents, in parallel or one after the other; each stage gets the
 * results of the previous one.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agents/runner_state.h"

#include "agent/stage.h"
#include "agent/work.h"
#include "base/json_get.h"

struct stage_agent {
    struct agents_part part;
    struct arena arena;
    struct agent_result result;
    bool ok; /* false if the log failed */
    struct err err;
};

/* A stage as it was configured when the run began. */
struct stage_plan {
    str agents[CONFIG_STAGE_AGENTS_MAX];
    size_t agent_count;
    bool parallel, all;
};

struct workflow_plan {
    struct stage_plan *stages;
    size_t stage_count;
};

struct stage {
    const struct stage_plan *config;
    struct stage_agent agents[CONFIG_STAGE_AGENTS_MAX];
};

static void stage_work(void *arg)
{
    struct stage_agent *x = arg;

    x->ok = x->part.agent
                ? agents_part_run(&x->part, &x->result, &x->err)
                : agents_part_end(&x->part,
                                  &x->result,
                                  AGENT_FAILED,
                                  "agent_not_found",
                                  STR("the configuration does not have the agent any more"),
                                  &x->err);
}

static void stage_begin(struct stage *s, struct agents_job *j, size_t index, str input)
{
    assert(s->config->agent_count <= CONFIG_STAGE_AGENTS_MAX);
    for (size_t i = 0; i < s->config->agent_count; i++) {
        struct stage_agent *x = &s->agents[i];
        str name = s->config->agents[i];

        arena_init(&x->arena, AGENTS_ARENA);
        x->part = (struct agents_part){.job = j,
                                       .agent = agents_find(j->setup->config, name),
                                       .arena = &x->arena,
                                       .input = input,
                                       .messages = STR(""),
                                       .limits = agents_limits_none};
        x->part.stage = arena_printf(&x->arena, "%zu", index + 1);
        x->part.run = arena_printf(&x->arena,
                                   STR_FMT "/%zu.%zu." STR_FMT,
                                   STR_ARG(j->q.run),
                                   index + 1,
                                   i + 1,
                                   STR_ARG(name));
    }
}

static bool stage_judge(const struct stage *s, struct arena *a, struct agent_result *out,
                        struct err *e)
{
    struct agent_finding found[CONFIG_STAGE_AGENTS_MAX];
    size_t n = s->config->agent_count;

    assert(n <= COUNT_OF(found));
    for (size_t i = 0; i < n; i++) {
        const struct stage_agent *x = &s->agents[i];
        bool ok = x->result.end == AGENT_FINISHED && x->result.text.n + x->result.finish.n > 0;

        found[i] =
            (struct agent_finding){s->config->agents[i], &x->result, ok, x->ok ? NULL : &x->err};
    }
    return agent_stage_judge(found, n, s->config->all, a, out, e);
}

/* ---- the plan; a reload does not change it ---- */

static void workflow_write_plan(const struct agents_job *j, const struct config_workflow *w,
                                struct buf *out)
{
    const struct config_agents *all = agents_job_config(j);
    struct json_out o;

    json_out_init_object(&o, out);
    json_member_array(&o, "stages");
    for (size_t i = 0; i < w->stage_count; i++) {
        const struct config_stage *s = &w->stages[i];

        json_out_object(&o);
        json_member_bool(&o, "parallel", s->parallel);
        json_member_bool(&o, "all", s->all);
        json_member_array(&o, "agents");
        assert(s->agent_count && s->agent_count <= CONFIG_STAGE_AGENTS_MAX);
        for (size_t k = 0; k < s->agent_count; k++)
            json_out_str(&o, all->agents[s->agents[k]].name);
        json_out_close(&o, 2);
    }
    json_out_close(&o, 2);
}

static bool workflow_read_plan(str note, struct arena *a, struct workflow_plan *out, struct err *e)
{
    const struct json_node *list;
    struct json doc;
    bool ok;

    ok = json_open(&doc, note, e);
    list = ok ? json_find(&doc, json_root(&doc), STR("stages")) : NULL;
    *out = (struct workflow_plan){.stages = NULL};
    out->stages = arena_zero(a, json_count(&doc, list) + 1, sizeof *out->stages);
    JSON_FOREACH(v, &doc, list) {
        struct stage_plan *s = &out->stages[out->stage_count++];
        const struct json_node *names = json_find(&doc, v, STR("agents"));
        str name;

        s->parallel = json_get_true(&doc, v, "parallel");
        s->all = json_get_true(&doc, v, "all");
        JSON_FOREACH(n, &doc, names)
            if (s->agent_count < CONFIG_STAGE_AGENTS_MAX && json_text(&doc, n, a, &name))
                s->agents[s->agent_count++] = arena_dup(a, name);
    }
    json_release(&doc);
    return ok;
}

static bool workflow_load_plan(struct agents_job *j, const struct config_workflow *w,
                               struct arena *a, struct workflow_plan *out, struct err *e)
{
    struct buf fresh;
    str note;
    bool ok;

    buf_init(&fresh, AGENTS_TEXT_MAX);
    if (w)
        workflow_write_plan(j, w, &fresh);
    ok = agent_run_note(j->runner->host.log, j->q.run, buf_str(&fresh), a, &note, e);
    if (ok && !note.n)
        ok = err_set(e,
                     ERR_NOT_FOUND,
                     "the configuration does not have the workflow \"" STR_FMT "\" any more",
                     STR_ARG(str_slice(j->q.name, 0, 80)));
    ok = ok && workflow_read_plan(note, a, out, e);
    buf_release(&fresh);
    return ok;
}

static bool agents_workflow_stage_run(struct agents_job *j, const struct workflow_plan *w,
                                      size_t index, struct arena *a, struct agent_result *out,
                                      struct err *e)
{
    struct stage *s = base_alloc(sizeof *s);
    str input = j->q.input;
    bool ok;

    assert(index < w->stage_count);
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
    struct workflow_plan plan;
    struct agent_work *work;
    struct err ignored;
    bool ok = true;

    assert(j->q.workflow);
    if (!workflow_load_plan(j, w, a, &plan, e) || !agent_work_begin(&o, a, out, &work, e))
        return false;
    out->end = AGENT_FINISHED;
    for (size_t i = 0; ok && out->end == AGENT_FINISHED && i < plan.stage_count; i++)
        ok = agents_workflow_stage_run(j, &plan, i, a, out, e);
    ok = ok && (out->end != AGENT_FINISHED || agents_memory_add(j, j->q.input, out->text, a, e));
    if (ok)
        return agent_work_end(work, STR(""), e);
    out->end = AGENT_CANCELLED;
    out->reason = STR("left"); /* the row is not changed: the run can be resumed */
    (void)!agent_work_end(work, STR(""), &ignored);
    return false;
}
