/* query_find.c - calls by the words of their texts, newest first.
 *
 * The index says which packed blocks may have the words (word_search.h). Each of them is unpacked
 * and its texts are looked at; so are those of the open blocks, which have no index yet, and of
 * calls that are not in a block. Then the rows of the calls that match are read, with the asker's
 * scope and the caller's conditions.
 *
 * It unpacks at most blocks_max blocks and reads FIND_OLD_MAX calls that are not in a block;
 * where that ends it, back_to_us says how far it came.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "store/query_build.h"

#define FIND_OLD_MAX 500        /* calls whose texts are read */
#define FIND_OLD_ROWS_MAX 20000 /* rows that are looked at for those */
#define FIND_OPEN_MAX 4         /* blocks that are filled at a time */
#define FIND_SNIPPET_WORDS 24
#define FIND_NEIGHBOURS 16 /* blocks */
#define FIND_ROWS_FEW 16   /* rows that are read by their numbers, which others may lie between */

static const struct words_scope find_scopes[] = {
    {STR_INIT("asked:"), BLOCK_ASKED},
    {STR_INIT("answer:"), BLOCK_ANSWER},
    {STR_INIT("reasoning:"), BLOCK_REASONING},
    {STR_INIT("error:"), BLOCK_ERROR},
};

/* The fields whose words are looked for. */
static const unsigned find_fields[] = {
    [FIND_CALLS] =
        1u << BLOCK_ASKED | 1u << BLOCK_ANSWER | 1u << BLOCK_REASONING | 1u << BLOCK_ERROR,
    [FIND_DECISIONS] = 1u << BLOCK_DECISION,
};

/* One look through the record: for whole words, or with the last one as a front. */
struct finding {
    struct reader *r;
    struct find *f;
    struct words_query query;
    unsigned allowed;
    bool front;
    bool found, enough;
    const struct row_field *texts[QUERY_COLUMNS_MAX]; /* of the columns that are wanted */
};

/* ---- the calls of a block ---- */

/* The entries of a block that match, by their places. */
struct find_hits {
    const struct block_view *view;
    struct find_hit {
        bool is;
        struct words_hit at;
    } * hits;
    size_t count;
    int64_t block, first_n, last_n;
    int64_t few[FIND_ROWS_FEW]; /* the numbers of the first that match, where they are known */
    size_t few_count;
};

/* Room for the texts of one call in lower case; none if a block is very large. */
struct find_lower {
    char *p;
    size_t size;
};

/* Whether the texts may have all words: in ASCII text each of them is searched by its bytes, which
 * takes a fraction of the time of reading all words. Texts that are copies of others may need more
 * room than the block: then their words are read. */
static bool find_has_parts(const struct finding *g, struct find_lower room,
                           const struct block_texts *t)
{
    char *lower = room.p;
    size_t n = 1;

    for (unsigned f = 0; f < BLOCK_TEXT_COUNT; f++)
        n += t->text[f].n + 1;
    if (n + WORDS_ROOM > room.size)
        return true;
    n = 0;
    lower[n++] = ' ';
    for (unsigned f = 0; f < BLOCK_TEXT_COUNT; f++) {
        if (!(g->allowed >> f & 1))
            continue;
        if (!words_copy_lower(lower + n, t->text[f]))
            return true;
        n += t->text[f].n;
        lower[n++] = ' ';
    }
    memset(lower + n, 0, WORDS_ROOM);
    for (size_t i = 0; i < g->query.part_count; i++)
        if (!words_lower_has((str){lower + 1, n - 1},
                             &g->query.parts[i],
                             g->front && i + 1 == g->query.part_count))
            return false;
    return true;
}

static bool find_entry(const struct finding *g, struct find_lower lower, str entry,
                       struct words_hit *hit)
{
    struct block_texts t;
    struct err bad;

    return entry.n > 0 && block_entry_get(entry, &g->r->row, &t, &bad) &&
           find_has_parts(g, lower, &t) &&
           words_match(&g->query, t.text, g->allowed, g->front, hit);
}

static void find_match_entry(struct finding *g, struct find_hits *h, struct find_lower lower,
                             size_t i)
{
    if (i < h->view->count && !h->hits[i].is &&
        find_entry(g, lower, block_entry(h->view, i), &h->hits[i].at)) {
        h->hits[i].is = true;
        h->count++;
    }
}

/* Matches the calls of the block that are wanted. Where their numbers are known, the block's range
 * of numbers becomes that of the calls that match. */
