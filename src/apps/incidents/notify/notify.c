/* notify.c - see notify.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/incidents/incident.h"
#include "apps/incidents/notify/notify_state.h"
#include "gateway/metrics_text.h"

#include <signal.h>

#define ARENA_MAX ((size_t)256 << 20)
#define LEAVE_MS 2000

int64_t notify_now_us(const struct notify *n)
{
    return clock_wall_ms(n->host->clock) * 1000;
}

struct notify_counts *notify_counts_of(struct notify *n, str name)
{
    size_t i = 0;

    while (i < n->counts_n && !str_eq(str_c(n->counts[i].name), name))
        i++;
    assert(n->counts_n <= COUNT_OF(n->counts));
    if (i == COUNT_OF(n->counts))
        return &n->counts[i - 1];
    if (i == n->counts_n) {
        (void)snprintf(n->counts[i].name, sizeof n->counts[i].name, STR_FMT, STR_ARG(name));
        n->counts_n++;
    }
    return &n->counts[i];
}

/* ---- coming in ---- */

void notify_occasion(const struct notify *n, str run, char hex[SHA256_HEX_SIZE])
{
    uint8_t digest[SHA256_SIZE];
    struct buf pending;
    struct err e;

    buf_init(&pending, NOTIFY_PENDING_MAX);
    if (!n->host->log || !incident_pending(n->host->log, run, &pending, &e))
        buf_reset(&pending);
    sha256_of(buf_str(&pending), digest);
    sha256_hex(digest, hex);
    hex[16] = '\0';
    buf_release(&pending);
}

static bool notify_add(struct notify *n, struct db *db, const struct alert_table_row *row,
                       enum config_notify_event event, struct err *e)
{
    char id[RAND_ID_SIZE], occasion[SHA256_HEX_SIZE] = "";
    int64_t waiting = 0;
    bool ok = true, added;

    pthread_mutex_lock(&n->lock);
    ok = n->count == 0 || outbox_waiting(db, &waiting, e);
    for (size_t i = 0; ok && i < n->count; i++) {
        struct notify_target *t = &n->targets[i];
        bool full = waiting >= NOTIFY_WAITING_MAX;

        if (!(t->config->events & 1u << event))
            continue;
        if (event == CONFIG_NOTIFY_APPROVAL && !occasion[0])
            notify_occasion(n, row->id, occasion);
        ok = outbox_add(
            db,
            &(struct outbox_row){.id = rand_id(&n->ids, id),
                                 .alert_id = row->id,
                                 .session = row->session,
                                 .target = t->config->name,
                                 .event = str_c(config_notify_event_name(event)),
                                 .occasion = str_c(occasion),
                                 .state = full ? STR("failed") : STR("pending"),
                                 .error = full ? STR("too many messages wait: not sent") : STR(""),
                                 .created_us = notify_now_us(n),
                                 .daemon = n->host->daemon},
            &added,
            e);
        if (ok && added) {
            assert(waiting <= NOTIFY_WAITING_MAX || full);
            waiting += !full;
            notify_counts_of(n, t->config->name)->failed += full;
            t->woken = true;
            pthread_cond_signal(&t->wake);
        }
    }
    pthread_mutex_unlock(&n->lock);
    return ok;
}

/* The alert table's hook: the state of the row is about to be stored. */
static bool notify_on_put(void *ctx, struct db *db, const struct alert_table_row *row,
                          struct err *e)
{
    static const struct {
        const char *state;
        enum config_notify_event event;
    } events[] = {{"processing", CONFIG_NOTIFY_STARTED},
                  {"completed", CONFIG_NOTIFY_COMPLETED},
                  {"error", CONFIG_NOTIFY_FAILED},
                  {"cancelled", CONFIG_NOTIFY_CANCELLED},
                  {"waiting", CONFIG_NOTIFY_APPROVAL},
                  {"resolved", CONFIG_NOTIFY_RESOLVED}}; /* announced, never stored */

    for (size_t i = 0; i < COUNT_OF(events); i++)
        if (str_eq(row->state, str_c(events[i].state)))
            return notify_add(ctx, db, row, events[i].event, e);
    return true;
}

/* ---- metrics ---- */

