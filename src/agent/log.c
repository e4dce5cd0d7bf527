/* log.c - see log.h.
 *
 * One writer thread writes all queued puts in one transaction and wakes the threads that wait for
 * them; meanwhile the next batch is collected. Readers have their own connection: log_read.c.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/log_state.h"

#include "agent/column.h"
#include "base/log.h"
#include "base/utf8.h"

#define BATCH_MAX 2048
#define RETRY_MS 30000 /* how long the puts of a run wait for an unreachable database */
#define RETRY_PAUSE_MS 200

static const char put_effect[] =
    "INSERT INTO agent_effects (run_id, seq, kind, name, effect_key, request, result, failed, "
    "state,"
    " started_us, ended_us) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)"
    " ON CONFLICT (run_id, seq) DO UPDATE SET result = excluded.result, failed = excluded.failed,"
    " state = excluded.state, ended_us = excluded.ended_us WHERE agent_effects.state = 0";

static const char put_run[] =
    "INSERT INTO agent_runs (run_id, app, session_id, status, reason, input, result, created_us,"
    " updated_us, key_name, daemon_id) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $12)"
    " ON CONFLICT (run_id) DO UPDATE SET status = excluded.status, reason = excluded.reason,"
    " result = excluded.result, updated_us = excluded.updated_us,"
    " daemon_id = CASE WHEN agent_runs.status IN ('running', 'waiting') THEN agent_runs.daemon_id"
    " ELSE excluded.daemon_id END"
    " WHERE $11 = '' OR agent_runs.status = $11";

static struct db_value agent_log_text(struct arena *a, str s)
{
    return db_text(utf8_storable(s, a));
}

static bool agent_log_put_one(struct db *db, const struct agent_effect *f, struct arena *a,
                              struct err *e)
{
    return db_run(
        db,
        put_effect,
        DB_ARGS(db_text(f->run),
                db_int(f->seq),
                db_text(f->kind),
                agent_log_text(a, f->name),
                agent_log_text(a, f->key),
                agent_log_text(a, f->request),
                f->state == AGENT_DONE || f->result.n ? agent_log_text(a, f->result) : db_null(),
                db_int(f->failed),
                db_int(f->state),
                db_int(f->started_us),
                f->state == AGENT_DONE ? db_int(f->ended_us) : db_null()),
        e);
}

static bool agent_log_put_row(struct agent_log *l, const struct agent_row *r, struct arena *a,
                              struct err *e)
{
    return db_run(l->writer,
                  put_run,
                  DB_ARGS(db_text(r->id),
                          db_text(r->app),
                          db_text(r->session_id),
                          db_text(r->status),
                          agent_log_text(a, r->reason),
                          agent_log_text(a, r->input),
                          r->result.n ? agent_log_text(a, r->result) : db_null(),
                          db_int(r->created_us),
                          db_int(r->updated_us),
                          db_text_or_null(r->key),
                          db_text(r->from.n ? r->from : STR("")),
                          db_text(str_c(l->daemon))),
                  e);
}

static bool agent_log_put_wait(struct agent_log *l, const struct wait *w, struct err *e)
{
    struct db *db = l->writer;
    struct arena a;
    bool ok = true;

    assert(w->run || !w->owned || w->n || w->row);
    if (w->run)
        return w->run(w->ctx, db, e);
    if (w->owned && !log_check_owner(l, db, w->n ? w->effects[0].run : w->row->id, e))
        return false;
    arena_init(&a, (size_t)1 << 30);
    for (size_t i = 0; ok && i < w->n; i++)
        ok = agent_log_put_one(db, &w->effects[i], &a, e);
    ok = ok && (!w->row || agent_log_put_row(l, w->row, &a, e));
    arena_release(&a);
    return ok;
}

static enum agent_care agent_log_care(const struct wait *w)
{
    enum agent_care care = w->run ? AGENT_SAFE : w->row ? w->row->care : AGENT_LATER;

