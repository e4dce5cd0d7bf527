/* query_sql.c - statements in the making, and rows as JSON.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "store/query_build.h"

const struct query_filter query_filter_none = {
    .agent_type = STR_INIT(""),
    .alert_type = STR_INIT(""),
    .search = STR_INIT(""),
    .model = STR_INIT(""),
    .key = STR_INIT(""),
    .tool = STR_INIT(""),
    .kind = STR_INIT(""),
    .session_id = STR_INIT(""),
    .subject = STR_INIT(""),
    .has_reasoning = -1,
    .start_us = -1,
    .end_us = -1,
};

bool reader_open(str url, struct reader **out, struct err *e)
{
    struct db *db;
    struct reader *r;

    if (!db_open(url, DB_READ, &db, e))
        return false;
    r = base_alloc(sizeof *r);
    r->db = db;
    arena_init(&r->arena, QUERY_ARENA_MAX);
    arena_init(&r->row, QUERY_ARENA_MAX);
    texts_init(&r->texts, db);
    call_segments_init(&r->segments);
    *out = r;
    return true;
}

void reader_close(struct reader *r)
{
    if (!r)
        return;
    db_close(r->db);
    arena_release(&r->arena);
    arena_release(&r->row);
    texts_release(&r->texts);
    call_segments_release(&r->segments);
    free(r);
}

void reader_interrupt(struct reader *r)
{
    db_interrupt(r->db);
}

/* Blocks that were unpacked for the question before may have texts that were erased since. */
bool query_begin(struct reader *r, struct err *e)
{
    arena_reset(&r->arena);
    texts_forget(&r->texts);
    return db_begin(r->db, false, e);
}

bool query_end(struct reader *r, bool ok, const struct buf *out, struct err *e)
{
    return db_end(r->db, ok, e) && buf_ok(out, "the answer", e);
}

bool query_begin_object(struct reader *r, struct buf *out, struct json_out *o, struct err *e)
{
    json_out_init_object(o, out);
    return query_begin(r, e);
}

bool query_end_object(struct reader *r, bool ok, struct json_out *o, struct err *e)
{
    if (ok)
        json_out_close(o, o->depth);
    return query_end(r, ok, o->buf, e);
}

bool query_not_found(const char *what, str id, struct err *e)
{
    return err_set(
        e, ERR_NOT_FOUND, "there is no %s \"" STR_FMT "\"", what, STR_ARG(str_slice(id, 0, 120)));
}

/* ---- statements ---- */

void sql_begin(struct sql *q, const char *literal)
{
    assert(literal);
    buf_init(&q->text, QUERY_SQL_MAX);
    q->n = 0;
    q->where = false;
    sql_add(q, literal);
}

void sql_select(struct sql *q, const struct column *c, size_t n, const char *from)
{
    sql_begin(q, "SELECT ");
    sql_columns(q, c, n);
    sql_add(q, " FROM ");
    sql_add(q, from);
}

void sql_add(struct sql *q, const char *literal)
{
    buf_add(&q->text, str_c(literal));
}

void sql_value(struct sql *q, struct db_value v)
{
    assert(q->n < QUERY_ARGS_MAX);
    q->args[q->n++] = v;
    buf_printf(&q->text, "$%zu", q->n);
}

void sql_and(struct sql *q)
{
    sql_add(q, q->where ? " AND " : " WHERE ");
    q->where = true;
}

void sql_where(struct sql *q, const char *literal, struct db_value v)
{
    sql_and(q);
    sql_add(q, literal);
    sql_add(q, " ");
    sql_value(q, v);
}

void sql_where_text(struct sql *q, const char *literal, str text)
{
    if (text.n)
        sql_where(q, literal, db_text(text));
}

void sql_where_pair(struct sql *q, const char *literal, struct db_value a, struct db_value b)
{
    assert(q->n + 2 <= QUERY_ARGS_MAX);
    sql_and(q);
    sql_add(q, literal);
    sql_add(q, " (");
    sql_value(q, a);
    sql_add(q, ", ");
    sql_value(q, b);
    sql_add(q, ")");
}

