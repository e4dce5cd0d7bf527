/* query_rows.c - calls with the texts of their blocks.
 *
 * The rows are read first, and then the texts of each: both by the one connection of the reader, in
 * the order in which the statement gives them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "store/query_build.h"

static_assert(1 << BLOCK_REASONING == 4 && 1 << BLOCK_SUMMARY == 8, "see query_build.h");

enum { ROW_CALL_N, ROW_BLOCK, ROW_BLOCK_N, ROW_ID, ROW_STARTED, ROW_FIRST };

struct call_row {
    struct call_row *next;
    struct texts_place at;
    str id;
    int64_t started_ms;
    struct db_value v[];
};

struct call_rows_read {
    struct reader *r;
    struct call_row *first, **last;
    bool full; /* the arena had no room for a row */
};

void call_columns_add(struct sql *q, const struct column *c, size_t n)
{
    const struct row_field *texts[QUERY_COLUMNS_MAX];

    columns_find_texts(c, n, texts);
    for (size_t i = 0; i < n; i++) {
        sql_add(q, i ? ", " : "");
        sql_add(q, texts[i] ? "NULL" : c[i].sql);
    }
}

void call_rows_select(struct sql *q, const struct call_rows *rows, const char *from)
{
    sql_begin(q, "SELECT i.call_n, i.block, i.block_n, i.interaction_id, i.started_ms, ");
    call_columns_add(q, rows->columns, rows->count);
    sql_add(q, " FROM ");
    sql_add(q, from);
}

/* A session may have any number of calls, and the arena ends the process if it has no room. */
static bool columns_call_rows_fit(const struct arena *a, const struct db_value *v, size_t n)
{
    size_t size = sizeof(struct call_row) + n * sizeof *v;

    for (size_t i = 0; i < n; i++)
        size += v[i].s.n + 1 + _Alignof(max_align_t);
    return arena_fits(a, 2 * size, 0);
}

static bool columns_call_rows_keep(void *ctx, const struct db_value *v, size_t n)
{
    struct call_rows_read *all = ctx;
    struct call_row *row;

    assert(n >= ROW_FIRST && n - ROW_FIRST <= QUERY_COLUMNS_MAX && !*all->last);
    all->full = !columns_call_rows_fit(&all->r->arena, v, n);
    if (all->full)
        return false;
    row = arena_alloc(&all->r->arena, sizeof *row + (n - ROW_FIRST) * sizeof row->v[0]);
    row->next = NULL;
    row->at.call_n = v[ROW_CALL_N].i;
    row->at.block = v[ROW_BLOCK].type == DB_NULL ? -1 : v[ROW_BLOCK].i;
    row->at.block_n = v[ROW_BLOCK_N].i;
    row->id = arena_dup(&all->r->arena, v[ROW_ID].s);
    row->started_ms = v[ROW_STARTED].i;
    for (size_t i = ROW_FIRST; i < n; i++) {
        row->v[i - ROW_FIRST] = v[i];
        if (v[i].type == DB_TEXT || v[i].type == DB_BLOB)
            row->v[i - ROW_FIRST].s = arena_dup(&all->r->arena, v[i].s);
    }
    *all->last = row;
    all->last = &row->next;
    return true;
}

void columns_find_texts(const struct column *c, size_t n, const struct row_field *out[])
{
    assert(n <= QUERY_COLUMNS_MAX);
    for (size_t i = 0; i < n; i++) {
        out[i] = NULL;
        for (size_t k = 0; k < row_field_count; k++)
            if (row_fields[k].text && str_starts(str_c(c[i].sql), STR("i.")) &&
                strcmp(c[i].sql + 2, row_fields[k].column) == 0)
                out[i] = &row_fields[k];
    }
}

void columns_set_texts(const struct row_field *const texts[], size_t n,
                       const struct store_call *row, struct db_value *v)
{
    for (size_t i = 0; i < n; i++)
        if (texts[i]) {
            str text = *(const str *)(const void *)((const char *)row + texts[i]->at);

            v[i] = db_text_or_null(text);
        }
}

bool call_rows_query(struct reader *r, struct sql *q, const struct call_rows *rows, struct err *e)
{
    const struct row_field *texts[QUERY_COLUMNS_MAX];
    struct call_rows_read all = {.r = r};
    bool more = true;

    all.last = &all.first;
    columns_find_texts(rows->columns, rows->count, texts);
    if (!sql_query(r, q, (struct db_rows){columns_call_rows_keep, &all}, e))
        return false;
    if (all.full)
        return err_set(e, ERR_LIMIT, "the answer has too many calls");
    for (struct call_row *row = all.first; row && more; row = row->next) {
        struct store_call call = store_call_none;

        call.id = row->id;
        call.started_ms = row->started_ms;
        arena_reset(&r->row);
        if (!texts_read_up_to(&r->texts, &row->at, rows->request_max, &r->row, &call, e))
            return false;
        columns_set_texts(texts, rows->count, &call, row->v);
        more = rows->on_call(rows->ctx, row->v, &call);
    }
    return true;
}