    for (size_t i = 0; i < w->n; i++)
        care = w->effects[i].care < care ? w->effects[i].care : care;
    return care;
}

/* All or nothing. If a row is refused, each row is tried alone, so that only this one fails. */
static bool agent_log_put_all(struct agent_log *l, struct wait *list, struct err *e)
{
    struct db *db = l->writer;
    bool durable = false;

    assert(list);
    for (struct wait *w = list; w; w = w->next)
        durable |= agent_log_care(w) == AGENT_ON_DISK;
    if (!db_begin(db, durable, e))
        return false;
    for (struct wait *w = list; w; w = w->next)
        if (!agent_log_put_wait(l, w, e)) {
            db_rollback(db);
            return false;
        }
    if (db_commit(db, e))
        return true;
    db_rollback(db);
    return false;
}

static void agent_log_put_batch(struct agent_log *l, struct wait *list)
{
    struct err e;
    bool ok = agent_log_put_all(l, list, &e), alone = !ok && list->next;

    for (struct wait *w = list; w; w = w->next) {
        struct wait *next = w->next;

        w->err = e;
        w->ok = ok;
        if (alone) {
            w->next = NULL;
            w->ok = agent_log_put_all(l, w, &w->err);
            w->next = next;
        }
    }
}

static struct wait *agent_log_take_batch(struct agent_log *l)
{
    struct wait *list = l->first, *w = list;

    assert(!l->first == !l->last);
    assert(!l->last || !l->last->next);
    for (size_t n = 1; w && w->next && n < BATCH_MAX; n++)
        w = w->next;
    l->first = w ? w->next : NULL;
    if (!l->first)
        l->last = NULL;
    if (w)
        w->next = NULL;
    return list;
}

/* Under the lock. Ends a put without a waiter: a failure is only logged, and a later put that
 * depends on it reports its own error. */
static void agent_log_later_end(struct agent_log *l, struct wait *w)
{
    assert(w->later && (w->passed || l->written < l->later));
    if (!w->ok)
        log_warn("the log of a run: something is not in it", LOG_ERR(&w->err));
    l->written += !w->passed;
    free(w);
}

/* Under the lock. PostgreSQL may restart while a run works. Its puts wait, because the result of
 * a tool that is not logged would be unknown after a restart of the run. All other puts fail at
 * once. */
static bool agent_log_retries(const struct agent_log *l, struct wait *w)
{
    int64_t now_ms = (int64_t)(clock_mono_ns(&clock_real) / CLOCK_NS_PER_MS);

    assert(!w->passed || w->give_up_ms); /* failed before */
    if (w->ok || !w->owned || !l->daemon[0] || w->err.code != ERR_SYSTEM || l->stop)
        return false;
    if (!w->give_up_ms)
        w->give_up_ms = now_ms + RETRY_MS;
    return now_ms < w->give_up_ms;
}

/* Under the lock. The puts to retry become the first ones of the next batch, in their order; the
 * others with a waiter go to *over. Returns whether there is anything to retry. */
static bool agent_log_end_batch(struct agent_log *l, struct wait *list, struct wait **over)
{
    struct wait *next, *again = NULL, **end = &again, *last = NULL;

    *over = NULL;

    for (struct wait *w = list; w; w = next) {
        next = w->next;
        if (agent_log_retries(l, w)) {
            l->written += w->later && !w->passed;
            w->passed = true;
            *end = last = w;
            end = &w->next;
        } else if (w->later) {
            agent_log_later_end(l, w);
        } else {
            *over = w;
            over = &w->next;
        }
    }
    *over = NULL;
    *end = again ? l->first : NULL;
    if (again) {
        l->first = again;
        l->last = l->last ? l->last : last;
    }
    assert(!l->first == !l->last);
    assert(!l->last || !l->last->next);
    pthread_cond_broadcast(&l->done);
    return again != NULL;
}