void sql_limit(struct sql *q, int64_t limit, int64_t offset)
{
    sql_add(q, " LIMIT ");
    sql_value(q, db_int(limit));
    if (offset > 0) {
        sql_add(q, " OFFSET ");
        sql_value(q, db_int(offset));
    }
}

void sql_in(struct sql *q, const char *name, const str *texts, size_t n)
{
    if (n == 0) {
        sql_add(q, "1 = 0");
        return;
    }
    assert(n <= QUERY_ARGS_MAX - q->n);
    sql_add(q, name);
    sql_add(q, " IN (");
    for (size_t i = 0; i < n; i++) {
        sql_add(q, i ? ", " : "");
        sql_value(q, db_text(texts[i]));
    }
    sql_add(q, ")");
}

static const char *sql_finish(struct sql *q)
{
    buf_add_c(&q->text, '\0');
    assert(!buf_full(&q->text) && q->n <= QUERY_ARGS_MAX);
    return q->text.p;
}

bool sql_query(struct reader *r, struct sql *q, struct db_rows rows, struct err *e)
{
    bool ok = db_query(r->db, sql_finish(q), q->args, q->n, rows, e);

    buf_release(&q->text);
    return ok;
}

void sql_key_scope(struct sql *q, const struct query_asker *a)
{
    if (!a->key_name.n)
        return;
    sql_where(q,
              "EXISTS (SELECT 1 FROM alert_sessions k WHERE k.session_id = i.session_id AND"
              " k.key_name =",
              db_text(a->key_name));
    sql_add(q, ")");
}

bool sql_number(struct reader *r, struct sql *q, int64_t *out, struct err *e)
{
    bool ok = db_number(r->db, sql_finish(q), q->args, q->n, out, e);

    buf_release(&q->text);
    return ok;
}

const char *sql_text(const struct reader *r, struct sql_text t)
{
    return db_kind(r->db) == DB_POSTGRES ? t.postgres : t.sqlite;
}

/* ---- rows ---- */

void sql_columns(struct sql *q, const struct column *c, size_t n)
{
    assert(n > 0 && n <= QUERY_COLUMNS_MAX);
    for (size_t i = 0; i < n; i++) {
        sql_add(q, i ? ", " : "");
        sql_add(q, c[i].sql);
    }
}

static void sql_value_write_json(str text, struct json_out *o)
{
    struct json doc;
    struct err e;

    json_init(&doc);
    if (text.n && json_parse(&doc, text, &e))
        json_out_raw(o, text);
    else
        json_out_str(o, text);
    json_release(&doc);
}

void value_write(enum column_type type, const struct db_value *v, bool hide, struct json_out *o)
{
    if (v->type == DB_NULL || (type == COLUMN_HIDDEN && hide)) {
        json_out_null(o);
    } else if (type == COLUMN_FLAG) {
        json_out_bool(o, v->type == DB_INT ? v->i != 0 : v->s.n && v->s.p[0] == 't');
    } else if (v->type == DB_INT) {
        json_out_i64(o, v->i);
    } else if (v->type == DB_REAL) {
        json_out_double(o, v->d);
    } else if (type == COLUMN_JSON) {
        sql_value_write_json(v->s, o);
    } else {
        json_out_str(o, v->s);
    }
}

void value_write_member(struct json_out *o, const char *name, enum column_type type,
                        const struct db_value *v)
{
    json_out_key(o, str_c(name));
    value_write(type, v, false, o);
}

void columns_write(const struct column *c, size_t n, const struct db_value *v, bool hide,
                   struct json_out *o)
{
    for (size_t i = 0; i < n; i++) {
        if (c[i].type == COLUMN_SKIP)
            continue;
        json_out_key(o, str_c(c[i].name));
        value_write(c[i].type, &v[i], hide, o);
    }
}
