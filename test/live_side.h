/* live_side.h - a viewer that records the messages it gets.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/json.h"
#include "live/hub.h"

struct seen {
    struct hub_viewer *viewer;
    struct buf all;     /* one message per line */
    struct buf text[3]; /* assembled from the pieces by their `at` */
    size_t count[3];    /* pieces */
    size_t messages, gaps, started, ended, hidden;
    int64_t missed;
    uint64_t last; /* number of the last message */
    bool full;
    bool torn;  /* a piece began after the end of the text so far */
    str expect; /* the text that each answer must have at its call's end; empty: any */
    size_t wrong;
};

void seen_begin(struct seen *s, struct hub_port *p, const struct hub_scope *scope);
void seen_end(struct seen *s);
bool seen_has(const struct seen *s, const char *what);

/* Runs the loop until no task is ready. */
void side_turn(struct loop *l);

#define SIDE_ALL (&(struct hub_scope){.all = true, .key = STR("")})
struct hub_begin side_begin(const char *id, const char *session, const char *key);
struct hub_end side_end(void);
