/* mask_work.h - threads that mask what would keep a loop busy for too long.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "mask/mask.h"
#include "net/loop.h"

struct mask_work;

/* The owner fills in the first part, and reads the second once `done` is called on its loop. */
struct mask_job {
    struct loop_task done;
    struct loop *loop;
    const struct mask *mask;   /* lent */
    str body;                  /* JSON, or a text; lent */
    struct mask_budget budget; /* what of it is left afterwards, too */

    struct buf out; /* if `found` */
    struct mask_counts counts;
    bool found;
    struct mask_job *next; /* the threads' own */
};

struct mask_work *mask_work_new(void);
void mask_work_free(struct mask_work *w); /* after the loops have left */
/* Threads are started with the first job. */
void mask_work_add(struct mask_work *w, struct mask_job *j);
/* Before the loop is freed: waits for its jobs that are under way and drops the others. */
void mask_work_leave(struct mask_work *w, const struct loop *l);
