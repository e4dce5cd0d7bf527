/* thread_group.c - groups puts, so that they wait for the disk together.
 *
 * The first thread takes all waiting puts, writes them in one durable transaction and wakes their
 * owners; meanwhile the next group forms. If a put is refused, each put is tried alone, so that
 * only this one fails.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/thread_store.h"

#define TOGETHER_MAX 64

static bool agent_put_list(struct db *db, const struct thread_job *list, struct err *e)
{
    bool ok = true;

    assert(list);
    if (!db_begin(db, true, e))
        return false;
    for (const struct thread_job *j = list; ok && j; j = j->next)
        ok = j->put(db, j->who, j->tuple, e);
    return db_end(db, ok, e);
}

static void agent_thread_group_put_batch(struct threads *t, struct thread_job *list)
{
    struct err e = {0};
    bool ok, alone;

    pthread_mutex_lock(&t->lock);
    ok = agent_put_list(t->writer, list, &e);
    alone = !ok && list->next;
    for (struct thread_job *j = list; j; j = j->next) {
        struct thread_job one = *j;

        one.next = NULL;
        j->err = e;
        j->ok = alone ? agent_put_list(t->writer, &one, &j->err) : ok;
    }
    pthread_mutex_unlock(&t->lock);
}

/* Under the queue's lock. */
static struct thread_job *agent_thread_group_take(struct threads *t)
{
    struct thread_job *list = t->first, *j = list;

    assert(t->first && t->last);
    for (size_t n = 1; j->next && n < TOGETHER_MAX; n++)
        j = j->next;
    t->first = j->next;
    if (!t->first)
        t->last = NULL;
    j->next = NULL;
    return list;
}

static void agent_thread_group_lead(struct threads *t, const struct thread_job *own)
{
    assert(!t->led);
    t->led = true;
    while (!own->over) {
        struct thread_job *list = agent_thread_group_take(t), *next;

        pthread_mutex_unlock(&t->queue_lock);
        agent_thread_group_put_batch(t, list);
        pthread_mutex_lock(&t->queue_lock);
        for (struct thread_job *j = list; j; j = next) {
            next = j->next;
            j->over = true; /* once the lock is released, it belongs to its owner */
        }
    }
    t->led = false;
    pthread_cond_broadcast(&t->queued);
}

bool thread_put_together(struct threads *t, struct thread_job *j, struct err *e)
{
    pthread_mutex_lock(&t->queue_lock);
    assert(!j->next && !j->over && !t->first == !t->last);
    LIST_APPEND(t->first, t->last, j);
    while (!j->over && t->led)
        pthread_cond_wait(&t->queued, &t->queue_lock);
    if (!j->over)
        agent_thread_group_lead(t, j);
    pthread_mutex_unlock(&t->queue_lock);
    if (!j->ok)
        *e = j->err;
    return j->ok;
}
