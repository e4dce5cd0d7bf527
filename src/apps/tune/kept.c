/* kept.c - runs of the optimizer in the store: a row each, and the lines to resume from.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/tune/tune.h"

#include "agent/column.h"
#include "optimize/run.h"

#define COLUMNS                                                                                    \
    "run_id, app, status, reason, input, calls, budget, candidates, best_score, seed_score,"       \
    " prompt_id, created_us, updated_us"

struct tune_kept {
    struct db *db;
    pthread_mutex_t lock;
};

bool tune_kept_open(str url, struct tune_kept **out, struct err *e)
{
    struct tune_kept *k;
    struct db *db;

    if (str_eq(url, STR("none")))
        return err_input(e, "a run needs a store, and the store is \"none\"");
    if (!db_open(url, DB_BESIDE, &db, e))
        return err_prefix(e, "runs of the optimizer: ");
    k = base_alloc(sizeof *k);
    *k = (struct tune_kept){.db = db};
    pthread_mutex_init(&k->lock, NULL);
    *out = k;
    return true;
}

void tune_kept_close(struct tune_kept *k)
{
    if (!k)
        return;
    db_close(k->db);
    pthread_mutex_destroy(&k->lock);
    free(k);
}

static struct db_value score_or_null(double v)
{
    return v < 0 ? db_null() : db_real(v);
}

bool tune_kept_put(struct tune_kept *k, const struct tune_row *r, struct err *e)
{
    bool ok;

    assert(r->id.n > 0 && r->status.n > 0);
    pthread_mutex_lock(&k->lock);
    ok = db_run(k->db,
                "INSERT INTO optimize_runs (" COLUMNS ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8,"
                " $9, $10, $11, $12, $13) ON CONFLICT (run_id) DO UPDATE SET"
                " status = excluded.status, reason = excluded.reason, input = excluded.input,"
                " calls = excluded.calls,"
                " budget = excluded.budget, candidates = excluded.candidates,"
                " best_score = excluded.best_score, seed_score = excluded.seed_score,"
                " prompt_id = excluded.prompt_id, updated_us = excluded.updated_us",
                DB_ARGS(db_text(r->id),
                        db_text(r->app),
                        db_text(r->status),
                        db_text_or_null(r->reason),
                        db_text(r->input),
                        db_int(r->calls),
                        db_int(r->budget),
                        db_int(r->candidates),
                        score_or_null(r->best_score),
                        score_or_null(r->seed_score),
                        db_text_or_null(r->prompt_id),
                        db_int(r->created_us),
                        db_int(r->updated_us)),
                e);
    pthread_mutex_unlock(&k->lock);
    return ok;
}

bool tune_kept_claim(struct tune_kept *k, str id, int64_t now_us, int64_t stale_us, bool *claimed,
                     struct err *e)
{
    int64_t n = 0;
    bool ok;

    pthread_mutex_lock(&k->lock);
    assert(stale_us < now_us);
    ok = db_run(k->db,
                "UPDATE optimize_runs SET status = 'running', updated_us = $2 WHERE run_id = $1 AND"
                " (status = 'proposed' OR (status = 'running' AND updated_us < $3))",
                DB_ARGS(db_text(id), db_int(now_us), db_int(stale_us)),
                e) &&
         db_changed(k->db, &n, e);
    pthread_mutex_unlock(&k->lock);
    *claimed = n > 0;
    return ok;
}

/* ---- reading ---- */

struct rows {
    struct arena *arena;
    struct tune_row *list;
    size_t n;
};

static double tune_kept_score_of(const struct db_value *v)
{
    if (v->type == DB_REAL)
        return v->d;
    return v->type == DB_INT ? (double)v->i : -1;
}

static bool tune_kept_on_row(void *ctx, const struct db_value *c, size_t n)
{
    struct rows *r = ctx;

    assert(n == 13);
    r->list[r->n++] = (struct tune_row){.id = column_text(r->arena, &c[0]),
                                        .app = column_text(r->arena, &c[1]),
                                        .status = column_text(r->arena, &c[2]),
                                        .reason = column_text(r->arena, &c[3]),
                                        .input = column_text(r->arena, &c[4]),
                                        .calls = c[5].i,
                                        .budget = c[6].i,
                                        .candidates = c[7].i,
                                        .best_score = tune_kept_score_of(&c[8]),
                                        .seed_score = tune_kept_score_of(&c[9]),
                                        .prompt_id = column_text(r->arena, &c[10]),
                                        .created_us = c[11].i,
                                        .updated_us = c[12].i};
    return r->n < TUNE_LIST_MAX;
}

static bool tune_kept_query(struct tune_kept *k, const char *sql, const struct db_value *v,
                            size_t n, struct db_rows rows, struct err *e)
{
    bool ok;

    pthread_mutex_lock(&k->lock);
    ok = db_query(k->db, sql, v, n, rows, e);
    pthread_mutex_unlock(&k->lock);
    return ok;
}

bool tune_kept_list(struct tune_kept *k, struct arena *a, struct tune_row **out, size_t *n,
                    struct err *e)
{
    struct rows r = {a, arena_zero(a, TUNE_LIST_MAX, sizeof *r.list), 0};
    bool ok =
        tune_kept_query(k,
                        "SELECT " COLUMNS " FROM optimize_runs ORDER BY created_us DESC, run_id",
                        DB_NO_ARGS,
                        (struct db_rows){tune_kept_on_row, &r},
                        e);

