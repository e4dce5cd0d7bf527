/* mcp_record.h - the tools that query the store, with the caller's rights.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "gateway/config.h"
#include "mcp/server.h"
#include "store/query.h"

#define CLI_MCP_READERS 8 /* kept open between queries */

/* Several threads may query at once. */
struct cli_mcp_record {
    const struct config *config; /* may be NULL: then no tool queries the store */
    pthread_mutex_t lock;        /* of the unused readers */
    struct reader *idle[CLI_MCP_READERS];
    size_t idle_count;
    struct mcp_set set; /* points at this struct, which must not move */
};

void cli_mcp_record_init(struct cli_mcp_record *r, const struct config *config);
void cli_mcp_record_release(struct cli_mcp_record *r);
