/* SPDX-License-Identifier: Apache-2.0 */
#include "store/daemons.h"

#include "store/db_lease.h"

#include <errno.h>
#include <signal.h>

#define NOW "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
#define LOCK_MS "1000" /* that a transaction waits for those of the daemon that it takes over */
#define KEPT_US "2592000000000" /* 30 days: then the row of one that is gone is deleted */
#define PRUNE_BEATS 600u

struct daemons {
    char *url;
    char id[DAEMONS_ID_SIZE];
    uint64_t heartbeat_ms, lease_ms;
    struct log *log;
    void (*on_beat)(void *ctx, size_t running, bool erased);
    void *ctx;
    struct db_lease *lease;
    pthread_t thread;
    pthread_mutex_t watching; /* of watch: held while one of its functions runs */
    struct daemons_watch watch;
    pthread_mutex_t lock;
    pthread_cond_t stopping;
    _Atomic bool others;
    _Atomic uint64_t held_ns; /* when the last heartbeat that succeeded was sent */
    /* Under the lock: */
    bool stop;
    char address[sizeof((struct daemons_row *)0)->address];
    struct daemons_list list;
    /* The thread's own: */
    struct db *db; /* without the lease */
    struct daemons_list found;
    bool stale[DAEMONS_LISTED_MAX]; /* of found: to be taken over */
    int64_t asked;                  /* erasures, of store_turn */
    bool failing;
    uint64_t beats;
    uint64_t steady_ns; /* since when no heartbeat has failed or was slow */
    int64_t seen_us;    /* of the last one, by the database's clock */
};

static bool daemons_is_self(const struct daemons *d, const struct daemons_row *row)
{
    return strcmp(row->id, d->id) == 0;
}

/* ---- rows ---- */

static void daemons_keep_text(char *out, size_t size, const struct db_value *v)
{
    (void)snprintf(out, size, STR_FMT, STR_ARG(v->s));
}

static bool daemons_on_row(void *ctx, const struct db_value *v, size_t n)
{
    struct daemons *d = ctx;
    struct daemons_row *row = &d->found.items[d->found.count];

    assert(n == 8 && d->found.count < DAEMONS_LISTED_MAX);
    *row = (struct daemons_row){.fence = v[1].i, .started_us = v[5].i, .seen_us = v[6].i};
    daemons_keep_text(row->id, sizeof row->id, &v[0]);
    daemons_keep_text(row->address, sizeof row->address, &v[2]);
    daemons_keep_text(row->version, sizeof row->version, &v[3]);
    daemons_keep_text(row->state, sizeof row->state, &v[4]);
    row->self = daemons_is_self(d, row);
    d->stale[d->found.count++] = v[7].i != 0;
    return true;
}

static bool daemons_query(struct daemons *d, struct err *e)
{
    assert(d->db && d->lease_ms > 0);
    d->found.count = 0;
    return db_query(d->db,
                    "SELECT daemon_id, fence, address, version, state, started_us, seen_us,"
                    " CASE WHEN state = 'stopping' OR (state = 'running' AND abs(seen_us - " NOW
                    ") > $1) THEN 1 ELSE 0 END FROM daemons ORDER BY state = 'running' DESC,"
                    " seen_us DESC LIMIT 64",
                    DB_ARGS(db_int((int64_t)d->lease_ms * 1000)),
                    (struct db_rows){daemons_on_row, d},
                    e);
}

/* The journals of all daemons may have what one of them erased. */
static bool daemons_read(struct daemons *d, int64_t asked, struct err *e)
{
    size_t running = 0, others = 0;

    if (!daemons_query(d, e))
        return false;
    for (size_t i = 0; i < d->found.count; i++) {
        bool runs = strcmp(d->found.items[i].state, "running") == 0;

        running += runs;
        others += runs && !d->found.items[i].self;
    }
    assert(others <= running && running <= d->found.count);
    atomic_store(&d->others, others > 0);
    d->found.known = true;
    pthread_mutex_lock(&d->lock);
    d->list = d->found;
    pthread_mutex_unlock(&d->lock);
    if (d->on_beat)
        d->on_beat(d->ctx, running, asked != d->asked && d->asked >= 0);
    d->asked = asked;
    return true;
}

