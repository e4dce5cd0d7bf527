/* query_call_list.c - calls, newest first: by time, model, key, application and how they ended.
 *
 * A page looks only at the newest LOOKED_AT_MAX calls after its cursor, so that a filter that few
 * calls pass does not read the whole record; its own cursor continues after them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "store/query_build.h"

#define LOOKED_AT_MAX 20000

static const struct column columns[] = {
    {"interaction_id", "i.interaction_id", COLUMN_TEXT},
    {"session_id", "i.session_id", COLUMN_TEXT},
    {"title", "s.title", COLUMN_TEXT},
    {"model", "i.model", COLUMN_TEXT},
    {"provider", "i.provider", COLUMN_TEXT},
    {"key_name", "i.key_name", COLUMN_TEXT},
    {"application", "coalesce(i.route, '')", COLUMN_SKIP},
    {"started_at_us", "i.started_ms * 1000", COLUMN_NUMBER},
    {"duration_ms", "i.ended_ms - i.started_ms", COLUMN_NUMBER},
    {"status", "i.status", COLUMN_NUMBER},
    {"error_code", "i.error_code", COLUMN_TEXT},
    {"complete", "i.complete", COLUMN_FLAG},
    {"level", "i.reasoning_level", COLUMN_TEXT},
    {"input_tokens", "i.input_tokens", COLUMN_NUMBER},
    {"output_tokens", "i.output_tokens", COLUMN_NUMBER},
    {"reasoning_tokens", "i.reasoning_tokens", COLUMN_NUMBER},
    {"has_reasoning", "i.has_reasoning", COLUMN_FLAG},
    {"cost_usd", "i.cost_usd", COLUMN_NUMBER},
    {"cut", "CASE WHEN i.reasoning_cut IS NULL THEN 0 ELSE 1 END", COLUMN_FLAG},
    {"starved",
     "CASE WHEN i.has_reasoning = 1 AND i.status < 400 AND i.complete = 1 AND (i.texts & 48) = 0"
     " THEN 1 ELSE 0 END",
     COLUMN_FLAG},
    {"call_n", "i.call_n", COLUMN_SKIP},
};
enum { CALL_ROUTE = 6, CALL_STARTED };

static const struct {
    const char *name, *sql;
} outcomes[] = {
    {"failed", "(i.status >= 400 OR i.error_code IS NOT NULL)"},
    {"cut", "i.reasoning_cut IS NOT NULL"},
    {"starved", "i.has_reasoning = 1 AND i.status < 400 AND i.complete = 1 AND (i.texts & 48) = 0"},
};

struct call_list {
    struct json_out *o;
    int64_t cursor_ms, cursor_n; /* the last call of the page before */
    int64_t room, last_ms, last_n;
    bool more;
};

static bool call_list_on_row(void *ctx, const struct db_value *v, size_t n)
{
    struct call_list *l = ctx;

    assert(n == COUNT_OF(columns) && l->room >= 0);
    if (l->room == 0) {
        l->more = true;
        return false;
    }
    l->room--;
    json_out_object(l->o);
    columns_write(columns, n, v, false, l->o);
    json_member_str(l->o, "application", overview_application(v[CALL_ROUTE].s));
    json_out_end(l->o);
    l->last_ms = v[CALL_STARTED].i / 1000;
    l->last_n = v[n - 1].i;
    return true;
}

static void call_list_where_time(struct sql *q, const struct query_filter *f)
{
    if (f->start_us >= 0)
        sql_where(q, "i.started_ms >=", db_int((f->start_us + 999) / 1000));
    if (f->end_us >= 0)
        sql_where(q, "i.started_ms <=", db_int(f->end_us / 1000));
}

/* The calls of the filter's time that follow the cursor. */
static void call_list_where(struct sql *q, const struct query_calls *w, const struct call_list *l)
{
    call_list_where_time(q, &w->filter);
    if (w->page.cursor.n)
        sql_where_pair(q, "(i.started_ms, i.call_n) <", db_int(l->cursor_ms), db_int(l->cursor_n));
}

/* The start of the oldest call that is looked at; -1: all of the range are. Only the index of the
 * time is read. */
static bool call_list_bound(struct reader *r, const struct query_calls *w,
                            const struct call_list *l, int64_t *bound_ms, struct err *e)
{
    struct sql q;
    bool ok;

    sql_begin(&q, "SELECT i.started_ms FROM llm_interactions i");
    call_list_where_time(&q, &w->filter);
    if (w->page.cursor.n)
        sql_where(&q, "i.started_ms <=", db_int(l->cursor_ms));
    sql_add(&q, " ORDER BY i.started_ms DESC");
    sql_limit(&q, 1, LOOKED_AT_MAX);
    ok = sql_number(r, &q, bound_ms, e);
    if (*bound_ms <= 0)
        *bound_ms = -1;
    return ok;
}

static bool call_list_read(struct reader *r, const struct query_asker *a,
                           const struct query_calls *w, struct call_list *l, int64_t bound_ms,
                           struct err *e)
{
    struct sql q;

    assert(str_eq(str_c(columns[CALL_ROUTE].name), STR("application")));
    sql_select(&q,
               columns,
               COUNT_OF(columns),
               "llm_interactions i LEFT JOIN alert_sessions s ON s.session_id = i.session_id");
    call_list_where(&q, w, l);
    if (bound_ms >= 0)
        sql_where(&q, "i.started_ms >=", db_int(bound_ms));
    sql_key_scope(&q, a);
    /* coalesce keeps the conditions from choosing another index than that of the time. */
    sql_where_text(&q, "coalesce(i.model, '') =", w->filter.model);
    sql_where_text(&q, "i.key_name =", w->filter.key);
    overview_where_application(&q, "i.route", w->filter.agent_type, &r->arena);
    for (size_t i = 0; i < COUNT_OF(outcomes); i++)
        if (str_eq(w->outcome, str_c(outcomes[i].name))) {
            sql_and(&q);
            sql_add(&q, outcomes[i].sql);
        }
    sql_add(&q, " ORDER BY i.started_ms DESC, i.call_n DESC");
    sql_limit(&q, w->page.limit + 1, 0);
    return sql_query(r, &q, (struct db_rows){call_list_on_row, l}, e);
}

bool query_call_list(struct reader *r, const struct query_asker *a, const struct query_calls *w,
                     struct buf *out, struct err *e)
{
    struct json_out o;
    struct call_list l = {.o = &o, .room = w->page.limit};
    int64_t bound_ms = -1;
    bool ok;

    if (!query_begin_object(r, out, &o, e))
        return false;
    json_member_array(&o, "calls");
    ok =
        (!w->page.cursor.n ||
         cursor_read_pair(&r->arena, w->page.cursor, STR("calls"), &l.cursor_ms, &l.cursor_n, e)) &&
        call_list_bound(r, w, &l, &bound_ms, e) && call_list_read(r, a, w, &l, bound_ms, e);
    json_out_end(&o);
    find_write_bound(l.more || bound_ms < 0 ? -1 : bound_ms * 1000, &o);
    if (!l.more && bound_ms >= 0) {
        l.last_ms = bound_ms;
        l.last_n = 0; /* all calls of that millisecond were looked at */
    }
    if (l.more || bound_ms >= 0)
        json_member_str(
            &o, "next_cursor", cursor_make_pair(&r->arena, STR("calls"), l.last_ms, l.last_n));
    else
        json_member_null(&o, "next_cursor");
    return query_end_object(r, ok, &o, e);
}
