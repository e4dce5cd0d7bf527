/* mcp.h - the sets of tools that `rationale mcp` serves, and the client for the conformance suite.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "mcp/server.h"

/* The tools that need no store and no configuration. */
extern const struct mcp_set cli_mcp_tools;
/* The tools that the scenarios of the official suite expect of a server. */
extern const struct mcp_set cli_mcp_conformance;

/* The client for the suite; the scenario is in the environment. Returns an exit code. */
int cli_mcp_client(const char *url);