/* ---- this daemon's row ---- */

/* Connections that hold a lock of a daemon longer than its lease: it is stopped, or its machine
 * does not answer. */
static void daemons_end_connections(struct daemons *d, str id)
{
    int64_t n = 0;
    struct err e;

    if (!db_number(d->db,
                   "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE"
                   " application_name = 'rationale ' || $1 AND xact_start IS NOT NULL AND datname ="
                   " current_database()",
                   DB_ARGS(db_text(id)),
                   &n,
                   &e))
        log_warn("store: the transactions of a daemon cannot be ended",
                 LOG_STR("daemon", id),
                 LOG_ERR(&e));
    else if (n > 0)
        log_warn("store: transactions of a daemon that does not answer were ended",
                 LOG_STR("daemon", id),
                 LOG_U64("count", (uint64_t)n));
}

/* Begins a transaction with the daemon's row locked. A failed attempt ends those that held it. */
static bool daemons_lock_row(struct daemons *d, str id, struct err *e)
{
    int64_t fence = 0;

    assert(d->db && id.n < DAEMONS_ID_SIZE);
    for (int attempt = 0; attempt < 2; attempt++) {
        if (!db_begin(d->db, true, e))
            continue;
        if (db_run(
                d->db, "SELECT set_config('lock_timeout', '" LOCK_MS "', true)", DB_NO_ARGS, e) &&
            db_number(d->db,
                      "SELECT fence FROM daemons WHERE daemon_id = $1 FOR UPDATE",
                      DB_ARGS(db_text(id)),
                      &fence,
                      e))
            return true;
        db_rollback(d->db);
        daemons_end_connections(d, id);
    }
    return false;
}

static bool daemons_register(struct daemons *d, struct err *e)
{
    struct db_value args[] = {
        db_text(str_c(d->id)), db_text(str_c(d->address)), db_text(STR(RATIONALE_VERSION))};
    int64_t fence = 0;

    if (!daemons_lock_row(d, args[0].s, e))
        return false;
    if (db_number(d->db,
                  "INSERT INTO daemons (daemon_id, fence, address, version, started_us, seen_us,"
                  " state) VALUES ($1, 1, $2, $3, " NOW ", " NOW ", 'running')"
                  " ON CONFLICT (daemon_id) DO UPDATE SET fence = daemons.fence + 1,"
                  " address = excluded.address, version = excluded.version,"
                  " started_us = excluded.started_us, seen_us = excluded.seen_us,"
                  " state = excluded.state RETURNING fence",
                  args,
                  COUNT_OF(args),
                  &fence,
                  e) &&
        db_commit(d->db, e)) {
        db_lease_set(d->lease, fence);
        return true;
    }
    db_rollback(d->db);
    return false;
}

/* Another daemon has taken over, or one with the same id has registered. */
static bool daemons_lost(struct daemons *d, struct err *e)
{
    assert(d->lease);
    if (db_lease_fence(d->lease) == 0)
        return daemons_register(d, e); /* the last try failed */
    db_lease_set(d->lease, 0);
    atomic_store(&d->held_ns, 0);
    log_warn("store: the lease of this daemon expired, and another daemon took over its work; it"
             " continues with new work. If this repeats, two daemons have copies of one spool"
             " folder: delete the file \"name\" in one of them",
             LOG_TEXT("daemon", d->id));
    pthread_mutex_lock(&d->watching);
    if (d->watch.on_lost)
        d->watch.on_lost(d->watch.ctx);
    pthread_mutex_unlock(&d->watching);
    return daemons_register(d, e);
}

/* ---- the rows of others ---- */

static bool daemons_hand_over(struct daemons *d, str id, struct err *e)
{
    struct db_value args[] = {db_text(id), db_text(str_c(d->id))};

    assert(!str_eq(id, str_c(d->id))); /* no daemon takes over itself */
    if (!db_run(d->db,
                "UPDATE daemons SET fence = fence + 1, state = CASE state WHEN 'stopping' THEN"
                " 'stopped' ELSE 'gone' END WHERE daemon_id = $1",
                args,
                1,
                e))
        return false;
    for (const char *const *sql = daemons_takeover_sql; *sql; sql++)
        if (!db_run(d->db, *sql, args, COUNT_OF(args), e))
            return false;
    return db_commit(d->db, e);
}

