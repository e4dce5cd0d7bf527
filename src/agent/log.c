/* log.c - see log.h.
 *
 * One writer thread takes all that waits, puts it in one durable transaction and wakes those who
 * wait; while it does, the next batch gathers. Readers have a connection of their own: log_read.c.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/log_in.h"

#define BATCH_MAX 2048

static const char put_effect[] =
    "INSERT INTO agent_effects (run_id, seq, kind, name, effect_key, request, result, failed, "
    "state,"
    " started_us, ended_us) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)"
    " ON CONFLICT (run_id, seq) DO UPDATE SET result = excluded.result, failed = excluded.failed,"
    " state = excluded.state, ended_us = excluded.ended_us WHERE agent_effects.state = 0";

static const char put_run[] =
    "INSERT INTO agent_runs (run_id, app, session_id, status, reason, input, result, created_us,"
    " updated_us) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)"
    " ON CONFLICT (run_id) DO UPDATE SET status = excluded.status, reason = excluded.reason,"
    " result = excluded.result, updated_us = excluded.updated_us";

static bool put_one(struct db *db, const struct agent_effect *f, struct err *e)
{
    struct db_value args[] = {
        db_text(f->run),
        db_int(f->seq),
        db_text(f->kind),
        db_text(f->name),
        db_text(f->key),
        db_text(f->request),
        f->state == AGENT_DONE ? db_text(f->result) : db_null(),
        db_int(f->failed),
        db_int(f->state),
        db_int(f->started_us),
        f->state == AGENT_DONE ? db_int(f->ended_us) : db_null(),
    };

    return db_run(db, put_effect, args, COUNT_OF(args), e);
}

static bool put_row(struct db *db, const struct agent_row *r, struct err *e)
{
    struct db_value args[] = {
        db_text(r->id),
        db_text(r->app),
        db_text(r->session_id),
        db_text(r->status),
        db_text(r->reason),
        db_text(r->input),
        r->result.n ? db_text(r->result) : db_null(),
        db_int(r->created_us),
        db_int(r->updated_us),
    };

    return db_run(db, put_run, args, COUNT_OF(args), e);
}

static bool put_wait(struct db *db, const struct wait *w, struct err *e)
{
    for (size_t i = 0; i < w->n; i++)
        if (!put_one(db, &w->effects[i], e))
            return false;
    return !w->row || put_row(db, w->row, e);
}

static bool is_soft(const struct wait *w)
{
    bool soft = !w->row || w->row->again || str_eq(w->row->status, STR("running"));

    for (size_t i = 0; i < w->n; i++)
        soft &= w->effects[i].again;
    return soft;
}

/* All or nothing: one row that is refused is tried alone, so that it fails alone. */
static bool put_all(struct db *db, struct wait *list, struct err *e)
{
    bool soft = true;

    for (struct wait *w = list; w; w = w->next)
        soft &= is_soft(w);
    if (!db_begin(db, !soft, e))
        return false;
    for (struct wait *w = list; w; w = w->next)
        if (!put_wait(db, w, e)) {
            db_rollback(db);
            return false;
        }
    if (db_commit(db, e))
        return true;
    db_rollback(db);
    return false;
}

static void put_batch(struct agent_log *l, struct wait *list)
{
    struct err e;
    bool ok = put_all(l->writer, list, &e), alone = !ok && list->next;

    for (struct wait *w = list; w; w = w->next) {
        struct wait *next = w->next;

        w->err = e;
        w->ok = ok;
        if (alone) {
            w->next = NULL;
            w->ok = put_all(l->writer, w, &w->err);
            w->next = next;
        }
    }
}

static struct wait *take_batch(struct agent_log *l)
{
    struct wait *list = l->first, *w = list;

    for (size_t n = 1; w && w->next && n < BATCH_MAX; n++)
        w = w->next;
    l->first = w ? w->next : NULL;
    if (!l->first)
        l->last = NULL;
    if (w)
        w->next = NULL;
    return list;
}

static void *write_all(void *arg)
{
    struct agent_log *l = arg;
    struct wait *list, *next;

    pthread_mutex_lock(&l->lock);
    for (;;) {
        while (!l->first && !l->stop)
            pthread_cond_wait(&l->work, &l->lock);
        list = take_batch(l);
        if (!list)
            break;
        pthread_mutex_unlock(&l->lock);
        put_batch(l, list);
        for (struct wait *w = list; w; w = next) {
            next = w->next;
            (void)sem_post(&w->over); /* from here on it is its owner's */
        }
        pthread_mutex_lock(&l->lock);
    }
    pthread_mutex_unlock(&l->lock);
    return NULL;
}

static bool open_log(str url, bool write, struct agent_log **out, struct err *e)
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
    if (write && pthread_create(&l->thread, NULL, write_all, l) != 0)
        base_die("no thread could be started");
    *out = l;
    return true;
}

bool agent_log_open(str url, struct agent_log **out, struct err *e)
{
    return open_log(url, true, out, e);
}

bool agent_log_open_read(str url, struct agent_log **out, struct err *e)
{
    return open_log(url, false, out, e);
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
    db_close(l->writer);
    db_close(l->reader);
    pthread_mutex_destroy(&l->lock);
    pthread_mutex_destroy(&l->read_lock);
    pthread_cond_destroy(&l->work);
    free(l);
}

static bool wait_for(struct agent_log *l, struct wait *w, struct err *e)
{
    if (!l->writer)
        return err_set(e, ERR_SYSTEM, "the log is open to be read only");
    (void)sem_init(&w->over, 0, 0);
    pthread_mutex_lock(&l->lock);
    if (l->last)
        l->last->next = w;
    else
        l->first = w;
    l->last = w;
    pthread_cond_signal(&l->work);
    pthread_mutex_unlock(&l->lock);
    while (sem_wait(&w->over) != 0)
        continue;
    (void)sem_destroy(&w->over);
    if (!w->ok)
        *e = w->err;
    return w->ok;
}

bool agent_log_put(struct agent_log *l, const struct agent_effect *effects, size_t n, struct err *e)
{
    struct wait w = {.effects = effects, .n = n};

    return n == 0 || wait_for(l, &w, e);
}

bool agent_log_put_with(struct agent_log *l, const struct agent_effect *effects, size_t n,
                        const struct agent_row *row, struct err *e)
{
    struct wait w = {.effects = effects, .n = n, .row = row};

    return wait_for(l, &w, e);
}

bool agent_log_run_put(struct agent_log *l, const struct agent_row *row, struct err *e)
{
    struct wait w = {.row = row};

    return wait_for(l, &w, e);
}
