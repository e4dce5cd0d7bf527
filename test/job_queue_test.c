/* job_queue_test.c - jobs run in order, one at a time, and all of them are freed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/job_queue.h"
#include "test.h"

#include <semaphore.h>

#define JOBS 100

struct counted {
    struct job_link link;
    int number;
};

struct seen {
    sem_t begun, may_end;
    int order[JOBS], n;
};

static _Atomic int freed;

static void counted_free(struct job_link *job)
{
    free(job);
    freed++;
}

static void counted_run(void *ctx, struct job_link *job)
{
    struct seen *s = ctx;

    s->order[s->n++] = ((struct counted *)job)->number;
    sem_post(&s->begun);
    sem_wait(&s->may_end);
}

static struct job_link *counted_new(int number)
{
    struct counted *c = base_alloc(sizeof *c);

    c->number = number;
    return &c->link;
}

static void seen_init(struct seen *s)
{
    *s = (struct seen){.n = 0};
    sem_init(&s->begun, 0, 0);
    sem_init(&s->may_end, 0, 0);
    freed = 0;
}

TEST(jobs_run_in_the_order_in_which_they_were_added)
{
    struct job_queue q;
    struct seen s;

    seen_init(&s);
    job_queue_init(&q, counted_run, counted_free, &s);
    for (int i = 0; i < JOBS; i++)
        CHECK(job_queue_add(&q, counted_new(i), 0));
    for (int i = 0; i < JOBS; i++) {
        sem_wait(&s.begun);
        CHECK(s.order[i] == i);
        sem_post(&s.may_end);
    }
    job_queue_release(&q);
    CHECK(s.n == JOBS && freed == JOBS);
}

TEST(a_full_queue_refuses_a_job_and_the_release_drops_those_that_wait)
{
    struct job_link *refused = counted_new(3);
    struct job_queue q;
    struct seen s;

    seen_init(&s);
    job_queue_init(&q, counted_run, counted_free, &s);
    CHECK(job_queue_add(&q, counted_new(0), 2));
    sem_wait(&s.begun); /* the first job runs, so it does not count as waiting */
    CHECK(job_queue_add(&q, counted_new(1), 2));
    CHECK(job_queue_add(&q, counted_new(2), 2));
    CHECK(!job_queue_add(&q, refused, 2));
    pthread_mutex_lock(&q.lock);
    q.stop = true; /* as job_queue_release sets it, before the first job may end */
    pthread_mutex_unlock(&q.lock);
    CHECK(!job_queue_add(&q, refused, 0));
    sem_post(&s.may_end);
    job_queue_release(&q);
    CHECK(s.n == 1 && freed == 3);
    counted_free(refused);
}

TEST(a_queue_without_jobs_has_no_thread)
{
    struct job_queue q;
    struct seen s;

    seen_init(&s);
    job_queue_init(&q, counted_run, counted_free, &s);
    CHECK(!q.started);
    job_queue_release(&q);
    CHECK(s.n == 0 && freed == 0);
}

TEST_MAIN(T(jobs_run_in_the_order_in_which_they_were_added),
          T(a_full_queue_refuses_a_job_and_the_release_drops_those_that_wait),
          T(a_queue_without_jobs_has_no_thread))
