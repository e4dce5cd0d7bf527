/* query_new.c - the part of a request that the calls before it in its session did not have.
 *
 * Each request of a conversation repeats the messages of the one before. Clients move the marks of
 * a provider's cache between the messages, and write a marked text as a list of one part: both are
 * no difference.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "store/query_calls.h"

#define NEW_BEFORE_MAX 8 /* earlier calls that are compared: a session may have several threads */

struct request_parts {
    struct json doc;
    const struct json_node *messages, *system, *tools; /* or NULL */
};

struct request_new {
    struct reader *r;
    const struct query_asker *a;
    str id, session_id, dialect;
    int64_t started_ms, call_n;
    bool there;
    struct request_parts now;
    /* The earlier call with most messages in common. */
    str before_id;
    size_t same, before_count;
    bool same_system, same_tools;
};

static const struct json_node *request_new_member(const struct json *doc, const char *const *names)
{
    const struct json_node *v = NULL;

    for (; *names && !v; names++)
        v = json_find(doc, json_root(doc), str_c(*names));
    return v;
}

static void request_parts_read(struct request_parts *p, str request)
{
    static const char *const messages[] = {"messages", "input", "contents", NULL};
    static const char *const system[] = {
        "system", "instructions", "systemInstruction", "system_instruction", NULL};
    static const char *const tools[] = {"tools", NULL};
    struct err e;

    p->messages = p->system = p->tools = NULL;
    if (!request.n || !json_parse(&p->doc, request, &e))
        return;
    p->messages = request_new_member(&p->doc, messages);
    p->system = request_new_member(&p->doc, system);
    p->tools = request_new_member(&p->doc, tools);
}

/* ---- the same or not ---- */

static const struct json_node *request_new_after_mark(const struct json *doc,
                                                      const struct json_node *object,
                                                      const struct json_node *key)
{
    while (key && str_eq(json_raw(doc, key), STR("\"cache_control\"")))
        key = json_next(doc, object, key);
    return key;
}

