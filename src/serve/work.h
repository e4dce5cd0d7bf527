/* work.h - threads that read the record, so that no loop waits for a disk.
 *
 *     struct work *w = work_new(url, store, 4, log);
 *     job->run = ...;  job->done = ...;
 *     if (!work_post(w, loop, job)) ...          too many wait already
 *     work_cancel(w, job);                       the result is not needed any more
 *
 * A thread with its own reader calls run once; then done is called on the loop that posted the job.
 * Both are called exactly once, in that order, also for a cancelled job. When a job gets a reader,
 * the tables have every call that was acknowledged before the job was posted. If this takes longer
 * than WORK_SETTLE_MS, the job gets no reader, and the error is ERR_TIMEOUT; if the disk of the
 * tables is full, it does not wait, and the error is ERR_SYSTEM. A job that then takes
 * longer than WORK_MS is stopped: its query fails with ERR_CANCELLED.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "net/loop.h"
#include "store/query.h"

#define WORK_QUEUE_MAX 256
#define WORK_MS 20000
#define WORK_SETTLE_MS 30000

struct work;

struct work_job {
    /* On a thread; r is NULL if no reader is available, and e has the reason; both are NULL in a
     * pool without readers. */
    void (*run)(struct work_job *j, struct reader *r, const struct err *e);
    void (*done)(struct work_job *j); /* on the loop */
    /* Used by the pool. */
    struct loop *loop;
    struct loop_task task;
    struct work_job *next;
    bool settled; /* it has waited for the tables; not again if the job is posted again */
    _Atomic bool cancelled;
    struct reader *reader; /* while it runs; under the pool's lock */
    uint64_t until_ns;
};

/* The url and the store must stay valid until work_free, which waits for running jobs. Without a
 * url the pool is for jobs without a reader and without a time limit. */
struct work *work_new(str url, struct store *store, unsigned threads, struct log *log);
/* Waits for running and queued jobs; work_post returns false from then on. Called once. */
void work_stop(struct work *w);
void work_free(struct work *w); /* NULL is allowed */
bool work_post(struct work *w, struct loop *l, struct work_job *j) MUST_USE;
void work_cancel(struct work *w, struct work_job *j);
