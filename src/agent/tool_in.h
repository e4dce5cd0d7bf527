/* tool_in.h - the box as its own files see it: tool.c the rows, tool_run.c the calls.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <pthread.h>

#include "agent/tool.h"
#include "base/map.h"
#include "base/schema.h"

struct box_tool {
    struct tool row; /* first: a row is found by its address */
    struct schema *schema;
    int64_t minute; /* of the calls counted */
    unsigned calls;
};

struct toolbox {
    const struct clock *clock;
    struct arena arena;
    struct box_tool tools[TOOL_COUNT_MAX];
    size_t count;
    struct map by_name;

    pthread_mutex_t lock; /* of what follows, and of the counts of calls */
    pthread_cond_t idle;
    unsigned working; /* threads, those given up among them */
    struct arena cached;
    struct map cache; /* by name and arguments: str * */
};
