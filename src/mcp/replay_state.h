/* replay_state.h - shared by replay_read.c, which reads a folder, and replay.c, which answers
 * calls.
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
    str output;                    /* unchanged from the file */
    bool failed;
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
/* Adds one file, whose text must live as long as r; false after a fault. */
bool replay_add(struct replay *r, str file, str text);
