/* alert_table.c - see alert_table.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/incidents/alert_table_state.h"

#define ALIVE_MAX ((size_t)200000)

static bool alert_table_open_as(str url, enum db_mode mode, struct alert_table **out, struct err *e)
{
    struct alert_table *b = base_alloc(sizeof *b);
    pthread_mutexattr_t recursive;

    *b = (struct alert_table){0};
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

bool alert_table_open(str url, struct alert_table **out, struct err *e)
{
    return alert_table_open_as(url, DB_BESIDE, out, e);
}

bool alert_table_open_read(str url, struct alert_table **out, struct err *e)
{
    return alert_table_open_as(url, DB_READ, out, e);
}

void alert_table_close(struct alert_table *b)
{
    if (!b)
        return;
    assert(!b->open);
    db_close(b->db);
    pthread_mutex_destroy(&b->lock);
    free(b);
}

static bool alert_table_add_one(struct alert_table *b, const struct alert_table_row *r,
                                struct err *e)
{
    return db_run(b->db,
                  "INSERT INTO alerts (alert_id, session_id, digest, key_name, state, alert_type,"
                  " severity, environment, runbook, data, timestamp_us, agent, current_step,"
                  " created_us, updated_us, daemon_id)"
                  " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)",
                  DB_ARGS(db_text(r->id),
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
                          db_text_or_null(r->agent),
                          db_text_or_null(r->step),
                          db_int(r->created_us),
                          db_int(r->updated_us),
                          db_text(str_c(b->daemon))),
                  e);
}

bool alert_table_begin(struct alert_table *b, struct err *e)
{
    pthread_mutex_lock(&b->lock);
    assert(!b->open);
    b->open = db_begin(b->db, true, e);
    if (b->open && !alert_table_lock_intake(b, e)) {
        db_rollback(b->db);
        b->open = false;
    }
    if (!b->open)
        pthread_mutex_unlock(&b->lock);
    return b->open;
}

bool alert_table_end(struct alert_table *b, bool ok, struct err *e)
{
    assert(b->open);
    ok = db_end(b->db, ok, e);
    b->open = false;
    pthread_mutex_unlock(&b->lock);
    return ok;
}

static bool alert_table_add_all(struct alert_table *b, const struct alert_table_intake *in,
                                struct err *e)
{
    assert(b->open);
    for (size_t i = 0; i < in->row_count; i++)
        if (!alert_table_add_one(b, &in->rows[i], e))
            return false;
    for (size_t i = 0; i < in->alert_count; i++)
        if (!alert_table_alert_put(b->db, &in->alerts[i], e))
            return false;
    return true;
}

bool alert_table_add(struct alert_table *b, const struct alert_table_intake *in, struct err *e)
{
    bool ok;

    pthread_mutex_lock(&b->lock);
    if (b->open)
        ok = alert_table_add_all(b, in, e);
    else
        ok = alert_table_begin(b, e) && alert_table_end(b, alert_table_add_all(b, in, e), e);
    pthread_mutex_unlock(&b->lock);
    return ok;
}

static bool alert_table_put_one(struct alert_table *b, const struct alert_table_row *r,
                                struct err *e)
{
    int64_t changed = 1;

    if (!db_run(b->db,
                "UPDATE alerts SET state = $2, progress = $3, current_step = $4,"
                " current_agent = $5, stages = $6, error = $7, reason = $8, report = $9,"
                " cancelled = $10, started_us = $11, completed_us = $12, updated_us = $13"
                " WHERE alert_id = $1 AND coalesce(daemon_id, '') IN ('', $14)",
                DB_ARGS(db_text(r->id),
                        db_text(r->state),
                        db_int(r->progress),
                        db_text_or_null(r->step),
                        db_text_or_null(r->current_agent),
                        db_text_or_null(r->stages),
                        db_text_or_null(r->error),
                        db_text_or_null(r->reason),
                        db_text_or_null(r->report),
                        db_int(r->cancelled),
                        column_time_or_null(r->started_us),
                        column_time_or_null(r->completed_us),
                        db_int(r->updated_us),
                        db_text(str_c(b->daemon))),
                e) ||
        (b->daemon[0] && !db_changed(b->db, &changed, e)))
        return false;
    return changed > 0 || err_set(e, ERR_CONFLICT, "another daemon has this alert by now");
}

bool alert_table_put(struct alert_table *b, const struct alert_table_row *row, bool durable,
                     struct err *e)
{
    bool ok;

    pthread_mutex_lock(&b->lock);
    assert(!b->open); /* SQLite has no transaction in a transaction */
    ok = db_begin(b->db, durable, e) &&
         db_end(b->db,
                alert_table_put_one(b, row, e) && (!b->on_put || b->on_put(b->ctx, b->db, row, e)),
                e);
    pthread_mutex_unlock(&b->lock);
    return ok;
}

