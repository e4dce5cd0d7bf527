/* query_session_filter.c - which sessions are wanted: filters, and a search for words.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/map.h"
#include "base/utf8.h"
#include "store/query_build.h"

#define FOUND_MAX 1000 /* sessions that a search gives */
#define TOOL_MAX 2000  /* calls of a tool that are looked at, the newest */

static void session_running_in(struct sql *q, const struct query_asker *a)
{
    str ids[QUERY_RUNNING_MAX];
    size_t n = a->running_count < QUERY_RUNNING_MAX ? a->running_count : QUERY_RUNNING_MAX;

    for (size_t i = 0; i < n; i++)
        ids[i] = a->running[i].session_id;
    sql_in(q, "s.session_id", ids, n);
}

bool session_wants_status(const struct query_filter *f, str status)
{
    assert(f->status_count <= QUERY_STATUS_MAX);
    for (size_t i = 0; i < f->status_count; i++)
        if (str_eq(f->status[i], status))
            return true;
    return f->status_count == 0;
}

/* Those that run are in progress, whatever the tables say. */
static void session_where_status(struct sql *q, const struct query_asker *a,
                                 const struct query_filter *f)
{
    if (f->status_count == 0)
        return;
    sql_and(q);
    sql_add(q, "((");
    sql_in(q, "s.status", f->status, f->status_count);
    if (!session_wants_status(f, STR("completed")))
        sql_add(q, " AND s.status <> 'completed'"); /* the condition of an index */
    sql_add(q, ")");
    if (a->running_count) {
        sql_add(q, session_wants_status(f, STR("in_progress")) ? " OR " : " AND NOT ");
        session_running_in(q, a);
    }
    sql_add(q, ")");
}

/* ---- search ---- */

bool session_bound(struct reader *r, const struct query_asker *a, int64_t end_us, int64_t max,
                   int64_t *out, struct err *e)
{
    struct sql q;

    sql_begin(&q, "SELECT s.started_at_us FROM alert_sessions s");
    sql_where_text(&q, "s.key_name =", a->key_name);
    if (end_us >= 0)
        sql_where(&q, "s.started_at_us <=", db_int(end_us));
    sql_add(&q, " ORDER BY s.started_at_us DESC"); /* in an index alone */
    sql_limit(&q, 1, max);
    *out = -1;
    return sql_query(r, &q, DB_ROW(db_into_i64(out)), e);
}

/* The sessions of calls that have the words, each once. */
struct session_ids {
    struct map seen;
    struct json_out o;
    struct arena *a;
    size_t room;
    int64_t last_us; /* of the last one: when it began, or its call ended */
};

static void session_ids_add(struct session_ids *ids, str id)
{
    struct err full;

    assert(ids->room <= FOUND_MAX);
    if (map_find(&ids->seen, id))
        return;
    id = arena_dup(ids->a, id);
    if (ids->room == 0 || !map_set(&ids->seen, id, MAP_U64(1), &full))
        return;
    json_out_str(&ids->o, id);
    ids->room--;
}

static bool session_on_hit(void *ctx, struct db_value *v, str snippet)
{
    struct session_ids *ids = ctx;

    (void)snippet;
    if (v->type != DB_TEXT)
        return true;
    session_ids_add(ids, v[0].s);
    ids->last_us = v[1].i;
    return ids->room > 0;
}

static bool session_find_words(struct reader *r, const struct query_asker *a, str words,
                               struct session_ids *ids, struct session_found *out, struct err *e)
{
    static const struct column columns[] = {
        {"session_id", "i.session_id", COLUMN_TEXT},
        {"ended_us", "coalesce(i.ended_ms, i.started_ms) * 1000", COLUMN_NUMBER},
    };
    struct find find = {.a = a,
                        .in = FIND_CALLS,
                        .blocks_max = QUERY_BLOCKS_FEW,
                        .typed = words,
                        .columns = columns,
                        .count = COUNT_OF(columns),
                        .on_hit = session_on_hit,
                        .ctx = ids};

    if (!find_calls(r, &find, 1, e))
        return false;
    out->back_to_us = find.back_to_us;
    if (ids->room == 0 && ids->last_us > out->back_to_us)
        out->back_to_us = ids->last_us;
    return true;
}

