/* mcp.h - the sets of tools that `rationale mcp` serves, and the other side of the suite.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "mcp/server.h"

/* The tools that need nothing but themselves. */
extern const struct mcp_set cli_mcp_tools;
/* What the scenarios of the official suite expect of a server. */
extern const struct mcp_set cli_mcp_conformance;

/* The suite's client: the scenario is in the environment. Returns an exit code. */
int cli_mcp_client(const char *url);
