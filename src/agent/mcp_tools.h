/* mcp_tools.h - adds the tools of MCP servers to a toolbox.
 *
 *     struct mcp_toolset *m = mcp_toolset_new();
 *     mcp_toolset_list(client, 30000, NULL, &text, e)           a server's tools, as JSON
 *     mcp_toolset_add(m, box, &server, text, e)                 its tools are in the box
 *     mcp_toolset_find(m, name, &server, &tool)                 the server and tool of a name
 *     toolbox_free(box); mcp_toolset_free(m);                   in this order
 *
 * Listing and adding are separate, so that a run resumed after a restart has the same tools,
 * whatever the server lists now.
 *
 * mcp/name.h makes the name of a tool from its server's name and its own. If a call's outcome is
 * unknown, tools with the server's hint read-only or idempotent run again; for the others the
 * caller decides. An error of the tool is a result for the model, marked as an error. All results
 * and errors are masked.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "agent/tool.h"
#include "mask/mask.h"
#include "mcp/client.h"

#define MCP_TOOL_RESULT_MAX ((size_t)4 << 20) /* bytes of text kept of one result */

struct mcp_toolset;

/* All members except the name are lent as long as the box. */
struct mcp_toolset_server {
    str name;
    struct mcp_client *client;  /* NULL: calls fail with a message about it */
    const struct mask *mask;    /* of results; NULL: none */
    const char *const *allow;   /* allowed tools, ends with NULL; NULL: all */
    enum tool_unknown unknown;  /* for tools that must not simply run again */
    unsigned timeout_ms;        /* 0: MCP_CALL_MS */
    unsigned retries, approval; /* as in struct tool; approval: ask a person before each call */
    const char *const *approve; /* limits approval to these, ends with NULL; NULL: all */
};

/* The program of a server. `rationale` means this program, wherever it was started from. */
const char *const *mcp_server_argv(const char *const *argv, struct arena *a);

struct mcp_toolset *mcp_toolset_new(void);
void mcp_toolset_free(struct mcp_toolset *m); /* NULL is allowed */

/* [{"name", "description", "schema", "read_only", "idempotent"}] by name. Ends with
 * ERR_CANCELLED when *cancel becomes true; NULL is allowed. */
bool mcp_toolset_list(struct mcp_client *c, int64_t timeout_ms, const _Atomic bool *cancel,
                      struct buf *out, struct err *e) MUST_USE;
/* Masks the text of an error, which a server may have written; mask NULL: nothing. */
void mcp_mask_error(const struct mask *mask, struct err *e);
/* `list` as mcp_toolset_list writes it. A schema that does not compile accepts any object. */
bool mcp_toolset_add(struct mcp_toolset *m, struct toolbox *box, const struct mcp_toolset_server *s,
                     str list, struct err *e) MUST_USE;
/* False if no tool of the set has the name. */
bool mcp_toolset_find(const struct mcp_toolset *m, str name, str *server, str *tool) MUST_USE;