static void session_add_like(const struct reader *r, struct sql *q, const char *column, str like)
{
    sql_add(q, column);
    sql_add(q, sql_text(r, (struct sql_text){" LIKE ", " ILIKE "}));
    sql_value(q, db_text(like));
    sql_add(q, " ESCAPE '\\'");
}

static bool session_on_name(void *ctx, const struct db_value *v, size_t n)
{
    struct session_ids *ids = ctx;

    assert(n == 2);
    session_ids_add(ids, v[0].s);
    ids->last_us = v[1].type == DB_INT ? v[1].i : -1;
    return ids->room > 0;
}

/* The session with this id; of the newest those that have it in their names, any part; and of those
 * that applications run what they say of them. */
static bool session_find_names(struct reader *r, const struct query_asker *a, str search,
                               struct session_ids *ids, struct session_found *out, struct err *e)
{
    static const char *const names[] = {"session_id", "subject"};
    static const char *const theirs[] = {
        "title", "alert_id", "alert_type", "error_message", "alert_data", "final_analysis"};
    str like = find_like(search, &r->arena);
    int64_t from_us;
    struct sql q;
    bool ok;

    if (!session_bound(r, a, -1, SESSION_NAMES_MAX, &from_us, e))
        return false;
    ids->room = FOUND_MAX;
    sql_begin(&q, "SELECT session_id, started_at_us FROM alert_sessions WHERE session_id = ");
    sql_value(&q, db_text(search));
    sql_add(&q, " UNION SELECT session_id, started_at_us FROM alert_sessions WHERE (");
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        sql_add(&q, i ? " OR " : "");
        session_add_like(r, &q, names[i], like);
    }
    sql_add(&q, ")");
    q.where = true;
    sql_where_text(&q, "key_name =", a->key_name);
    if (from_us >= 0)
        sql_where(&q, "started_at_us >=", db_int(from_us));
    sql_add(&q,
            " UNION SELECT session_id, started_at_us FROM (SELECT * FROM alert_sessions WHERE"
            " agent_type <> 'gateway' ORDER BY started_at_us DESC LIMIT ");
    sql_value(&q, db_int(SESSION_NAMES_MAX));
    sql_add(&q, ") AS theirs WHERE ");
    for (size_t i = 0; i < COUNT_OF(theirs); i++) {
        sql_add(&q, i ? " OR " : "");
        session_add_like(r, &q, theirs[i], like);
    }
    sql_add(&q, " ORDER BY 2 DESC");
    ok = sql_query(r, &q, (struct db_rows){session_on_name, ids}, e);
    if (ids->room == 0)
        from_us = ids->last_us > from_us ? ids->last_us : from_us;
    if (from_us > out->back_to_us)
        out->back_to_us = from_us;
    return ok;
}

static bool session_search(struct reader *r, const struct query_asker *a, str words,
                           struct session_found *out, struct err *e)
{
    struct session_ids ids = {.a = &r->arena, .room = FOUND_MAX};
    struct buf json;
    bool ok;

    map_init(&ids.seen, NULL, 2 * FOUND_MAX);
    buf_init(&json, (size_t)4 << 20);
    json_out_init(&ids.o, &json);
    json_out_array(&ids.o);
    ok = session_find_words(r, a, words, &ids, out, e) &&
         session_find_names(r, a, words, &ids, out, e);
    json_out_end(&ids.o);
    out->ids = arena_dup(&r->arena, buf_str(&json));
    ok = ok && buf_ok(&json, "the sessions of a search", e);
    buf_release(&json);
    map_release(&ids.seen);
    return ok;
}

