/* query_search.c - one box for all: calls and decisions by their words, sessions by their names.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "store/query_build.h"

enum { SESSION_ID, INTERACTION_ID, TIMESTAMP, SNIPPET, EXTRA };

static const struct kind {
    const char *type, *extra; /* extra: what the fifth column is */
} kinds[] = {
    {"session", "status"},
    {"decision", "kind"},
    {"interaction", "model"},
};

struct hits {
    struct json_out *o;
    const struct kind *kind;
    int64_t room;
    int64_t back_to_us; /* the latest of the bounds; -1: everything was looked at */
};

static void query_search_hit_write(struct hits *h, const struct db_value *v)
{
    json_out_object(h->o);
    json_member_str(h->o, "type", str_c(h->kind->type));
    value_write_member(h->o, "session_id", COLUMN_TEXT, &v[SESSION_ID]);
    value_write_member(h->o, "interaction_id", COLUMN_TEXT, &v[INTERACTION_ID]);
    value_write_member(h->o, "timestamp_us", COLUMN_NUMBER, &v[TIMESTAMP]);
    value_write_member(h->o, "snippet", COLUMN_TEXT, &v[SNIPPET]);
    value_write_member(h->o, h->kind->extra, COLUMN_TEXT, &v[EXTRA]);
    json_out_end(h->o);
}

static bool search_on_session(void *ctx, const struct db_value *v, size_t n)
{
    struct hits *h = ctx;

    assert(n == EXTRA + 1);
    query_search_hit_write(h, v);
    return --h->room > 0;
}

static void search_select_sessions(struct sql *q, const struct query_asker *a)
{
    sql_begin(q,
              "SELECT s.session_id, NULL, s.started_at_us, coalesce(s.title, s.alert_id,"
              " s.session_id), s.status FROM alert_sessions s");
    sql_where_text(q, "s.key_name =", a->key_name);
}

/* The one with this id, wherever it is. */
static bool search_session_id(struct reader *r, const struct query_asker *a, str id, struct hits *h,
                              struct err *e)
{
    struct sql q;

    search_select_sessions(&q, a);
    sql_where(&q, "s.session_id =", db_text(id));
    return sql_query(r, &q, (struct db_rows){search_on_session, h}, e);
}

/* The newest with such a name, in the order of an index: it ends when there is no more room. */
static bool search_session_names(struct reader *r, const struct query_asker *a, str words,
                                 struct hits *h, struct err *e)
{
    static const char *const names[] = {"s.title", "s.alert_id"};
    const char *like_op = sql_text(r, (struct sql_text){" LIKE ", " ILIKE "});
    str like = find_like(words, &r->arena);
    int64_t from_us;
    struct sql q;

    if (!session_bound(r, a, -1, SESSION_NAMES_MAX, &from_us, e))
        return false;
    h->back_to_us = from_us > h->back_to_us ? from_us : h->back_to_us;
    search_select_sessions(&q, a);
    if (from_us >= 0)
        sql_where(&q, "s.started_at_us >=", db_int(from_us));
    sql_and(&q);
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        sql_add(&q, i ? " OR " : "(");
        sql_add(&q, names[i]);
        sql_add(&q, like_op);
        sql_value(&q, db_text(like));
        sql_add(&q, " ESCAPE '\\'");
    }
    sql_add(&q, ")");
    sql_where(&q, "s.session_id <>", db_text(words));
    sql_add(&q, " ORDER BY s.started_at_us DESC");
    sql_limit(&q, h->room, 0);
    return sql_query(r, &q, (struct db_rows){search_on_session, h}, e);
}

static const struct column call_hit_columns[] = {
    [SESSION_ID] = {"session_id", "i.session_id", COLUMN_TEXT},
    [INTERACTION_ID] = {"interaction_id", "i.interaction_id", COLUMN_TEXT},
    [TIMESTAMP] = {"timestamp_us", "i.started_ms * 1000", COLUMN_NUMBER},
    [SNIPPET] = {"snippet", "NULL", COLUMN_TEXT},
    [EXTRA] = {"model", "i.model", COLUMN_TEXT},
};

