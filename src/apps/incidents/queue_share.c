/* queue_share.c - the queues of several daemons: alerts go from one to another.
 *
 * A daemon accepts an alert for itself. Another one may claim it while it waits in the queue, adopt
 * it after a drain, or take it over with all work of a daemon that is gone. The daemon that had it
 * finds that out at its next put, or here.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/incidents/queue_state.h"

#include "store/bus.h"

#define LOOK_ARENA ((size_t)1 << 30)
#define LOST_LOOK_MS 20

static void queue_share_do(struct queue *q, const struct alert_table_row *row)
{
    struct entry *n = map_find_ptr(&q->ids, row->id);

    assert(!n || str_eq(n->row.id, row->id));
    if (!n && !str_is_one_of(row->state, QUEUE_ALIVE))
        return;
    if (!n) {
        log_info("an alert continues here", LOG_STR("alert", row->id));
        n = queue_enter(q, row);
        queue_hire(q);
    }
    if (str_eq(row->due, STR("cancel")) || row->cancelled)
        queue_cancel_entry(q, n);
    else
        (void)queue_end_resolved(q, n, row);
}

/* An alert that waits here and was claimed by another daemon. */
static void queue_share_drop_claimed(struct queue *q)
{
    struct entry *n, *next;
    struct err e;
    bool own;

    for (n = q->waiting.first; n; n = next) {
        next = n->next;
        if (alert_table_is_own(q->o.alert_table, n->row.id, &own, &e) && !own)
            queue_drop(q, n);
    }
}

/* The last check may have claimed alerts without knowing, because its commit was not confirmed. So
 * afterwards all alerts of this daemon are in the queue. */
static bool queue_share_look_again(struct queue *q, struct arena *a, struct err *e)
{
    struct alert_table_row *rows;
    size_t n;

    if (!alert_table_alive(q->o.alert_table, a, &rows, &n, e))
        return false;
    for (size_t i = 0; i < n; i++)
        if (!map_find(&q->ids, rows[i].id))
            queue_share_do(q, &rows[i]);
    return true;
}

void queue_look(struct queue *q)
{
    struct alert_table_row *rows;
    struct arena a;
    struct err e;
    size_t n, used, room;
    bool ok;

    pthread_mutex_lock(&q->lock);
    if (q->stop || atomic_load(&q->leave) || !q->host.daemon.n) {
        pthread_mutex_unlock(&q->lock);
        return;
    }
    assert(q->running.n <= q->worker_count);
    arena_init(&a, LOOK_ARENA);
    used = q->waiting.n + q->running.n;
    room = used < q->rules.running_max ? q->rules.running_max - used : 0;
    ok = alert_table_adopt(q->o.alert_table, true, &e) &&
         alert_table_claim(q->o.alert_table, room, &e) &&
         alert_table_due(q->o.alert_table, &a, &rows, &n, &e);
    for (size_t i = 0; ok && i < n; i++)
        queue_share_do(q, &rows[i]);
    ok = ok && (!q->blind || queue_share_look_again(q, &a, &e));
    if (!ok)
        log_debug("alerts that other daemons hand over cannot be read", LOG_ERR(&e));
    q->blind = !ok;
    queue_share_drop_claimed(q);
    pthread_mutex_unlock(&q->lock);
    arena_release(&a);
}

void queue_lost(struct queue *q)
{
    pthread_mutex_lock(&q->lock);
    atomic_store(&q->leave, true);
    for (struct entry *n = q->running.first; n; n = n->next)
        atomic_store(&n->cancel, true);
    while (q->waiting.first)
        queue_drop(q, q->waiting.first);
    while (q->asking.first)
        queue_drop(q, q->asking.first);
    while (q->running.n && !q->stop)
        (void)clock_cond_wait(&q->calm, &q->lock, clock_deadline_ns(&clock_real, LOST_LOOK_MS));
    if (!q->stop && !(q->o.host->leave && atomic_load(q->o.host->leave)))
        atomic_store(&q->leave, false);
    pthread_mutex_unlock(&q->lock);
}

bool queue_cancel_elsewhere(struct queue *q, str id)
{
    struct err e;
    bool mine;

    if (!alert_table_hand(q->o.alert_table, id, "cancel", &mine, &e) || mine)
        return false;
    bus_send(q->host.bus, STR(AGENT_DUE_TOPIC), STR(""));
    return true;
}
