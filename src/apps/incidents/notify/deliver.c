/* deliver.c - the thread of a target: sends due messages, retries or drops them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/incidents/incident.h"
#include "apps/incidents/notify/notify_state.h"

#define ARENA_MAX ((size_t)256 << 20)
#define BACKOFF_MS 2000
#define BACKOFF_MAX_MS 300000
#define HOLD_MAX_MS 30000 /* for the other messages of a target that fails */
#define IDLE_MS 60000
#define SHARED_IDLE_MS 2000 /* checks for messages of daemons that ended */
#define STORE_FAILED_MS 5000
#define SECRET_MS 86400000 /* how long a message waits for the secret of its target */

static bool notify_query_next(void *ctx, struct db *db, struct err *e)
{
    struct notify_query *q = ctx;

    return outbox_next(db, q->of, q->daemon, &q->list, e) && outbox_waiting(db, &q->waiting, e);
}

bool notify_query_of(void *ctx, struct db *db, struct err *e)
{
    struct notify_query *q = ctx;

    return outbox_of(db, q->of, &q->list, e);
}

static bool notify_query_put(void *ctx, struct db *db, struct err *e)
{
    struct notify_query *q = ctx;

    return outbox_put(db, q->put, e);
}

struct notify_query notify_query_new(struct arena *a, str of, size_t max)
{
    assert(max > 0);
    return (struct notify_query){
        .of = of,
        .list = {.arena = a, .rows = arena_zero(a, max, sizeof(struct outbox_row)), .max = max}};
}

/* The receipt of an earlier message about the incident to the target, or "". */
static str notify_receipt(struct notify *n, const struct outbox_row *m, struct arena *a)
{
    struct notify_query q = notify_query_new(a, m->alert_id, OUTBOX_LIST_MAX);
    str receipt = STR("");
    struct err e;

    if (alert_table_do(n->alert_table, notify_query_of, &q, &e))
        for (size_t i = 0; i < q.list.n; i++)
            if (str_eq(q.list.rows[i].target, m->target) && q.list.rows[i].receipt.n)
                receipt = q.list.rows[i].receipt;
    return receipt;
}

static enum config_notify_event notify_event_of(str name)
{
    size_t i = 0;

    while (i + 1 < CONFIG_NOTIFY_EVENTS &&
           !str_eq(name, str_c(config_notify_event_name((enum config_notify_event)i))))
        i++;
    return (enum config_notify_event)i;
}

/* One attempt. False: e has the reason, and `out` whether to try again. */
static bool notify_send(struct notify_target *t, const struct outbox_row *m,
                        const struct alert_table_row *row, struct notify_outcome *out,
                        struct arena *a, struct err *e)
{
    struct notify *n = t->notify;
    enum config_notify_event event = notify_event_of(m->event);
    struct notice notice;
    struct buf pending;

    buf_init(&pending, NOTIFY_PENDING_MAX);
    if (event == CONFIG_NOTIFY_APPROVAL &&
        (!n->host->log || !incident_pending(n->host->log, row->id, &pending, e)))
        buf_reset(&pending);
    notice_make(&notice, event, row, buf_str(&pending), n->setup, a);
    buf_release(&pending);
    return notify_senders[t->config->kind](
        &(struct notify_attempt){.target = t->config,
                                 .notice = &notice,
                                 .id = m->id,
                                 .receipt = notify_receipt(n, m, a),
                                 .io = n->io,
                                 .tls = n->tls,
                                 .deadline_ns =
                                     clock_deadline_ns(&clock_real, (int64_t)t->config->timeout_ms),
                                 .cancel = &n->cancel,
                                 .arena = a},
        out,
        e);
}

/* Doubles with each try, with jitter; the target's own wish comes first. */
static int64_t notify_wait_ms(struct notify_target *t, int64_t tries, int64_t after_ms)
{
    int64_t wait = BACKOFF_MAX_MS;

    assert(tries > 0);
    if (after_ms >= 0)
        return after_ms + (int64_t)rand_below(&t->chance, 1000);
    if (tries < 8)
        wait = (int64_t)BACKOFF_MS << (tries - 1);
    return wait / 2 + (int64_t)rand_below(&t->chance, (uint64_t)wait);
}

