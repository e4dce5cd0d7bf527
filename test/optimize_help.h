/* optimize_help.h - problems made up from a number, and runs of them with their events as text.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/buf.h"
#include "base/rand.h"
#include "optimize/event.h"
#include "optimize/problem.h"

/* A run of a problem, and what a test may want to see of it. */
struct made {
    struct arena arena;
    struct problem_run run;
    struct optimize_task task;
    struct buf log;
    uint64_t graded, asked; /* by the adapter */
    uint64_t fail_at;       /* the grade that fails the run; 0: none */
    /* Called for each event besides; may be NULL. */
    void (*look)(struct made *m, const struct optimize_event *ev);
    void *more;
};

/* Different for each number, with settings of all kinds; not in reference mode. */
void made_init(struct made *m, uint64_t number);
void made_release(struct made *m);

/* Runs it to its end; the log is what it told. */
void made_run(struct made *m);
/* As far as it comes. */
bool made_try(struct made *m, struct err *e);
