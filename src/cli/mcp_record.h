/* mcp_record.h - the tools over the store, and who asks.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "gateway/config.h"
#include "mcp/server.h"
#include "store/query.h"

struct cli_mcp_record {
    str url;                      /* of the store; lent */
    const struct config_key *key; /* of who asks now; NULL: who started us */
    struct reader *reader;        /* opened at the first question */
    struct mcp_set set;           /* points at this struct, so it may not move */
};

void cli_mcp_record_init(struct cli_mcp_record *r, str url);
void cli_mcp_record_release(struct cli_mcp_record *r);
