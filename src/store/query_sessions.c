/* query_sessions.c - lists of sessions: filters, order, pages.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "store/query_build.h"

#include <math.h>

#define COUNT_MAX 200000 /* sessions after a page that are counted */
#define SORT_MAX 10000   /* sessions that are sorted in another order than that of time */
#define SCAN_MAX 20000   /* sessions that are looked at for a condition without an index */

/* clang-format off */
enum {
    SESSION_ID, ALERT_ID, AGENT, ALERT, STATUS, STARTED, COMPLETED, ERROR, DURATION, CALLS, TOOLS,
    TOOL_CALLS, TITLE, MODEL, KEY, SUBJECT, INPUT, OUTPUT, REASONING, COST, HAS_REASONING, NAMED
};
/* clang-format on */

const struct column session_columns[] = {
    [SESSION_ID] = {"session_id", "s.session_id", COLUMN_TEXT},
    [ALERT_ID] = {"alert_id", "s.alert_id", COLUMN_TEXT},
    [AGENT] = {"agent_type", "coalesce(s.agent_type, 'gateway')", COLUMN_TEXT},
    [ALERT] = {"alert_type", "s.alert_type", COLUMN_TEXT},
    [STATUS] = {"status", "s.status", COLUMN_TEXT},
    [STARTED] = {"started_at_us", "s.started_at_us", COLUMN_NUMBER},
    [COMPLETED] = {"completed_at_us", "s.completed_at_us", COLUMN_NUMBER},
    [ERROR] = {"error_message", "s.error_message", COLUMN_TEXT},
    [DURATION] = {"duration_ms", "(s.completed_at_us - s.started_at_us) / 1000", COLUMN_NUMBER},
    [CALLS] = {"llm_interaction_count", "s.call_count", COLUMN_NUMBER},
    [TOOLS] = {"mcp_communication_count", "s.tool_count", COLUMN_NUMBER},
    [TOOL_CALLS] = {"tool_call_count", "s.tool_call_count", COLUMN_NUMBER},
    [TITLE] = {"title", "s.title", COLUMN_TEXT},
    [MODEL] = {"model", "s.model", COLUMN_TEXT},
    [KEY] = {"key_name", "s.key_name", COLUMN_TEXT},
    [SUBJECT] = {"subject", "s.subject", COLUMN_TEXT},
    [INPUT] = {"input_tokens", "s.input_tokens", COLUMN_NUMBER},
    [OUTPUT] = {"output_tokens", "s.output_tokens", COLUMN_NUMBER},
    [REASONING] = {"reasoning_tokens", "s.reasoning_tokens", COLUMN_NUMBER},
    [COST] = {"cost_usd", "s.cost_usd", COLUMN_NUMBER},
    [HAS_REASONING] = {"has_reasoning", "s.has_reasoning", COLUMN_FLAG},
    [NAMED] = {"named", "s.named", COLUMN_SKIP},
};
const size_t session_column_count = COUNT_OF(session_columns);
static_assert(COUNT_OF(session_columns) <= SESSION_COLUMNS_MAX, "they fit");

static const struct sort {
    const char *name, *sql;
    bool real;
} sorts[] = {
    {"started_at_us", "s.started_at_us", false},
    {"duration_ms", "coalesce(s.completed_at_us - s.started_at_us, 0)", false},
    {"total_tokens", "(s.input_tokens + s.output_tokens)", false},
    {"cost_usd", "coalesce(s.cost_usd, 0)", true},
};

/* ---- rows ---- */

bool session_is_running(const struct query_asker *a, const struct db_value *v)
{
    for (size_t i = 0; i < a->running_count; i++) {
        const struct query_running *c = &a->running[i];

        if ((str_eq(c->session_id, v[SESSION_ID].s) ||
             (v[NAMED].type != DB_NULL && str_eq(c->session_id, v[NAMED].s))) &&
            (!c->key_name.n || v[KEY].type == DB_NULL || str_eq(c->key_name, v[KEY].s)))
            return true;
    }
    return false;
}

