/* setup.c - agents.yaml: its schema, loading and releasing, and lookups.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/incidents/setup.h"

#include "gateway/config_build.h"

/* Quotes are single here and are turned round once. */
/* clang-format off */
#define TEXT "{'type':'string'}"
#define FLAG "{'type':'boolean'}"
#define COUNT "{'type':'integer','minimum':1,'maximum':100000}"
#define NAME "{'type':'string','minLength':1}"
#define NAMES "{'type':'array','items':" NAME "}"
#define WORD "{'type':['string','number','boolean']}"
#define OBJECT(members) "{'type':'object','additionalProperties':false,'properties':{" members "}}"
#define OBJECTS(of) "{'type':'object','additionalProperties':" of "}"
#define OBJECTS_OR_NONE(of) "{'type':['object','null'],'additionalProperties':" of "}"

#define PATTERN \
    "{'type':'object','additionalProperties':false,'required':['name','pattern'],'properties':{" \
    "'name':" NAME ",'pattern':" NAME ",'replacement':" TEXT ",'description':" TEXT "," \
    "'enabled':" FLAG "}}"
#define MASKING OBJECT( \
    "'enabled':" FLAG ",'pattern_groups':" NAMES ",'patterns':" NAMES "," \
    "'custom_patterns':{'type':'array','items':" PATTERN "}")
#define CONNECTION OBJECT( \
    "'command':" NAME ",'args':{'type':'array','items':" WORD "}," \
    "'environment':" OBJECTS(WORD) ",'cwd':" NAME ",'url':" NAME ",'headers':" OBJECTS(TEXT))
#define SERVER \
    "{'type':'object','additionalProperties':false,'required':['connection_params']," \
    "'properties':{'server_id':" NAME ",'server_type':" TEXT ",'enabled':" FLAG "," \
    "'connection_params':" CONNECTION ",'instructions':" TEXT ",'data_masking':" MASKING "," \
    "'timeout':{'type':['string','number']}," \
    "'approval':{'type':['boolean','array'],'items':" NAME "}}}"
#define STRATEGY "{'enum':['classic','react','native']}"
#define AGENT OBJECT( \
    "'alert_types':" NAMES ",'mcp_servers':" NAMES ",'custom_instructions':" TEXT "," \
    "'strategy':" STRATEGY ",'max_iterations':" COUNT ",'max_total_tool_calls':" COUNT "," \
    "'max_data_points':" COUNT ",'max_data_size':{'type':['string','integer']},'tools':" NAMES "," \
    "'enable_reasoning':{'type':['boolean','array','object'],'items':" NAME "," \
    "'additionalProperties':" FLAG "}," \
    "'reasoning_level':{'enum':['minimal','low','medium','high','xhigh','max']},'model':" NAME)
#define STAGE \
    "{'type':'object','additionalProperties':false,'properties':{'name':" NAME "," \
    "'agents':{'type':'array','minItems':1,'items':" NAME "},'agent':" NAME "," \
    "'replicas':{'type':'integer','minimum':1,'maximum':16}," \
    "'success_policy':{'enum':['any','all']}}}"
#define CHAIN \
    "{'type':'object','additionalProperties':false,'required':['alert_types','stages']," \
    "'properties':{'alert_types':" NAMES ",'success_policy':{'enum':['any','all']}," \
    "'stages':{'type':'array','minItems':1,'maxItems':32,'items':" STAGE "}," \
    "'synthesis':" OBJECT("'agent':" NAME) ",'executive_summary':" FLAG "}}"

static const char shape[] =
    "{'type':'object','additionalProperties':false,'required':['agents'],'properties':{"
    "'mcp_servers':" OBJECTS_OR_NONE(SERVER) ",'agents':" OBJECTS(AGENT) ","
    "'chains':" OBJECTS_OR_NONE(CHAIN) "}}";
/* clang-format on */

/* ---- life ---- */

static void incident_list_types(struct incident_setup *s)
{
    size_t n = 0, at = 0;
    const char **list;

    for (size_t i = 0; i < s->chain_count; i++)
        n += s->chains[i].type_count;
    list = arena_zero(&s->config->arena, n + 1, sizeof *list);
    for (size_t i = 0; i < s->chain_count; i++)
        for (size_t j = 0; j < s->chains[i].type_count; j++)
            if (!str_eq(s->chains[i].types[j], STR("*")))
                list[at++] = s->chains[i].types[j].p;
    assert(at <= n);
    qsort(list, at, sizeof *list, str_order_names);
    s->types = list;
}

bool incident_setup_parse(str yaml, const char *path, const char *runbooks,
                          struct incident_setup **out, struct err *e)
{
    struct config *c = config_new(path);
    struct incident_setup *s = arena_zero(&c->arena, 1, sizeof *s);
    struct config_build b = {.c = c, .source = c->source, .e = e};
    bool ok;

    s->config = c;
    s->runbooks = arena_dup(&c->arena, str_c(runbooks)).p;
    ok = yaml_read(yaml, &c->arena, &c->source->yaml, e);
    if (!ok)
        err_prefix(e, "%s:%u: ", path, c->source->yaml.line);
    ok = ok && json_parse(&c->source->doc, c->source->yaml.json, e) &&
         config_check_shape(&b, config_schema_text(&c->arena, str_c(shape))) &&
         setup_read_servers(&b, s) && setup_read_agents(&b, s) && setup_read_chains(&b, s);
    if (ok) {
        assert(s->agent_count > 0 && s->chain_count > 0);
        incident_list_types(s);
        *out = s;
    } else {
        incident_setup_free(s);
    }
    return ok;
}

bool incident_setup_load(const char *agents, const char *runbooks, struct incident_setup **out,
                         struct err *e)
{
    struct arena a;
    str text;
    bool ok;

    arena_init(&a, 4 * YAML_SIZE_MAX);
    ok = file_read(&a, agents, YAML_SIZE_MAX, &text, e) &&
         incident_setup_parse(text, agents, runbooks, out, e);
    arena_release(&a);
    return ok;
}

struct incident_setup *incident_setup_retain(struct incident_setup *s)
{
    if (s)
        (void)config_retain(s->config);
    return s;
}

void incident_setup_free(struct incident_setup *s)
{
    if (s)
        config_release(s->config);
}

/* ---- questions ---- */

const char *const *incident_alert_types(const struct incident_setup *s)
{
    return s->types;
}

static const struct incident_chain *incident_chain_with(const struct incident_setup *s, str type)
{
    for (size_t i = 0; i < s->chain_count; i++)
        for (size_t j = 0; j < s->chains[i].type_count; j++)
            if (str_eq(s->chains[i].types[j], type))
                return &s->chains[i];
    return NULL;
}

const struct incident_chain *setup_chain(const struct incident_setup *s, str alert_type)
{
    const struct incident_chain *c = incident_chain_with(s, alert_type);

    return c ? c : incident_chain_with(s, STR("*"));
}

bool incident_assigned(const struct incident_setup *s, str alert_type, str *agent,
                       const char *const **servers)
{
    const struct incident_chain *c = setup_chain(s, alert_type);

    if (!c)
        return false;
    assert(c->stage_count > 0 && c->server_names);
    *agent = c->name;
    *servers = c->server_names;
    return true;
}

enum incident_tri setup_reasoning(const struct incident_agent *a, str alert_type)
{
    assert(!a->by_type_count || a->by_type);
    for (size_t i = 0; i < a->by_type_count; i++)
        if (str_eq(a->by_type[i].type, alert_type))
            return a->by_type[i].on ? INCIDENT_ON : INCIDENT_OFF;
    return a->reasoning;
}
