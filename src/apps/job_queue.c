/* job_queue.c - see job_queue.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/job_queue.h"

void job_queue_init(struct job_queue *q, void (*run)(void *ctx, struct job_link *job),
                    void (*drop)(struct job_link *job), void *ctx)
{
    *q = (struct job_queue){.run = run, .drop = drop, .ctx = ctx};
    q->end = &q->first;
    pthread_mutex_init(&q->lock, NULL);
    pthread_cond_init(&q->more, NULL);
}

/* Waits for the next job; NULL: the queue is released. */
static struct job_link *job_queue_next(struct job_queue *q)
{
    struct job_link *job;

    pthread_mutex_lock(&q->lock);
    while (!q->first && !q->stop)
        pthread_cond_wait(&q->more, &q->lock);
    job = q->stop ? NULL : q->first;
    if (job) {
        assert(q->waiting > 0);
        q->waiting--;
        q->first = job->next;
        q->end = q->first ? q->end : &q->first;
        assert(!q->first == !q->waiting);
    }
    pthread_mutex_unlock(&q->lock);
    return job;
}

static void *job_queue_work(void *arg)
{
    struct job_queue *q = arg;
    struct job_link *job;

    while ((job = job_queue_next(q))) {
        q->run(q->ctx, job);
        q->drop(job);
    }
    return NULL;
}

bool job_queue_add(struct job_queue *q, struct job_link *job, size_t waiting_max)
{
    bool room;

    pthread_mutex_lock(&q->lock);
    room = !q->stop && (!waiting_max || q->waiting < waiting_max);
    if (room) {
        assert(!*q->end && !q->first == !q->waiting);
        job->next = NULL;
        *q->end = job;
        q->end = &job->next;
        q->waiting++;
        if (!q->started && pthread_create(&q->thread, NULL, job_queue_work, q) != 0)
            base_die("no thread could be started");
        q->started = true;
        pthread_cond_signal(&q->more);
    }
    pthread_mutex_unlock(&q->lock);
    return room;
}

void job_queue_release(struct job_queue *q)
{
    pthread_mutex_lock(&q->lock);
    q->stop = true;
    pthread_cond_signal(&q->more);
    pthread_mutex_unlock(&q->lock);
    if (q->started)
        pthread_join(q->thread, NULL);
    assert(q->started || !q->first); /* a job is added with its thread */
    while (q->first) {
        struct job_link *job = q->first;

        q->first = job->next;
        q->drop(job);
    }
    pthread_mutex_destroy(&q->lock);
    pthread_cond_destroy(&q->more);
}
