/* config_agents.h - the configuration of agents, their tools and their workflows.
 *
 * All of it is part of struct config: checked completely when the configuration is read, never
 * changed afterwards, and freed with it. Texts are in the configuration's arena. Names have been
 * checked, so an index (a tool source, an agent) is always in range.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/secret.h"
#include "chat/chat.h"
#include "mask/mask.h"
#include "net/client.h"
#include "openapi/openapi.h"

#define CONFIG_AGENTS_MAX 256
#define CONFIG_TOOL_SOURCES_MAX 64
#define CONFIG_WORKFLOWS_MAX 256
#define CONFIG_STAGES_MAX 32
#define CONFIG_STAGE_AGENTS_MAX 16 /* in one stage */

/* Where tools come from. */
enum config_tools_kind { CONFIG_TOOLS_MCP, CONFIG_TOOLS_OPENAPI, CONFIG_TOOLS_HTTP };

struct config_tools {
    str name;
    enum config_tools_kind kind;
    /* MCP: a program with its environment ("NAME=value"; NULL: PATH and HOME only), or `url`. */
    const char *const *argv; /* ends with NULL; or NULL */
    const char *const *env;
    const char *cwd;
    /* MCP: the server's address; OpenAPI: the base_url; HTTP: the address of the request. */
    str url;
    struct secret headers; /* complete lines, each ended by CRLF; empty: none */
    /* OpenAPI: its operations; each is a tool. */
    struct openapi openapi;
    /* HTTP: one tool, with the name of the source. */
    str method, description;
    str schema; /* JSON Schema of the arguments */
    bool read_only, idempotent;
    struct mask *mask;   /* MCP: for results and errors; NULL: none */
    uint64_t timeout_ms; /* for one call */
    str digest;          /* hex: equal for sources with equal configuration */
};

/* Written as "library" or "library.lend". */
struct config_tool_ref {
    size_t source; /* index into config_agents.tools */
    str tool;      /* "": all tools of the source */
    unsigned line; /* its line in the file */
    bool optional; /* a source without this tool is no error */
};

enum config_strategy { CONFIG_NATIVE, CONFIG_REACT, CONFIG_CLASSIC };

struct config_limits {
    unsigned steps;   /* default 20 */
    int64_t tokens;   /* -1: no limit */
    double usd;       /* 0: no limit */
    uint64_t time_ms; /* 0: no limit */
};

/* Who checks input or output, and allows it or denies it with a reason. */
enum config_guard_kind { CONFIG_GUARD_NONE, CONFIG_GUARD_AGENT, CONFIG_GUARD_HTTP };

struct config_guard {
    enum config_guard_kind kind;
    size_t agent;                     /* AGENT: index into config_agents.agents */
    const struct config_tools *tools; /* HTTP: a named source of kind HTTP; or NULL: */
    str url;                          /* HTTP: address that the request is posted to */
};

struct config_agent {
    str name;
    str description; /* for people and models that choose an agent; or "" */
    str model;       /* a name that config_find knows */
    str prompt;      /* the text itself; "" if the registry has it: */
    str prompt_name; /* the prompt's name in the registry; or "" */
    enum chat_level level;
    enum config_strategy strategy;
    struct config_tool_ref *tools;
    size_t tool_count;
    str output; /* JSON Schema of the answer; "": any text */
    struct config_limits limits;
    struct config_tool_ref *approve; /* calls that need a person's approval */
    size_t approve_count;
    size_t *handoff; /* agents that may take over the conversation */
    size_t handoff_count;
    struct config_guard guard_input, guard_output;
    str file; /* file that defines it */
    unsigned line;
    str digest; /* hex, of all the above: shows a resumed run that the agent has changed */
};

struct config_stage {
    str name;       /* unique in its workflow */
    size_t *agents; /* indexes into config_agents.agents */
    str *labels;    /* the agents' names, with a number if an agent occurs several times */
    size_t agent_count;
    bool parallel; /* all at the same time; else one after the other */
    bool all;      /* all agents must succeed; else any one of them */
};

/* The stages run in order; each gets the input and the results of the stage before. */
struct config_workflow {
    str name;
    struct config_stage *stages;
    size_t stage_count;
    str file;
    unsigned line;
};

struct config_agents {
    struct config_agent *agents;
    size_t agent_count;
    struct config_tools *tools;
    size_t tools_count;
    struct config_workflow *workflows;
    size_t workflow_count;
};
