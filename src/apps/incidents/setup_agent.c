/* setup_agent.c - agents and chains of agents.yaml.
 *
 * An agent that takes alerts by itself is a chain of one stage, so that the engine knows only
 * chains.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/incidents/setup.h"
#include "gateway/config_build.h"

/* ---- alert types ---- */

static bool incident_setup_agent_taken(const struct incident_setup *s, str type, str *by)
{
    for (size_t i = 0; i < s->chain_count; i++)
        for (size_t j = 0; j < s->chains[i].type_count; j++)
            if (str_eq(s->chains[i].types[j], type)) {
                *by = s->chains[i].name;
                return true;
            }
    return false;
}

static bool read_types(struct config_build *b, struct incident_setup *s, const struct json_node *v,
                       struct incident_chain *to)
{
    const struct json *doc = &b->source->doc;
    str by;

    to->types = arena_zero(&s->arena, json_count(doc, v) + 1, sizeof *to->types);
    JSON_FOREACH(t, doc, v) {
        str type = setup_text(b, s, t);

        if (incident_setup_agent_taken(s, type, &by))
            return config_wrong(b,
                                t,
                                "alerts of type \"" STR_FMT "\" are taken by \"" STR_FMT
                                "\" already",
                                STR_ARG(str_slice(type, 0, 60)),
                                STR_ARG(by));
        for (size_t i = 0; i < to->type_count; i++)
            if (str_eq(to->types[i], type))
                return config_wrong(b, t, "it is named twice");
        to->types[to->type_count++] = type;
    }
    return true;
}

/* ---- agents ---- */

static bool server_on(struct config_build *b, str name)
{
    const struct json_node *all = setup_find(b, json_root(&b->source->doc), "mcp_servers");
    bool on;

    return !json_bool(setup_find(b, json_find(&b->source->doc, all, name), "enabled"), &on) || on;
}

static bool read_agent_servers(struct config_build *b, struct incident_setup *s,
                               const struct json_node *list, struct incident_agent *to)
{
    const struct json *doc = &b->source->doc;
    size_t n = json_count(doc, list);
    const char **names = arena_zero(&s->arena, n + 1, sizeof *names);
    const char **known = arena_zero(&b->c->arena, s->server_count + 1, sizeof *known);

    for (size_t i = 0; i < s->server_count; i++)
        known[i] = s->servers[i].name.p;
    to->servers = arena_zero(&s->arena, n + 1, sizeof *to->servers);
    JSON_FOREACH(v, doc, list) {
        str name = config_text(b, v);
        size_t at = 0;

        while (at < s->server_count && !str_eq(s->servers[at].name, name))
            at++;
        if (at == s->server_count)
            return config_unknown(b, v, "server", name, known);
        for (size_t i = 0; i < to->server_count; i++)
            if (to->servers[i] == at)
                return config_wrong(b, v, "it is named twice");
        if (!server_on(b, name))
            continue;
        names[to->server_count] = s->servers[at].name.p;
        to->servers[to->server_count++] = at;
    }
    to->server_names = names;
    return true;
}

/* A flag; a list of the alert types it is on for; or a flag for each type, and "default". */
static void setup_read_reasoning(struct config_build *b, struct incident_setup *s,
                                 const struct json_node *v, struct incident_agent *to)
{
    const struct json *doc = &b->source->doc;
    bool on;

    to->reasoning = INCIDENT_AS_CONFIGURED;
    if (!v)
        return;
    if (json_bool(v, &on)) {
        to->reasoning = on ? INCIDENT_ON : INCIDENT_OFF;
        return;
    }
    to->by_type = arena_zero(&s->arena, json_count(doc, v) + 1, sizeof *to->by_type);
    if (v->kind == JSON_ARRAY)
        to->reasoning = INCIDENT_OFF;
    JSON_FOREACH(t, doc, v) {
        str type = setup_text(b, s, t);

        on = v->kind == JSON_ARRAY;
        if (!on && !json_bool(json_value(t), &on))
            continue;
        if (v->kind == JSON_OBJECT && str_eq(type, STR("default")))
            to->reasoning = on ? INCIDENT_ON : INCIDENT_OFF;
        else
            to->by_type[to->by_type_count++] = (struct incident_switch){type, on};
    }
}

static enum incident_strategy setup_strategy(struct config_build *b, const struct json_node *v)
{
    str name = config_text(b, v);

    return str_eq(name, STR("react"))    ? INCIDENT_REACT
           : str_eq(name, STR("native")) ? INCIDENT_NATIVE
                                         : INCIDENT_CLASSIC;
}

static unsigned setup_number(struct config_build *b, const struct json_node *v, unsigned otherwise)
{
    int64_t n;

    return v && json_i64(&b->source->doc, v, &n) ? (unsigned)n : otherwise;
}

