/* optimize_help.h - problems generated from a number, and their runs with all events as text.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/buf.h"
#include "base/rand.h"
#include "optimize/event.h"
#include "optimize/problem.h"

/* A run of a problem, and its counters for tests. */
struct made {
    struct arena arena;
    struct problem_run run;
    struct optimize_task task;
    struct buf log;
    uint64_t graded, asked; /* calls of the adapter */
    uint64_t fail_at;       /* number of the grade that fails the run; 0: none */
    /* Called for each event, after the log; may be NULL. */
    void (*look)(struct made *m, const struct optimize_event *ev);
    void *more;
};

/* Generates a problem from a number, with varied settings, but never in reference mode. */
void made_init(struct made *m, uint64_t number);
void made_release(struct made *m);

/* Runs the problem to its end; `log` gets the events. */
void made_run(struct made *m);
/* Runs until an error or the end; false on an error. */
bool made_try(struct made *m, struct err *e);