static void agent_log_wake(struct wait *list)
{
    struct wait *next;

    for (struct wait *w = list; w; w = next) {
        next = w->next;
        (void)sem_post(&w->over); /* from here on it belongs to its owner */
    }
}

static void *agent_log_write_all(void *arg)
{
    static const struct timespec pause = {.tv_nsec = RETRY_PAUSE_MS * 1000000L};
    struct agent_log *l = arg;
    struct wait *list, *over;
    bool again;

    pthread_mutex_lock(&l->lock);
    for (;;) {
        while (!l->first && !l->stop)
            pthread_cond_wait(&l->work, &l->lock);
        list = agent_log_take_batch(l);
        if (!list)
            break;
        pthread_mutex_unlock(&l->lock);
        agent_log_put_batch(l, list);
        pthread_mutex_lock(&l->lock);
        again = agent_log_end_batch(l, list, &over);
        pthread_mutex_unlock(&l->lock);
        agent_log_wake(over);
        if (again)
            (void)nanosleep(&pause, NULL);
        pthread_mutex_lock(&l->lock);
    }
    pthread_mutex_unlock(&l->lock);
    return NULL;
}

static bool agent_log_open_as(str url, bool write, struct agent_log **out, struct err *e)
{
    struct agent_log *l = base_alloc(sizeof *l);

    memset(l, 0, sizeof *l);
    if ((write && !db_open(url, DB_BESIDE, &l->writer, e)) ||
        !db_open(url, DB_READ, &l->reader, e)) {
        db_close(l->writer);
        free(l);
        return false;
    }
    pthread_mutex_init(&l->lock, NULL);
    pthread_mutex_init(&l->read_lock, NULL);
    pthread_cond_init(&l->work, NULL);
    pthread_cond_init(&l->done, NULL);
    if (write && pthread_create(&l->thread, NULL, agent_log_write_all, l) != 0)
        base_die("no thread could be started");
    *out = l;
    return true;
}

bool agent_log_open(str url, struct agent_log **out, struct err *e)
{
    return agent_log_open_as(url, true, out, e);
}

bool agent_log_open_read(str url, struct agent_log **out, struct err *e)
{
    return agent_log_open_as(url, false, out, e);
}

void agent_log_close(struct agent_log *l)
{
    if (!l)
        return;
    pthread_mutex_lock(&l->lock);
    l->stop = true;
    pthread_cond_signal(&l->work);
    pthread_mutex_unlock(&l->lock);
    if (l->writer)
        pthread_join(l->thread, NULL);
    assert(l->written == l->later);
    assert(!l->first);
    db_close(l->writer);
    db_close(l->reader);
    pthread_mutex_destroy(&l->lock);
    pthread_mutex_destroy(&l->read_lock);
    pthread_cond_destroy(&l->work);
    pthread_cond_destroy(&l->done);
    free(l);
}

/* Under the lock. */
static void agent_log_post(struct agent_log *l, struct wait *w)
{
    assert(!w->next && !l->first == !l->last);
    LIST_APPEND(l->first, l->last, w);
    pthread_cond_signal(&l->work);
}

static bool agent_log_wait_for(struct agent_log *l, struct wait *w, struct err *e)
{
    assert(!w->later && !w->next && l->writer);
    (void)sem_init(&w->over, 0, 0);
    pthread_mutex_lock(&l->lock);
    agent_log_post(l, w);
    pthread_mutex_unlock(&l->lock);
    while (sem_wait(&w->over) != 0)
        continue;
    (void)sem_destroy(&w->over);
    if (!w->ok)
        *e = w->err;
    return w->ok;
}

/* Copies texts that need not end in a NUL, one after the other from *at on. */
static str agent_log_keep(char **at, str s)
{
    char *p = *at;

    if (s.n)
        memcpy(p, s.p, s.n);
    *at += s.n;
    return (str){p, s.n};
}

static size_t agent_log_effect_size(const struct agent_effect *f)
{
    return f->run.n + f->kind.n + f->name.n + f->key.n + f->request.n + f->result.n;
}

