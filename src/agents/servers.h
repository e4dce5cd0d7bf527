/* servers.h - MCP servers that run, as the tools of one run use them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "agents/definition.h"
#include "mcp/client.h"

struct agents_server;

/* The thread that all requests of tools go through; NULL: e says why. Lent. */
struct mcp_io *agents_servers_io(struct agents_servers *s, const struct config *c, struct err *e);
/* The server of a source, shared with other runs; it is started by its first call. NULL: e says
 * why. To be given back. */
struct agents_server *agents_server_take(struct agents_servers *s, const struct config *c,
                                         const struct config_tools *t, struct err *e);
void agents_server_give(struct agents_servers *s, struct agents_server *v); /* NULL: nothing */
struct mcp_client *agents_server_client(const struct agents_server *v);