void session_write(const struct query_asker *a, const struct db_value *v, struct json_out *o)
{
    struct db_value now[COUNT_OF(session_columns)];

    memcpy(now, v, sizeof now);
    if (a->key_name.n && v[NAMED].type != DB_NULL)
        now[SESSION_ID] = v[NAMED]; /* to whom it belongs it has the name they gave it */
    if (a->running_count && session_is_running(a, v)) {
        now[STATUS] = db_text(STR("in_progress"));
        now[COMPLETED] = now[DURATION] = db_null();
    }
    columns_write(session_columns, COUNT_OF(session_columns), now, a->hide_reasoning, o);
}

/* ---- a page ---- */

struct list {
    struct reader *r;
    const struct query_asker *a;
    const struct query_filter *f;
    const struct query_page *p;
    struct json_out *o;
    const struct sort *sort;
    bool down;
    bool age; /* each session has duration_seconds, up to now */
    str sort_name;
    int64_t room, count; /* rows still wanted; rows given */
    bool more;
    str last_value, last_id;
    struct session_found found;
    int64_t from_us; /* only sessions that began then or later; -1: all */
};

static bool session_list_find_sort(struct list *l, struct err *e)
{
    str name = l->p->sort.n ? l->p->sort : STR("-started_at_us");

    l->sort_name = name;
    l->down = name.p[0] == '-';
    if (l->down)
        name = str_slice(name, 1, name.n);
    for (size_t i = 0; i < COUNT_OF(sorts); i++)
        if (str_eq(name, str_c(sorts[i].name))) {
            l->sort = &sorts[i];
            return true;
        }
    return err_input(e,
                     "sort: must be started_at_us, duration_ms, total_tokens or cost_usd, with a "
                     "\"-\" before it for the largest first");
}

/* Where the page before ended: the value that the list is sorted by, and the session's id. */
static bool session_list_read_cursor(struct list *l, struct db_value *at, str *id, struct err *e)
{
    str value;
    char *end;

    if (!cursor_read(&l->r->arena, l->p->cursor, l->sort_name, &value, id, e))
        return false;
    if (!l->sort->real) {
        *at = db_int(0);
        return cursor_i64(value, &at->i) || cursor_bad(e);
    }
    *at = db_real(strtod(value.p, &end));
    return (value.n && !*end && !isnan(at->d)) || cursor_bad(e);
}

static void session_list_write_session(struct list *l, const struct db_value *v)
{
    int64_t us = l->a->now_us - v[STARTED].i;

    json_out_object(l->o);
    session_write(l->a, v, l->o);
    if (l->age)
        json_member_double(l->o, "duration_seconds", us > 0 ? (double)(us / 1000) / 1000 : 0);
    json_out_end(l->o);
}

static bool session_list_on_session(void *ctx, const struct db_value *v, size_t n)
{
    struct list *l = ctx;
    const struct db_value *key = &v[n - 1];

    assert(n == session_column_count + 1 && l->room >= 0);
    if (l->room == 0) {
        l->more = true;
        return false;
    }
    l->room--;
    l->count++;
    session_list_write_session(l, v);
    if (l->room == 0) {
        l->last_value = key->type == DB_REAL
                            ? arena_printf(&l->r->arena, "%.17g", key->d)
                            : arena_printf(&l->r->arena, "%lld", (long long)key->i);
        l->last_id = arena_dup(&l->r->arena, v[SESSION_ID].s);
    }
    return true;
}

static void session_list_where_rows(struct list *l, struct sql *q)
{
    session_where(l->r, q, l->a, l->f, &l->found);
    if (l->from_us >= 0)
        sql_where(q, "s.started_at_us >=", db_int(l->from_us));
}

/* When the first row of a page began; the rows of that time which belong to pages before it remain
 * as the offset. Both are found in an index alone: the rows of the pages before it are not read. */
static bool session_list_find_page(struct list *l, int64_t *offset, int64_t *at_us, struct err *e)
{
    int64_t before = 0;
    struct sql q;

    assert(l->sort == sorts && *offset > 0);
    sql_begin(&q, "SELECT s.started_at_us FROM alert_sessions s");
    session_list_where_rows(l, &q);
    sql_add(&q, l->down ? " ORDER BY s.started_at_us DESC" : " ORDER BY s.started_at_us");
    sql_limit(&q, 1, *offset);
    if (!sql_number(l->r, &q, at_us, e))
        return false;
    if (*at_us <= 0)
        return true;
    sql_begin(&q, "SELECT count(*) FROM alert_sessions s");
    session_list_where_rows(l, &q);
    sql_where(&q, l->down ? "s.started_at_us >" : "s.started_at_us <", db_int(*at_us));
    if (!sql_number(l->r, &q, &before, e))
        return false;
    assert(before <= *offset); /* one transaction, one view of the rows */
    *offset -= before;
    return true;
}

