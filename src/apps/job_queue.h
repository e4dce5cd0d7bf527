/* job_queue.h - jobs that one background thread runs, one after another.
 *
 *     job_queue_init(&queue, job_run, job_free, ctx);
 *     if (!job_queue_add(&queue, &job->link, JOBS_MAX))     refused: the caller keeps the job
 *         job_free(&job->link);
 *     job_queue_release(&queue);
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <pthread.h>

#include "base/base.h"

/* The first member of a job. */
struct job_link {
    struct job_link *next;
};

struct job_queue {
    void (*run)(void *ctx, struct job_link *job);
    void (*drop)(struct job_link *job); /* frees it, after its run or instead */
    void *ctx;
    pthread_mutex_t lock; /* guards the fields below */
    pthread_cond_t more;
    struct job_link *first, **end;
    size_t waiting;
    bool started, stop;
    pthread_t thread;
};

void job_queue_init(struct job_queue *q, void (*run)(void *ctx, struct job_link *job),
                    void (*drop)(struct job_link *job), void *ctx);
/* The first job starts the thread. False: waiting_max jobs (0: no limit) wait already, or the queue
 * is being released. */
bool job_queue_add(struct job_queue *q, struct job_link *job, size_t waiting_max) MUST_USE;
/* Waits for the running job, and drops those that wait. */
void job_queue_release(struct job_queue *q);
