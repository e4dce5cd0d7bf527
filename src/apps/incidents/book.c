/* book.c - see book.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/incidents/book_state.h"

#define ALIVE_MAX ((size_t)200000)

static bool incident_book_open_as(str url, enum db_mode mode, struct book **out, struct err *e)
{
    struct book *b = base_alloc(sizeof *b);
    pthread_mutexattr_t recursive;

    *b = (struct book){0};
    if (!db_open(str_eq(url, STR("none")) ? STR("sqlite::memory:") : url, mode, &b->db, e)) {
        free(b);
        return false;
    }
    pthread_mutexattr_init(&recursive);
    pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&b->lock, &recursive);
    pthread_mutexattr_destroy(&recursive);
    *out = b;
    return true;
}

bool book_open(str url, struct book **out, struct err *e)
{
    return incident_book_open_as(url, DB_BESIDE, out, e);
}

bool book_open_read(str url, struct book **out, struct err *e)
{
    return incident_book_open_as(url, DB_READ, out, e);
}

void book_close(struct book *b)
{
    if (!b)
        return;
    db_close(b->db);
    pthread_mutex_destroy(&b->lock);
    free(b);
}

static struct db_value incident_book_text_or_null(str s)
{
    return s.n ? db_text(s) : db_null();
}

struct db_value book_time_or_null(int64_t us)
{
    return us >= 0 ? db_int(us) : db_null();
}

static bool incident_book_add_one(struct db *db, const struct book_row *r, struct err *e)
{
    struct db_value args[] = {
        db_text(r->id),
        db_text(r->session),
        db_text(r->digest),
        db_text(r->key),
        db_text(r->state),
        db_text(r->alert_type),
        db_text(r->severity),
        db_text(r->environment),
        db_text(r->runbook),
        db_text(r->data),
        db_int(r->timestamp_us),
        incident_book_text_or_null(r->agent),
        incident_book_text_or_null(r->step),
        db_int(r->created_us),
        db_int(r->updated_us),
    };

    return db_run(db,
                  "INSERT INTO alerts (alert_id, session_id, digest, key_name, state, alert_type,"
                  " severity, environment, runbook, data, timestamp_us, agent, current_step,"
                  " created_us, updated_us)"
                  " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)",
                  args,
                  COUNT_OF(args),
                  e);
}

bool book_begin(struct book *b, struct err *e)
{
    pthread_mutex_lock(&b->lock);
    assert(!b->open);
    b->open = db_begin(b->db, true, e);
    if (!b->open)
        pthread_mutex_unlock(&b->lock);
    return b->open;
}

bool book_end(struct book *b, bool ok, struct err *e)
{
    ok = ok && db_commit(b->db, e);
    if (!ok)
        db_rollback(b->db);
    b->open = false;
    pthread_mutex_unlock(&b->lock);
    return ok;
}

static bool incident_book_add_all(struct db *db, const struct book_intake *in, struct err *e)
{
    for (size_t i = 0; i < in->row_count; i++)
        if (!incident_book_add_one(db, &in->rows[i], e))
            return false;
    for (size_t i = 0; i < in->alert_count; i++)
        if (!book_alert_put(db, &in->alerts[i], e))
            return false;
    return true;
}

bool book_add(struct book *b, const struct book_intake *in, struct err *e)
{
    bool ok;

    pthread_mutex_lock(&b->lock);
    if (b->open)
        ok = incident_book_add_all(b->db, in, e);
    else
        ok = book_begin(b, e) && book_end(b, incident_book_add_all(b->db, in, e), e);
    pthread_mutex_unlock(&b->lock);
    return ok;
}

static bool incident_book_put_one(struct db *db, const struct book_row *r, struct err *e)
{
    struct db_value args[] = {
        db_text(r->id),
        db_text(r->state),
        db_int(r->progress),
        incident_book_text_or_null(r->step),
        incident_book_text_or_null(r->current_agent),
        incident_book_text_or_null(r->stages),
        incident_book_text_or_null(r->error),
        incident_book_text_or_null(r->reason),
        incident_book_text_or_null(r->report),
        db_int(r->cancelled),
        book_time_or_null(r->started_us),
        book_time_or_null(r->completed_us),
        db_int(r->updated_us),
    };

    return db_run(db,
                  "UPDATE alerts SET state = $2, progress = $3, current_step = $4,"
                  " current_agent = $5, stages = $6, error = $7, reason = $8, report = $9,"
                  " cancelled = $10, started_us = $11, completed_us = $12, updated_us = $13"
                  " WHERE alert_id = $1",
                  args,
                  COUNT_OF(args),
                  e);
}

bool book_put(struct book *b, const struct book_row *row, bool durable, struct err *e)
{
    bool ok;

    pthread_mutex_lock(&b->lock);
    ok = db_begin(b->db, durable, e);
    if (ok && !(incident_book_put_one(b->db, row, e) &&
                (!b->on_put || b->on_put(b->ctx, b->db, row, e)) && db_commit(b->db, e))) {
        db_rollback(b->db);
        ok = false;
    }
    pthread_mutex_unlock(&b->lock);
    return ok;
}

void book_on_put(struct book *b,
                 bool (*fn)(void *ctx, struct db *db, const struct book_row *row, struct err *e),
                 void *ctx)
{
    pthread_mutex_lock(&b->lock);
    b->on_put = fn;
    b->ctx = ctx;
    pthread_mutex_unlock(&b->lock);
}

bool book_announce(struct book *b, const struct book_row *row, struct err *e)
{
    assert(b->open);
    return !b->on_put || b->on_put(b->ctx, b->db, row, e);
}

bool book_do(struct book *b, bool (*fn)(void *ctx, struct db *db, struct err *e), void *ctx,
             struct err *e)
{
    bool ok;

    pthread_mutex_lock(&b->lock);
    ok = db_begin(b->db, true, e);
    if (ok && !(fn(ctx, b->db, e) && db_commit(b->db, e))) {
        db_rollback(b->db);
        ok = false;
    }
    pthread_mutex_unlock(&b->lock);
    return ok;
}

/* ---- reading ---- */

