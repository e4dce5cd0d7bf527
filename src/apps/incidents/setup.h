/* setup.h - the parsed agents.yaml, for the files of the incident application.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "apps/incidents/incident.h"
#include "gateway/config_agents.h"

#define INCIDENT_AGENTS_MAX 256
#define INCIDENT_DATA_SIZE ((size_t)64 << 10)

/* A server, beside its row in config->agents->tools. */
struct incident_server {
    str instructions;
    bool on;
};

/* The switch of one alert type. */
struct incident_switch {
    str type;
    bool on;
};

struct incident_agent {
    str name;
    struct config_agent def; /* its tools and approvals, for agents_open_tools */
    str instructions;
    enum incident_strategy strategy; /* never BY_AGENT */
    enum incident_tri reasoning;     /* AS_CONFIGURED: as the provider has it */
    struct incident_switch *by_type;
    size_t by_type_count;
    str level, model; /* or "" */
    unsigned iterations;
    unsigned max_tool_calls, max_data_points;
    size_t data_size; /* bytes of tool output in a prompt */
};

struct incident_chain {
    str name;
    str *types;
    size_t type_count;
    struct config_stage *stages;
    size_t stage_count;
    const struct incident_agent *synthesis; /* the agent with its instructions and model; or NULL */
    bool summary;
    struct config_agent def;         /* the tools of all its agents */
    const char *const *server_names; /* ends with NULL */
};

/* In the arena of its config, and freed with it. */
struct incident_setup {
    struct config *config; /* agents.yaml: its agents->tools are the servers */
    const char *runbooks;  /* folder, or "" */
    struct incident_server *servers;
    struct config_tool_ref *approve; /* calls that a person is asked about, of all servers */
    size_t approve_count;
    struct incident_agent *agents;
    size_t agent_count;
    struct incident_chain *chains; /* including the chains made for single agents */
    size_t chain_count;
    const char *const *types;
};

/* The chain that takes the alert, or NULL. */
const struct incident_chain *setup_chain(const struct incident_setup *s, str alert_type);
/* Whether reasoning is enabled, if the setup says so at all. */
enum incident_tri setup_reasoning(const struct incident_agent *a, str alert_type);

/* From the checked tree into s, in this order. */
struct config_build;
bool setup_read_servers(struct config_build *b, struct incident_setup *s) MUST_USE;
bool setup_read_agents(struct config_build *b, struct incident_setup *s) MUST_USE;
bool setup_read_chains(struct config_build *b, struct incident_setup *s) MUST_USE;

/* A member of an object, or NULL. */
const struct json_node *setup_find(struct config_build *b, const struct json_node *v,
                                   const char *key);