static bool session_list_write_rows(struct list *l, int64_t offset, struct err *e)
{
    struct db_value at = db_null();
    int64_t at_us = 0;
    str id = STR("");
    struct sql q;

    if (l->p->cursor.n)
        offset = 0;
    if ((l->p->cursor.n && !session_list_read_cursor(l, &at, &id, e)) ||
        (offset > 0 && l->sort == sorts && !session_list_find_page(l, &offset, &at_us, e)))
        return false;
    sql_begin(&q, "SELECT ");
    sql_columns(&q, session_columns, session_column_count);
    sql_add(&q, ", ");
    sql_add(&q, l->sort->sql);
    sql_add(&q, " FROM alert_sessions s");
    session_list_where_rows(l, &q);
    if (at_us > 0)
        sql_where(&q, l->down ? "s.started_at_us <=" : "s.started_at_us >=", db_int(at_us));
    if (l->p->cursor.n)
        sql_where_pair(
            &q,
            arena_printf(&l->r->arena, "(%s, s.session_id) %c", l->sort->sql, l->down ? '<' : '>')
                .p,
            at,
            db_text(id));
    sql_add(&q, " ORDER BY ");
    sql_add(&q, l->sort->sql);
    sql_add(&q, l->down ? " DESC, s.session_id DESC" : ", s.session_id");
    sql_limit(&q, l->room + 1, offset);
    return sql_query(l->r, &q, (struct db_rows){session_list_on_session, l}, e);
}

/* Up to COUNT_MAX beyond the page; what follows is not counted. */
static bool session_list_count_rows(struct list *l, int64_t max, int64_t *out, struct err *e)
{
    struct sql q;

    sql_begin(&q, "SELECT count(*) FROM (SELECT 1 FROM alert_sessions s");
    session_list_where_rows(l, &q);
    sql_limit(&q, max, 0);
    sql_add(&q, ") AS counted");
    return sql_number(l->r, &q, out, e);
}

/* ---- sessions of which only a first call runs ---- */

struct unseen {
    const struct query_running *at[QUERY_RUNNING_MAX];
    size_t n;
};

static bool session_list_on_seen(void *ctx, const struct db_value *v, size_t n)
{
    struct unseen *u = ctx;

    assert(n == 2);
    for (size_t i = 0; i < u->n; i++)
        if (str_eq(u->at[i]->session_id, v[0].s) &&
            (v[1].type == DB_NULL || !u->at[i]->key_name.n || str_eq(u->at[i]->key_name, v[1].s)))
            u->at[i--] = u->at[--u->n];
    return true;
}

static bool session_list_wants(const struct list *l, const struct query_running *c)
{
    const struct query_filter *f = l->f;

    return session_wants_status(f, STR("in_progress")) && c->session_id.n &&
           (!l->a->key_name.n || str_eq(c->key_name, l->a->key_name)) &&
           (!f->key.n || str_eq(c->key_name, f->key)) &&
           (!f->model.n || str_eq(c->model, f->model)) &&
           (!f->agent_type.n || str_eq(f->agent_type, STR("gateway"))) &&
           (!f->alert_type.n || str_eq(f->alert_type, c->dialect)) &&
           (!f->session_id.n || str_eq(f->session_id, c->session_id)) && !f->search.n &&
           !f->tool.n && !f->subject.n && f->has_reasoning < 0 &&
           (f->start_us < 0 || c->started_us >= f->start_us) &&
           (f->end_us < 0 || c->started_us <= f->end_us);
}

/* Those that the tables do not have, or not with the status. */
static bool session_list_find_unseen(struct list *l, const char *status, struct unseen *u,
                                     struct err *e)
{
    str ids[QUERY_RUNNING_MAX];
    struct sql q;