/* Decides from which of its calls on the query looks for a tool. */
static bool session_look_tool(struct reader *r, str tool, struct session_found *out, struct err *e)
{
    int64_t back_to_us = -1;
    struct sql q;

    out->tool_after_n = 0;
    sql_begin(&q,
              "SELECT t.call_n, (SELECT coalesce(i.ended_ms, i.started_ms) * 1000 FROM"
              " llm_interactions i WHERE i.call_n = t.call_n) FROM call_tools t");
    sql_where(&q, "t.tool =", db_text(tool));
    sql_add(&q, " ORDER BY t.call_n DESC");
    sql_limit(&q, 1, TOOL_MAX);
    if (!sql_query(r, &q, DB_ROW(db_into_i64(&out->tool_after_n), db_into_i64(&back_to_us)), e))
        return false;
    if (back_to_us > out->back_to_us)
        out->back_to_us = back_to_us;
    return true;
}

bool session_look(struct reader *r, const struct query_asker *a, const struct query_filter *f,
                  bool all, struct session_found *out, struct err *e)
{
    *out = (struct session_found){.ids = STR(""), .back_to_us = -1, .tool_after_n = -1};
    return (!f->search.n || session_search(r, a, utf8_storable(f->search, &r->arena), out, e)) &&
           tool_name_read(r, f->tool, &out->tool, e) &&
           (!f->tool.n || all || session_look_tool(r, out->tool.tool, out, e));
}

/* ---- statements ---- */

static void session_where_search(struct reader *r, struct sql *q, str ids)
{
    static const struct sql_text list = {"SELECT value FROM json_each(",
                                         "SELECT jsonb_array_elements_text(("};
    static const struct sql_text end = {"))", ")::jsonb))"};

    sql_and(q);
    sql_add(q, "s.session_id IN (");
    sql_add(q, sql_text(r, list));
    sql_value(q, db_text(ids));
    sql_add(q, sql_text(r, end));
}

/* By the calls of the tool if these are bounded; else by the calls of each session. */
static void session_where_tool(struct sql *q, const struct tool_name *t, int64_t after_n)
{
    assert(t->tool.n > 0);
    sql_where(q,
              after_n >= 0 ? "s.session_id IN (SELECT i.session_id FROM call_tools t CROSS JOIN"
                             " llm_interactions i WHERE i.call_n = t.call_n AND t.tool ="
                           : "EXISTS (SELECT 1 FROM llm_interactions i CROSS JOIN call_tools t"
                             " WHERE i.session_id = s.session_id AND t.call_n = i.call_n AND"
                             " t.tool =",
              db_text(t->tool));
    if (after_n >= 0)
        sql_where(q, "t.call_n >", db_int(after_n));
    sql_add(q, ")");
    tool_name_where_server(q, "s.session_id", t);
}

void session_where(struct reader *r, struct sql *q, const struct query_asker *a,
                   const struct query_filter *f, const struct session_found *found)
{
    /* Where other conditions leave few sessions, coalesce keeps the database from reading all
     * sessions of the key. */
    bool listed = f->search.n || (f->tool.n && found->tool_after_n >= 0) ||
                  (f->status_count && !session_wants_status(f, STR("completed")));
    const char *key_name = listed ? "coalesce(s.key_name, '') =" : "s.key_name =";

    sql_where_text(
        q, a->key_name.n ? "coalesce(s.named, s.session_id) =" : "s.session_id =", f->session_id);
    sql_where_text(q, key_name, a->key_name);
    sql_where_text(q, key_name, f->key);
    session_where_status(q, a, f);
    sql_where_text(q, "coalesce(s.agent_type, 'gateway') =", f->agent_type);
    if (f->agent_type.n && !str_eq(f->agent_type, STR("gateway")))
        sql_add(q, " AND s.agent_type <> 'gateway'"); /* the condition of an index */
    sql_where_text(q, "s.alert_type =", f->alert_type);
    sql_where_text(q, "s.model =", f->model);
    sql_where_text(q, "s.subject =", f->subject);
    if (f->start_us >= 0)
        sql_where(q, "s.started_at_us >=", db_int(f->start_us));
    if (f->end_us >= 0)
        sql_where(q, "s.started_at_us <=", db_int(f->end_us));
    if (f->has_reasoning >= 0) {
        sql_and(q);
        sql_add(q, f->has_reasoning ? "s.has_reasoning = 1" : "s.has_reasoning = 0");
    }
    if (f->tool.n)
        session_where_tool(q, &found->tool, found->tool_after_n);
    if (f->search.n)
        session_where_search(r, q, found->ids);
}
