/* stage.c - the agents of a stage, side by side, and the synthesis of their findings.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/stage.h"
#include "apps/incidents/engine.h"

/* Who makes one analysis of several, if the chain names nobody. */
static const struct incident_agent nobody = {.name = STR_INIT("synthesis"),
                                             .instructions = STR_INIT(""),
                                             .strategy = INCIDENT_CLASSIC,
                                             .level = STR_INIT(""),
                                             .model = STR_INIT(""),
                                             .iterations = 1,
                                             .data_size = INCIDENT_DATA_SIZE};

static void decide_reasoning(struct agent_team *p)
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

void agent_team_init(struct agent_team *p, struct incident *in, const struct incident_stage *t,
                     const struct incident_agent *agent, str label)
{
    *p = (struct agent_team){.in = in,
                             .stage = t,
                             .agent = agent,
                             .label = label,
                             .strategy = in->o->strategy == INCIDENT_BY_AGENT ? agent->strategy
                                                                              : in->o->strategy};
    arena_init(&p->arena, INCIDENT_ARENA);
    p->run = arena_printf(&p->arena,
                          STR_FMT "/" STR_FMT "/" STR_FMT,
                          STR_ARG(in->o->run),
                          STR_ARG(t->name),
                          STR_ARG(label));
    p->why = p->reasoning_seen = p->earlier = STR("");
    decide_reasoning(p);
}

static void incident_stage_work(void *agent_team)
{
    agent_team_work(agent_team);
}

/* ---- results ---- */

static bool left(const struct agent_team *p)
{
    return str_eq(p->result.reason, STR("left"));
}

static void incident_stage_judge(const struct incident_stage *t, struct stage_result *r)
{
    size_t ok = 0;

    for (size_t i = 0; i < r->agent_team_count; i++) {
        const struct agent_team *p = &r->parties[i];

        if (p->broken && !r->broken) {
            r->broken = true;
            r->err = p->err;
        }
        r->left |= left(p);
        r->waiting |= p->result.end == AGENT_WAITING;
        ok += agent_team_ok(p);
        if (!agent_team_ok(p) && !r->reason.n) {
            r->reason = p->result.reason.n ? p->result.reason : STR("no_answer");
            r->error = p->result.detail.n ? p->result.detail : STR("the model gave no answer");
        }
    }
    r->ok =
        !r->broken && !r->left && !r->waiting && ok > 0 && (!t->all || ok == r->agent_team_count);
}

static void synthesize(struct incident *in, const struct incident_stage *t, struct stage_result *r)
{
    const struct incident_agent *who = in->chain->synthesis ? in->chain->synthesis : &nobody;
    struct buf system, user;
    struct agent_team *p = base_alloc(sizeof *p);

    agent_team_init(p, in, t, who, STR("synthesis"));
    r->synthesis = p;
    buf_init(&system, INCIDENT_TEXT_MAX);
    buf_init(&user, INCIDENT_TEXT_MAX);
    prompt_system(p, &system);
    prompt_synthesis(in, t, r, &user);
    agent_team_report_progress(p, STR("compare the findings"), 0, 0);
    agent_team_single(p, buf_str(&system), buf_str(&user));
    buf_release(&system);
    buf_release(&user);
    if (p->broken) {
        r->ok = false;
        r->broken = true;
        r->err = p->err;
    } else if (left(p) || p->result.end == AGENT_CANCELLED) {
        r->ok = false;
        r->left = left(p);
        r->reason = p->result.reason;
        r->error = p->result.detail;
    }
}

/* The findings themselves, if there is no synthesis. */
static str incident_stage_joined(const struct stage_result *r, struct arena *a)
{
    struct agent_finding found[INCIDENT_REPLICAS_MAX];

    for (size_t i = 0; i < r->agent_team_count; i++) {
        const struct agent_team *p = &r->parties[i];

        found[i] = (struct agent_finding){p->label, p->result.text, agent_team_ok(p)};
    }
    return agent_stage_join(found, r->agent_team_count, a);
}

void stage_run(struct incident *in, size_t index, str earlier, struct stage_result *r)
{
    const struct incident_stage *t = &in->chain->stages[index];
    size_t ok = 0;

    *r = (struct stage_result){.text = STR(""), .reason = STR(""), .error = STR("")};
    r->parties = base_alloc(t->agent_count * sizeof *r->parties);
    r->agent_team_count = t->agent_count;
    for (size_t i = 0; i < t->agent_count; i++) {
        agent_team_init(&r->parties[i], in, t, &in->o->setup->agents[t->agents[i]], t->labels[i]);
        r->parties[i].earlier = earlier;
    }
    agent_stage_work(&(struct agent_stage){
        r->parties, sizeof *r->parties, r->agent_team_count, true, incident_stage_work});
    incident_stage_judge(t, r);
    for (size_t i = 0; i < r->agent_team_count; i++)
        ok += agent_team_ok(&r->parties[i]);
    if (r->ok && ok > 1)
        synthesize(in, t, r);
    if (r->synthesis && agent_team_ok(r->synthesis))
        r->text = r->synthesis->result.text;
    else if (r->ok)
        r->text = incident_stage_joined(r, in->arena);
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