static void notify_write_metrics(void *ctx, struct metrics_text *m)
{
    static const char *const results[] = {"sent", "failed", "retried"};
    struct notify *n = ctx;
    struct buf labels;

    buf_init(&labels, 4096);
    pthread_mutex_lock(&n->lock);
    metrics_family(m,
                   "rationale_notifications",
                   METRICS_COUNTER,
                   "Tries to send messages about incidents, by target and result.");
    for (size_t i = 0; i < n->counts_n; i++) {
        const struct notify_counts *c = &n->counts[i];
        const uint64_t values[] = {c->sent, c->failed, c->retried};

        for (size_t k = 0; k < COUNT_OF(results); k++) {
            buf_reset(&labels);
            metrics_label(&labels, "target", str_c(c->name));
            metrics_label(&labels, "result", str_c(results[k]));
            buf_add_c(&labels, '\0');
            metrics_line(m, "", labels.p, values[k], 1);
        }
    }
    metrics_family(m,
                   "rationale_notifications_waiting",
                   METRICS_GAUGE,
                   "Messages about incidents that are not sent yet.");
    metrics_line(m, "", "", (uint64_t)n->waiting, 1);
    pthread_mutex_unlock(&n->lock);
    buf_release(&labels);
}

/* ---- life ---- */

/* Handles waiting messages once the targets of a configuration are known. Messages to removed
 * targets would wait forever; messages to a target without its secret are tried. */
static bool notify_review_waiting(void *ctx, struct db *db, struct err *e)
{
    struct notify *n = ctx;
    struct notify_query q;
    struct arena a;
    int64_t gone = 0;
    bool ok, known;

    arena_init(&a, ARENA_MAX);
    q = notify_query_new(&a, STR(""), OUTBOX_LIST_MAX);
    ok = outbox_targets(db, &q.list, e);
    pthread_mutex_lock(&n->lock);
    for (size_t i = 0; ok && i < q.list.n; i++) {
        str name = q.list.rows[i].target;

        known = false;
        for (size_t k = 0; k < n->count; k++)
            known |= str_eq(n->targets[k].config->name, name);
        if (known)
            continue;
        ok = outbox_fail(
            db, name, STR("the target is not configured any more"), notify_now_us(n), &gone, e);
        log_warn("messages to a target that is not configured any more are given up",
                 LOG_STR("target", name));
    }
    ok = ok && outbox_make_due(db, notify_now_us(n), e) && outbox_waiting(db, &n->waiting, e);
    for (size_t i = 0; i < n->count; i++) {
        n->targets[i].woken = true;
        pthread_cond_signal(&n->targets[i].wake);
    }
    pthread_mutex_unlock(&n->lock);
    arena_release(&a);
    return ok;
}

/* The first targets there are bring the thread that speaks HTTP. */
static bool notify_prepare(struct notify *n, const struct config *c, struct err *e)
{
    const char *ca_file = c->ca_file.n ? c->ca_file.p : NULL;
    struct err ignored;

    if (n->io || !c->incidents.notify_count)
        return true;
    n->io = mcp_io_new(ca_file, e);
    n->tls = n->io ? tls_client_new(ca_file, &ignored) : NULL;
    return n->io != NULL;
}

static void notify_start_target(struct notify *n, size_t i)
{
    struct notify_target *t = &n->targets[i];

    assert(i < CONFIG_NOTIFY_MAX);
    *t = (struct notify_target){.notify = n, .config = &n->setup->config->incidents.notify[i]};
    clock_cond_init(&t->wake);
    rand_init_os(&t->chance);
    (void)notify_counts_of(n, t->config->name);
    if (pthread_create(&t->thread, NULL, notify_run, t) != 0)
        base_die("no thread could be started");
}

