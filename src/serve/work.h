/* work.h - threads that read the record, so that no loop waits for a disk.
 *
 *     struct work *w = work_new(url, store, 4, log);
 *     job->run = ...;  job->done = ...;
 *     if (!work_post(w, loop, job)) ...          too many wait already
 *     work_cancel(w, job);                       nobody is interested any more
 *
 * A job is run once by some thread with a reader of its own, then done is called on the loop it was
 * posted from; both exactly once, in that order, also when it was cancelled. Every call that was
 * acknowledged before a job was posted is in the tables when the job gets a reader. If they do not
 * get there within WORK_SETTLE_MS, the job gets no reader, and the error is ERR_TIMEOUT. A job that
 * then takes longer than WORK_MS is stopped: its question fails with ERR_CANCELLED.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/log.h"
#include "net/loop.h"
#include "store/query.h"
#include "store/store.h"

#define WORK_QUEUE_MAX 256
#define WORK_MS 20000
#define WORK_SETTLE_MS 30000

struct work;

struct work_job {
    /* On a thread; r is NULL if there is none to be had, and then e says why, or NULL if the pool
     * has none at all. */
    void (*run)(struct work_job *j, struct reader *r, const struct err *e);
    void (*done)(struct work_job *j); /* on the loop */
    /* Of the pool. */
    struct loop *loop;
    struct loop_task task;
    struct work_job *next;
    bool settled; /* the tables have been waited for: not again if it is posted again */
    _Atomic bool cancelled;
    struct reader *reader; /* while it runs; under the pool's lock */
    uint64_t until_ns;
};

/* The url and the store are lent until work_free, which waits for what runs. Without a url it is a
 * pool for what has nothing to do with the record, and takes as long as it takes. */
struct work *work_new(str url, struct store *store, unsigned threads, struct log *log);
void work_free(struct work *w); /* NULL: nothing */
bool work_post(struct work *w, struct loop *l, struct work_job *j) MUST_USE;
void work_cancel(struct work *w, struct work_job *j);
