/* query_decisions.c - the decision log: by time, by tool, by its words.
 *
 * A decision is a call with a decision_kind; its number is the call's. Each way to list them has an
 * index: by_end, one for each kind, by_model, by_session, the pairs of tool and call, the words. Of
 * a search only the newest SEARCH_MAX hits are looked at, so that common words cost no more than
 * rare ones. A page of a list looks only at the newest calls of its index after its cursor, so that
 * a filter that few of them pass does not read the whole record; its own cursor continues after
 * them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/ctype.h"
#include "base/utf8.h"
#include "store/query_build.h"

#define SEARCH_MAX 500
#define LOOKED_AT_MAX 10000     /* calls of a list */
#define TOOL_LOOKED_AT_MAX 3000 /* calls of a tool, which are far from each other */
#define TOOL_RARE_MAX 10000     /* of one with more, those of some days are found by time */
#define RARE_MAX 1000           /* sessions of a key that is rare */

static const struct column columns[] = {
    {"decision_id", "i.call_n", COLUMN_NUMBER},
    {"interaction_id", "i.interaction_id", COLUMN_TEXT},
    {"session_id", "i.session_id", COLUMN_TEXT},
    {"timestamp_us", "coalesce(i.ended_ms, i.started_ms) * 1000", COLUMN_NUMBER},
    {"kind", "i.decision_kind", COLUMN_TEXT},
    {"tools", "i.tools", COLUMN_SKIP},
    {"model", "i.model", COLUMN_TEXT},
    {"state", "CASE WHEN i.complete = 0 THEN 'cut' ELSE 'complete' END", COLUMN_TEXT},
    {"entry", "i.decision", COLUMN_SKIP},
    {"thought", "i.has_reasoning", COLUMN_SKIP},
    {"reasoning_absent", REASONING_ABSENT, COLUMN_SKIP},
    {"ended_ms", "i.ended_ms", COLUMN_SKIP},
};

enum { DECISION_ID = 0, TOOLS = 5, ENTRY = 8, THOUGHT, ABSENT, ENDED };

struct decision_log {
    const struct query_asker *a;
    struct json_out *o;
    struct tool_name tool;
    int64_t room;
    bool more;
    int64_t last_ms, last_id;
    int64_t cursor_ms, cursor_n; /* the last call of the page before */
    bool by_tool;                /* listed by the calls of a tool; else by time */
    bool rare;                   /* listed by the sessions of the asker's key */
    int64_t bound; /* when the first call that is looked at ended; of a tool its number; 0: all */
    int64_t back_to_us; /* -1: everything was looked at */
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

static bool query_decisions_decision_write(struct decision_log *l, const struct db_value *v)
{
    str entry = v[ENTRY].type == DB_NULL ? STR("") : v[ENTRY].s;
    struct db_value tools = v[TOOLS].type == DB_NULL ? db_text(STR("[]")) : v[TOOLS];

    assert(l->room >= 0);
    if (l->room == 0) {
        l->more = true;
        return false;
    }
    l->room--;
    json_out_object(l->o);
    columns_write(columns, COUNT_OF(columns), v, false, l->o);
    value_write_member(l->o, "tools", COLUMN_JSON, &tools);
    json_member_str(
        l->o, "entry", l->a->hide_reasoning && v[THOUGHT].i ? decision_bare(entry) : entry);
    absent_write(l->a, &v[ABSENT], l->o);
    json_out_end(l->o);
    l->last_ms = v[ENDED].i;
    l->last_id = v[DECISION_ID].i;
    return true;
}

static bool query_decisions_on_decision(void *ctx, struct db_value *v, const struct store_call *row)
{
    (void)row;
    return query_decisions_decision_write(ctx, v);
}

/* The kind is a literal, because the database does not know from a parameter that the index of a
 * kind has all rows. coalesce keeps it from that index where the one by model is better. */
static void decisions_where_kind(struct sql *q, const struct query_filter *f, bool by_kind)
{
    sql_and(q);
    sql_add(q, !by_kind || !f->kind.n ? "coalesce(i.decision_kind, '')" : "i.decision_kind");
    if (str_eq(f->kind, STR("TOOL_CALL")))
        sql_add(q, " = 'TOOL_CALL'");
    else if (str_eq(f->kind, STR("DIRECT")))
        sql_add(q, " = 'DIRECT'");
    else
        sql_add(q, f->kind.n ? " IS NULL AND 1 = 0" : " <> ''"); /* an unknown kind has no rows */
}

/* by_time: the calls are found by their model, their kind or when they ended. Else coalesce keeps
 * the database from the index by model: those of a session, of a tool or of a block are fewer. */
static void decisions_where(struct sql *q, const struct query_asker *a,
                            const struct query_filter *f, bool by_time)
{
    sql_where_text(q, "i.session_id =", f->session_id);
    sql_where_text(q, by_time ? "i.model =" : "coalesce(i.model, '') =", f->model);
    decisions_where_kind(q, f, by_time && !f->model.n);
    if (f->start_us >= 0)
        sql_where(q, "i.ended_ms >=", db_int((f->start_us + 999) / 1000));
    if (f->end_us >= 0)
        sql_where(q, "i.ended_ms <=", db_int(f->end_us / 1000));
    sql_key_scope(q, a);
}

static void decisions_where_tool(struct sql *q, const struct tool_name *t)
{
    if (!t->tool.n)
        return;
    sql_where(q,
              "EXISTS (SELECT 1 FROM call_tools t WHERE t.call_n = i.call_n AND t.tool =",
              db_text(t->tool));
    sql_add(q, ")");
    tool_name_where_server(q, "i.session_id", t);
}

/* ---- by time, by tool ---- */

static str decisions_sort(const struct decision_log *l)
{
    return l->by_tool ? STR("tool") : STR("time");
}

/* The order in which the calls of a tool are listed: that of the page before, or the cheaper one. A
 * date before most calls of a tool is reached only in an index of time. */
static bool decisions_find_sort(struct reader *r, struct decision_log *l,
                                const struct query_filter *f, const struct query_page *p,
                                struct err *e)
{
    struct err not_by_time;
    int64_t n = 0;
    struct sql q;

