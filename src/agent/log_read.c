/* log_read.c - reads the effect log.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/log_state.h"

#include "agent/column.h"

#define READ_MAX 100000u

/* Whether the arena has room for the row's texts and, if the list is full, for a larger one. */
static bool agent_log_fits(const struct agent_log_list *l, const struct db_value *c, size_t size)
{
    size_t need = l->n == l->max ? 2 * l->max * size : 0;

    for (size_t i = 0; i < 7; i++)
        need += c[i].type == DB_TEXT ? c[i].s.n : 0;
    return arena_fits(l->arena, 2 * need + 65536, 0);
}

bool log_rows_fit(const struct agent_log_list *l, struct err *e)
{
    return !l->full || err_set(e,
                               ERR_LIMIT,
                               "the runs are too large to be read at once: after %zu of them there "
                               "is no room",
                               l->n);
}

static bool agent_log_read_on_effect(void *ctx, const struct db_value *c, size_t n)
{
    struct agent_log_list *l = ctx;

    assert(n == 11 && l->n <= l->max);
    l->full = !agent_log_fits(l, c, sizeof *l->u.effects);
    if (l->full)
        return false;
    l->u.effects = arena_grow(l->arena, l->u.effects, l->n, &l->max, sizeof *l->u.effects);
    l->u.effects[l->n++] = (struct agent_effect){
        .run = column_text(l->arena, &c[0]),
        .seq = c[1].i,
        .kind = column_text(l->arena, &c[2]),
        .name = column_text(l->arena, &c[3]),
        .key = column_text(l->arena, &c[4]),
        .request = column_text(l->arena, &c[5]),
        .result = column_text(l->arena, &c[6]),
        .failed = c[7].i != 0,
        .state = c[8].i ? AGENT_DONE : AGENT_INTENT,
        .started_us = c[9].i,
        .ended_us = column_time(&c[10]),
    };
    return l->n < READ_MAX;
}

bool log_on_row(void *ctx, const struct db_value *c, size_t n)
{
    struct agent_log_list *l = ctx;

    assert(n >= 11 && l->n <= l->max);
    l->full = !agent_log_fits(l, c, sizeof *l->u.rows);
    if (l->full)
        return false;
    l->u.rows = arena_grow(l->arena, l->u.rows, l->n, &l->max, sizeof *l->u.rows);
    l->u.rows[l->n++] = (struct agent_row){
        .id = column_text(l->arena, &c[0]),
        .app = column_text(l->arena, &c[1]),
        .session_id = column_text(l->arena, &c[2]),
        .status = column_text(l->arena, &c[3]),
        .reason = column_text(l->arena, &c[4]),
        .input = column_text(l->arena, &c[5]),
        .result = column_text(l->arena, &c[6]),
        .created_us = c[7].i,
        .updated_us = c[8].i,
        .key = column_text(l->arena, &c[9]),
        .daemon = column_text(l->arena, &c[10]),
        .from = n > 11 ? column_text(l->arena, &c[11]) : STR(""),
    };
    return l->n < READ_MAX;
}

bool log_ask(struct agent_log *l, const char *sql, const struct db_value *args, size_t n,
             struct db_rows rows, struct err *e)
{
    bool ok;

    log_settle(l);
    pthread_mutex_lock(&l->read_lock);
    ok = db_query(l->reader, sql, args, n, rows, e);
    pthread_mutex_unlock(&l->read_lock);
    return ok;
}

static bool agent_log_read_effects(struct agent_log *l, const char *sql,
                                   const struct db_value *args, size_t n,
                                   struct agent_log_list *list, struct err *e)
{
    if (!log_ask(l, sql, args, n, (struct db_rows){agent_log_read_on_effect, list}, e))
        return false;
    return !list->full ||
           err_set(e,
                   ERR_LIMIT,
                   "the log of the run is too large: after %zu effects there is no room",
                   list->n);
}

static bool agent_log_read_rows(struct agent_log *l, const char *sql, const struct db_value *args,
                                size_t n, struct agent_log_list *list, struct err *e)
{
    return log_ask(l, sql, args, n, (struct db_rows){log_on_row, list}, e) && log_rows_fit(list, e);
}

#define EFFECT_COLUMNS                                                                             \
    "SELECT run_id, seq, kind, name, effect_key, request, result, failed, state, started_us,"      \
    " ended_us FROM agent_effects"

bool agent_log_read(struct agent_log *l, str run, struct arena *a, struct agent_effect **out,
                    size_t *n, struct err *e)
{
    struct agent_log_list list = {.arena = a};

    if (!agent_log_read_effects(
            l, EFFECT_COLUMNS " WHERE run_id = $1 ORDER BY seq", DB_ARGS(db_text(run)), &list, e))
        return false;
    *out = list.u.effects;
    *n = list.n;
    for (size_t i = 1; i < list.n; i++)
        assert_slow(list.u.effects[i - 1].seq < list.u.effects[i].seq);
    return true;
}

bool agent_log_effect_get(struct agent_log *l, str run, int64_t seq, struct arena *a,
                          struct agent_effect *out, struct err *e)
{
    struct agent_log_list list = {.arena = a};

