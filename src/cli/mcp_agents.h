/* mcp_agents.h - each agent and workflow of a configuration as a tool of `rationale mcp`.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "agents/definition.h"
#include "mcp/server.h"

struct cli_mcp_agents {
    const struct config *config; /* lent */
    const char *path;            /* of the configuration */
    struct mcp_tool *tools;
    struct mcp_set set;
};

void cli_mcp_agents_init(struct cli_mcp_agents *m, const struct config *c, const char *path);
void cli_mcp_agents_release(struct cli_mcp_agents *m);