/* Whether, with its row locked, it is still to be taken over, and this daemon's lease holds. */
static bool daemons_may_take(struct daemons *d, str id, bool *may, struct err *e)
{
    struct db_value args[] = {db_text(id),
                              db_int((int64_t)d->lease_ms * 1000),
                              db_text(str_c(d->id)),
                              db_int(db_lease_fence(d->lease))};
    int64_t n = 0;

    if (!db_number(d->db,
                   "SELECT count(*) FROM daemons WHERE daemon_id = $1 AND (state = 'stopping' OR"
                   " (state = 'running' AND abs(seen_us - " NOW ") > $2)) AND EXISTS (SELECT 1 FROM"
                   " daemons WHERE daemon_id = $3 AND fence = $4 FOR KEY SHARE)",
                   args,
                   COUNT_OF(args),
                   &n,
                   e))
        return false;
    *may = n == 1;
    return true;
}

static bool daemons_take_over(struct daemons *d, const struct daemons_row *row, struct err *e)
{
    str id = str_c(row->id);
    bool may = false;

    if (!daemons_lock_row(d, id, e))
        return false;
    if (!daemons_may_take(d, id, &may, e) || !may || !daemons_hand_over(d, id, e)) {
        db_rollback(d->db);
        return !may;
    }
    log_warn("store: the work of another daemon was taken over",
             LOG_TEXT("daemon", row->id),
             LOG_TEXT("address", row->address),
             LOG_TEXT("it was", row->state));
    pthread_mutex_lock(&d->watching);
    if (d->watch.on_gone)
        d->watch.on_gone(d->watch.ctx, id);
    pthread_mutex_unlock(&d->watching);
    return true;
}

/* While the database did not answer, no daemon could renew its lease. So others are taken over only
 * after a whole lease in which they could have renewed it. */
static bool daemons_take_over_stale(struct daemons *d, struct err *e)
{
    uint64_t steady_ms = (clock_mono_ns(&clock_real) - d->steady_ns) / CLOCK_NS_PER_MS;
    bool works;

    pthread_mutex_lock(&d->watching);
    works = d->watch.on_gone != NULL;
    pthread_mutex_unlock(&d->watching);
    if (!works)
        return true; /* a command (`store adopt`) or a daemon that ends: the work would wait */
    for (size_t i = 0; i < d->found.count; i++) {
        const struct daemons_row *row = &d->found.items[i];

        if (d->stale[i] && !row->self &&
            (strcmp(row->state, "stopping") == 0 || steady_ms >= d->lease_ms) &&
            !daemons_take_over(d, row, e))
            return false;
    }
    return true;
}

/* ---- the heartbeat ---- */

struct daemons_renewed {
    bool renewed;
    int64_t asked, seen_us;
};

static bool daemons_renew(struct daemons *d, struct daemons_renewed *out, struct err *e)
{
    char address[sizeof d->address];
    struct db_value args[] = {db_text(str_c(d->id)), db_int(db_lease_fence(d->lease)), db_null()};

    pthread_mutex_lock(&d->lock);
    memcpy(address, d->address, sizeof address);
    pthread_mutex_unlock(&d->lock);
    args[2] = db_text(str_c(address));
    return db_query(
        d->db,
        "UPDATE daemons SET seen_us = " NOW ", address = $3 WHERE daemon_id = $1 AND"
        " fence = $2 AND state = 'running' RETURNING (SELECT asked FROM store_turn),"
        " seen_us",
        args,
        COUNT_OF(args),
        DB_ROW(db_into_found(&out->renewed), db_into_i64(&out->asked), db_into_i64(&out->seen_us)),
        e);
}

