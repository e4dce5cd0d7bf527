/* config_agents.h - what the configuration says of agents, their tools and their workflows.
 *
 * All of it is part of struct config: checked whole when the configuration is read, never changed
 * afterwards, and freed with it. Texts are in the configuration's arena. Names have been checked,
 * so an index (a tool source, an agent) is always in range.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/secret.h"
#include "chat/chat.h"
#include "net/client.h"
#include "openapi/openapi.h"

#define CONFIG_AGENTS_MAX 256
#define CONFIG_TOOL_SOURCES_MAX 64
#define CONFIG_WORKFLOWS_MAX 256
#define CONFIG_STAGES_MAX 32
#define CONFIG_STAGE_AGENTS_MAX 16 /* of one stage */

/* Where tools come from. */
enum config_tools_kind { CONFIG_TOOLS_MCP, CONFIG_TOOLS_OPENAPI, CONFIG_TOOLS_HTTP };

struct config_tools {
    str name;
    enum config_tools_kind kind;
    /* MCP: a program with its environment ("NAME=value"; NULL: PATH and HOME only), or `url`. */
    const char *const *argv; /* NULL behind the last; or NULL */
    const char *const *env;
    const char *cwd;
    /* MCP: the server's address; OpenAPI: the base_url; HTTP: where the request goes. */
    str url;
    struct secret headers; /* ready lines, each ended by CRLF; empty if there are none */
    /* OpenAPI: its operations, each of them a tool. */
    struct openapi openapi;
    /* HTTP: one tool, named as the source. */
    str method, description;
    str schema; /* JSON Schema of the arguments */
    bool read_only, idempotent;
    uint64_t timeout_ms; /* of one call */
    str digest;          /* hex: the same for sources that are configured alike */
};

/* "library" or "library.lend". */
struct config_tool_ref {
    size_t source; /* in config_agents.tools */
    str tool;      /* "": all of the source */
    unsigned line; /* where it is in the file */
};

enum config_strategy { CONFIG_NATIVE, CONFIG_REACT, CONFIG_CLASSIC };

struct config_limits {
    unsigned steps;   /* 20 */
    int64_t tokens;   /* -1: none */
    double usd;       /* 0: none */
    uint64_t time_ms; /* 0: none */
};

/* Who looks at what goes in or comes out, and allows it or denies it with a reason. */
enum config_guard_kind { CONFIG_GUARD_NONE, CONFIG_GUARD_AGENT, CONFIG_GUARD_HTTP };

struct config_guard {
    enum config_guard_kind kind;
    size_t agent;                     /* AGENT: in config_agents.agents */
    const struct config_tools *tools; /* HTTP: a source of that kind that is named; or NULL: */
    str url;                          /* HTTP: where the request is posted */
};

struct config_agent {
    str name;
    str description; /* for those who choose among agents, people and models; or "" */
    str model;       /* a name that config_find knows */
    str prompt;      /* the text itself; or "" if it is in the registry: */
    str prompt_name; /* the prompt's name in the registry; or "" */
    enum chat_level level;
    enum config_strategy strategy;
    struct config_tool_ref *tools;
    size_t tool_count;
    str output; /* JSON Schema of the answer; "": any text */
    struct config_limits limits;
    struct config_tool_ref *approve; /* calls that wait for a person */
    size_t approve_count;
    size_t *handoff; /* agents that the conversation may be passed on to */
    size_t handoff_count;
    struct config_guard guard_input, guard_output;
    str file; /* where it is defined */
    unsigned line;
    str digest; /* hex, of all of the above: a run that resumes can tell that it has changed */
};

struct config_stage {
    size_t *agents; /* in config_agents.agents */
    size_t agent_count;
    bool parallel; /* all at once; else one after the other */
    bool all;      /* success: all of them must succeed; else any one of them */
};

/* The stages run one after the other; each gets the input and what the stage before has found. */
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