#define OF_INCIDENT " FROM incident_alerts m WHERE m.incident_id = alerts.alert_id"
#define SELECT(data, report)                                                                       \
    "SELECT alert_id, session_id, digest, key_name, state, alert_type, severity, environment,"     \
    " runbook, " data ", agent, current_step, current_agent, stages, error, reason, " report       \
    ", timestamp_us, progress, created_us, started_us, completed_us, updated_us, cancelled"        \
    ", (SELECT COUNT(*)" OF_INCIDENT "), (SELECT COUNT(*)" OF_INCIDENT " AND m.ended_us IS NULL)"  \
    ", (SELECT CAST(COALESCE(SUM(m.seen), 0) AS BIGINT)" OF_INCIDENT                               \
    "), (SELECT MAX(m.ended_us)" OF_INCIDENT ") FROM alerts"
#define WHOLE SELECT("data", "report")
#define BRIEF SELECT("''", "''")

struct list {
    struct arena *arena;
    struct book_row *rows;
    size_t n, cap, max;
};

str book_text_of(struct arena *a, const struct db_value *v)
{
    return v->type == DB_TEXT ? arena_dup(a, v->s) : STR("");
}

int64_t book_time_of(const struct db_value *v)
{
    return v->type == DB_INT ? v->i : -1;
}