/* Decides about a message after a failed attempt; returns how long its target pauses. */
static int64_t notify_failed(struct notify_target *t, struct outbox_row *m,
                             const struct notify_outcome *out, const struct err *e)
{
    int64_t wait = notify_wait_ms(t, m->tries, out->after_ms);

    assert(str_eq(m->state, STR("pending")) && e->code != ERR_NONE);
    if (out->permanent ||
        m->updated_us + wait * 1000 > m->created_us + (int64_t)t->config->retry_ms * 1000) {
        m->state = STR("failed");
        log_error("a message about an incident is given up",
                  LOG_STR("target", m->target),
                  LOG_STR("incident", m->alert_id),
                  LOG_ERR(e));
        return 0;
    }
    m->next_us = m->updated_us + wait * 1000;
    return wait < HOLD_MAX_MS || out->after_ms >= 0 ? wait : HOLD_MAX_MS;
}

static void notify_count(struct notify *n, const struct outbox_row *m)
{
    struct notify_counts *c;

    pthread_mutex_lock(&n->lock);
    c = notify_counts_of(n, m->target);
    if (str_eq(m->state, STR("pending"))) {
        c->retried++;
    } else {
        c->sent += str_eq(m->state, STR("sent"));
        c->failed += str_eq(m->state, STR("failed"));
    }
    pthread_mutex_unlock(&n->lock);
}

/* Until it is stored, or the process ends: a message that was sent must not be read as pending. */
static void notify_store(struct notify_target *t, const struct outbox_row *m)
{
    struct notify *n = t->notify;
    struct notify_query put = {.put = m};
    struct err e;

    while (!alert_table_do(n->alert_table, notify_query_put, &put, &e)) {
        uint64_t until = clock_deadline_ns(&clock_real, STORE_FAILED_MS);
        bool stop;

        log_error("the state of a message is not stored", LOG_STR("id", m->id), LOG_ERR(&e));
        pthread_mutex_lock(&n->lock);
        while (!n->stop && clock_cond_wait(&t->wake, &n->lock, until))
            ;
        stop = n->stop;
        pthread_mutex_unlock(&n->lock);
        if (stop)
            return;
    }
}

/* The secret of the target is missing. Only another configuration can bring it, and its start or
 * reload makes the message due (outbox_make_due). So waiting does not count as a try. */
static void notify_wait_for_secret(struct notify_target *t, struct outbox_row *m)
{
    bool first = !m->error.n;

    assert(t->config->missing.n > 0);
    m->updated_us = notify_now_us(t->notify);
    m->next_us = m->updated_us + (int64_t)BACKOFF_MAX_MS * 1000;
    m->error = t->config->missing;
    if (m->updated_us > m->created_us + (int64_t)SECRET_MS * 1000) {
        m->state = STR("failed");
        notify_count(t->notify, m);
        log_error("a message about an incident is given up",
                  LOG_STR("target", m->target),
                  LOG_STR("incident", m->alert_id),
                  LOG_STR("why", m->error));
    } else if (first) {
        log_error("a message about an incident waits for the secret of its target",
                  LOG_STR("target", m->target),
                  LOG_STR("incident", m->alert_id),
                  LOG_STR("why", m->error));
    }
    notify_store(t, m);
}

/* Whether the question of the message is no longer asked. The incident's state does not show it:
 * after a start it is "processing" until the run waits again. */
static bool notify_answered(const struct notify *n, const struct outbox_row *m,
                            const struct alert_table_row *row)
{
    char occasion[SHA256_HEX_SIZE];

    if (!str_eq(m->event, STR("approval")))
        return false;
    notify_occasion(n, row->id, occasion);
    return row->completed_us >= 0 || !str_eq(m->occasion, str_c(occasion));
}