    *out = r.list;
    *n = r.n;
    assert(r.n <= TUNE_LIST_MAX);
    return ok;
}

bool tune_kept_get(struct tune_kept *k, str id, struct arena *a, struct tune_row *out,
                   struct err *e)
{
    struct rows r = {a, out, 0};

    return tune_kept_query(k,
                           "SELECT " COLUMNS " FROM optimize_runs WHERE run_id = $1",
                           DB_ARGS(db_text(id)),
                           (struct db_rows){tune_kept_on_row, &r},
                           e) &&
           (r.n == 1 || err_set(e,
                                ERR_NOT_FOUND,
                                "there is no run \"" STR_FMT "\"",
                                STR_ARG(str_slice(id, 0, 80))));
}

struct ended {
    bool (*on_row)(void *ctx, const struct tune_ended *r);
    void *ctx;
};

static bool tune_kept_on_ended(void *ctx, const struct db_value *c, size_t n)
{
    struct ended *x = ctx;

    assert(n == 3);
    return x->on_row(x->ctx,
                     &(struct tune_ended){.finished = str_eq(c[0].s, STR("finished")),
                                          .calls = c[1].i,
                                          .took_us = c[2].i});
}

bool tune_kept_ended(struct tune_kept *k, bool (*on_row)(void *ctx, const struct tune_ended *r),
                     void *ctx, struct err *e)
{
    struct ended x = {on_row, ctx};

    return tune_kept_query(k,
                           "SELECT status, calls, updated_us - created_us FROM optimize_runs"
                           " WHERE status IN ('finished', 'failed') ORDER BY created_us DESC",
                           DB_NO_ARGS,
                           (struct db_rows){tune_kept_on_ended, &x},
                           e);
}

bool tune_kept_newest_scores(struct tune_kept *k, struct arena *a, str *out, struct err *e)
{
    *out = STR("");
    return tune_kept_query(k,
                           "SELECT scores FROM prompts WHERE run_id IS NOT NULL AND"
                           " scores IS NOT NULL ORDER BY created_us DESC LIMIT 1",
                           DB_NO_ARGS,
                           DB_ROW(db_into_text(a, out)),
                           e);
}

struct lines {
    struct buf text;
    int64_t n;
};

static bool tune_kept_on_line(void *ctx, const struct db_value *c, size_t n)
{
    struct lines *l = ctx;

    assert(n > 0);
    buf_add(&l->text, c[0].s);
    l->n++;
    return !buf_full(&l->text);
}

bool tune_kept_lines(struct tune_kept *k, str id, struct arena *a, str *out, int64_t *n,
                     struct err *e)
{
    struct lines l = {.n = 0};
    bool ok;

    buf_init(&l.text, OPTIMIZE_KEPT_MAX);
    ok = tune_kept_query(k,
                         "SELECT line FROM optimize_lines WHERE run_id = $1 ORDER BY n",
                         DB_ARGS(db_text(id)),
                         (struct db_rows){tune_kept_on_line, &l},
                         e);
    if (ok && (buf_full(&l.text) || !arena_fits(a, l.text.n + 1, 0)))
        ok = err_set(
            e, ERR_LIMIT, "the run has more than %zu bytes of answers; start a new one", l.text.n);
    *out = ok ? arena_dup(a, buf_str(&l.text)) : STR("");
    *n = l.n;
    buf_release(&l.text);
    return ok;
}

static bool tune_kept_on_event(void *ctx, const struct db_value *c, size_t n)
{
    struct json_out *o = ctx;

    assert(n > 0);
    json_out_raw(o, str_trim(c[0].s));
    return !buf_full(o->buf);
}

bool tune_kept_events(struct tune_kept *k, str id, struct json_out *o, struct err *e)
{
    return tune_kept_query(k,
                           "SELECT line FROM optimize_lines WHERE run_id = $1 AND"
                           " line LIKE '{\"event\"%' ORDER BY n",
                           DB_ARGS(db_text(id)),
                           (struct db_rows){tune_kept_on_event, o},
                           e);
}

/* ---- writing ---- */

static bool tune_add_all(struct db *db, str id, int64_t n, str lines, struct err *e)
{
    while (lines.n > 0) {
        size_t end = str_find(lines, STR("\n")) + 1;

        assert(end > 0 && end <= lines.n); /* each line ends with a newline */
        if (!db_run(db,
                    "INSERT INTO optimize_lines (run_id, n, line) VALUES ($1, $2, $3)",
                    DB_ARGS(db_text(id), db_int(n), db_text(str_slice(lines, 0, end))),
                    e))
            return false;
        n++;
        lines = str_slice(lines, end, lines.n);
    }
    return true;
}

bool tune_kept_add(struct tune_kept *k, str id, int64_t n, str lines, int64_t now_us, struct err *e)
{
    bool ok;

    assert(n >= 0 && lines.n > 0 && lines.p[lines.n - 1] == '\n');
    pthread_mutex_lock(&k->lock);
    ok = db_begin(k->db, true, e) &&
         db_end(k->db,
                tune_add_all(k->db, id, n, lines, e) &&
                    db_run(k->db,
                           "UPDATE optimize_runs SET updated_us = $2 WHERE run_id = $1",
                           DB_ARGS(db_text(id), db_int(now_us)),
                           e),
                e);
    pthread_mutex_unlock(&k->lock);
    return ok;
}