    l->by_tool = f->tool.n > 0;
    if (!l->by_tool || f->end_us < 0)
        return !p->cursor.n ||
               cursor_read_pair(
                   &r->arena, p->cursor, decisions_sort(l), &l->cursor_ms, &l->cursor_n, e);
    if (p->cursor.n) {
        l->by_tool = !cursor_read_pair(
            &r->arena, p->cursor, STR("time"), &l->cursor_ms, &l->cursor_n, &not_by_time);
        return !l->by_tool ||
               cursor_read_pair(
                   &r->arena, p->cursor, decisions_sort(l), &l->cursor_ms, &l->cursor_n, e);
    }
    sql_begin(&q, "SELECT count(*) FROM (SELECT 1 FROM call_tools t");
    sql_where(&q, "t.tool =", db_text(l->tool.tool));
    sql_limit(&q, TOOL_RARE_MAX, 0);
    sql_add(&q, ") AS counted");
    if (!sql_number(r, &q, &n, e))
        return false;
    l->by_tool = n < TOOL_RARE_MAX;
    return true;
}

/* The calls of a key that has few sessions are found by these; those of another one are among the
 * newest of all. */
static bool decisions_key_is_rare(struct reader *r, const struct query_asker *a, bool *rare,
                                  struct err *e)
{
    struct sql q;
    int64_t n;
    bool ok;

    *rare = false;
    if (!a->key_name.n)
        return true;
    sql_begin(&q, "SELECT count(*) FROM (SELECT 1 FROM alert_sessions s");
    sql_where(&q, "s.key_name =", db_text(a->key_name));
    sql_limit(&q, RARE_MAX, 0);
    sql_add(&q, ") AS counted");
    ok = sql_number(r, &q, &n, e);
    *rare = n < RARE_MAX;
    return ok;
}

static void decisions_where_cursor(struct sql *q, const struct decision_log *l,
                                   const struct query_page *p)
{
    if (p->cursor.n && l->by_tool)
        sql_where(q, "t.call_n <", db_int(l->cursor_n));
    else if (p->cursor.n)
        sql_where_pair(q, "(i.ended_ms, i.call_n) <", db_int(l->cursor_ms), db_int(l->cursor_n));
}

/* The first call of a tool that is looked at; 0: all are. With a last date the tool is rare. */
static bool decisions_bound_tool(struct reader *r, struct decision_log *l,
                                 const struct query_filter *f, const struct query_page *p,
                                 struct err *e)
{
    struct sql q;