    u->n = 0;
    for (size_t i = 0; i < l->a->running_count && u->n < QUERY_RUNNING_MAX; i++) {
        bool twice = false;

        for (size_t j = 0; j < u->n; j++)
            twice |= str_eq(u->at[j]->session_id, l->a->running[i].session_id) &&
                     str_eq(u->at[j]->key_name, l->a->running[i].key_name);
        if (!twice && session_list_wants(l, &l->a->running[i]))
            u->at[u->n++] = &l->a->running[i];
    }
    assert(u->n <= QUERY_RUNNING_MAX);
    if (u->n == 0)
        return true;
    for (size_t i = 0; i < u->n; i++)
        ids[i] = u->at[i]->session_id;
    sql_begin(&q, "SELECT s.session_id, s.key_name FROM alert_sessions s WHERE ");
    sql_in(&q, "s.session_id", ids, u->n);
    sql_add(&q, status);
    sql_add(&q, " UNION ALL SELECT s.named, s.key_name FROM alert_sessions s WHERE ");
    sql_in(&q, "s.named", ids, u->n);
    sql_add(&q, status);
    return sql_query(l->r, &q, (struct db_rows){session_list_on_seen, u}, e);
}

void session_running_values(const struct query_running *c, struct db_value *out)
{
    const struct db_value zero = db_int(0);
    const struct db_value v[COUNT_OF(session_columns)] = {
        [SESSION_ID] = db_text(c->session_id),
        [AGENT] = db_text(STR("gateway")),
        [ALERT] = db_text_or_null(c->dialect),
        [STATUS] = db_text(STR("in_progress")),
        [STARTED] = db_int(c->started_us),
        [CALLS] = zero,
        [TOOLS] = zero,
        [TOOL_CALLS] = zero,
        [TITLE] = db_text_or_null(c->title),
        [MODEL] = db_text_or_null(c->model),
        [KEY] = db_text_or_null(c->key_name),
        [INPUT] = zero,
        [OUTPUT] = zero,
        [REASONING] = zero,
        [HAS_REASONING] = zero,
    };

    memcpy(out, v, sizeof v);
}

static void session_list_write_running(struct list *l, const struct query_running *c)
{
    struct db_value v[COUNT_OF(session_columns)];

    session_running_values(c, v);
    session_list_write_session(l, v);
}

/* ---- the answer ---- */

static void session_list_write_pagination(const struct list *l, int64_t total, bool exact)
{
    struct json_out *o = l->o;

    assert(total >= 0 && l->p->limit > 0);
    json_member_object(o, "pagination");
    json_member_i64(o, "page", l->p->page);
    json_member_i64(o, "page_size", l->p->limit);
    json_member_i64(o, "total_pages", (total + l->p->limit - 1) / l->p->limit);
    json_member_i64(o, "total_items", total);
    json_member_bool(o, "total_is_exact", exact);
    json_member_str_or_null(o,
                            "next_cursor",
                            l->more && l->last_id.n
                                ? cursor_make(&l->r->arena, l->sort_name, l->last_value, l->last_id)
                                : STR(""));
    json_out_end(o);
}

static void session_list_write_filters(const struct query_filter *f, const struct query_page *p,
                                       struct json_out *o)
{
    const struct {
        const char *name;
        str text;
    } texts[] = {{"agent_type", f->agent_type},
                 {"alert_type", f->alert_type},
                 {"search", f->search},
                 {"model", f->model},
                 {"key", f->key},
                 {"tool", f->tool},
                 {"sort", p->sort}};

    json_member_object(o, "filters_applied");
    if (f->status_count)
        json_member_texts(o, "status", f->status, f->status_count);
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        if (texts[i].text.n)
            json_member_str(o, texts[i].name, texts[i].text);
    if (f->has_reasoning >= 0)
        json_member_bool(o, "has_reasoning", f->has_reasoning);
    if (f->start_us >= 0)
        json_member_i64(o, "start_date_us", f->start_us);
    if (f->end_us >= 0)
        json_member_i64(o, "end_date_us", f->end_us);
    json_out_end(o);
}

/* The sessions that a list looks at, where no index gives those that are wanted in their order. */
static bool session_list_look_bound(struct list *l, struct err *e)
{
    const struct query_filter *f = l->f;
    bool scans =
        f->model.n || f->alert_type.n || f->has_reasoning >= 0 ||
        str_eq(f->agent_type, STR("gateway")) || f->status_count > 1 ||
        (f->status_count && (l->a->running_count || session_wants_status(f, STR("completed"))));
    int64_t max = l->sort != sorts ? SORT_MAX : SCAN_MAX;

    return (l->sort == sorts && !scans) ||
           session_bound(l->r, l->a, f->end_us, max, &l->from_us, e);
}

