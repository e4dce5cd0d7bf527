/* tool_box.h - the box as its own files see it: tool.c the rows, tool_schema.c their schemas,
 * tool_name.c their names, tool_run.c the calls.
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
    struct box_tool *tools[TOOL_COUNT_MAX]; /* in the arena */
    size_t count;
    struct map by_name;

    pthread_mutex_t lock; /* of what follows, and of the counts of calls */
    pthread_cond_t idle;
    unsigned working; /* threads, those given up among them */
    struct arena cached;
    struct map cache; /* by name and arguments: str * */
};

/* A schema as JSON Schema has it, from one in the words of a programming language; if it is to be
 * closed, objects take no members but those they name. False: it is no JSON object. */
bool tool_schema(str text, bool close, struct buf *out) MUST_USE;
/* A name that every provider takes, made from one that some do not; the same in every run. */
str tool_called(str name, struct arena *a);
bool tool_name_plain(str name);
