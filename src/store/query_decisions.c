/* query_decisions.c - the decision log: by time, by tool, by its words.
 *
 * Each way has an index of its own: by_time, by_session, the pairs of tool and decision, the full
 * text. Of a search only the newest SEARCH_MAX hits are looked at, so that common words cost no
 * more than rare ones; and how good they are is found here, because the databases' own ranks first
 * count the words in all there is.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "store/query_in.h"

#define SEARCH_MAX 500

static const struct column columns[] = {
    {"decision_id", "d.decision_id", COLUMN_NUMBER},
    {"interaction_id", "d.interaction_id", COLUMN_TEXT},
    {"session_id", "d.session_id", COLUMN_TEXT},
    {"timestamp_us", "d.timestamp_us", COLUMN_NUMBER},
    {"kind", "d.kind", COLUMN_TEXT},
    {"tools", "coalesce(d.tools, '[]')", COLUMN_JSON},
    {"model", "d.model", COLUMN_TEXT},
    {"state",
     "CASE WHEN EXISTS (SELECT 1 FROM llm_interactions i WHERE i.interaction_id = d.interaction_id"
     " AND i.complete = 0) THEN 'cut' ELSE 'complete' END",
     COLUMN_TEXT},
    {"entry", "d.entry", COLUMN_SKIP},
    {"thought", "CASE WHEN " DECISION_PLAIN " THEN 0 ELSE 1 END", COLUMN_SKIP},
    {"reasoning_absent",
     "(SELECT " REASONING_ABSENT
     " FROM llm_interactions i WHERE i.interaction_id = d.interaction_id)",
     COLUMN_SKIP},
};

enum { DECISION_ID = 0, TIMESTAMP = 3, ENTRY = 8, THOUGHT, ABSENT };

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
    absent_write(l->a, &v[ABSENT], l->o);
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
    sql_key_scope(q, a, "d.session_id");
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

struct hit {
    struct db_value v[COUNT_OF(columns)];
    unsigned words; /* that stand in it just so, and not only as the front of another */
};

struct hits {
    struct arena *a;
    str words;
    struct hit *at;
    size_t n;
};

static bool is_letter(char c)
{
    return (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z') || (unsigned char)c > 127;
}

/* Whether a word stands in the text by itself, in any case of its ASCII letters. */
static bool has_word(str text, str word)
{
    for (size_t i = 0; word.n && i + word.n <= text.n; i++)
        if (strncasecmp(text.p + i, word.p, word.n) == 0 && (i == 0 || !is_letter(text.p[i - 1])) &&
            (i + word.n == text.n || !is_letter(text.p[i + word.n])))
            return true;
    return false;
}

static unsigned count_words(str text, str words)
{
    unsigned n = has_word(text, str_trim(words)) ? 2 : 0; /* all of them in a row */

    while ((words = str_trim(words)).n) {
        size_t end = str_find(words, STR(" "));

        n += has_word(text, str_slice(words, 0, end));
        words = end == STR_NONE ? STR("") : str_slice(words, end, words.n);
    }
    return n;
}

static bool on_found(void *ctx, const struct db_value *v, size_t n)
{
    struct hits *h = ctx;
    struct hit *to = &h->at[h->n++];

    for (size_t i = 0; i < n; i++) {
        to->v[i] = v[i];
        if (v[i].type == DB_TEXT)
            to->v[i].s = arena_dup(h->a, v[i].s);
    }
    to->words = count_words(v[ENTRY].s, h->words);
    return h->n < SEARCH_MAX;
}

/* The most words first, then the newest. */
static int by_worth(const void *a, const void *b)
{
    const struct hit *x = a, *y = b;

    if (x->words != y->words)
        return x->words < y->words ? 1 : -1;
    return (x->v[DECISION_ID].i < y->v[DECISION_ID].i) -
           (x->v[DECISION_ID].i > y->v[DECISION_ID].i);
}

static bool find_hits(struct reader *r, const struct query_asker *a, const struct query_filter *f,
                      struct hits *h, struct err *e)
{
    str typed = arena_join(&r->arena, f->tool, STR(" "), h->words), words;
    struct sql q;
    bool ok;

    if (!words_query(r, a, typed, WORDS_OF_DECISIONS, &words, e))
        return false;
    if (words.n == 0)
        return true;
    sql_init(&q);
    sql_add(&q, "SELECT ");
    sql_columns(&q, columns, COUNT_OF(columns));
    sql_add(
        &q,
        sql_text(r,
                 (struct sql_text){" FROM decisions_text w CROSS JOIN decisions d ON "
                                   "d.decision_id = w.rowid WHERE w.decisions_text MATCH ",
                                   " FROM decisions d WHERE d.words @@ to_tsquery('simple', "}));
    sql_value(&q, db_text(words));
    sql_add(&q, sql_text(r, (struct sql_text){"", ")"}));
    q.where = true;
    where(&q, a, f);
    if (a->hide_reasoning) {
        sql_and(&q);
        sql_add(&q, DECISION_PLAIN);
    }
    if (f->tool.n) {
        sql_where(&q,
                  "EXISTS (SELECT 1 FROM decision_tools t WHERE t.decision_id = d.decision_id AND "
                  "t.tool =",
                  db_text(f->tool));
        sql_add(&q, ")");
    }
    sql_add(
        &q,
        sql_text(r, (struct sql_text){" ORDER BY w.rowid DESC", " ORDER BY d.decision_id DESC"}));
    sql_limit(&q, SEARCH_MAX, 0);
    ok = sql_query(r, &q, (struct db_rows){on_found, h}, e);
    sql_release(&q);
    return ok;
}

static bool search(struct reader *r, const struct query_asker *a, const struct query_filter *f,
                   const struct query_page *p, int64_t *offset, struct log *l, struct err *e)
{
    struct hits h = {.a = &r->arena};
    str value, id;

    *offset = 0;
    if (p->cursor.n) {
        if (!cursor_read(&r->arena, p->cursor, STR("best"), &value, &id, e))
            return err_prefix(e, "cursor: ");
        if (!cursor_i64(value, offset) || *offset < 0 || *offset > SEARCH_MAX)
            return err_set(e, ERR_INPUT, "cursor: it is not a cursor of this list");
    }
    h.words = words_clean(f->search, &r->arena);
    h.at = arena_zero(&r->arena, SEARCH_MAX, sizeof *h.at);
    if (!find_hits(r, a, f, &h, e))
        return false;
    qsort(h.at, h.n, sizeof *h.at, by_worth);
    for (size_t i = (size_t)*offset; i < h.n && on_decision(l, h.at[i].v, COUNT_OF(columns)); i++)
        ;
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
    struct query_filter found = *f;
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
    ok = (!f->session_id.n || session_find(r, a, f->session_id, &found.session_id, e)) &&
         (f->search.n ? search(r, a, &found, p, &offset, &l, e)
                      : list(r, &q, a, &found, p, e) &&
                            sql_query(r, &q, (struct db_rows){on_decision, &l}, e));
    sql_release(&q);
    json_out_end(&o);
    ok = ok && absent_write_search(r, a, l.room < p->limit || !f->search.n, &o, e);
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
    json_out_init(&o, out);
    json_out_object(&o);
    json_member_str(&o, "session_id", id);
    if (!session_find(r, a, id, &id, e) || !session_check(r, a, id, e))
        return false;
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