static bool session_list_answer(struct list *l, struct err *e)
{
    const struct query_page *p = l->p;
    struct json_out *o = l->o;
    int64_t total, offset, max = p->page * p->limit + COUNT_MAX;
    struct unseen u;

    if (!session_list_find_sort(l, e) || !session_list_find_unseen(l, "", &u, e) ||
        !session_look(l->r, l->a, l->f, false, &l->found, e) || !session_list_look_bound(l, e))
        return false;
    if (l->from_us > l->found.back_to_us)
        l->found.back_to_us = l->from_us;
    if ((int64_t)u.n > p->limit)
        u.n = (size_t)p->limit;
    json_member_array(o, "sessions");
    for (size_t i = 0; i < u.n && p->page == 1 && p->cursor.n == 0; i++, l->room--)
        session_list_write_running(l, u.at[i]);
    offset = (p->page - 1) * p->limit - (int64_t)u.n;
    if (!session_list_write_rows(l, p->page > 1 ? offset : 0, e))
        return false;
    json_out_end(o);
    total = l->count; /* all of them, unless there are others */
    if ((l->more || p->page > 1 || p->cursor.n) && !session_list_count_rows(l, max, &total, e))
        return false;
    session_list_write_pagination(l, total + (int64_t)u.n, total < max);
    session_list_write_filters(l->f, p, o);
    find_write_bound(l->found.back_to_us, o);
    return absent_write_search(l->r,
                               l->a,
                               total + (int64_t)u.n > 0 ||
                                   !find_wants_reasoning(l->f->search, &l->r->arena),
                               o,
                               e);
}

bool query_sessions(struct reader *r, const struct query_asker *a, const struct query_filter *f,
                    const struct query_page *p, struct buf *out, struct err *e)
{
    struct json_out o;
    struct list l = {.r = r, .a = a, .f = f, .p = p, .o = &o, .room = p->limit, .from_us = -1};

    assert(p->limit > 0 && p->page > 0);
    l.last_id = l.last_value = STR("");
    return query_begin_object(r, out, &o, e) &&
           query_end_object(r, session_list_answer(&l, e), &o, e);
}

/* ---- active sessions ---- */

static bool session_list_on_active(void *ctx, const struct db_value *v, size_t n)
{
    assert(n == session_column_count);
    session_list_write_session(ctx, v);
    return true;
}

static bool session_list_active(struct list *l, struct err *e)
{
    struct unseen u;
    struct sql q;
    bool ok;

    if (!session_list_find_unseen(l, "", &u, e))
        return false;
    json_out_array(l->o);
    for (size_t i = 0; i < u.n; i++)
        session_list_write_running(l, u.at[i]);
    sql_select(&q, session_columns, session_column_count, "alert_sessions s");
    session_where(l->r, &q, l->a, l->f, &l->found);
    sql_add(&q, " ORDER BY s.started_at_us DESC, s.session_id DESC");
    sql_limit(&q, QUERY_LIMIT_MAX, 0);
    ok = sql_query(l->r, &q, (struct db_rows){session_list_on_active, l}, e);
    json_out_end(l->o);
    return ok;
}

bool query_active(struct reader *r, const struct query_asker *a, struct buf *out, struct err *e)
{
    struct query_filter f = query_filter_none;
    struct json_out o;
    struct list l = {.r = r, .a = a, .f = &f, .o = &o, .age = true};

    f.status[0] = STR("in_progress");
    f.status[1] = STR("pending");
    f.status_count = 2;
    json_out_init(&o, out);
    return query_begin(r, e) && query_end(r, session_list_active(&l, e), out, e);
}

bool session_running_unseen(struct reader *r, const struct query_asker *a, int64_t *out,
                            struct err *e)
{
    struct list l = {.r = r, .a = a, .f = &query_filter_none};
    struct unseen u;

    if (!session_list_find_unseen(&l, " AND s.status = 'in_progress'", &u, e))
        return false;
    *out = (int64_t)u.n;
    return true;
}
