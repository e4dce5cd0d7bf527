/* servers.h - running MCP servers, as the tools of one run use them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "agents/definition.h"
#include "mcp/client.h"

struct agents_server;

/* The thread that handles all requests of tools; NULL: e has the reason. Lent. */
struct mcp_io *agents_servers_io(struct agents_servers *s, const struct config *c, struct err *e);
/* The server of a source, shared with other runs; its first call starts it. NULL: e has the reason.
 * Returned with agents_server_give. */
struct agents_server *agents_server_take(struct agents_servers *s, const struct config *c,
                                         const struct config_tools *t, struct err *e);
void agents_server_give(struct agents_servers *s, struct agents_server *v); /* NULL is allowed */
struct mcp_client *agents_server_client(const struct agents_server *v);
