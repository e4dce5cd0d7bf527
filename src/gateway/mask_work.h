/* mask_work.h - threads that mask texts that would block a loop for too long.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "mask/mask.h"
#include "net/loop.h"

struct mask_work;

/* The owner fills in the first part and reads the second once `done` is called on its loop. */
struct mask_job {
    struct loop_task done;
    struct loop *loop;
    const struct mask *mask;   /* lent */
    str body;                  /* JSON, or a text; lent */
    struct mask_budget budget; /* in: the time limit; out: the rest of it */

    struct buf out; /* valid if `found` */
    struct mask_counts counts;
    bool found;
    struct mask_job *next; /* for the threads only */
};

struct mask_work *mask_work_new(void);
void mask_work_free(struct mask_work *w); /* after every loop called mask_work_leave */
/* The first job starts the threads. */
void mask_work_add(struct mask_work *w, struct mask_job *j);
/* Call it before the loop is freed: waits for its running jobs and drops the queued ones. */
void mask_work_leave(struct mask_work *w, const struct loop *l);