    if (!agent_log_read_effects(l,
                                EFFECT_COLUMNS " WHERE run_id = $1 AND seq = $2",
                                DB_ARGS(db_text(run), db_int(seq)),
                                &list,
                                e))
        return false;
    if (!list.n)
        return err_set(e, ERR_NOT_FOUND, "the run has no effect %lld", (long long)seq);
    *out = list.u.effects[0];
    return true;
}

bool agent_log_question(struct agent_log *l, str run, struct arena *a, struct agent_effect *out,
                        struct err *e)
{
    struct agent_log_list list = {.arena = a};

    if (!agent_log_read_effects(l,
                                EFFECT_COLUMNS " WHERE run_id = $1 AND kind = 'approval' AND"
                                               " state = 0 ORDER BY seq",
                                DB_ARGS(db_text(run)),
                                &list,
                                e))
        return false;
    if (!list.n)
        return err_set(e, ERR_NOT_FOUND, "nothing of this run waits for an answer");
    *out = list.u.effects[0];
    return true;
}

bool agent_log_run_get(struct agent_log *l, str id, struct arena *a, struct agent_row *out,
                       struct err *e)
{
    struct agent_log_list list = {.arena = a};

    if (!agent_log_read_rows(l, RUN_COLUMNS " WHERE run_id = $1", DB_ARGS(db_text(id)), &list, e))
        return false;
    if (!list.n)
        return err_set(e, ERR_NOT_FOUND, "there is no run \"" STR_FMT "\"", STR_ARG(id));
    *out = list.u.rows[0];
    return true;
}

bool agent_log_unfinished(struct agent_log *l, str app, struct arena *a, struct agent_row **out,
                          size_t *n, struct err *e)
{
    struct agent_log_list list = {.arena = a};

    if (!agent_log_read_rows(l,
                             RUN_COLUMNS " WHERE status = 'running' AND ($1 = '' OR app = $1) AND"
                                         " coalesce(daemon_id, '') IN ('', $2)"
                                         " ORDER BY created_us, run_id",
                             DB_ARGS(db_text(app), db_text(str_c(l->daemon))),
                             &list,
                             e))
        return false;
    assert(!list.n || list.u.rows);
    *out = list.u.rows;
    *n = list.n;
    return true;
}

bool agent_log_parts(struct agent_log *l, str run, str session, struct arena *a,
                     struct agent_rows *out, struct err *e)
{
    struct agent_log_list list = {.arena = a};
    str prefix = arena_join(a, run, STR("/"), STR(""));

    /* Other runs of the session may be a long conversation, so they are not read. */
    if (!agent_log_read_rows(l,
                             RUN_COLUMNS " WHERE session_id = $1 AND"
                                         " substr(run_id, 1, length($2)) = $2"
                                         " ORDER BY created_us, run_id",
                             DB_ARGS(db_text(session), db_text(prefix)),
                             &list,
                             e))
        return false;
    *out = (struct agent_rows){list.u.rows, list.n};
    return true;
}

bool agent_log_session_taken(struct agent_log *l, str session, str key, bool *taken, struct err *e)
{
    static const char sql[] =
        "SELECT 1 FROM agent_runs WHERE session_id = $1 AND coalesce(key_name, '') <> $2"
        " UNION ALL SELECT 1 FROM alert_sessions WHERE session_id = $1"
        " AND coalesce(key_name, '') <> $2 LIMIT 1";

    *taken = false;
    return log_ask(
        l, sql, DB_ARGS(db_text(session), db_text(key)), DB_ROW(db_into_found(taken)), e);
}

/* A condition that may be switched off cannot use an index, so the condition that decides about the
 * index is always on. */
#define RUNS_WHERE(decides)                                                                        \
    "SELECT run_id, app, session_id, status, reason, CASE WHEN $8 = 1 THEN input ELSE '' END,"     \
    " CASE WHEN $8 = 1 THEN result ELSE '' END, created_us, updated_us, key_name,"                 \
    " daemon_id FROM agent_runs WHERE " decides " AND ($1 = '' OR run_id = $1)"                    \
    " AND ($2 = '' OR status = $2) AND ($3 = '' OR app = $3) AND ($4 = '' OR key_name = $4)"       \
    " AND ($7 = '' OR session_id = $7) ORDER BY created_us DESC, run_id DESC LIMIT $5 OFFSET $6"

static const char *log_list_sql(const struct agent_filter *f)
{
    if (f->id.n)
        return RUNS_WHERE("run_id = $1");
    if (f->session.n)
        return RUNS_WHERE("session_id = $7");
    if (f->key.n)
        return RUNS_WHERE("key_name = $4");
    return f->status.n ? RUNS_WHERE("status = $2") : RUNS_WHERE("created_us >= 0");
}

bool agent_log_list(struct agent_log *l, const struct agent_filter *f, struct arena *a,
                    struct agent_row **out, size_t *n, struct err *e)
{
    struct agent_log_list list = {.arena = a};

    if (!agent_log_read_rows(
            l,
            log_list_sql(f),
            DB_ARGS(db_text(f->id),
                    db_text(f->status),
                    db_text(f->app),
                    db_text(f->key),
                    db_int(f->count_max && f->count_max < AGENT_LIST_MAX ? (int64_t)f->count_max
                                                                         : AGENT_LIST_MAX),
                    db_int((int64_t)f->offset),
                    db_text(f->session.n ? f->session : STR("")),
                    db_int(f->whole)),
            &list,
            e))
        return false;
    *out = list.u.rows;
    *n = list.n;
    return true;
}
