/* tool_box.h - the toolbox's internals: tool.c the rows, tool_schema.c their schemas, tool_name.c
 * their names, tool_run.c the calls.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "agent/tool.h"
#include "base/map.h"
#include "base/schema.h"

struct box_tool {
    struct tool row; /* must be first: a row is found by its address */
    struct schema *schema;
    int64_t minute; /* the minute in which `calls` were counted */
    unsigned calls;
};

struct toolbox {
    const struct clock *clock;
    struct arena arena;
    struct box_tool *tools[TOOL_COUNT_MAX]; /* in the arena */
    size_t count;
    struct map by_name;

    pthread_mutex_t lock; /* protects the members below, and the counts of calls */
    pthread_cond_t idle;
    unsigned working; /* threads, including abandoned ones */
    struct arena cached;
    struct map cache; /* by name and arguments: str * */
};

/* Converts a schema with types of a programming language to JSON Schema. With `close`, objects
 * accept only the members they name. False: it is not a JSON object. */
bool tool_schema(str text, bool close, struct buf *out) MUST_USE;
/* A name that every provider accepts, made from one that some do not; the same in every run. */
str tool_called(str name, struct arena *a);
bool tool_name_plain(str name);
