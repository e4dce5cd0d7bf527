/* query_search.c - one box for all: calls and decisions by their words, sessions by their names.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "store/query_in.h"

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
};

static bool on_hit(void *ctx, const struct db_value *v, size_t n)
{
    struct hits *h = ctx;

    (void)n;
    if (h->room == 0)
        return false;
    h->room--;
    json_out_object(h->o);
    json_member_str(h->o, "type", str_c(h->kind->type));
    json_out_key(h->o, STR("session_id"));
    value_write(COLUMN_TEXT, &v[SESSION_ID], false, h->o);
    json_out_key(h->o, STR("interaction_id"));
    value_write(COLUMN_TEXT, &v[INTERACTION_ID], false, h->o);
    json_out_key(h->o, STR("timestamp_us"));
    value_write(COLUMN_NUMBER, &v[TIMESTAMP], false, h->o);
    json_out_key(h->o, STR("snippet"));
    value_write(COLUMN_TEXT, &v[SNIPPET], false, h->o);
    json_out_key(h->o, str_c(h->kind->extra));
    value_write(COLUMN_TEXT, &v[EXTRA], false, h->o);
    json_out_end(h->o);
    return true;
}

static bool sessions(struct reader *r, const struct query_asker *a, str words, struct hits *h,
                     struct err *e)
{
    str like = words_like(words, &r->arena);
    const char *op = sql_text(r, (struct sql_text){" LIKE ", " ILIKE "});
    struct sql q;
    bool ok;

    sql_init(&q);
    sql_add(&q,
            "SELECT s.session_id, NULL, s.started_at_us, coalesce(s.title, s.alert_id, "
            "s.session_id), s.status FROM alert_sessions s");
    sql_where_text(&q, "s.key_name =", a->key_name);
    sql_and(&q);
    sql_add(&q, "(s.session_id = ");
    sql_value(&q, db_text(words));
    for (size_t i = 0; i < 2; i++) {
        sql_add(&q, i ? " OR s.alert_id" : " OR s.title");
        sql_add(&q, op);
        sql_value(&q, db_text(like));
        sql_add(&q, " ESCAPE '\\'");
    }
    sql_add(&q, ") ORDER BY s.started_at_us DESC");
    sql_limit(&q, h->room, 0);
    ok = sql_query(r, &q, (struct db_rows){on_hit, h}, e);
    sql_release(&q);
    return ok;
}

static bool decisions(struct reader *r, const struct query_asker *a, str words, struct hits *h,
                      struct err *e)
{
    static const struct sql_text from = {
        " FROM decisions_text CROSS JOIN decisions d ON d.decision_id = decisions_text.rowid "
        "WHERE decisions_text MATCH ",
        " FROM decisions d WHERE d.words @@ to_tsquery('simple', "};
    static const struct sql_text order = {" ORDER BY decisions_text.rowid DESC",
                                          " ORDER BY d.decision_id DESC"};
    struct sql q;
    str query;
    bool ok;

    if (!words_query(r, a, words, WORDS_OF_DECISIONS, &query, e))
        return false;
    if (query.n == 0)
        return true;
    sql_init(&q);
    sql_add(&q, "SELECT d.session_id, d.interaction_id, d.timestamp_us, d.entry, d.kind");
    sql_add(&q, sql_text(r, from));
    sql_value(&q, db_text(query));
    sql_add(&q, sql_text(r, (struct sql_text){"", ")"}));
    q.where = true;
    sql_key_scope(&q, a, "d.session_id");
    if (a->hide_reasoning) {
        sql_and(&q);
        sql_add(&q, DECISION_PLAIN);
    }
    sql_add(&q, sql_text(r, order));
    sql_limit(&q, h->room, 0);
    ok = sql_query(r, &q, (struct db_rows){on_hit, h}, e);
    sql_release(&q);
    return ok;
}

/* Where the words stand; reasoning is left out of it for who may not see that. */
static bool calls_sqlite(struct reader *r, const struct query_asker *a, str query, struct hits *h,
                         struct err *e)
{
    struct sql q;
    bool ok;