static bool incident_book_on_row(void *ctx, const struct db_value *c, size_t n)
{
    struct list *l = ctx;
    struct book_row *grown;

    (void)n;
    if (l->n == l->cap) {
        l->cap = l->cap ? 2 * l->cap : 16;
        grown = arena_zero(l->arena, l->cap, sizeof *grown);
        if (l->n)
            memcpy(grown, l->rows, l->n * sizeof *grown);
        l->rows = grown;
    }
    l->rows[l->n++] = (struct book_row){
        .id = book_text_of(l->arena, &c[0]),
        .session = book_text_of(l->arena, &c[1]),
        .digest = book_text_of(l->arena, &c[2]),
        .key = book_text_of(l->arena, &c[3]),
        .state = book_text_of(l->arena, &c[4]),
        .alert_type = book_text_of(l->arena, &c[5]),
        .severity = book_text_of(l->arena, &c[6]),
        .environment = book_text_of(l->arena, &c[7]),
        .runbook = book_text_of(l->arena, &c[8]),
        .data = book_text_of(l->arena, &c[9]),
        .agent = book_text_of(l->arena, &c[10]),
        .step = book_text_of(l->arena, &c[11]),
        .current_agent = book_text_of(l->arena, &c[12]),
        .stages = book_text_of(l->arena, &c[13]),
        .error = book_text_of(l->arena, &c[14]),
        .reason = book_text_of(l->arena, &c[15]),
        .report = book_text_of(l->arena, &c[16]),
        .timestamp_us = c[17].i,
        .progress = c[18].i,
        .created_us = c[19].i,
        .started_us = book_time_of(&c[20]),
        .completed_us = book_time_of(&c[21]),
        .updated_us = c[22].i,
        .cancelled = c[23].i != 0,
        .alerts = c[24].i,
        .firing = c[25].i,
        .seen = c[26].i,
        .resolved_us = c[25].i ? -1 : book_time_of(&c[27]),
    };
    return l->n < l->max;
}

static bool incident_book_read_rows(struct book *b, const char *sql, const struct db_value *args,
                                    size_t n, struct list *l, struct err *e)
{
    bool ok;

    pthread_mutex_lock(&b->lock);
    ok = db_query(b->db, sql, args, n, (struct db_rows){incident_book_on_row, l}, e);
    pthread_mutex_unlock(&b->lock);
    return ok;
}

bool book_get(struct book *b, str id, struct arena *a, struct book_row *out, struct err *e)
{
    struct list l = {.arena = a, .max = 1};
    struct db_value args[] = {db_text(id)};

    if (!incident_book_read_rows(b, WHOLE " WHERE alert_id = $1", args, 1, &l, e))
        return false;
    if (!l.n)
        return err_set(
            e, ERR_NOT_FOUND, "there is no alert \"" STR_FMT "\"", STR_ARG(str_slice(id, 0, 80)));
    *out = l.rows[0];
    return true;
}

bool book_list(struct book *b, const struct book_filter *f, struct arena *a, struct book_row **out,
               size_t *n, struct err *e)
{
    struct list l = {.arena = a,
                     .max = f->count_max && f->count_max < BOOK_LIST_MAX ? f->count_max
                                                                         : BOOK_LIST_MAX};
    struct db_value args[] = {
        db_int(f->all),
        db_text(f->key),
        db_text(f->state),
        db_text(f->alert_type),
        db_text(f->before),
        db_int((int64_t)l.max),
    };

    if (!incident_book_read_rows(b,
                                 BRIEF
                                 " WHERE ($1 = 1 OR key_name = $2) AND ($3 = '' OR state = $3)"
                                 " AND ($4 = '' OR alert_type = $4) AND ($5 = '' OR alert_id < $5)"
                                 " ORDER BY alert_id DESC LIMIT $6",
                                 args,
                                 COUNT_OF(args),
                                 &l,
                                 e))
        return false;
    *out = l.rows;
    *n = l.n;
    return true;
}

bool book_alive(struct book *b, struct arena *a, struct book_row **out, size_t *n, struct err *e)
{
    struct list l = {.arena = a, .max = ALIVE_MAX};

    if (!incident_book_read_rows(
            b,
            BRIEF
            " WHERE state IN ('queued', 'processing', 'waiting') ORDER BY created_us, alert_id",
            NULL,
            0,
            &l,
            e))
        return false;
    *out = l.rows;
    *n = l.n;
    return true;
}