    if (f->end_us >= 0)
        return true;
    sql_begin(&q, "SELECT t.call_n FROM call_tools t");
    sql_where(&q, "t.tool =", db_text(l->tool.tool));
    decisions_where_cursor(&q, l, p);
    sql_add(&q, " ORDER BY t.call_n DESC");
    sql_limit(&q, 1, TOOL_LOOKED_AT_MAX);
    return sql_number(r, &q, &l->bound, e);
}

/* When the first call that is looked at ended; 0: all are. The model, the kind and the time are in
 * the index that gives the calls; a kind beside a model is not. Nothing else is asked for, so that
 * the index alone is read. */
static bool decisions_bound_time(struct reader *r, struct decision_log *l,
                                 const struct query_filter *f, const struct query_page *p,
                                 struct err *e)
{
    const struct query_filter in_index = {.model = f->model,
                                          .kind = f->model.n ? STR("") : f->kind};
    struct sql q;

    sql_begin(&q, "SELECT i.ended_ms FROM " QUERY_CALLS " WHERE i.ended_ms IS NOT NULL");
    q.where = true;
    sql_where_text(&q, "i.model =", in_index.model);
    if (in_index.kind.n)
        decisions_where_kind(&q, &in_index, true);
    if (f->start_us >= 0)
        sql_where(&q, "i.ended_ms >=", db_int((f->start_us + 999) / 1000));
    if (f->end_us >= 0)
        sql_where(&q, "i.ended_ms <=", db_int(f->end_us / 1000));
    if (p->cursor.n)
        sql_where(&q, "i.ended_ms <=", db_int(l->cursor_ms));
    sql_add(&q, " ORDER BY i.ended_ms DESC");
    sql_limit(&q, 1, LOOKED_AT_MAX);
    return sql_number(r, &q, &l->bound, e);
}

static bool decisions_list_rows(struct reader *r, struct decision_log *l,
                                const struct query_filter *f, const struct query_page *p,
                                struct err *e)
{
    const struct call_rows rows = {query_decisions_on_decision, l, columns, COUNT_OF(columns), 0};
    struct sql q;

    assert(str_eq(str_c(columns[ENDED].name), STR("ended_ms")));
    assert(str_eq(str_c(columns[TOOLS].name), STR("tools")));
    if (l->by_tool) {
        call_rows_select(
            &q, &rows, "call_tools t CROSS JOIN " QUERY_CALLS " WHERE i.call_n = t.call_n");
        q.where = true;
        sql_where(&q, "t.tool =", db_text(l->tool.tool));
        tool_name_where_server(&q, "i.session_id", &l->tool);
    } else if (l->rare) {
        call_rows_select(&q,
                         &rows,
                         "alert_sessions s CROSS JOIN " QUERY_CALLS
                         " WHERE i.session_id = s.session_id");
        q.where = true;
        sql_where(&q, "s.key_name =", db_text(l->a->key_name));
    } else {
        call_rows_select(&q, &rows, QUERY_CALLS);
    }
    if (!l->by_tool) {
        sql_and(&q);
        sql_add(&q, "i.ended_ms IS NOT NULL");
    }
    decisions_where(&q, l->a, f, !l->by_tool && !l->rare && !f->session_id.n);
    if (!l->by_tool)
        decisions_where_tool(&q, &l->tool);
    decisions_where_cursor(&q, l, p);
    if (l->bound > 0)
        sql_where(&q, l->by_tool ? "t.call_n >=" : "i.ended_ms >=", db_int(l->bound));
    sql_add(&q,
            l->by_tool ? " ORDER BY t.call_n DESC" : " ORDER BY i.ended_ms DESC, i.call_n DESC");
    sql_limit(&q, p->limit + 1, 0);
    return call_rows_query(r, &q, &rows, e);
}

/* The page ends at the bound of the search, and the next page begins there. */
static bool decisions_end_at_bound(struct reader *r, struct decision_log *l, struct err *e)
{
    int64_t ms = l->bound;
    struct sql q;

    l->more = true;
    l->last_ms = l->bound;
    l->last_id = 0; /* all calls of that millisecond were looked at */
    if (l->by_tool) {
        l->last_ms = 0;
        l->last_id = l->bound;
        sql_begin(&q, "SELECT coalesce(i.ended_ms, i.started_ms) FROM " QUERY_CALLS);
        sql_where(&q, "i.call_n =", db_int(l->bound));
        if (!sql_number(r, &q, &ms, e))
            return false;
    }
    l->back_to_us = ms * 1000;
    return true;
}

static bool query_decisions_list(struct reader *r, struct decision_log *l,
                                 const struct query_filter *f, const struct query_page *p,
                                 struct err *e)
{
    bool ok = true;

