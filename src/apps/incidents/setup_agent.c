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

static bool setup_read_types(struct config_build *b, struct incident_setup *s,
                             const struct json_node *v, struct incident_chain *to)
{
    const struct json *doc = &b->source->doc;
    str by;

    to->types = arena_zero(&b->c->arena, json_count(doc, v) + 1, sizeof *to->types);
    JSON_FOREACH(t, doc, v) {
        str type = config_text(b, t);

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

/* Which tools of a server it may use, as TOOL or SERVER.TOOL; no list: all. */
static void setup_add_tools(struct config_build *b, const struct json_node *list, size_t source,
                            struct config_agent *to)
{
    const struct json *doc = &b->source->doc;
    str prefix;

    assert(source < b->c->agents->tools_count);
    prefix = arena_join(&b->c->arena, b->c->agents->tools[source].name, STR("."), STR(""));
    if (!list)
        to->tools[to->tool_count++] = (struct config_tool_ref){.source = source, .tool = STR("")};
    JSON_FOREACH(v, doc, list) {
        str name = config_text(b, v);

        if (str_starts(name, prefix))
            name = str_slice(name, prefix.n, name.n);
        to->tools[to->tool_count++] = (struct config_tool_ref){
            .source = source, .tool = name, .line = config_line(b->source, v), .optional = true};
    }
}

static bool setup_read_agent_servers(struct config_build *b, const struct incident_setup *s,
                                     const struct json_node *v, struct incident_agent *to)
{
    const struct json *doc = &b->source->doc;
    const struct json_node *list = setup_find(b, v, "mcp_servers"),
                           *tools = setup_find(b, v, "tools");
    const struct config_agents *all = b->c->agents;
    size_t n = json_count(doc, list);
    const char **known = arena_zero(&b->c->arena, all->tools_count + 1, sizeof *known);
    bool *seen = arena_zero(&b->c->arena, all->tools_count + 1, sizeof *seen);

    for (size_t i = 0; i < all->tools_count; i++)
        known[i] = all->tools[i].name.p;
    to->def.tools =
        arena_zero(&b->c->arena, n * (json_count(doc, tools) + 1) + 1, sizeof *to->def.tools);
    JSON_FOREACH(k, doc, list) {
        size_t at;

        if (!config_find_name(b, k, "server", known, &at))
            return false;
        if (seen[at])
            return config_wrong(b, k, "it is named twice");
        seen[at] = true;
        if (s->servers[at].on)
            setup_add_tools(b, tools, at, &to->def);
    }
    return true;
}

/* A flag; a list of the alert types it is on for; or a flag for each type, and "default". */
static void setup_read_reasoning(struct config_build *b, const struct json_node *v,
                                 struct incident_agent *to)
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
    to->by_type = arena_zero(&b->c->arena, json_count(doc, v) + 1, sizeof *to->by_type);
    if (v->kind == JSON_ARRAY)
        to->reasoning = INCIDENT_OFF;
    JSON_FOREACH(t, doc, v) {
        str type = config_text(b, t);

        on = v->kind == JSON_ARRAY;
        if (!on && !json_bool(json_value(t), &on))
            continue;
        if (v->kind == JSON_OBJECT && str_eq(type, STR("default")))
            to->reasoning = on ? INCIDENT_ON : INCIDENT_OFF;
        else
            to->by_type[to->by_type_count++] = (struct incident_switch){type, on};
    }
}

#define AT(member) offsetof(struct incident_agent, member)
#define COUNT_MAX 100000

static const struct config_row agent_row[] = {
    {"custom_instructions", CONFIG_IS_TEXT, AT(instructions), "", 0, 0, NULL, false},
    {"strategy", CONFIG_IS_CHOICE, AT(strategy), "classic", 0, 0, "- classic react native", false},
    {"reasoning_level", CONFIG_IS_TEXT, AT(level), "", 0, 0, NULL, false},
    {"model", CONFIG_IS_TEXT, AT(model), "", 0, 0, NULL, false},
    {"max_iterations", CONFIG_IS_UNSIGNED, AT(iterations), "10", 1, COUNT_MAX, NULL, false},
    {"max_total_tool_calls", CONFIG_IS_UNSIGNED, AT(max_tool_calls), "20", 1, COUNT_MAX, NULL, 0},
    {"max_data_points", CONFIG_IS_UNSIGNED, AT(max_data_points), "20", 1, COUNT_MAX, NULL, false},
    {"max_data_size", CONFIG_IS_SIZE, AT(data_size), "64KiB", 1, COUNT_MAX, NULL, false},
};
static const struct config_rows agent_rows = {agent_row, COUNT_OF(agent_row)};

static bool setup_read_agent(struct config_build *b, struct incident_setup *s,
                             const struct json_node *key)
{
    const struct json_node *v = json_value(key);
    struct incident_agent *to = &s->agents[s->agent_count++];

    to->name = to->def.name = config_text(b, key);
    to->def.file = b->c->path;
    to->def.approve = s->approve;
    to->def.approve_count = s->approve_count;
    setup_read_reasoning(b, setup_find(b, v, "enable_reasoning"), to);
    return config_check_name(b, key, to->name) && config_rows_read(b, &agent_rows, v, to) &&
           setup_read_agent_servers(b, s, v, to);
}

/* Makes the chain for an agent that has alert types of its own. */
static bool chain_of_one(struct config_build *b, struct incident_setup *s, size_t agent,
                         const struct json_node *types)
{
    struct incident_chain *c = &s->chains[s->chain_count];
    const struct incident_agent *a = &s->agents[agent];

    assert(agent < s->agent_count);
    if (!types)
        return true;
    *c = (struct incident_chain){.name = a->name};
    if (!setup_read_types(b, s, types, c))
        return false;
    c->stages = arena_zero(&b->c->arena, 1, sizeof *c->stages);
    c->stages[0] = (struct config_stage){.name = STR("investigation"), .agent_count = 1};
    c->stages[0].agents = arena_zero(&b->c->arena, 1, sizeof *c->stages[0].agents);
    c->stages[0].labels = arena_zero(&b->c->arena, 1, sizeof *c->stages[0].labels);
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
    s->agents = arena_zero(&b->c->arena, n + 1, sizeof *s->agents);
    s->chains = arena_zero(&b->c->arena, n + json_count(doc, chains) + 1, sizeof *s->chains);
    JSON_FOREACH(k, doc, all)
        if (!setup_read_agent(b, s, k) ||
            !chain_of_one(b, s, s->agent_count - 1, setup_find(b, json_value(k), "alert_types")))
            return false;
    return true;
}

/* ---- chains ---- */

static bool chain_has(const struct incident_chain *c, size_t agent)
{
    for (size_t i = 0; i < c->stage_count; i++)
        for (size_t j = 0; j < c->stages[i].agent_count; j++)
            if (c->stages[i].agents[j] == agent)
                return true;
    return false;
}

/* What its agents may use, together. */
static void chain_tools(struct config_build *b, const struct incident_setup *s,
                        struct incident_chain *c)
{
    const struct config_agents *all = b->c->agents;
    const char **names = arena_zero(&b->c->arena, all->tools_count + 1, sizeof *names);
    size_t room = 0, n = 0;

    assert(c->stage_count > 0 && c->stages[0].agents[0] < s->agent_count);
    for (size_t i = 0; i < s->agent_count; i++)
        room += s->agents[i].def.tool_count;
    c->def = s->agents[c->stages[0].agents[0]].def;
    c->def.name = c->name;
    c->def.tools = arena_zero(&b->c->arena, room + 1, sizeof *c->def.tools);
    c->def.tool_count = 0;
    for (size_t i = 0; i < s->agent_count; i++) {
        const struct config_agent *a = &s->agents[i].def;

        if (!chain_has(c, i) || !a->tool_count)
            continue;
        memcpy(&c->def.tools[c->def.tool_count], a->tools, a->tool_count * sizeof *a->tools);
        c->def.tool_count += a->tool_count;
    }
    for (size_t i = 0; i < all->tools_count; i++)
        for (size_t j = 0; j < c->def.tool_count; j++)
            if (c->def.tools[j].source == i) {
                names[n++] = all->tools[i].name.p;
                break;
            }
    assert(c->def.tool_count <= room && n <= all->tools_count);
    c->server_names = names;
}

static bool setup_read_chain(struct config_build *b, struct incident_setup *s,
                             const struct json_node *key, const char *const *names)
{
    const struct json *doc = &b->source->doc;
    const struct json_node *v = json_value(key), *stages = setup_find(b, v, "stages");
    const struct json_node *synthesis = setup_find(b, setup_find(b, v, "synthesis"), "agent");
    struct incident_chain *c = &s->chains[s->chain_count];
    bool all = str_eq(config_text(b, setup_find(b, v, "success_policy")), STR("all"));
    size_t at;

    *c = (struct incident_chain){.name = config_text(b, key)};
    if (!config_check_name(b, key, c->name))
        return false;
    for (size_t i = 0; names[i]; i++)
        if (str_eq(str_c(names[i]), c->name))
            return config_wrong(b, key, "an agent has this name already");
    c->stages = arena_zero(&b->c->arena, CONFIG_STAGES_MAX, sizeof *c->stages);
    if (!setup_read_types(b, s, setup_find(b, v, "alert_types"), c))
        return false;
    JSON_FOREACH(t, doc, stages) {
        c->stages[c->stage_count].all = all;
        if (!config_stage_read(b, t, names, c->stages, c->stage_count++))
            return false;
    }
    if (synthesis) {
        if (!config_find_name(b, synthesis, "agent", names, &at))
            return false;
        c->synthesis = &s->agents[at];
    }
    if (!json_bool(setup_find(b, v, "executive_summary"), &c->summary))
        c->summary = false;
    s->chain_count++;
    return true;
}

bool setup_read_chains(struct config_build *b, struct incident_setup *s)
{
    const struct json *doc = &b->source->doc;
    const struct json_node *all = setup_find(b, json_root(doc), "chains");
    const char **names = arena_zero(&b->c->arena, s->agent_count + 1, sizeof *names);

    for (size_t i = 0; i < s->agent_count; i++)
        names[i] = s->agents[i].name.p;
    JSON_FOREACH(k, doc, all)
        if (!setup_read_chain(b, s, k, names))
            return false;
    for (size_t i = 0; i < s->chain_count; i++)
        chain_tools(b, s, &s->chains[i]);
    return s->chain_count > 0 ||
           config_wrong(b, json_root(doc), "no agent and no chain has an alert type");
}