static void find_match(struct finding *g, struct find_hits *h, const struct narrow_calls *wanted)
{
    struct find_lower lower = {.size = h->view->raw.n + BLOCK_TEXT_COUNT + 1 + WORDS_ROOM};

    h->hits = arena_zero(&g->r->row, h->view->count + 1, sizeof *h->hits);
    if (!arena_fits(&g->r->row, lower.size, 0))
        lower.size = 0;
    lower.p = arena_alloc(&g->r->row, lower.size);
    for (size_t i = 0; wanted->all && i < h->view->count; i++)
        find_match_entry(g, h, lower, i);
    for (size_t i = 0; i < wanted->n; i++) {
        const struct narrow_call *call = &wanted->at[i];
        size_t before = h->count;

        find_match_entry(g, h, lower, (size_t)call->block_n);
        if (h->count == before)
            continue;
        h->first_n = before == 0 || call->call_n < h->first_n ? call->call_n : h->first_n;
        h->last_n = before == 0 || call->call_n > h->last_n ? call->call_n : h->last_n;
        if (h->few_count < FIND_ROWS_FEW)
            h->few[h->few_count++] = call->call_n;
    }
}

static void find_where(struct finding *g, struct sql *q)
{
    sql_key_scope(q, g->f->a);
    if (g->f->in == FIND_DECISIONS) {
        sql_and(q);
        sql_add(q, "i.decision_kind IS NOT NULL");
        if (g->f->a->hide_reasoning)
            sql_add(q, " AND i.has_reasoning = 0");
    }
    if (g->f->where)
        g->f->where(q, g->f->ctx);
}

/* Gives a call that matches to the caller. Its texts are lent. */
static bool find_give(struct finding *g, struct db_value *v, const struct store_call *row,
                      str matched, const struct words_hit *at)
{
    assert(at->at <= matched.n && !g->enough);
    columns_set_texts(g->texts, g->f->count, row, v);
    g->found = true;
    g->enough = !g->f->on_hit(g->f->ctx,
                              v,
                              g->f->snippets
                                  ? words_snippet(matched, at->at, FIND_SNIPPET_WORDS, &g->r->arena)
                                  : STR(""));
    return !g->enough;
}

struct find_rows {
    struct finding *g;
    const struct find_hits *h;
};

static bool find_on_row(void *ctx, const struct db_value *v, size_t n)
{
    struct find_rows *x = ctx;
    struct db_value columns[QUERY_COLUMNS_MAX];
    struct store_call row = store_call_none;
    struct block_texts t;
    struct err bad;
    size_t at = (size_t)v[0].i;

    if (at >= x->h->view->count || !x->h->hits[at].is ||
        !block_entry_get(block_entry(x->h->view, at), &x->g->r->row, &t, &bad))
        return true;
    for (size_t i = 0; i < row_field_count; i++)
        if (row_fields[i].text)
            *row_text(&row, &row_fields[i]) = t.text[row_fields[i].text - 1];
    assert(n >= 1 && n - 1 <= COUNT_OF(columns));
    memcpy(columns, v + 1, (n - 1) * sizeof *v);
    return find_give(x->g, columns, &row, t.text[x->h->hits[at].at.field], &x->h->hits[at].at);
}

/* Always as many values, so that the statement stays the same. */
static void find_where_few(const struct find_hits *h, struct sql *q)
{
    assert(h->few_count > 0 && h->few_count <= FIND_ROWS_FEW);
    sql_and(q);
    sql_add(q, "i.call_n IN (");
    for (size_t i = 0; i < FIND_ROWS_FEW; i++) {
        sql_add(q, i ? ", " : "");
        sql_value(q, db_int(h->few[i < h->few_count ? i : 0]));
    }
    sql_add(q, ")");
}

/* The rows of the calls that match; block_n comes first. */
static bool find_rows(struct finding *g, const struct find_hits *h, struct err *e)
{
    struct find_rows x = {g, h};
    struct sql q;

    sql_begin(&q, "SELECT i.block_n, ");
    call_columns_add(&q, g->f->columns, g->f->count);
    sql_add(&q, " FROM llm_interactions i");
    sql_where(&q, "i.call_n >=", db_int(h->first_n));
    sql_where(&q, "i.call_n <=", db_int(h->last_n));
    sql_where(&q, "i.block =", db_int(h->block));
    if (h->few_count && h->few_count == h->count)
        find_where_few(h, &q);
    find_where(g, &q);
    sql_add(&q, " ORDER BY i.call_n DESC");
    return sql_query(g->r, &q, (struct db_rows){find_on_row, &x}, e);
}

