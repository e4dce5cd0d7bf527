/* stage.c - the agents of a stage, side by side, and the synthesis of their findings.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/stage.h"
#include "apps/incidents/engine.h"

/* The agent that merges several analyses, if the chain names none. */
static const struct incident_agent nobody = {.name = STR_INIT("synthesis"),
                                             .instructions = STR_INIT(""),
                                             .strategy = INCIDENT_CLASSIC,
                                             .level = STR_INIT(""),
                                             .model = STR_INIT(""),
                                             .iterations = 1,
                                             .data_size = INCIDENT_DATA_SIZE};

static void stage_decide_reasoning(struct agent_team *p)
{
    const struct incident_options *o = p->in->o;
    enum incident_tri wanted = o->reasoning;
    struct config_route route;
    str model = p->agent->model.n && !o->model.n ? p->agent->model : p->in->model;
    bool by_prompt = config_find(p->in->config, model, &route) && route.provider->enable_reasoning;

    if (wanted == INCIDENT_AS_CONFIGURED)
        wanted = setup_reasoning(p->agent, o->alert.alert_type);
    p->reasoning = wanted == INCIDENT_AS_CONFIGURED ? by_prompt : wanted == INCIDENT_ON;
    p->level = p->reasoning ? p->agent->level : STR("");
}

str agent_team_run(struct arena *a, str run, str stage, str label)
{
    return arena_printf(
        a, STR_FMT "/" STR_FMT "/" STR_FMT, STR_ARG(run), STR_ARG(stage), STR_ARG(label));
}

void agent_team_init(struct agent_team *p, struct incident *in, const struct config_stage *t,
                     const struct incident_agent *agent, str label)
{
    *p = (struct agent_team){.in = in,
                             .stage = t,
                             .agent = agent,
                             .label = label,
                             .strategy = in->o->strategy == INCIDENT_BY_AGENT ? agent->strategy
                                                                              : in->o->strategy};
    arena_init(&p->arena, INCIDENT_ARENA);
    p->run = agent_team_run(&p->arena, in->o->run, t->name, label);
    p->why = p->reasoning_seen = p->earlier = STR("");
    stage_decide_reasoning(p);
}

static void incident_stage_work(void *agent_team)
{
    agent_team_work(agent_team);
}

/* ---- results ---- */

/* False: too few of them for a synthesis. */
static bool incident_stage_judge(struct incident *in, const struct config_stage *t,
                                 struct stage_result *r)
{
    struct agent_finding found[CONFIG_STAGE_AGENTS_MAX] = {0};
    size_t ok = 0;

    assert(r->agent_team_count <= CONFIG_STAGE_AGENTS_MAX);
    for (size_t i = 0; i < r->agent_team_count; i++) {
        const struct agent_team *p = &r->parties[i];

        found[i] = (struct agent_finding){
            p->label, &p->result, agent_team_ok(p), p->broken ? &p->err : NULL};
        ok += found[i].ok;
    }
    r->broken =
        !agent_stage_judge(found, r->agent_team_count, t->all, in->arena, &r->result, &r->err);
    return ok > 1 && !r->broken && r->result.end == AGENT_FINISHED;
}

static void incident_stage_synthesize(struct incident *in, const struct config_stage *t,
                                      struct stage_result *r)
{
    const struct incident_agent *who = in->chain->synthesis ? in->chain->synthesis : &nobody;
    struct buf user;
    struct agent_team *p = base_alloc(sizeof *p);

    assert(!r->synthesis);
    agent_team_init(p, in, t, who, STR("synthesis"));
    r->synthesis = p;
    buf_init(&user, INCIDENT_TEXT_MAX);
    prompt_synthesis(in, t, r, &user);
    agent_team_report_progress(p, STR("compare the findings"), 0, 0);
    agent_team_single(p, prompt_system(p), buf_str(&user));
    buf_release(&user);
    r->broken = p->broken;
    r->err = p->err;
    if (p->broken)
        return;
    agent_result_add_usage(&r->result, &p->result);
    if (agent_team_ok(p)) {
        r->result.text = arena_dup(in->arena, p->result.text);
    } else if (p->result.end == AGENT_CANCELLED) {
        r->result.end = AGENT_CANCELLED;
        r->result.reason = arena_dup(in->arena, p->result.reason);
        r->result.detail = arena_dup(in->arena, p->result.detail);
    }
}

void stage_run(struct incident *in, size_t index, str earlier, struct stage_result *r)
{
    const struct config_stage *t = &in->chain->stages[index];

    assert(index < in->chain->stage_count);
    *r = (struct stage_result){.result = {.reason = STR(""), .detail = STR(""), .text = STR("")}};
    r->parties = base_alloc(t->agent_count * sizeof *r->parties);
    r->agent_team_count = t->agent_count;
    for (size_t i = 0; i < t->agent_count; i++) {
        agent_team_init(&r->parties[i], in, t, &in->o->setup->agents[t->agents[i]], t->labels[i]);
        r->parties[i].earlier = earlier;
    }
    agent_stage_work(&(struct agent_stage){
        r->parties, sizeof *r->parties, r->agent_team_count, true, incident_stage_work});
    if (incident_stage_judge(in, t, r))
        incident_stage_synthesize(in, t, r);
}

void stage_release(struct stage_result *r)
{
    for (size_t i = 0; i < r->agent_team_count; i++)
        arena_release(&r->parties[i].arena);
    free(r->parties);
    if (r->synthesis)
        arena_release(&r->synthesis->arena);
    free(r->synthesis);
}