    if (!decisions_key_is_rare(r, l->a, &l->rare, e) || !decisions_find_sort(r, l, f, p, e))
        return false;
    if (l->by_tool)
        ok = decisions_bound_tool(r, l, f, p, e);
    else if (!l->rare && !f->session_id.n)
        ok = decisions_bound_time(r, l, f, p, e);
    if (!ok || !decisions_list_rows(r, l, f, p, e))
        return false;
    return l->more || l->bound <= 0 || decisions_end_at_bound(r, l, e);
}

/* ---- by words ---- */

struct hit {
    struct db_value v[COUNT_OF(columns)];
    unsigned words; /* words that occur exactly, and not only as a prefix of another */
};

struct hits {
    struct arena *a;
    const struct query_asker *asker;
    const struct query_filter *f;
    const struct tool_name *tool;
    str words;
    struct hit *at;
    size_t n;
};

/* Whether the text has the word as a whole word, ignoring ASCII case. */
static bool query_decisions_has_word(str text, str word)
{
    for (size_t i = 0; word.n && i + word.n <= text.n; i++)
        if (strncasecmp(text.p + i, word.p, word.n) == 0 &&
            (i == 0 || !char_in_word(text.p[i - 1])) &&
            (i + word.n == text.n || !char_in_word(text.p[i + word.n])))
            return true;
    return false;
}

static unsigned query_decisions_count_words(str text, str words)
{
    unsigned n = query_decisions_has_word(text, str_trim(words)) ? 2 : 0; /* all of them in a row */

    while ((words = str_trim(words)).n) {
        size_t end = str_find(words, STR(" "));

        assert(end > 0);
        n += query_decisions_has_word(text, str_slice(words, 0, end));
        words = end == STR_NONE ? STR("") : str_slice(words, end, words.n);
    }
    return n;
}

static bool decisions_on_found(void *ctx, struct db_value *v, str snippet)
{
    struct hits *h = ctx;
    struct hit *to = &h->at[h->n++];

    assert(h->n <= SEARCH_MAX);
    (void)snippet;
    for (size_t i = 0; i < COUNT_OF(columns); i++) {
        to->v[i] = v[i];
        if (v[i].type == DB_TEXT)
            to->v[i].s = arena_dup(h->a, v[i].s);
    }
    to->words = query_decisions_count_words(to->v[ENTRY].s, h->words);
    return h->n < SEARCH_MAX;
}

/* The most words first, then the newest. */
static int decisions_by_worth(const void *a, const void *b)
{
    const struct hit *x = a, *y = b;

    if (x->words != y->words)
        return x->words < y->words ? 1 : -1;
    return (x->v[DECISION_ID].i < y->v[DECISION_ID].i) -
           (x->v[DECISION_ID].i > y->v[DECISION_ID].i);
}

static void decisions_where_found(struct sql *q, const void *ctx)
{
    const struct hits *h = ctx;

    decisions_where(q, h->asker, h->f, false);
    decisions_where_tool(q, h->tool);
}

static bool query_decisions_search(struct reader *r, struct decision_log *l,
                                   const struct query_filter *f, const struct query_page *p,
                                   int64_t *offset, struct err *e)
{
    struct hits h = {.a = &r->arena, .asker = l->a, .f = f, .tool = &l->tool};
    struct find find = {.a = l->a,
                        .in = FIND_DECISIONS,
                        .blocks_max = QUERY_BLOCKS_MAX,
                        .tool = l->tool.tool,
                        .session_id = f->session_id,
                        .end_us = f->end_us > 0 ? f->end_us : 0,
                        .columns = columns,
                        .count = COUNT_OF(columns),
                        .where = decisions_where_found,
                        .on_hit = decisions_on_found,
                        .ctx = &h};
    str value, id;

    *offset = 0;
    if (p->cursor.n) {
        if (!cursor_read(&r->arena, p->cursor, STR("best"), &value, &id, e))
            return false;
        if (!cursor_i64(value, offset) || *offset < 0 || *offset > SEARCH_MAX)
            return cursor_bad(e);
    }
    h.words = utf8_storable(f->search, &r->arena);
    h.at = arena_zero(&r->arena, SEARCH_MAX, sizeof *h.at);
    find.typed = arena_join(&r->arena, l->tool.tool, STR(" "), h.words);
    if (!find_calls(r, &find, 1, e))
        return false;
    l->back_to_us = find.back_to_us;
    qsort(h.at, h.n, sizeof *h.at, decisions_by_worth);
    for (size_t i = (size_t)*offset; i < h.n && query_decisions_decision_write(l, h.at[i].v); i++)
        ;
    return true;
}

static void decisions_write_cursor(struct arena *a, const struct decision_log *l,
                                   const struct query_filter *f, int64_t offset)
{
    str next = STR("");

    if (l->more && f->search.n)
        next = cursor_make(a, STR("best"), arena_printf(a, "%lld", (long long)offset), STR(""));
    else if (l->more)
        next = cursor_make_pair(a, decisions_sort(l), l->last_ms, l->last_id);
    json_member_str_or_null(l->o, "next_cursor", next);
}

bool query_decisions(struct reader *r, const struct query_asker *a, const struct query_filter *f,
                     const struct query_page *p, struct buf *out, struct err *e)
{
    struct query_filter found = *f;
    struct json_out o;
    struct decision_log l = {.a = a, .o = &o, .room = p->limit, .back_to_us = -1};
    int64_t offset = 0;
    bool ok;

    if (!query_begin_object(r, out, &o, e))
        return false;
    json_member_array(&o, "decisions");
    ok = (!f->session_id.n || session_find(r, a, f->session_id, &found.session_id, e)) &&
         tool_name_read(r, f->tool, &l.tool, e) &&
         (f->search.n ? query_decisions_search(r, &l, &found, p, &offset, e)
                      : query_decisions_list(r, &l, &found, p, e));
    json_out_end(&o);
    ok = ok && absent_write_search(r, a, l.room < p->limit || !f->search.n, &o, e);
    find_write_bound(l.back_to_us, &o);
    decisions_write_cursor(&r->arena, &l, f, offset + p->limit);
    return query_end_object(r, ok, &o, e);
}

bool query_session_decisions(struct reader *r, const struct query_asker *a, str id, struct buf *out,
                             struct err *e)
{
    struct json_out o;
    struct decision_log l = {.a = a, .o = &o, .room = INT64_MAX};
    const struct call_rows rows = {query_decisions_on_decision, &l, columns, COUNT_OF(columns), 0};
    struct sql q;

    if (!query_begin_object(r, out, &o, e))
        return false;
    json_member_str(&o, "session_id", id);
    json_member_array(&o, "decisions");
    if (!session_find(r, a, id, &id, e) || !session_check(r, a, id, e))
        return query_end_object(r, false, &o, e);
    call_rows_select(&q, &rows, QUERY_CALLS);
    sql_where(&q, "i.session_id =", db_text(id));
    sql_add(&q,
            " AND coalesce(i.decision_kind, '') <> ''"
            " ORDER BY coalesce(i.ended_ms, i.started_ms), i.call_n");
    return query_end_object(r, call_rows_query(r, &q, &rows, e), &o, e);
}