void alert_table_on_put(struct alert_table *b,
                        bool (*fn)(void *ctx, struct db *db, const struct alert_table_row *row,
                                   struct err *e),
                        void *ctx)
{
    pthread_mutex_lock(&b->lock);
    b->on_put = fn;
    b->ctx = ctx;
    pthread_mutex_unlock(&b->lock);
}

bool alert_table_announce(struct alert_table *b, const struct alert_table_row *row, struct err *e)
{
    assert(b->open);
    return !b->on_put || b->on_put(b->ctx, b->db, row, e);
}

bool alert_table_do(struct alert_table *b, bool (*fn)(void *ctx, struct db *db, struct err *e),
                    void *ctx, struct err *e)
{
    bool ok;

    pthread_mutex_lock(&b->lock);
    assert(!b->open);
    ok = db_begin(b->db, true, e) && db_end(b->db, fn(ctx, b->db, e), e);
    pthread_mutex_unlock(&b->lock);
    return ok;
}

/* ---- reading ---- */

#define WHOLE BOOK_SELECT("data", "stages", "report")
#define BRIEF BOOK_SELECT("''", "''", "''")

bool alert_table_on_row(void *ctx, const struct db_value *c, size_t n)
{
    struct alert_table_rows *l = ctx;

    assert(n >= 28 && l->n < l->max);
    l->rows = arena_grow(l->arena, l->rows, l->n, &l->cap, sizeof *l->rows);
    l->rows[l->n++] = (struct alert_table_row){
        .id = column_text(l->arena, &c[0]),
        .session = column_text(l->arena, &c[1]),
        .digest = column_text(l->arena, &c[2]),
        .key = column_text(l->arena, &c[3]),
        .state = column_text(l->arena, &c[4]),
        .alert_type = column_text(l->arena, &c[5]),
        .severity = column_text(l->arena, &c[6]),
        .environment = column_text(l->arena, &c[7]),
        .runbook = column_text(l->arena, &c[8]),
        .data = column_text(l->arena, &c[9]),
        .agent = column_text(l->arena, &c[10]),
        .step = column_text(l->arena, &c[11]),
        .current_agent = column_text(l->arena, &c[12]),
        .stages = column_text(l->arena, &c[13]),
        .error = column_text(l->arena, &c[14]),
        .reason = column_text(l->arena, &c[15]),
        .report = column_text(l->arena, &c[16]),
        .timestamp_us = c[17].i,
        .progress = c[18].i,
        .created_us = c[19].i,
        .started_us = column_time(&c[20]),
        .completed_us = column_time(&c[21]),
        .updated_us = c[22].i,
        .cancelled = c[23].i != 0,
        .alerts = c[24].i,
        .firing = c[25].i,
        .seen = c[26].i,
        .resolved_us = c[25].i ? -1 : column_time(&c[27]),
        .due = n > 28 ? column_text(l->arena, &c[28]) : STR(""),
    };
    return l->n < l->max;
}