static bool read_agent(struct config_build *b, struct incident_setup *s,
                       const struct json_node *key)
{
    const struct json_node *v = json_value(key), *tools = setup_find(b, v, "tools");
    struct incident_agent *to = &s->agents[s->agent_count];

    *to = (struct incident_agent){
        .name = setup_text(b, s, key),
        .instructions = setup_text(b, s, setup_find(b, v, "custom_instructions")),
        .strategy = setup_strategy(b, setup_find(b, v, "strategy")),
        .level = setup_text(b, s, setup_find(b, v, "reasoning_level")),
        .model = setup_text(b, s, setup_find(b, v, "model")),
        .iterations = setup_number(b, setup_find(b, v, "max_iterations"), AGENT_ITERATIONS),
        .max_tool_calls =
            setup_number(b, setup_find(b, v, "max_total_tool_calls"), INCIDENT_TOOL_CALLS),
        .max_data_points =
            setup_number(b, setup_find(b, v, "max_data_points"), INCIDENT_DATA_POINTS),
        .data_size = setup_number(b, setup_find(b, v, "max_data_size"), INCIDENT_DATA_SIZE)};
    s->agent_count++;
    if (!config_check_name(b, key, to->name))
        return false;
    to->allow = tools ? setup_words(b, s, tools) : NULL;
    setup_read_reasoning(b, s, setup_find(b, v, "enable_reasoning"), to);
    return read_agent_servers(b, s, setup_find(b, v, "mcp_servers"), to);
}

/* Makes the chain for an agent that has alert types of its own. */
static bool chain_of_one(struct config_build *b, struct incident_setup *s, size_t agent,
                         const struct json_node *types)
{
    struct incident_chain *c = &s->chains[s->chain_count];
    const struct incident_agent *a = &s->agents[agent];

    if (!types)
        return true;
    *c = (struct incident_chain){.name = a->name, .server_names = a->server_names};
    if (!read_types(b, s, types, c))
        return false;
    c->stages = arena_zero(&s->arena, 1, sizeof *c->stages);
    c->stages[0] = (struct incident_stage){.name = STR("investigation"), .agent_count = 1};
    c->stages[0].agents = arena_zero(&s->arena, 1, sizeof *c->stages[0].agents);
    c->stages[0].labels = arena_zero(&s->arena, 1, sizeof *c->stages[0].labels);
    c->stages[0].agents[0] = agent;
    c->stages[0].labels[0] = a->name;
    c->stage_count = 1;
    s->chain_count++;
    return true;
}

bool setup_read_agents(struct config_build *b, struct incident_setup *s)
{
    const struct json *doc = &b->source->doc;
    const struct json_node *all = setup_find(b, json_root(doc), "agents"),
                           *chains = setup_find(b, json_root(doc), "chains");
    size_t n = json_count(doc, all);

    if (n > INCIDENT_AGENTS_MAX || json_count(doc, chains) > INCIDENT_AGENTS_MAX)
        return config_wrong(b, all, "at most %d agents and as many chains", INCIDENT_AGENTS_MAX);
    s->agents = arena_zero(&s->arena, n + 1, sizeof *s->agents);
    s->chains = arena_zero(&s->arena, n + json_count(doc, chains) + 1, sizeof *s->chains);
    JSON_FOREACH(k, doc, all)
        if (!read_agent(b, s, k) ||
            !chain_of_one(b, s, s->agent_count - 1, setup_find(b, json_value(k), "alert_types")))
            return false;
    return true;
}

/* ---- chains ---- */

static bool agent_at(struct config_build *b, const struct incident_setup *s,
                     const struct json_node *v, size_t *out)
{
    str name = config_text(b, v);
    const char **known = arena_zero(&b->c->arena, s->agent_count + 1, sizeof *known);

    for (size_t i = 0; i < s->agent_count; i++) {
        known[i] = s->agents[i].name.p;
        if (str_eq(s->agents[i].name, name)) {
            *out = i;
            return true;
        }
    }
    return config_unknown(b, v, "agent", name, known);
}

/* Two of one name get numbers, so that each has a run of its own. */
static void incident_setup_agent_label(struct incident_setup *s, struct incident_stage *t)
{
    for (size_t i = 0; i < t->agent_count; i++) {
        size_t same = 0, before = 0;

        for (size_t j = 0; j < t->agent_count; j++) {
            same += t->agents[j] == t->agents[i];
            before += t->agents[j] == t->agents[i] && j <= i;
        }
        t->labels[i] = s->agents[t->agents[i]].name;
        if (same > 1)
            t->labels[i] = arena_printf(&s->arena, STR_FMT "-%zu", STR_ARG(t->labels[i]), before);
    }
}

