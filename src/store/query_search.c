/* query_search.c - one box for all: calls and decisions by their words, sessions by their names.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/utf8.h"
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
    struct reader *r;
    const struct query_asker *a;
    const struct kind *kind;
    str *at; /* each as JSON */
    int64_t n, room;
    int64_t back_to_us; /* -1: everything was looked at */
};

static void hits_init(struct hits *h, struct reader *r, const struct query_asker *a,
                      const struct kind *kind, int64_t room)
{
    *h = (struct hits){.r = r, .a = a, .kind = kind, .room = room, .back_to_us = -1};
    h->at = arena_alloc(&r->arena, (size_t)room * sizeof *h->at);
}

/* False when there is no more room. */
static bool hits_add(struct hits *h, const struct db_value *v)
{
    struct json_text t;

    assert(h->n < h->room);
    json_text_begin(&t, QUERY_OUT_MAX);
    json_member_str(&t.o, "type", str_c(h->kind->type));
    value_write_member(&t.o, "session_id", COLUMN_TEXT, &v[SESSION_ID]);
    value_write_member(&t.o, "interaction_id", COLUMN_TEXT, &v[INTERACTION_ID]);
    value_write_member(&t.o, "timestamp_us", COLUMN_NUMBER, &v[TIMESTAMP]);
    value_write_member(&t.o, "snippet", COLUMN_TEXT, &v[SNIPPET]);
    value_write_member(&t.o, h->kind->extra, COLUMN_TEXT, &v[EXTRA]);
    h->at[h->n++] = json_text_end(&t, &h->r->arena, STR("{}"));
    return h->n < h->room;
}

static bool search_on_session(void *ctx, const struct db_value *v, size_t n)
{
    assert(n == EXTRA + 1);
    return hits_add(ctx, v);
}

static void search_select_sessions(struct sql *q, const struct query_asker *a)
{
    sql_begin(q,
              "SELECT s.session_id, NULL, s.started_at_us, coalesce(s.title, s.alert_id,"
              " s.session_id), s.status FROM alert_sessions s");
    sql_where_text(q, "s.key_name =", a->key_name);
}

/* The one with this id, wherever it is. */
static bool search_session_id(struct hits *h, str id, struct err *e)
{
    struct sql q;

    search_select_sessions(&q, h->a);
    sql_where(&q, "s.session_id =", db_text(id));
    return sql_query(h->r, &q, (struct db_rows){search_on_session, h}, e);
}

/* The newest with such a name, in the order of an index: it ends when there is no more room. */
static bool search_session_names(struct hits *h, str words, struct err *e)
{
    static const char *const names[] = {"s.title", "s.alert_id"};
    const char *like_op = sql_text(h->r, (struct sql_text){" LIKE ", " ILIKE "});
    str like = find_like(words, &h->r->arena);
    struct sql q;

    if (!session_bound(h->r, h->a, -1, SESSION_NAMES_MAX, &h->back_to_us, e))
        return false;
    search_select_sessions(&q, h->a);
    if (h->back_to_us >= 0)
        sql_where(&q, "s.started_at_us >=", db_int(h->back_to_us));
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
    sql_limit(&q, h->room - h->n, 0);
    return sql_query(h->r, &q, (struct db_rows){search_on_session, h}, e);
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
    if (v[SNIPPET].type == DB_NULL)
        v[SNIPPET] = db_text(snippet);
    return hits_add(ctx, v);
}

static bool search_sessions(struct hits *h, str words, struct err *e)
{
    return search_session_id(h, words, e) && (h->n == h->room || search_session_names(h, words, e));
}

/* Decisions and calls. A word with a scope is no word of a decision. */
enum { IN_DECISIONS, IN_CALLS, IN_COUNT };

/* The words as whole words, and if there is no such decision and no such call, the last of them as
 * a prefix. Both are looked for at the same time, because they are in the same blocks. */
static bool search_texts(struct hits h[IN_COUNT], str words, bool scoped, struct err *e)
{
    struct find f[IN_COUNT], *first = scoped ? &f[IN_CALLS] : f;
    size_t n = scoped ? 1 : IN_COUNT;

    for (size_t i = 0; i < IN_COUNT; i++)
        f[i] = (struct find){.a = h[i].a,
                             .in = i == IN_CALLS ? FIND_CALLS : FIND_DECISIONS,
                             .as = FIND_WHOLE,
                             .typed = words,
                             .snippets = true,
                             .blocks_max = scoped ? QUERY_BLOCKS_MAX : QUERY_BLOCKS_FEW,
                             .columns = i == IN_CALLS ? call_hit_columns : decision_hit_columns,
                             .count = EXTRA + 1,
                             .on_hit = search_on_call,
                             .ctx = &h[i]};
    if (!find_calls(h->r, first, n, e))
        return false;
    if (h[IN_DECISIONS].n + h[IN_CALLS].n == 0 && first->back_to_us < 0) {
        for (size_t i = 0; i < n; i++)
            first[i].as = FIND_FRONT;
        if (!find_calls(h->r, first, n, e))
            return false;
    }
    for (size_t i = 0; i < n; i++)
        h[IN_COUNT - 1 - i].back_to_us = first[n - 1 - i].back_to_us;
    return true;
}

struct search {
    struct reader *r;
    const struct query_asker *a;
    str words;
    int64_t left; /* room for results */
    int64_t back_to_us;
    struct json_out o;
};

static void search_write(struct search *s, const struct hits *h)
{
    for (int64_t i = 0; i < h->n && s->left > 0; i++, s->left--)
        json_out_raw(&s->o, h->at[i]);
    if (h->back_to_us > s->back_to_us)
        s->back_to_us = h->back_to_us;
}

/* A part of the room is for sessions, and half of what they leave for decisions. */
static bool search_all(struct search *s, struct err *e)
{
    bool scoped = find_scoped(s->words, &s->r->arena);
    struct hits sessions, texts[IN_COUNT];

    hits_init(&sessions, s->r, s->a, &kinds[0], s->left > 2 ? s->left / 3 : s->left);
    if (!scoped && !search_sessions(&sessions, s->words, e))
        return false;
    search_write(s, &sessions);
    if (s->left == 0)
        return true;
    hits_init(&texts[IN_DECISIONS], s->r, s->a, &kinds[1], s->left > 1 ? s->left / 2 : s->left);
    hits_init(&texts[IN_CALLS], s->r, s->a, &kinds[2], s->left);
    if (!search_texts(texts, s->words, scoped, e))
        return false;
    for (size_t i = 0; i < IN_COUNT; i++)
        search_write(s, &texts[i]);
    return true;
}

bool query_search(struct reader *r, const struct query_asker *a, str words, int64_t limit,
                  struct buf *out, struct err *e)
{
    struct search s = {.r = r, .a = a, .left = limit, .back_to_us = -1};
    bool ok;

    if (!query_begin_object(r, out, &s.o, e))
        return false;
    s.words = utf8_storable(words, &r->arena);
    json_member_array(&s.o, "results");
    ok = search_all(&s, e);
    json_out_end(&s.o);
    ok = ok && absent_write_search(
                   r, a, s.left < limit || !find_wants_reasoning(s.words, &r->arena), &s.o, e);
    find_write_bound(s.back_to_us, &s.o);
    return query_end_object(r, ok, &s.o, e);
}
