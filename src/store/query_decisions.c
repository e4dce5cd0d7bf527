/* query_decisions.c - the decision log: by time, by tool, by its words.
 *
 * Each way has an index of its own: by_time, by_session, the pairs of tool and decision, the full
 * text. Of a search only the newest SEARCH_MAX hits are looked at, so that common words cost no
 * more than rare ones.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "store/query_in.h"

#define SEARCH_MAX 2000

static const struct column columns[] = {
    {"decision_id", "d.decision_id", COLUMN_NUMBER},
    {"interaction_id", "d.interaction_id", COLUMN_TEXT},
    {"session_id", "d.session_id", COLUMN_TEXT},
    {"timestamp_us", "d.timestamp_us", COLUMN_NUMBER},
    {"kind", "d.kind", COLUMN_TEXT},
    {"tools", "coalesce(d.tools, '[]')", COLUMN_JSON},
    {"model", "d.model", COLUMN_TEXT},
    {"entry", "d.entry", COLUMN_SKIP},
    {"thought", "CASE WHEN " DECISION_PLAIN " THEN 0 ELSE 1 END", COLUMN_SKIP},
};

enum { DECISION_ID = 0, TIMESTAMP = 3, ENTRY = 7, THOUGHT };

struct log {
    const struct query_asker *a;
    struct json_out *o;
    int64_t room;
    bool more;
    int64_t last_us, last_id;
};

str decision_bare(str entry)
{
    size_t end = str_find(entry, STR("] "));

    if (str_starts(entry, STR("[TOOL_CALL]")))
        end = str_find(entry, STR(": "));
    else if (end != STR_NONE)
        end++;
    return str_slice(entry, 0, end);
}

static bool on_decision(void *ctx, const struct db_value *v, size_t n)
{
    struct log *l = ctx;

    (void)n;
    if (l->room == 0) {
        l->more = true;
        return false;
    }
    l->room--;
    json_out_object(l->o);
    columns_write(columns, COUNT_OF(columns), v, false, l->o);
    json_member_str(l->o,
                    "entry",
                    l->a->hide_reasoning && v[THOUGHT].i ? decision_bare(v[ENTRY].s) : v[ENTRY].s);
    json_out_end(l->o);
    l->last_us = v[TIMESTAMP].i;
    l->last_id = v[DECISION_ID].i;
    return true;
}

static void where(struct sql *q, const struct query_asker *a, const struct query_filter *f)
{
    sql_where_text(q, "d.session_id =", f->session_id);
    sql_where_text(q, "d.kind =", f->kind);
    sql_where_text(q, "d.model =", f->model);
    if (f->start_us >= 0)
        sql_where(q, "d.timestamp_us >=", db_int(f->start_us));
    if (f->end_us >= 0)
        sql_where(q, "d.timestamp_us <=", db_int(f->end_us));
    if (a->key_name.n) {
        sql_where(q,
                  "d.session_id IN (SELECT s.session_id FROM alert_sessions s WHERE s.key_name =",
                  db_text(a->key_name));
        sql_add(q, ")");
    }
}

/* ---- by time, by tool ---- */

static bool where_cursor(struct reader *r, struct sql *q, const struct query_filter *f, str cursor,
                         struct err *e)
{
    str value, id;
    int64_t us, n;

    if (!cursor_read(&r->arena, cursor, f->tool.n ? STR("tool") : STR("time"), &value, &id, e))
        return err_prefix(e, "cursor: ");
    if (!cursor_i64(value, &us) || !cursor_i64(id, &n))
        return err_set(e, ERR_INPUT, "cursor: it is not a cursor of this list");
    if (f->tool.n) {
        sql_where(q, "t.decision_id <", db_int(n));
        return true;
    }
    sql_and(q);
    sql_add(q, "(d.timestamp_us, d.decision_id) < (");
    sql_value(q, db_int(us));
    sql_add(q, ", ");
    sql_value(q, db_int(n));
    sql_add(q, ")");
    return true;
}

static bool list(struct reader *r, struct sql *q, const struct query_asker *a,
                 const struct query_filter *f, const struct query_page *p, struct err *e)
{
    sql_add(q, "SELECT ");
    sql_columns(q, columns, COUNT_OF(columns));
    if (f->tool.n) {
        sql_add(q, " FROM decision_tools t JOIN decisions d ON d.decision_id = t.decision_id");
        sql_where(q, "t.tool =", db_text(f->tool));
    } else {
        sql_add(q, " FROM decisions d");
    }
    where(q, a, f);
    if (p->cursor.n && !where_cursor(r, q, f, p->cursor, e))
        return false;
    sql_add(q,
            f->tool.n ? " ORDER BY t.decision_id DESC"
                      : " ORDER BY d.timestamp_us DESC, d.decision_id DESC");
    sql_limit(q, p->limit + 1, 0);
    return true;
}

/* ---- by words ---- */

static const struct sql_text found = {
    " FROM (SELECT rowid AS id, bm25(decisions_text) AS score FROM decisions_text "
    "WHERE decisions_text MATCH ",
    " FROM (SELECT decision_id AS id, -ts_rank(words, to_tsquery('simple', "};