/* Locked. */
static void notify_start(struct notify *n, struct setup *setup)
{
    sigset_t all, before;

    assert(n->count == 0 && !n->setup);
    n->setup = setup_retain(setup);
    n->stop = false;
    atomic_store(&n->cancel, false);
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    for (; n->count < setup->config->incidents.notify_count; n->count++)
        notify_start_target(n, n->count);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static bool notify_is_sending(const struct notify *n)
{
    for (size_t i = 0; i < n->count; i++)
        if (n->targets[i].sending)
            return true;
    return false;
}

/* Locked before and after. A message being sent gets a short grace period, then its connection
 * is closed. */
static void notify_stop(struct notify *n)
{
    uint64_t until = clock_deadline_ns(&clock_real, LEAVE_MS);
    size_t count = n->count;

    assert(count <= CONFIG_NOTIFY_MAX);
    n->stop = true;
    for (size_t i = 0; i < count; i++)
        pthread_cond_broadcast(&n->targets[i].wake);
    while (notify_is_sending(n) && clock_cond_wait(&n->calm, &n->lock, until))
        ;
    atomic_store(&n->cancel, true);
    pthread_mutex_unlock(&n->lock);
    for (size_t i = 0; i < count; i++)
        pthread_join(n->targets[i].thread, NULL);
    pthread_mutex_lock(&n->lock);
    for (size_t i = 0; i < count; i++)
        pthread_cond_destroy(&n->targets[i].wake);
    n->count = 0;
    if (n->setup)
        setup_release(n->setup);
    n->setup = NULL;
}

void notify_change(struct notify *n, struct setup *setup)
{
    struct err e;

    if (!notify_prepare(n, setup->config, &e)) {
        log_error("the targets of messages were not changed", LOG_ERR(&e));
        return;
    }
    pthread_mutex_lock(&n->lock);
    notify_stop(n);
    notify_start(n, setup);
    pthread_mutex_unlock(&n->lock);
    if (!alert_table_do(n->alert_table, notify_review_waiting, n, &e))
        log_error("messages of earlier targets stay", LOG_ERR(&e));
}

static void notify_free(struct notify *n)
{
    assert(n->count == 0);
    if (n->io)
        mcp_io_free(n->io);
    if (n->tls)
        tls_free(n->tls);
    rand_ids_release(&n->ids);
    pthread_cond_destroy(&n->calm);
    pthread_mutex_destroy(&n->lock);
    free(n);
}

bool notify_open(const struct notify_options *o, struct notify **out, struct err *e)
{
    struct notify *n = base_alloc(sizeof *n);

    *n = (struct notify){.host = o->host, .alert_table = o->alert_table};
    pthread_mutex_init(&n->lock, NULL);
    clock_cond_init(&n->calm);
    rand_ids_init(&n->ids, o->host->clock);
    if (!notify_prepare(n, o->setup->config, e)) {
        notify_free(n);
        return false;
    }
    pthread_mutex_lock(&n->lock);
    notify_start(n, o->setup);
    pthread_mutex_unlock(&n->lock);
    if (n->host->gateway->metrics)
        metrics_source_add(n->host->gateway->metrics, notify_write_metrics, n);
    alert_table_on_put(n->alert_table, notify_on_put, n);
    *out = n;
    return alert_table_do(n->alert_table, notify_review_waiting, n, e);
}

void notify_close(struct notify *n)
{
    if (!n)
        return;
    if (n->host->gateway->metrics)
        metrics_source_remove(n->host->gateway->metrics, n);
    alert_table_on_put(n->alert_table, NULL, NULL);
    pthread_mutex_lock(&n->lock);
    notify_stop(n);
    pthread_mutex_unlock(&n->lock);
    notify_free(n);
}

/* ---- for viewers ---- */

void notify_write(struct notify *n, struct json_out *o, const struct alert_table_row *row)
{
    struct setup *setup = gateway_setup(n->host->gateway);
    struct notify_query q;
    struct notice notice;
    struct arena a;
    struct err e;

    arena_init(&a, ARENA_MAX);
    q = notify_query_new(&a, row->id, OUTBOX_LIST_MAX);
    if (!alert_table_do(n->alert_table, notify_query_of, &q, &e))
        log_warn("messages about an incident cannot be read", LOG_ERR(&e));
    json_member_array(o, "notifications");
    for (size_t i = 0; i < q.list.n; i++)
        outbox_write(o, &q.list.rows[i]);
    json_out_end(o);
    notice_make(&notice, CONFIG_NOTIFY_COMPLETED, row, STR(""), setup, &a);
    json_member_raw(o,
                    "silence_proposal",
                    row->completed_us >= 0 && notice.silence.n ? notice.silence : STR("null"));
    arena_release(&a);
    setup_release(setup);
}
