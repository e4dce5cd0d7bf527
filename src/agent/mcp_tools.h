/* mcp_tools.h - the tools of MCP servers in a toolbox.
 *
 *     struct mcp_toolset *m = mcp_toolset_new();
 *     mcp_toolset_list(client, 30000, &text, e)                 what a server has, as JSON
 *     mcp_toolset_add(m, box, &server, text, e)                 its tools are in the box
 *     mcp_toolset_find(m, name, &server, &tool)                 whose a name of the box is
 *     toolbox_free(box); mcp_toolset_free(m);                   in this order
 *
 * Listing and adding are apart so that a run that goes on after a restart has the tools it had,
 * whatever the server lists now.
 *
 * A tool is called what mcp/name.h makes of its server's name and its own. What a server hints to
 * be read only or idempotent may run again when its end is unknown; for the others the caller says
 * what is to happen. An error of the tool is a result for the model to read, and so is said to be
 * one. What comes back is masked, errors of any kind too.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "agent/tool.h"
#include "mask/mask.h"
#include "mcp/client.h"

#define MCP_TOOL_RESULT_MAX ((size_t)4 << 20) /* bytes of text kept of one result */

struct mcp_toolset;

/* All of it but the name is lent as long as the box. */
struct mcp_toolset_server {
    str name;
    struct mcp_client *client;  /* NULL: calls fail, saying so */
    const struct mask *mask;    /* of results; NULL: none */
    const char *const *allow;   /* tools that may be used, NULL behind the last; NULL: all */
    enum tool_unknown unknown;  /* of tools that may not simply run again */
    unsigned timeout_ms;        /* 0: MCP_CALL_MS */
    unsigned retries, approval; /* as in struct tool; approval: ask a person before each call */
    const char *const *approve; /* but only of these, NULL behind the last; NULL: of all */
};

/* The program of a server. `rationale` is this very program, wherever it was started from. */
const char *const *mcp_server_argv(const char *const *argv, struct arena *a);

struct mcp_toolset *mcp_toolset_new(void);
void mcp_toolset_free(struct mcp_toolset *m); /* NULL: nothing */

/* [{"name", "description", "schema", "read_only", "idempotent"}] by name. */
bool mcp_toolset_list(struct mcp_client *c, int64_t timeout_ms, struct buf *out,
                      struct err *e) MUST_USE;
/* `list` as mcp_toolset_list gives it. A schema that does not compile is taken as any object. */
bool mcp_toolset_add(struct mcp_toolset *m, struct toolbox *box, const struct mcp_toolset_server *s,
                     str list, struct err *e) MUST_USE;
/* False if no tool of the set has the name. */
bool mcp_toolset_find(const struct mcp_toolset *m, str name, str *server, str *tool) MUST_USE;
/* The other way: the name of a server's tool in the box. `server` may be "": then the only server
 * that has such a tool is meant. `tool` may be the box's name already. */
bool mcp_toolset_name(const struct mcp_toolset *m, str server, str tool, str *name) MUST_USE;