/* Matches the calls of an unpacked block, and gives those that match. */
static bool find_in_view(struct finding *g, struct find_hits h, const struct narrow_calls *wanted,
                         struct err *e)
{
    arena_reset(&g->r->row);
    find_match(g, &h, wanted);
    return h.count == 0 || find_rows(g, &h, e);
}

/* ---- packed blocks ---- */

/* When the oldest call that was looked at ended. */
static bool find_bound(struct finding *g, int64_t call_n, struct err *e)
{
    struct sql q;
    int64_t ms;
    bool ok;

    sql_begin(&q, "SELECT coalesce(i.ended_ms, i.started_ms) FROM llm_interactions i");
    sql_where(&q, "i.call_n >=", db_int(call_n));
    sql_add(&q, " ORDER BY i.call_n LIMIT 1");
    ok = sql_number(g->r, &q, &ms, e);
    g->f->back_to_us = ms * 1000;
    return ok;
}

/* Looks into a block, unless enough of them were unpacked already. */
static bool find_packed(struct finding *g, int64_t block, struct err *e)
{
    struct find_hits h = {.block = block};
    struct narrow_calls wanted;

    if (!narrow_may_have(&g->f->narrow, block))
        return true;
    if (!db_query(g->r->db,
                  "SELECT first_n, last_n FROM call_blocks WHERE block = $1",
                  DB_ARGS(db_int(block)),
                  DB_ROW(db_into_i64(&h.first_n), db_into_i64(&h.last_n)),
                  e))
        return false;
    if (h.last_n == 0)
        return true; /* all of its calls were erased */
    if (!narrow_block(&g->f->narrow, block, h.first_n, h.last_n, &wanted, e))
        return false;
    if (!wanted.all && wanted.n == 0)
        return true;
    if (g->f->blocks_max == 0) {
        g->enough = true;
        return find_bound(g, h.last_n + 1, e);
    }
    g->f->blocks_max--;
    return texts_block(&g->r->texts, block, &h.view, e) && find_in_view(g, h, &wanted, e);
}

/* ---- calls that are not in a block ---- */

struct find_old {
    struct finding *g;
    size_t count;
    int64_t last_n;
};

static bool find_on_old(void *ctx, struct db_value *v, const struct store_call *row)
{
    struct find_old *o = ctx;
    struct block_texts t = {0};
    struct words_hit hit;

    o->count++;
    o->last_n = v[o->g->f->count].i;
    for (size_t i = 0; i < row_field_count; i++)
        if (row_fields[i].text)
            t.text[row_fields[i].text - 1] =
                *(const str *)(const void *)((const char *)row + row_fields[i].at);
    if (!words_match(&o->g->query, t.text, o->g->allowed, o->g->front, &hit))
        return true;
    return find_give(o->g, v, row, t.text[hit.field], &hit);
}

/* The newest call that is not looked at; 0: all are. */
static bool find_old_bound(struct finding *g, int64_t *out, struct err *e)
{
    struct sql q;

    sql_begin(&q, "SELECT i.call_n FROM llm_interactions i WHERE i.block IS NULL");
    sql_add(&q, " ORDER BY i.call_n DESC");
    sql_limit(&q, 1, FIND_OLD_ROWS_MAX);
    return sql_number(g->r, &q, out, e);
}

static bool find_old(struct finding *g, struct err *e)
{
    struct find_old o = {.g = g};
    struct column *columns = arena_alloc(&g->r->arena, (g->f->count + 1) * sizeof *columns);
    const struct call_rows rows = {
        .on_call = find_on_old, .ctx = &o, .columns = columns, .count = g->f->count + 1};
    int64_t after_n;
    struct sql q;
    bool ok;

    assert(g->f->count < QUERY_COLUMNS_MAX); /* one more is added */
    if (!find_old_bound(g, &after_n, e))
        return false;
    memcpy(columns, g->f->columns, g->f->count * sizeof *columns);
    columns[g->f->count] = (struct column){"call_n", "i.call_n", COLUMN_SKIP};
    call_rows_select(&q, &rows, QUERY_CALLS);
    sql_and(&q);
    sql_add(&q, "i.block IS NULL");
    if (after_n > 0)
        sql_where(&q, "i.call_n >", db_int(after_n));
    find_where(g, &q);
    sql_add(&q, " ORDER BY i.call_n DESC");
    sql_limit(&q, FIND_OLD_MAX, 0);
    ok = call_rows_query(g->r, &q, &rows, e);
    if (!ok || g->enough || (o.count < FIND_OLD_MAX && after_n == 0))
        return ok;
    g->enough = true;
    return find_bound(g, o.count < FIND_OLD_MAX ? after_n + 1 : o.last_n, e);
}

