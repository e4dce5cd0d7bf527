/* definition.h - the configured agents, tools and workflows, for the code that runs them.
 *
 *     const struct config_agent *d = agents_find(config, STR("librarian"));
 *     if (!d) agents_nearest(config, name)                             "did you mean ..."
 *     struct agents_servers *servers = agents_servers_new();           one for the process
 *     struct agents_tools_options o = {config, d, servers, clock, mask, listed};
 *     if (!agents_open_tools(&o, &tools, e)) ...
 *     tools->view.ask = agent_ask_gateway(gl);                         the strategy, marks, rule
 *     agent_run(&(struct agent_options){.tools = tools->box, .results = tools->results,
 *                                       .ask = agent_view_ask(&tools->view), ...})
 *     agents_close_tools(tools);
 *
 * gateway/config_agents.h describes a definition. The configuration is lent and must be held as
 * long as the tools are open (setup_retain, config_retain): a reload makes another configuration,
 * and runs keep the one that they began with.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "agent/view.h"
#include "gateway/config_agents.h"

/* By name; NULL if it does not exist. The lists themselves are config->agents, never NULL. */
const struct config_agent *agents_find(const struct config *c, str name);
const struct config_workflow *agents_find_workflow(const struct config *c, str name);
/* The most similar name of an agent or workflow, or NULL. */
const char *agents_nearest(const struct config *c, str name);
const char *agents_strategy_name(enum config_strategy s);

/* The running MCP servers, shared by all runs of the process. A server is started when the first
 * run needs it, and stopped when the current configuration no longer has it and no run uses it. */
struct agents_servers;

struct agents_servers *agents_servers_new(void);
/* All tools must be closed. NULL is allowed. */
void agents_servers_free(struct agents_servers *s);
/* Stops the servers that are not in this configuration, once no run uses them. */
void agents_servers_reload(struct agents_servers *s, const struct config *c);

/* The reply of an MCP server that was asked for its tools. */
struct agents_listing {
    str server, tools;       /* tools: JSON; "" with an error */
    const struct err *error; /* masked; NULL: none */
    int64_t asked_us;
};

struct agents_tools_options {
    const struct config *config; /* only its agents->tools and ca_file are used */
    const struct config_agent *agent;
    struct agents_servers *servers;
    const struct clock *clock;
    const struct mask *mask; /* masks notes (the run masks results itself); NULL: none */
    /* The tools that the sources listed when the run began (agents_tools.listed, from the log), so
     * that a resumed run has the same tools; "": the servers are asked now. */
    str listed;
    const _Atomic bool *cancel; /* or NULL */
    unsigned retries;           /* retries of calls to MCP servers, after transient failures */
    int64_t list_ms;            /* time that a server gets to list its tools; 0: 10 s */
    bool whole;                 /* results are shown in full, so there is no result_search */
    void (*on_list)(void *ctx, const struct agents_listing *l); /* or NULL */
    void *ctx;
};

struct agents_tools {
    /* The toolbox of the run: the agent's tools, with those that need approval marked, and
     * result_search if there is any other tool. The runner adds its own with toolbox_add (handoffs,
     * tools of the caller) before the run. */
    struct toolbox *box;
    struct agent_results *results; /* whole results, which result_search searches */
    /* The view for the agent's strategy; the runner sets who answers (view.ask). */
    struct agent_view view;
    str listed; /* JSON, for the log: see above */
    str notes;  /* one line for each unusable server, for the user and the model; or "" */
};

/* Asks the sources for their tools: JSON for agents_tools_options.listed. Several agents that use
 * the same list ask the servers once. */
bool agents_list_tools(const struct agents_tools_options *o, struct buf *out,
                       struct err *e) MUST_USE;
/* An unreachable server is a note, not an error. ERR_INPUT: a server does not have a tool that the
 * agent names; the error names it, and the nearest one that the server has. */
bool agents_open_tools(const struct agents_tools_options *o, struct agents_tools **out,
                       struct err *e) MUST_USE;
void agents_close_tools(struct agents_tools *t); /* NULL is allowed */
/* The configured name, "library.lend", of a tool in the box; its own name if it has no other. */
str agents_tool_name(const struct agents_tools *t, str box_name);