/* Sends the message, or schedules a retry, or drops it. Returns how long the target pauses, in
 * ms. */
static int64_t notify_deliver(struct notify_target *t, struct outbox_row *m, struct arena *a)
{
    struct notify *n = t->notify;
    struct notify_outcome out = {.after_ms = -1, .receipt = STR(""), .note = STR("")};
    struct alert_table_row row;
    struct err e = {.code = ERR_NONE};
    int64_t rest = 0;

    if (!alert_table_get(n->alert_table, m->alert_id, a, &row, &e)) {
        if (e.code != ERR_NOT_FOUND)
            return STORE_FAILED_MS;
        m->state = STR("skipped");
        m->error = STR("the incident was erased before");
    } else if (notify_answered(n, m, &row)) {
        m->state = STR("skipped");
        m->error = STR("the question was answered before");
    } else if (t->config->missing.n) {
        notify_wait_for_secret(t, m);
        return 0;
    } else if (notify_send(t, m, &row, &out, a, &e)) {
        m->state = STR("sent");
        m->tries++;
        m->receipt = out.receipt;
        m->error = out.note;
    } else if (e.code == ERR_CANCELLED) {
        return 0; /* the process ends: the next one tries again */
    } else {
        m->tries++;
        m->error = notice_masked(n->setup, a, arena_dup(a, str_c(e.text)));
    }
    m->updated_us = notify_now_us(n);
    if (str_eq(m->state, STR("pending")))
        rest = notify_failed(t, m, &out, &e);
    notify_store(t, m);
    notify_count(n, m);
    return rest;
}

/* Reads the next message of the target, and how many of all wait. */
static bool notify_look(struct notify *n, struct notify_query *q, struct err *e)
{
    if (!alert_table_do(n->alert_table, notify_query_next, q, e))
        return false;
    pthread_mutex_lock(&n->lock);
    n->waiting = q->waiting;
    pthread_mutex_unlock(&n->lock);
    return true;
}

/* Returns the time until the next check in ms; 0: there may be more messages. */
static int64_t notify_turn(struct notify_target *t)
{
    struct notify *n = t->notify;
    int64_t wait = n->host->daemon.n ? SHARED_IDLE_MS : IDLE_MS, now = notify_now_us(n);
    struct notify_query q;
    struct arena a;
    struct err e;

    arena_init(&a, ARENA_MAX);
    q = notify_query_new(&a, t->config->name, 1);
    q.daemon = n->host->daemon;
    t->rests = true;
    if (!notify_look(n, &q, &e)) {
        log_error("messages about incidents cannot be read", LOG_ERR(&e));
        wait = STORE_FAILED_MS;
    } else if (q.list.n && q.list.rows[0].next_us <= now) {
        wait = notify_deliver(t, &q.list.rows[0], &a);
    } else {
        t->rests = false;
        if (q.list.n && (q.list.rows[0].next_us - now) / 1000 + 1 < wait)
            wait = (q.list.rows[0].next_us - now) / 1000 + 1;
    }
    assert(q.list.n <= q.list.max);
    arena_release(&a);
    return wait;
}

void *notify_run(void *arg)
{
    struct notify_target *t = arg;
    struct notify *n = t->notify;

    pthread_mutex_lock(&n->lock);
    while (!n->stop) {
        uint64_t until;
        int64_t wait;

        assert(!t->sending);
        t->woken = false;
        t->sending = true;
        pthread_mutex_unlock(&n->lock);
        wait = notify_turn(t);
        pthread_mutex_lock(&n->lock);
        t->sending = false;
        pthread_cond_broadcast(&n->calm);
        until = clock_deadline_ns(&clock_real, wait);
        while (wait > 0 && !n->stop && (t->rests || !t->woken) &&
               clock_cond_wait(&t->wake, &n->lock, until))
            ;
    }
    pthread_mutex_unlock(&n->lock);
    return NULL;
}
