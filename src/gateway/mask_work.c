/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/mask_work.h"

#include <signal.h>

#define THREADS 2

struct mask_work {
    pthread_mutex_t lock;
    pthread_cond_t more, ended;
    struct mask_job *first, **last; /* waiting */
    struct mask_job *running[THREADS];
    pthread_t threads[THREADS];
    unsigned started, count; /* threads; those that have taken a slot */
    bool stop;
};

struct mask_work *mask_work_new(void)
{
    struct mask_work *w = base_alloc(sizeof *w);

    *w = (struct mask_work){0};
    w->last = &w->first;
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->more, NULL);
    pthread_cond_init(&w->ended, NULL);
    return w;
}

static void mask_work_run(struct mask_job *j)
{
    mask_budget_set(&j->budget);
    j->found = mask_json(j->mask, j->body, &j->out, &j->counts);
    mask_budget_set(NULL);
}

/* The next job, in the slot of this thread; NULL at the end. */
static struct mask_job *mask_work_next(struct mask_work *w, unsigned slot)
{
    struct mask_job *j;

    assert(slot < THREADS && !w->running[slot]);
    while (!w->first && !w->stop)
        pthread_cond_wait(&w->more, &w->lock);
    j = w->stop ? NULL : w->first;
    if (j) {
        w->first = j->next;
        if (!w->first)
            w->last = &w->first;
        w->running[slot] = j;
    }
    return j;
}

static void *mask_work_thread(void *work)
{
    struct mask_work *w = work;
    struct mask_job *j;
    unsigned slot;

    pthread_mutex_lock(&w->lock);
    slot = w->count++;
    while ((j = mask_work_next(w, slot))) {
        pthread_mutex_unlock(&w->lock);
        mask_work_run(j);
        pthread_mutex_lock(&w->lock);
        w->running[slot] = NULL;
        loop_post(j->loop, &j->done); /* its loop waits for the lock before it goes */
        pthread_cond_broadcast(&w->ended);
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

/* Call it under the lock. One thread is enough to continue. */
static void mask_work_start(struct mask_work *w)
{
    sigset_t all, was;

    assert(w->started == 0);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &was);
    while (w->started < THREADS &&
           pthread_create(&w->threads[w->started], NULL, mask_work_thread, w) == 0)
        w->started++;
    pthread_sigmask(SIG_SETMASK, &was, NULL);
    if (w->started == 0)
        base_die("masking: no thread");
}

void mask_work_add(struct mask_work *w, struct mask_job *j)
{
    pthread_mutex_lock(&w->lock);
    if (w->started == 0)
        mask_work_start(w);
    assert(!*w->last && !w->stop);
    j->next = NULL;
    *w->last = j;
    w->last = &j->next;
    pthread_cond_signal(&w->more);
    pthread_mutex_unlock(&w->lock);
}

static bool mask_work_busy(const struct mask_work *w, const struct loop *l)
{
    for (unsigned i = 0; i < THREADS; i++)
        if (w->running[i] && w->running[i]->loop == l)
            return true;
    return false;
}

void mask_work_leave(struct mask_work *w, const struct loop *l)
{
    struct mask_job **at;

    pthread_mutex_lock(&w->lock);
    for (at = &w->first; *at;) {
        if ((*at)->loop == l)
            *at = (*at)->next;
        else
            at = &(*at)->next;
    }
    w->last = at;
    while (mask_work_busy(w, l))
        pthread_cond_wait(&w->ended, &w->lock);
    pthread_mutex_unlock(&w->lock);
}

void mask_work_free(struct mask_work *w)
{
    pthread_mutex_lock(&w->lock);
    w->stop = true;
    pthread_cond_broadcast(&w->more);
    pthread_mutex_unlock(&w->lock);
    for (unsigned i = 0; i < w->started; i++)
        pthread_join(w->threads[i], NULL);
    pthread_cond_destroy(&w->more);
    pthread_cond_destroy(&w->ended);
    pthread_mutex_destroy(&w->lock);
    free(w);
}