/* Rows of daemons that will not come back. */
static bool daemons_prune(struct daemons *d, struct err *e)
{
    if (d->beats++ % PRUNE_BEATS != 0)
        return true;
    return db_run(d->db,
                  "DELETE FROM daemons WHERE state IN ('stopped', 'gone') AND seen_us < " NOW
                  " - " KEPT_US,
                  DB_NO_ARGS,
                  e);
}

/* If this process or its machine was stopped, or the database's clock was set, the other daemons
 * may have been unable to renew their leases, too. 0: this daemon has just registered. */
static void daemons_check_clock(struct daemons *d, int64_t seen_us)
{
    int64_t since_us = seen_us - d->seen_us;

    if (!seen_us || (d->seen_us && (since_us < 0 || since_us > (int64_t)d->lease_ms * 1000 / 2)))
        d->steady_ns = clock_mono_ns(&clock_real);
    d->seen_us = seen_us;
}

static bool daemons_renew_and_read(struct daemons *d, uint64_t began_ns, struct err *e)
{
    struct daemons_renewed r = {.asked = d->asked};

    if (!daemons_renew(d, &r, e) || (!r.renewed && !daemons_lost(d, e)))
        return false;
    atomic_store(&d->held_ns, began_ns);
    daemons_check_clock(d, r.seen_us);
    return daemons_read(d, r.asked, e) && daemons_prune(d, e);
}

static bool daemons_beat(struct daemons *d, struct err *e)
{
    uint64_t began_ns = clock_mono_ns(&clock_real);
    bool ok = daemons_renew_and_read(d, began_ns, e);

    if (!ok || (clock_mono_ns(&clock_real) - began_ns) / CLOCK_NS_PER_MS > d->lease_ms / 2)
        d->steady_ns = clock_mono_ns(&clock_real);
    return ok && daemons_take_over_stale(d, e);
}

static void daemons_note(struct daemons *d, bool ok, const struct err *e)
{
    assert(ok || e->code != ERR_NONE);
    if (!ok) {
        pthread_mutex_lock(&d->lock);
        d->list.known = d->list.known && daemons_held(d);
        pthread_mutex_unlock(&d->lock);
    }
    if (ok && d->failing)
        log_info("store: this daemon's lease is renewed again");
    else if (!ok && !d->failing)
        log_warn("store: this daemon's lease cannot be renewed", LOG_ERR(e));
    d->failing = !ok;
}

static bool daemons_wait(struct daemons *d)
{
    uint64_t until = clock_deadline_ns(&clock_real, (int64_t)d->heartbeat_ms);
    bool stop;

    pthread_mutex_lock(&d->lock);
    while (!d->stop && clock_cond_wait(&d->stopping, &d->lock, until))
        ;
    stop = d->stop;
    pthread_mutex_unlock(&d->lock);
    return !stop;
}

static void *daemons_thread(void *daemons)
{
    struct daemons *d = daemons;
    struct log_scope scope;
    struct err e;

    log_scope_enter(&scope, d->log, STR(""));
    do {
        bool ok = daemons_beat(d, &e);

        daemons_note(d, ok, &e);
    } while (daemons_wait(d));
    log_scope_leave(&scope);
    return NULL;
}

/* ---- start and stop ---- */

static void daemons_free(struct daemons *d)
{
    db_close(d->db);
    db_lease_free(d->lease);
    pthread_cond_destroy(&d->stopping);
    pthread_mutex_destroy(&d->lock);
    pthread_mutex_destroy(&d->watching);
    free(d->url);
    free(d);
}

static struct daemons *daemons_new(const struct daemons_options *o)
{
    struct daemons *d = base_alloc(sizeof *d);

    *d = (struct daemons){.heartbeat_ms = o->heartbeat_ms ? o->heartbeat_ms : DAEMONS_HEARTBEAT_MS,
                          .lease_ms = o->lease_ms ? o->lease_ms : DAEMONS_LEASE_MS,
                          .log = o->log,
                          .on_beat = o->on_beat,
                          .ctx = o->ctx,
                          .asked = -1,
                          .steady_ns = clock_mono_ns(&clock_real)};
    assert(o->id.n < sizeof d->id && d->heartbeat_ms > 0);
    (void)snprintf(d->id, sizeof d->id, STR_FMT, STR_ARG(o->id));
    d->url = str_copy(o->url);
    pthread_mutex_init(&d->lock, NULL);
    pthread_mutex_init(&d->watching, NULL);
    clock_cond_init(&d->stopping);
    return d;
}