/* The text of a list of one text part; else the value itself. */
static const struct json_node *request_new_plain(const struct json *doc, const struct json_node *v)
{
    const struct json_node *part = v && v->kind == JSON_ARRAY ? json_first(doc, v) : NULL;
    const struct json_node *text = json_find(doc, part, STR("text"));

    return part && !json_next(doc, v, part) && text &&
                   json_is(doc, json_find(doc, part, STR("type")), STR("text"))
               ? text
               : v;
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as json_parse allows */
static bool request_new_same(const struct json *x, const struct json_node *a, const struct json *y,
                             const struct json_node *b)
{
    const struct json_node *i, *j;

    a = request_new_plain(x, a);
    b = request_new_plain(y, b);
    if (!a || !b || a->kind != b->kind)
        return a == b;
    if (a->kind < JSON_ARRAY)
        return str_eq(json_raw(x, a), json_raw(y, b));
    i = json_first(x, a);
    j = json_first(y, b);
    for (;; i = json_next(x, a, i), j = json_next(y, b, j)) {
        if (a->kind == JSON_OBJECT) {
            i = request_new_after_mark(x, a, i);
            j = request_new_after_mark(y, b, j);
        }
        if (!i || !j)
            return !i && !j;
        if (a->kind == JSON_OBJECT && !str_eq(json_raw(x, i), json_raw(y, j)))
            return false;
        if (!request_new_same(x,
                              a->kind == JSON_OBJECT ? json_value(i) : i,
                              y,
                              b->kind == JSON_OBJECT ? json_value(j) : j))
            return false;
    }
}

static size_t request_new_common(const struct request_parts *p, const struct request_parts *q)
{
    const struct json_node *i, *j;
    size_t n = 0;

    if (!p->messages || !q->messages || p->messages->kind != JSON_ARRAY ||
        q->messages->kind != JSON_ARRAY)
        return 0;
    i = json_first(&p->doc, p->messages);
    j = json_first(&q->doc, q->messages);
    while (i && j && request_new_same(&p->doc, i, &q->doc, j)) {
        n++;
        i = json_next(&p->doc, p->messages, i);
        j = json_next(&q->doc, q->messages, j);
    }
    return n;
}

/* ---- reading ---- */

enum { NEW_ID, NEW_SESSION, NEW_DIALECT, NEW_STARTED, NEW_CALL_N, NEW_COLUMNS };

static const struct column request_new_columns[NEW_COLUMNS] = {
    [NEW_ID] = {"interaction_id", "i.interaction_id", COLUMN_TEXT},
    [NEW_SESSION] = {"session_id", "i.session_id", COLUMN_TEXT},
    [NEW_DIALECT] = {"dialect", "i.dialect", COLUMN_TEXT},
    [NEW_STARTED] = {"started_ms", "i.started_ms", COLUMN_NUMBER},
    [NEW_CALL_N] = {"call_n", "i.call_n", COLUMN_NUMBER},
};

static str request_new_text(const struct db_value *v)
{
    return v->type == DB_TEXT ? v->s : STR("");
}

/* Lent until the next call. */
static str request_new_visible(const struct request_new *x, str request)
{
    if (!x->a->hide_reasoning)
        return request;
    return x->a->redact ? x->a->redact(request, &x->r->row) : STR("");
}

static bool request_new_on_call(void *ctx, struct db_value *v, const struct store_call *row)
{
    struct request_new *x = ctx;

    assert(!x->there); /* ids are unique */
    x->there = true;
    x->session_id = request_new_text(&v[NEW_SESSION]);
    x->dialect = request_new_text(&v[NEW_DIALECT]);
    x->started_ms = v[NEW_STARTED].i;
    x->call_n = v[NEW_CALL_N].i;
    request_parts_read(&x->now, arena_dup(&x->r->arena, request_new_visible(x, row->request)));
    return false;
}

static bool request_new_on_before(void *ctx, struct db_value *v, const struct store_call *row)
{
    struct request_new *x = ctx;
    struct request_parts before;
    size_t same, count;

    json_init(&before.doc);
    request_parts_read(&before, request_new_visible(x, row->request));
    same = request_new_common(&x->now, &before);
    count = json_count(&before.doc, before.messages);
    if (same > x->same) {
        assert(same <= count);
        x->same = same;
        x->before_count = count;
        x->before_id = request_new_text(&v[NEW_ID]);
        x->same_system = request_new_same(&x->now.doc, x->now.system, &before.doc, before.system);
        x->same_tools = request_new_same(&x->now.doc, x->now.tools, &before.doc, before.tools);
    }
    json_release(&before.doc);
    return same == 0 || same < count; /* the whole of one that is continued: it is that one */
}

static bool request_new_read(struct request_new *x, struct err *e)
{
    struct call_rows rows = {.on_call = request_new_on_call,
                             .ctx = x,
                             .columns = request_new_columns,
                             .count = NEW_COLUMNS,
                             .request_max = SIZE_MAX};
    struct sql q;
    bool ok;

    call_rows_select(&q, &rows, QUERY_CALLS);
    sql_where(&q, "i.interaction_id =", db_text(x->id));
    sql_key_scope(&q, x->a);
    ok = call_rows_query(x->r, &q, &rows, e);
    if (!ok || !x->there || !x->session_id.n || !x->now.messages)
        return ok;
    rows.on_call = request_new_on_before;
    call_rows_select(&q, &rows, QUERY_CALLS);
    sql_where(&q, "i.session_id =", db_text(x->session_id));
    sql_where(&q, "i.started_ms <=", db_int(x->started_ms));
    sql_where(&q, "i.call_n <", db_int(x->call_n));
    sql_add(&q, " ORDER BY i.started_ms DESC, i.call_n DESC");
    sql_limit(&q, NEW_BEFORE_MAX, 0);
    return call_rows_query(x->r, &q, &rows, e);
}

/* ---- writing ---- */

/* Null if it is the same as before. */
static void request_new_write(const struct request_new *x, const char *name,
                              const struct json_node *v, bool same, struct json_out *o)
{
    json_out_key(o, str_c(name));
    if (v && !same)
        json_out_raw(o, json_raw(&x->now.doc, v));
    else
        json_out_null(o);
}

static void request_new_answer(const struct request_new *x, struct json_out *o)
{
    const struct json_node *messages = x->now.messages;
    size_t n = 0;

    assert(x->same <= x->before_count);
    json_member_str(o, "interaction_id", x->id);
    json_member_str_or_null(o, "previous_id", x->before_id);
    json_member_str(o, "dialect", x->dialect);
    json_member_i64(o, "same_count", (int64_t)x->same);
    json_member_i64(o, "dropped_count", (int64_t)(x->before_count - x->same));
    request_new_write(x, "system", x->now.system, x->same_system, o);
    request_new_write(x, "tools", x->now.tools, x->same_tools, o);
    json_member_array(o, "messages");
    if (messages && messages->kind != JSON_ARRAY)
        json_out_raw(o, json_raw(&x->now.doc, messages));
    else
        JSON_FOREACH(m, &x->now.doc, messages)
            if (n++ >= x->same)
                json_out_raw(o, json_raw(&x->now.doc, m));
}

bool query_call_new(struct reader *r, const struct query_asker *a, str id, struct buf *out,
                    struct err *e)
{
    struct request_new x = {.r = r, .a = a, .id = id, .before_id = STR("")};
    struct json_out o;
    bool ok;

    if (!query_begin_object(r, out, &o, e))
        return false;
    json_init(&x.now.doc);
    ok = request_new_read(&x, e) && (x.there || query_not_found("call", id, e));
    if (ok)
        request_new_answer(&x, &o);
    json_release(&x.now.doc);
    return query_end_object(r, ok, &o, e);
}