static bool read_stage(struct config_build *b, struct incident_setup *s, const struct json_node *v,
                       bool all, struct incident_chain *c)
{
    const struct json *doc = &b->source->doc;
    const struct json_node *list = setup_find(b, v, "agents"), *one = setup_find(b, v, "agent");
    const struct json_node *policy = setup_find(b, v, "success_policy"),
                           *name = setup_find(b, v, "name");
    struct incident_stage *t = &c->stages[c->stage_count];
    size_t n = list ? json_count(doc, list) : setup_number(b, setup_find(b, v, "replicas"), 1);

    *t = (struct incident_stage){
        .name = name ? setup_text(b, s, name)
                     : arena_printf(&s->arena, "stage-%zu", c->stage_count + 1),
        .all = policy ? str_eq(config_text(b, policy), STR("all")) : all};
    if ((list != NULL) == (one != NULL))
        return config_wrong(b, v, "a stage has either agents or an agent");
    if (list && setup_find(b, v, "replicas"))
        return config_wrong(
            b, setup_find(b, v, "replicas"), "are of one agent: name it with agent");
    if (n > INCIDENT_REPLICAS_MAX)
        return config_wrong(b, v, "at most %d agents work at once", INCIDENT_REPLICAS_MAX);
    if (!config_check_name(b, name ? name : v, t->name))
        return false;
    for (size_t i = 0; i < c->stage_count; i++)
        if (str_eq(c->stages[i].name, t->name))
            return config_wrong(b, name ? name : v, "there are two stages with this name");
    t->agents = arena_zero(&s->arena, n + 1, sizeof *t->agents);
    t->labels = arena_zero(&s->arena, n + 1, sizeof *t->labels);
    JSON_FOREACH(a, doc, list)
        if (!agent_at(b, s, a, &t->agents[t->agent_count++]))
            return false;
    for (size_t i = 0; one && i < n; i++)
        if (!agent_at(b, s, one, &t->agents[t->agent_count++]))
            return false;
    incident_setup_agent_label(s, t);
    c->stage_count++;
    return true;
}

/* Those of all its agents, each once. */
static void chain_servers(struct incident_setup *s, struct incident_chain *c)
{
    const char **names = arena_zero(&s->arena, s->server_count + 1, sizeof *names);
    size_t n = 0;

    for (size_t i = 0; i < s->server_count; i++) {
        bool used = false;

        for (size_t j = 0; j < c->stage_count; j++)
            for (size_t k = 0; k < c->stages[j].agent_count; k++) {
                const struct incident_agent *a = &s->agents[c->stages[j].agents[k]];

                for (size_t m = 0; m < a->server_count; m++)
                    used |= a->servers[m] == i;
            }
        if (used)
            names[n++] = s->servers[i].name.p;
    }
    c->server_names = names;
}

static bool read_chain(struct config_build *b, struct incident_setup *s,
                       const struct json_node *key)
{
    const struct json *doc = &b->source->doc;
    const struct json_node *v = json_value(key), *stages = setup_find(b, v, "stages");
    const struct json_node *synthesis = setup_find(b, setup_find(b, v, "synthesis"), "agent");
    struct incident_chain *c = &s->chains[s->chain_count];
    bool all = str_eq(config_text(b, setup_find(b, v, "success_policy")), STR("all"));
    size_t at;

    *c = (struct incident_chain){.name = setup_text(b, s, key)};
    if (!config_check_name(b, key, c->name))
        return false;
    for (size_t i = 0; i < s->agent_count; i++)
        if (str_eq(s->agents[i].name, c->name))
            return config_wrong(b, key, "an agent has this name already");
    c->stages = arena_zero(&s->arena, INCIDENT_STAGES_MAX, sizeof *c->stages);
    if (!read_types(b, s, setup_find(b, v, "alert_types"), c))
        return false;
    JSON_FOREACH(t, doc, stages)
        if (!read_stage(b, s, t, all, c))
            return false;
    if (synthesis) {
        if (!agent_at(b, s, synthesis, &at))
            return false;
        c->synthesis = &s->agents[at];
    }
    if (!json_bool(setup_find(b, v, "executive_summary"), &c->summary))
        c->summary = false;
    chain_servers(s, c);
    s->chain_count++;
    return true;
}

bool setup_read_chains(struct config_build *b, struct incident_setup *s)
{
    const struct json *doc = &b->source->doc;
    const struct json_node *all = setup_find(b, json_root(doc), "chains");

    JSON_FOREACH(k, doc, all)
        if (!read_chain(b, s, k))
            return false;
    return s->chain_count > 0 ||
           config_wrong(b, json_root(doc), "no agent and no chain has an alert type");
}