/* ---- open blocks ---- */

struct find_open {
    struct arena *a;
    struct find_hits h[FIND_OPEN_MAX];
    struct block_view views[FIND_OPEN_MAX];
    struct buf raw[FIND_OPEN_MAX], ends[FIND_OPEN_MAX];
    size_t n;
};

static void find_open_add(struct find_open *o, size_t at, str entry)
{
    uint32_t end;

    assert(at < FIND_OPEN_MAX && at < o->n);
    buf_add(&o->raw[at], entry);
    end = (uint32_t)o->raw[at].n;
    buf_add(&o->ends[at], (str){(const char *)&end, sizeof end});
}

static bool find_on_open(void *ctx, const struct db_value *v, size_t n)
{
    struct find_open *o = ctx;
    struct find_hits *h;
    size_t at = o->n ? o->n - 1 : 0;

    assert(n == 4);
    assert(o->n == 0 || o->h[at].block <= v[0].i); /* ordered by block and place */
    if (o->n == 0 || o->h[at].block != v[0].i) {
        if (o->n == FIND_OPEN_MAX)
            return false;
        at = o->n++;
        buf_init(&o->raw[at], BLOCK_RAW_MAX);
        buf_init(&o->ends[at], BLOCK_CALLS_MAX * sizeof(uint32_t));
        o->h[at] = (struct find_hits){.block = v[0].i, .first_n = v[2].i, .last_n = v[2].i};
    }
    h = &o->h[at];
    while (o->ends[at].n / sizeof(uint32_t) < (size_t)v[1].i && !buf_full(&o->ends[at]))
        find_open_add(o, at, STR("")); /* erased since */
    find_open_add(o, at, v[3].s);
    h->first_n = v[2].i < h->first_n ? v[2].i : h->first_n;
    h->last_n = v[2].i > h->last_n ? v[2].i : h->last_n;
    return true;
}

static bool find_in_open(struct finding *g, size_t n, struct find_open *o, struct err *e)
{
    const struct narrow_calls all = {.all = true};
    bool ok = db_query(g->r->db,
                       "SELECT block, block_n, call_n, texts FROM call_texts"
                       " ORDER BY block, block_n",
                       DB_NO_ARGS,
                       (struct db_rows){find_on_open, o},
                       e);

    for (size_t i = o->n; ok && i-- > 0;) {
        o->views[i] = (struct block_view){buf_str(&o->raw[i]),
                                          (const uint32_t *)(const void *)o->ends[i].p,
                                          o->ends[i].n / sizeof(uint32_t)};
        o->h[i].view = &o->views[i];
        for (size_t k = 0; ok && k < n; k++)
            ok = g[k].enough || find_in_view(&g[k], o->h[i], &all, e);
    }
    return ok;
}

/* ---- all of it ---- */

/* The last block that may have calls up to end_us. Calls are numbered in the order in which they
 * were recorded, which is that of their ends but for neighbours. */
static bool find_last_block(struct finding *g, int64_t *out, struct err *e)
{
    struct sql q;
    bool ok;

    *out = INT64_MAX;
    if (g->f->end_us == 0)
        return true;
    sql_begin(&q, "SELECT i.block FROM llm_interactions i");
    sql_where(&q, "i.ended_ms <=", db_int(g->f->end_us / 1000));
    sql_add(&q, " ORDER BY i.ended_ms DESC LIMIT 1");
    ok = sql_number(g->r, &q, out, e);
    *out = *out > 0 ? *out + FIND_NEIGHBOURS : INT64_MAX;
    return ok;
}

static bool find_is_over(const struct finding *g, size_t n)
{
    while (n > 0 && g[n - 1].enough)
        n--;
    return n == 0;
}

/* In a packed block, which is unpacked once for all: r->texts keeps the last ones. 0: in none. */
static bool find_in_each(struct finding *g, size_t n, int64_t block, struct err *e)
{
    bool ok = true;

    for (size_t i = 0; ok && i < n; i++)
        ok = g[i].enough || (block ? find_packed(&g[i], block, e) : find_old(&g[i], e));
    return ok;
}

