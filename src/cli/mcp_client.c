/* mcp_client.c - the client of the official suite: `--conformance-client`.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli/cli.h"
#include "cli/mcp.h"

int cli_mcp_client(const char *url)
{
    return cli_complain(CLI_INTERNAL, "not yet: %s", url);
}