bool daemons_start(const struct daemons_options *o, struct daemons **out, struct err *e)
{
    struct daemons *d = daemons_new(o);
    sigset_t all, was;
    int why;

    if (!db_open(o->url, DB_BESIDE, &d->db, e)) {
        daemons_free(d);
        return false;
    }
    db_lease_join(d->db, NULL); /* of another store of this process */
    d->lease = db_lease_new(o->url, str_c(d->id));
    if (!daemons_register(d, e)) {
        daemons_free(d);
        return false;
    }
    atomic_store(&d->held_ns, clock_mono_ns(&clock_real));
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &was);
    why = pthread_create(&d->thread, NULL, daemons_thread, d);
    pthread_sigmask(SIG_SETMASK, &was, NULL);
    if (why) {
        daemons_free(d);
        errno = why;
        return err_sys(e, "start a thread");
    }
    *out = d;
    return true;
}

void daemons_stop(struct daemons *d)
{
    struct db_value args[2];
    struct err e;

    if (!d)
        return;
    assert(!d->stop);
    pthread_mutex_lock(&d->lock);
    d->stop = true;
    pthread_cond_signal(&d->stopping);
    pthread_mutex_unlock(&d->lock);
    pthread_join(d->thread, NULL);
    args[0] = db_text(str_c(d->id));
    args[1] = db_int(db_lease_fence(d->lease));
    if (!d->failing && !db_run(d->db,
                               "UPDATE daemons SET state = 'stopping', seen_us = " NOW
                               " WHERE daemon_id = $1 AND fence = $2",
                               args,
                               2,
                               &e))
        log_warn("store: the other daemons cannot be notified that this one stops", LOG_ERR(&e));
    daemons_free(d);
}

/* ---- what others ask ---- */

bool daemons_look(str url, str id, bool *live, struct daemons_list *out, struct err *e)
{
    struct daemons_options o = {.url = url, .id = id};
    struct daemons *d;
    bool ok;

    if (!str_starts(url, STR("postgres")))
        return err_set(e,
                       ERR_NOT_FOUND,
                       "only daemons on PostgreSQL are listed: a store of another"
                       " kind has one");
    d = daemons_new(&o);
    ok = db_open(url, DB_READ, &d->db, e) && daemons_query(d, e);
    *out = d->found;
    for (size_t i = 0; ok && live && i < out->count; i++)
        if (out->items[i].self)
            *live = !d->stale[i] && strcmp(out->items[i].state, "running") == 0;
    daemons_free(d);
    return ok;
}

void daemons_watch(struct daemons *d, const struct daemons_watch *w)
{
    assert(!w || w->on_gone || w->on_lost);
    pthread_mutex_lock(&d->watching);
    d->watch = w ? *w : (struct daemons_watch){0};
    pthread_mutex_unlock(&d->watching);
}

void daemons_reached(struct daemons *d, str address)
{
    pthread_mutex_lock(&d->lock);
    (void)snprintf(d->address, sizeof d->address, STR_FMT, STR_ARG(address));
    pthread_mutex_unlock(&d->lock);
}

void daemons_list(struct daemons *d, struct daemons_list *out)
{
    pthread_mutex_lock(&d->lock);
    *out = d->list;
    pthread_mutex_unlock(&d->lock);
}

bool daemons_others(const struct daemons *d)
{
    return atomic_load(&d->others);
}

bool daemons_held(const struct daemons *d)
{
    uint64_t held_ns = atomic_load(&d->held_ns);

    return held_ns > 0 && clock_mono_ns(&clock_real) - held_ns < d->lease_ms * CLOCK_NS_PER_MS;
}

str daemons_self(const struct daemons *d)
{
    return str_c(d->id);
}

struct db_lease *daemons_lease(struct daemons *d)
{
    return d->lease;
}