static const struct column decision_hit_columns[] = {
    [SESSION_ID] = {"session_id", "i.session_id", COLUMN_TEXT},
    [INTERACTION_ID] = {"interaction_id", "i.interaction_id", COLUMN_TEXT},
    [TIMESTAMP] = {"timestamp_us", "coalesce(i.ended_ms, i.started_ms) * 1000", COLUMN_NUMBER},
    [SNIPPET] = {"snippet", "i.decision", COLUMN_TEXT},
    [EXTRA] = {"kind", "i.decision_kind", COLUMN_TEXT},
};

static bool search_on_call(void *ctx, struct db_value *v, str snippet)
{
    struct hits *h = ctx;

    if (v[SNIPPET].type == DB_NULL)
        v[SNIPPET] = db_text(snippet);
    query_search_hit_write(h, v);
    return --h->room > 0;
}

/* Decisions, then calls. What the first leaves of the room is the second one's. */
static bool search_texts(struct reader *r, struct find *f, struct hits *h, int64_t *left,
                         struct err *e)
{
    static const struct column *const columns[] = {decision_hit_columns, call_hit_columns};
    static const enum find_in in[] = {FIND_DECISIONS, FIND_CALLS};

    for (size_t i = find_scoped(f->typed, &r->arena) ? 1 : 0; i < COUNT_OF(in); i++) {
        int64_t share = i == 0 && *left > 1 ? *left / 2 : *left;
        size_t blocks = i == 0 ? f->blocks_max / 2 : 0;

        if (share == 0)
            return true;
        f->blocks_max -= blocks;
        h->room = share;
        h->kind = &kinds[1 + i];
        f->in = in[i];
        f->columns = columns[i];
        f->count = EXTRA + 1;
        f->on_hit = search_on_call;
        f->ctx = h;
        if (!find_calls(r, f, e))
            return false;
        assert(h->room >= 0 && h->room <= share);
        f->blocks_max += blocks;
        *left -= share - h->room;
        h->back_to_us = f->back_to_us > h->back_to_us ? f->back_to_us : h->back_to_us;
    }
    return true;
}

/* A part of the room for sessions; then the words as whole words, and if there is no such decision
 * and no such call, the last of them as a front. */
static bool search_all(struct reader *r, const struct query_asker *a, str words, struct hits *h,
                       int64_t *left, struct err *e)
{
    struct find f = {
        .a = a, .typed = words, .as = FIND_WHOLE, .snippets = true, .blocks_max = QUERY_BLOCKS_MAX};
    int64_t before, back_to_us;

    if (!find_scoped(words, &r->arena)) {
        int64_t share = *left > 2 ? *left / 3 : *left;

        h->room = share;
        h->kind = &kinds[0];
        if (!search_session_id(r, a, words, h, e) ||
            (h->room > 0 && !search_session_names(r, a, words, h, e)))
            return false;
        assert(h->room >= 0 && h->room <= share);
        *left -= share - h->room;
    }
    before = *left;
    back_to_us = h->back_to_us;
    if (!search_texts(r, &f, h, left, e))
        return false;
    if (*left < before || h->back_to_us > back_to_us)
        return true; /* there are some, or it was enough work already */
    f.as = FIND_FRONT;
    h->back_to_us = back_to_us;
    return search_texts(r, &f, h, left, e);
}

bool query_search(struct reader *r, const struct query_asker *a, str words, int64_t limit,
                  struct buf *out, struct err *e)
{
    struct json_out o;
    struct hits h = {.o = &o, .back_to_us = -1};
    int64_t left = limit;
    bool ok;

    if (!query_begin_object(r, out, &o, e))
        return false;
    words = find_clean(words, &r->arena);
    json_member_array(&o, "results");
    ok = search_all(r, a, words, &h, &left, e);
    json_out_end(&o);
    ok = ok &&
         absent_write_search(r, a, left < limit || !find_wants_reasoning(words, &r->arena), &o, e);
    find_write_bound(h.back_to_us, &o);
    return query_end_object(r, ok, &o, e);
}