static bool find_look(struct finding *g, size_t n, struct err *e)
{
    struct find_open *o = base_alloc(sizeof *o);
    bool ok, old = false;
    struct word_search s;
    int64_t block = 1, last;

    o->n = 0;
    ok = find_last_block(g, &last, e) && find_in_open(g, n, o, e) &&
         (find_is_over(g, n) || word_search_begin(&s, g->r->db, &g->query, g->front, e));
    assert(o->n <= FIND_OPEN_MAX);
    for (size_t i = 0; i < o->n; i++) {
        buf_release(&o->raw[i]);
        buf_release(&o->ends[i]);
    }
    free(o);
    while (ok && block && !find_is_over(g, n)) {
        ok = word_search_next(&s, &block, e);
        if (ok && !old && block <= s.moved_to) {
            old = true;
            ok = find_in_each(g, n, 0, e);
        }
        if (ok && block && block <= last)
            ok = find_in_each(g, n, block, e);
    }
    return ok;
}

static bool find_is_hidden(const struct finding *g)
{
    for (size_t i = 0; i < g->query.typed_count; i++)
        if (g->query.typed[i].field != WORDS_ANY_FIELD &&
            !(g->allowed >> g->query.typed[i].field & 1))
            return true;
    return false;
}

bool find_calls(struct reader *r, struct find *f, size_t n, struct err *e)
{
    struct finding g[FIND_IN_COUNT];

    assert(n > 0 && n <= FIND_IN_COUNT && (n == 1 || f->as != FIND_EITHER));
    for (size_t i = 0; i < n; i++)
        f[i].back_to_us = -1;
    for (size_t i = 0; i < n; i++) {
        size_t scopes = f[i].in == FIND_CALLS ? COUNT_OF(find_scopes) : 0;

        assert(f[i].on_hit && f[i].columns && f[i].count > 0);
        g[i] = (struct finding){.r = r, .f = &f[i], .allowed = find_fields[f[i].in]};
        columns_find_texts(f[i].columns, f[i].count, g[i].texts);
        if (f[i].a->hide_reasoning)
            g[i].allowed &= ~(1u << BLOCK_REASONING);
        if (!words_query_parse(f[i].typed, find_scopes, scopes, &r->arena, &g[i].query) ||
            find_is_hidden(&g[i]))
            return true;
    }
    if (!f->narrow.r && !narrow_begin(&f->narrow, r, f, e))
        return false;
    for (size_t i = 1; i < n; i++)
        f[i].narrow = f->narrow;
    if (f->as != FIND_FRONT && !find_look(g, n, e))
        return false;
    if (f->as == FIND_WHOLE || g->found || !g->query.may_be_front || f->blocks_max == 0)
        return true;
    for (size_t i = 0; i < n; i++) {
        g[i].front = true;
        g[i].enough = false;
        f[i].back_to_us = -1;
    }
    return find_look(g, n, e);
}

void find_write_bound(int64_t back_to_us, struct json_out *o)
{
    json_member_i64_or_null(o, "searched_back_to_us", back_to_us);
}

/* ---- the search text ---- */

/* Whether a word has the scope of this field, or of any if the field is WORDS_ANY_FIELD. */
static bool find_has_scope(str words, unsigned field, struct arena *a)
{
    struct words_query q;

    (void)!words_query_parse(words, find_scopes, COUNT_OF(find_scopes), a, &q);
    for (size_t i = 0; i < q.typed_count; i++)
        if (q.typed[i].field != WORDS_ANY_FIELD &&
            (field == WORDS_ANY_FIELD || q.typed[i].field == field))
            return true;
    return false;
}

bool find_scoped(str words, struct arena *a)
{
    return find_has_scope(words, WORDS_ANY_FIELD, a);
}

bool find_wants_reasoning(str words, struct arena *a)
{
    return find_has_scope(words, BLOCK_REASONING, a);
}

str find_like(str words, struct arena *a)
{
    struct buf b;

    buf_init(&b, words.n * 2 + 16);
    buf_add_c(&b, '%');
    for (size_t i = 0; i < words.n; i++) {
        if (words.p[i] == '%' || words.p[i] == '_' || words.p[i] == '\\')
            buf_add_c(&b, '\\');
        if (words.p[i])
            buf_add_c(&b, words.p[i]);
    }
    buf_add_c(&b, '%');
    return arena_move_buf(a, &b);
}
