/* mcp_record.h - the tools over the store, and who asks.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <pthread.h>

#include "gateway/config.h"
#include "mcp/server.h"
#include "store/query.h"

#define CLI_MCP_READERS 8 /* kept open between questions */

/* Questions may be asked on several threads at once. */
struct cli_mcp_record {
    const struct config *config; /* lent; may be NULL: then nobody asks */
    pthread_mutex_t lock;        /* of the readers that nobody uses */
    struct reader *idle[CLI_MCP_READERS];
    size_t idle_count;
    struct mcp_set set; /* points at this struct, so it may not move */
};

void cli_mcp_record_init(struct cli_mcp_record *r, const struct config *config);
void cli_mcp_record_release(struct cli_mcp_record *r);