static void agent_log_post_later(struct agent_log *l, const struct wait *like)
{
    const struct agent_effect *effects = like->effects;
    const struct agent_row *row = like->row;
    size_t n = like->n;
    size_t size = sizeof(struct wait) + n * sizeof *effects + (row ? sizeof *row : 0);
    struct agent_effect *f;
    struct agent_row *r;
    struct wait *w;
    char *at;

    for (size_t i = 0; i < n; i++)
        size += agent_log_effect_size(&effects[i]);
    if (row)
        size += row->id.n + row->app.n + row->session_id.n + row->status.n + row->reason.n +
                row->key.n + row->input.n + row->result.n + row->from.n;
    assert(!like->run && !like->later && (n || row));
    w = base_alloc(size);
    *w = (struct wait){.n = n, .owned = like->owned, .later = true};
    f = (struct agent_effect *)(void *)(w + 1);
    r = (struct agent_row *)(void *)(f + n);
    at = (char *)(row ? (void *)(r + 1) : (void *)r);
    w->effects = f;
    for (size_t i = 0; i < n; i++, f++) {
        *f = effects[i];
        f->run = agent_log_keep(&at, f->run);
        f->kind = agent_log_keep(&at, f->kind);
        f->name = agent_log_keep(&at, f->name);
        f->key = agent_log_keep(&at, f->key);
        f->request = agent_log_keep(&at, f->request);
        f->result = agent_log_keep(&at, f->result);
    }
    if (row) {
        *r = *row;
        r->id = agent_log_keep(&at, r->id);
        r->app = agent_log_keep(&at, r->app);
        r->session_id = agent_log_keep(&at, r->session_id);
        r->status = agent_log_keep(&at, r->status);
        r->reason = agent_log_keep(&at, r->reason);
        r->key = agent_log_keep(&at, r->key);
        r->input = agent_log_keep(&at, r->input);
        r->result = agent_log_keep(&at, r->result);
        r->from = agent_log_keep(&at, r->from);
        w->row = r;
    }
    assert(at == (char *)w + size);
    pthread_mutex_lock(&l->lock);
    l->later++;
    agent_log_post(l, w);
    pthread_mutex_unlock(&l->lock);
}

void log_settle(struct agent_log *l)
{
    uint64_t until;

    pthread_mutex_lock(&l->lock);
    until = l->later;
    assert(l->written <= l->later);
    while (l->written < until)
        pthread_cond_wait(&l->done, &l->lock);
    pthread_mutex_unlock(&l->lock);
}

static bool agent_log_write_effect(struct agent_log *l, struct wait *w, struct err *e)
{
    if (!l->writer)
        return err_set(e, ERR_SYSTEM, "the log is open to be read only");
    if (agent_log_care(w) != AGENT_LATER)
        return agent_log_wait_for(l, w, e);
    agent_log_post_later(l, w);
    return true;
}

bool agent_log_put(struct agent_log *l, const struct agent_effect *effects, size_t n, struct err *e)
{
    struct wait w = {.effects = effects, .n = n, .owned = n && !effects[0].outside};

    return n == 0 || agent_log_write_effect(l, &w, e);
}

bool agent_log_put_with(struct agent_log *l, const struct agent_effect *effects, size_t n,
                        const struct agent_row *row, struct err *e)
{
    struct wait w = {.effects = effects, .n = n, .row = row, .owned = n || row};

    return agent_log_write_effect(l, &w, e);
}

bool agent_log_run_put(struct agent_log *l, const struct agent_row *row, struct err *e)
{
    struct wait w = {.row = row};

    return agent_log_write_effect(l, &w, e);
}

bool log_run(struct agent_log *l, bool (*run)(void *ctx, struct db *db, struct err *e), void *ctx,
             struct err *e)
{
    struct wait w = {.run = run, .ctx = ctx};

    return agent_log_write_effect(l, &w, e);
}