    sql_init(&q);
    sql_add(&q, "SELECT i.session_id, i.interaction_id, i.started_ms * 1000, ");
    sql_add(&q,
            a->hide_reasoning ? "substr(coalesce(i.asked, i.answer, i.error_message), 1, 200)"
                              : "snippet(interactions_text, -1, '', '', '...', 24)");
    sql_add(&q,
            ", i.model FROM interactions_text CROSS JOIN llm_interactions i ON i.rowid = "
            "interactions_text.rowid WHERE interactions_text MATCH ");
    sql_value(&q, db_text(query));
    q.where = true;
    sql_key_scope(&q, a, "i.session_id");
    sql_add(&q, " ORDER BY interactions_text.rowid DESC");
    sql_limit(&q, h->room, 0);
    ok = sql_query(r, &q, (struct db_rows){on_hit, h}, e);
    sql_release(&q);
    return ok;
}

static bool calls_postgres(struct reader *r, const struct query_asker *a, str query, struct hits *h,
                           struct err *e)
{
    struct sql q;
    bool ok;

    sql_init(&q);
    sql_add(&q,
            "SELECT i.session_id, i.interaction_id, i.started_ms * 1000, ts_headline('simple', "
            "concat_ws(' ', i.asked, i.answer, i.error_message");
    sql_add(&q, a->hide_reasoning ? "" : ", i.reasoning_content");
    sql_add(&q, "), to_tsquery('simple', ");
    sql_value(&q, db_text(query));
    sql_add(&q,
            "), 'StartSel=\"\", StopSel=\"\", MaxWords=24, MinWords=8'), i.model "
            "FROM llm_interactions i WHERE i.words @@ to_tsquery('simple', ");
    sql_value(&q, db_text(query));
    sql_add(&q, ")");
    q.where = true;
    sql_key_scope(&q, a, "i.session_id");
    sql_add(&q, " ORDER BY i.started_ms DESC");
    sql_limit(&q, h->room, 0);
    ok = sql_query(r, &q, (struct db_rows){on_hit, h}, e);
    sql_release(&q);
    return ok;
}

static bool calls(struct reader *r, const struct query_asker *a, str words, struct hits *h,
                  struct err *e)
{
    str query;

    if (!words_query(r, a, words, WORDS_OF_CALLS, &query, e))
        return false;
    if (query.n == 0)
        return true;
    return db_kind(r->db) == DB_POSTGRES ? calls_postgres(r, a, query, h, e)
                                         : calls_sqlite(r, a, query, h, e);
}

bool query_search(struct reader *r, const struct query_asker *a, str words, int64_t limit,
                  struct buf *out, struct err *e)
{
    static bool (*const looks[])(
        struct reader *, const struct query_asker *, str, struct hits *, struct err *) = {
        sessions, decisions, calls};
    struct json_out o;
    struct hits h = {.o = &o};
    int64_t left = limit;

    arena_reset(&r->arena);
    words = words_clean(words, &r->arena);
    json_out_init(&o, out);
    json_out_object(&o);
    json_out_key(&o, STR("results"));
    json_out_array(&o);
    for (size_t i = words_scoped(words) ? 2 : 0; i < COUNT_OF(looks); i++) {
        /* A part for each of those to come; what one leaves is the next one's. */
        int64_t share = left / (int64_t)(COUNT_OF(looks) - i);

        h.kind = &kinds[i];
        h.room = share ? share : left;
        share = h.room;
        if (h.room && !looks[i](r, a, words, &h, e))
            return false;
        left -= share - h.room;
    }
    json_out_end(&o);
    if (!absent_write_search(r, a, left < limit || !words_want_reasoning(words), &o, e))
        return false;
    json_out_end(&o);
    return query_end(out, e);
}
