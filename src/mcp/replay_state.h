/* replay_state.h - recordings as their two files see them: replay_read.c reads a folder, replay.c
 * answers calls.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "mcp/replay.h"

#define REPLAY_FAULTS_MAX 1000

struct recording {
    str file, tool;
    struct json head;              /* its first line */
    const struct json_node *match; /* an object in it, or NULL: any call */
    struct json meta;              /* its second line */
    str output;                    /* as it is in the file */
    bool failed;
    /* While a call is looked up. */
    bool matches;
    size_t same, other;
};

struct replay {
    struct arena arena;
    struct recording *recordings; /* by file name */
    size_t count, cap;
    const char **faults;
    size_t fault_count;
    struct mcp_tool *tools;
    size_t tool_count;
    struct mcp_set set;
};

void replay_run(void *ctx, const struct mcp_ask *ask, struct mcp_answer *answer);
/* One file, its text in memory as long as r; false after a fault. */
bool replay_add(struct replay *r, str file, str text);
