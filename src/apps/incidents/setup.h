/* setup.h - the parsed agents.yaml, for the files of the incident application.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "apps/incidents/incident.h"
#include "mask/mask.h"

#define INCIDENT_SERVERS_MAX 64
#define INCIDENT_AGENTS_MAX 256
#define INCIDENT_STAGES_MAX 32
#define INCIDENT_REPLICAS_MAX 16 /* agents of one stage that work at once */
#define INCIDENT_TOOL_CALLS 20   /* defaults of an agent */
#define INCIDENT_DATA_POINTS 20
#define INCIDENT_DATA_SIZE ((size_t)64 << 10)

struct incident_server {
    str name;
    const char *const *argv; /* or NULL: url */
    const char *const *env;
    const char *cwd; /* or NULL */
    str url, headers;
    str instructions;
    struct mask *mask; /* of its results; NULL: none of its own */
    unsigned timeout_ms;
    bool approval;              /* a person is asked before a call */
    const char *const *approve; /* of these tools; NULL: of all */
};

/* The switch of one alert type. */
struct incident_switch {
    str type;
    bool on;
};

struct incident_agent {
    str name;
    str *types;
    size_t type_count;
    size_t *servers; /* by index; those switched off are left out */
    size_t server_count;
    const char *const *server_names; /* ends with NULL */
    str instructions;
    enum incident_strategy strategy; /* never BY_AGENT */
    enum incident_tri reasoning;     /* AS_CONFIGURED: as the provider has it */
    struct incident_switch *by_type;
    size_t by_type_count;
    str level, model; /* or "" */
    unsigned iterations;
    unsigned max_tool_calls, max_data_points;
    size_t data_size;         /* bytes of tool output in a prompt */
    const char *const *allow; /* tools, as TOOL or SERVER.TOOL; NULL: all */
};

struct incident_stage {
    str name;
    size_t *agents; /* by index, replicas next to each other */
    str *labels;    /* of each: its name, and a number if there are more of it */
    size_t agent_count;
    bool all; /* success policy: all, else any */
};

struct incident_chain {
    str name;
    str *types;
    size_t type_count;
    struct incident_stage *stages;
    size_t stage_count;
    const struct incident_agent *synthesis; /* the agent with its instructions and model; or NULL */
    bool summary;
    const char *const *server_names;
};

struct incident_setup {
    _Atomic unsigned refs;
    struct arena arena;
    const char *runbooks; /* folder, or "" */
    struct incident_server *servers;
    size_t server_count;
    struct incident_agent *agents;
    size_t agent_count;
    struct incident_chain *chains; /* including the chains made for single agents */
    size_t chain_count;
    const char *const *types;
};

/* Who takes it, or NULL. */
const struct incident_chain *setup_chain(const struct incident_setup *s, str alert_type);
/* Whether reasoning is asked for, if the setup says so at all. */
enum incident_tri setup_reasoning(const struct incident_agent *a, str alert_type);

/* From the checked tree into s, in this order; folder: where the file is, with its slash. */
struct config_build;
bool setup_read_servers(struct config_build *b, struct incident_setup *s, str folder) MUST_USE;
bool setup_read_agents(struct config_build *b, struct incident_setup *s) MUST_USE;
bool setup_read_chains(struct config_build *b, struct incident_setup *s) MUST_USE;

/* A member of an object, or NULL. */
const struct json_node *setup_find(struct config_build *b, const struct json_node *v,
                                   const char *key);
/* The text of a value, and the texts of a list, in the arena of s; numbers and flags as they are
 * written. The list ends with NULL. */
str setup_text(struct config_build *b, struct incident_setup *s, const struct json_node *v);
const char *const *setup_words(struct config_build *b, struct incident_setup *s,
                               const struct json_node *list);