static const struct sql_text found_more = {
    " ORDER BY rowid DESC LIMIT ",
    ")) AS score FROM decisions WHERE words @@ to_tsquery('simple', "};

static void add_found(struct reader *r, struct sql *q, str words)
{
    sql_add(q, sql_text(r, found));
    sql_value(q, db_text(words));
    sql_add(q, sql_text(r, found_more));
    if (db_kind(r->db) == DB_POSTGRES) {
        sql_value(q, db_text(words));
        sql_add(q, ") ORDER BY decision_id DESC LIMIT ");
    }
    sql_value(q, db_int(SEARCH_MAX));
    sql_add(q, ") AS found JOIN decisions d ON d.decision_id = found.id");
}

static bool search(struct reader *r, struct sql *q, const struct query_asker *a,
                   const struct query_filter *f, const struct query_page *p, int64_t *offset,
                   struct err *e)
{
    str both = arena_join(&r->arena, f->tool, STR(" "), f->search);
    str words = words_query(r, both, false, false, &r->arena), value, id;

    *offset = 0;
    if (p->cursor.n) {
        if (!cursor_read(&r->arena, p->cursor, STR("best"), &value, &id, e))
            return err_prefix(e, "cursor: ");
        if (!cursor_i64(value, offset) || *offset < 0 || *offset > SEARCH_MAX)
            return err_set(e, ERR_INPUT, "cursor: it is not a cursor of this list");
    }
    sql_add(q, "SELECT ");
    sql_columns(q, columns, COUNT_OF(columns));
    if (words.n) {
        add_found(r, q, words);
    } else {
        sql_add(q, " FROM decisions d");
        sql_and(q);
        sql_add(q, "1 = 0");
    }
    where(q, a, f);
    if (a->hide_reasoning) {
        sql_and(q);
        sql_add(q, DECISION_PLAIN);
    }
    if (f->tool.n) {
        sql_where(q,
                  "EXISTS (SELECT 1 FROM decision_tools t WHERE t.decision_id = d.decision_id AND "
                  "t.tool =",
                  db_text(f->tool));
        sql_add(q, ")");
    }
    sql_add(q, words.n ? " ORDER BY found.score, d.decision_id DESC" : "");
    sql_limit(q, p->limit + 1, *offset);
    return true;
}

static void cursor_write(struct reader *r, const struct log *l, const struct query_filter *f,
                         int64_t offset, struct json_out *o)
{
    struct arena *a = &r->arena;
    str us = arena_printf(a, "%lld", (long long)l->last_us);
    str id = arena_printf(a, "%lld", (long long)l->last_id);

    if (!l->more)
        json_member_null(o, "next_cursor");
    else if (f->search.n)
        json_member_str(
            o,
            "next_cursor",
            cursor_make(a, STR("best"), arena_printf(a, "%lld", (long long)offset), STR("")));
    else
        json_member_str(
            o, "next_cursor", cursor_make(a, f->tool.n ? STR("tool") : STR("time"), us, id));
}

bool query_decisions(struct reader *r, const struct query_asker *a, const struct query_filter *f,
                     const struct query_page *p, struct buf *out, struct err *e)
{
    struct json_out o;
    struct log l = {.a = a, .o = &o, .room = p->limit};
    int64_t offset = 0;
    struct sql q;
    bool ok;

    arena_reset(&r->arena);
    json_out_init(&o, out);
    json_out_object(&o);
    json_out_key(&o, STR("decisions"));
    json_out_array(&o);
    sql_init(&q);
    ok = f->search.n ? search(r, &q, a, f, p, &offset, e) : list(r, &q, a, f, p, e);
    ok = ok && sql_query(r, &q, (struct db_rows){on_decision, &l}, e);
    sql_release(&q);
    json_out_end(&o);
    cursor_write(r, &l, f, offset + p->limit, &o);
    json_out_end(&o);
    return ok && query_end(out, e);
}

bool query_session_decisions(struct reader *r, const struct query_asker *a, str id, struct buf *out,
                             struct err *e)
{
    struct json_out o;
    struct log l = {.a = a, .o = &o, .room = INT64_MAX};
    struct sql q;
    bool ok;

    arena_reset(&r->arena);
    if (!session_check(r, a, id, e))
        return false;
    json_out_init(&o, out);
    json_out_object(&o);
    json_member_str(&o, "session_id", id);
    json_out_key(&o, STR("decisions"));
    json_out_array(&o);
    sql_init(&q);
    sql_add(&q, "SELECT ");
    sql_columns(&q, columns, COUNT_OF(columns));
    sql_add(&q, " FROM decisions d");
    sql_where(&q, "d.session_id =", db_text(id));
    sql_add(&q, " ORDER BY d.timestamp_us, d.decision_id");
    ok = sql_query(r, &q, (struct db_rows){on_decision, &l}, e);
    sql_release(&q);
    json_out_end(&o);
    json_out_end(&o);
    return ok && query_end(out, e);
}