bool alert_table_query(struct alert_table *b, const char *sql, const struct db_value *args,
                       size_t n, struct db_rows rows, struct err *e)
{
    bool ok;

    pthread_mutex_lock(&b->lock);
    ok = db_query(b->db, sql, args, n, rows, e);
    pthread_mutex_unlock(&b->lock);
    return ok;
}

static bool alert_table_read_rows(struct alert_table *b, const char *sql,
                                  const struct db_value *args, size_t n, struct alert_table_rows *l,
                                  struct err *e)
{
    return alert_table_query(b, sql, args, n, (struct db_rows){alert_table_on_row, l}, e);
}

bool alert_table_get(struct alert_table *b, str id, struct arena *a, struct alert_table_row *out,
                     struct err *e)
{
    struct alert_table_rows l = {.arena = a, .max = 1};

    if (!alert_table_read_rows(b, WHOLE " WHERE alert_id = $1", DB_ARGS(db_text(id)), &l, e))
        return false;
    if (!l.n)
        return err_set(e,
                       ERR_NOT_FOUND,
                       "there is no incident \"" STR_FMT "\"",
                       STR_ARG(str_slice(id, 0, 80)));
    *out = l.rows[0];
    return true;
}

/* A condition that may be off has no index: so what decides which index is used is always on. */
#define INCIDENTS_WHERE(decides)                                                                   \
    BRIEF " WHERE " decides " AND ($1 = 1 OR key_name = $2) AND ($3 = '' OR state = $3)"           \
          " AND ($4 = '' OR alert_type = $4) AND ($5 = '' OR alert_id < $5)"                       \
          " ORDER BY alert_id DESC LIMIT $6"

/* Most incidents are completed, so this state decides last. */
const char *alert_table_list_sql(const struct alert_table_filter *f)
{
    static const char *const sql[][2] = {
        {INCIDENTS_WHERE("state = $3"), INCIDENTS_WHERE("state = $3 AND alert_id < $5")},
        {INCIDENTS_WHERE("alert_type = $4"), INCIDENTS_WHERE("alert_type = $4 AND alert_id < $5")},
        {INCIDENTS_WHERE("key_name = $2"), INCIDENTS_WHERE("key_name = $2 AND alert_id < $5")},
        {INCIDENTS_WHERE("alert_id > ''"), INCIDENTS_WHERE("alert_id < $5")},
    };
    size_t by = f->state.n && !str_eq(f->state, STR("completed")) ? 0
                : f->alert_type.n                                 ? 1
                : !f->all                                         ? 2
                                                                  : 3;

    return sql[by][f->before.n > 0];
}

bool alert_table_list(struct alert_table *b, const struct alert_table_filter *f, struct arena *a,
                      struct alert_table_row **out, size_t *n, struct err *e)
{
    struct alert_table_rows l = {
        .arena = a,
        .max = f->count_max && f->count_max < BOOK_LIST_MAX ? f->count_max : BOOK_LIST_MAX};

    if (!alert_table_read_rows(b,
                               alert_table_list_sql(f),
                               DB_ARGS(db_int(f->all),
                                       db_text(f->key),
                                       db_text(f->state),
                                       db_text(f->alert_type),
                                       db_text(f->before),
                                       db_int((int64_t)l.max)),
                               &l,
                               e))
        return false;
    *out = l.rows;
    *n = l.n;
    return true;
}

bool alert_table_alive(struct alert_table *b, struct arena *a, struct alert_table_row **out,
                       size_t *n, struct err *e)
{
    struct alert_table_rows l = {.arena = a, .max = ALIVE_MAX};

    if (!alert_table_read_rows(
            b,
            BRIEF " WHERE " BOOK_ALIVE
                  " AND coalesce(daemon_id, '') IN ('', $1) ORDER BY created_us, alert_id",
            DB_ARGS(db_text(str_c(b->daemon))),
            &l,
            e))
        return false;
    *out = l.rows;
    *n = l.n;
    return true;
}
