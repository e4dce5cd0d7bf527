/* engine_row.c - a call as a row of llm_interactions and back.
 *
 * Empty texts and unknown numbers are NULL, so that SQL's own sums and counts are right. The long
 * texts of a call are in its block (store/block.h), not in the row.
 *
 * PostgreSQL takes no NUL and nothing that is not UTF-8 as text, and no long name in an index:
 * bytes that are not text are replaced by U+FFFD, and a long name by its beginning and its digest.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/utf8.h"
#include "store/engine_state.h"

#define NAME_SIZE_MAX 512u
#define NAME_SIZE_KEPT 400u

void engine_columns(struct buf *out, bool marks)
{
    unsigned n = ENGINE_FIRST_FIELD;

    if (marks)
        for (unsigned i = 1; i <= n; i++)
            buf_printf(out, "%s$%u", i > 1 ? ", " : "", i);
    else
        buf_add(out, STR("call_n, block, block_n, texts, decision_kind, tool_count"));
    for (size_t i = 0; i < row_field_count; i++) {
        if (row_fields[i].text)
            continue;
        n++;
        if (marks)
            buf_printf(out, ", $%u", n);
        else
            buf_printf(out, ", %s", row_fields[i].column);
    }
    assert(n <= ENGINE_COLUMNS_MAX);
}

struct db_value engine_known(int64_t v)
{
    return v == -1 ? db_null() : db_int(v);
}

int64_t engine_us(int64_t ms)
{
    return ms < 0 || ms > INT64_MAX / 1000 ? -1 : ms * 1000;
}

/* ---- in ---- */

static struct db_value engine_decision_kind(const struct store_call *row)
{
    if (row->decision.n == 0)
        return db_null();
    return db_text(str_starts(row->decision, STR("[TOOL_CALL]")) ? STR("TOOL_CALL")
                                                                 : STR("DIRECT"));
}

struct db_value engine_field_value(const struct row_field *f, const void *row)
{
    const void *from = (const char *)row + f->at;

    switch (f->kind) {
    case ROW_TEXT:
    case ROW_BODY:
        break;
    case ROW_INT:
        return db_int(*(const int *)from);
    case ROW_BOOL:
        return db_int(*(const bool *)from);
    case ROW_I64:
        return db_int(*(const int64_t *)from);
    case ROW_KNOWN:
        return engine_known(*(const int64_t *)from);
    case ROW_COST:
        return *(const double *)from >= 0 ? db_real(*(const double *)from) : db_null();
    }
    return db_text_or_null(*(const str *)from);
}

size_t engine_row_values(const struct store_call *row, const struct texts_place *at,
                         struct db_value out[ENGINE_COLUMNS_MAX])
{
    size_t n = ENGINE_FIRST_FIELD;

    out[ENGINE_CALL_N] = db_int(at->call_n);
    out[ENGINE_BLOCK] = engine_known(at->block);
    out[ENGINE_BLOCK_N] = db_int(at->block_n);
    out[ENGINE_TEXT_BITS] = db_int(row_text_bits(row));
    out[ENGINE_DECISION_KIND] = engine_decision_kind(row);
    out[ENGINE_TOOL_COUNT] = db_int(row_tool_count(row));
    for (size_t i = 0; i < row_field_count; i++)
        if (!row_fields[i].text)
            out[n++] = engine_field_value(&row_fields[i], row);
    assert(n <= ENGINE_COLUMNS_MAX);
    return n;
}

str engine_clean(struct engine *en, str text)
{
    return en->kind == DB_SQLITE ? text : utf8_storable(text, &en->arena);
}

str engine_clean_name(struct engine *en, str name)
{
    uint8_t digest[SHA256_SIZE];
    char hex[SHA256_HEX_SIZE];

    if (en->kind == DB_SQLITE)
        return name;
    if (name.n > NAME_SIZE_MAX) {
        sha256_of(name, digest);
        name = arena_join(
            &en->arena, utf8_cut_size(name, NAME_SIZE_KEPT), STR("..."), sha256_hex(digest, hex));
        assert(name.n <= NAME_SIZE_MAX);
    }
    return engine_clean(en, name);
}

void engine_row_clean(struct engine *en, struct store_call *row)
{
    str *names[] = {&row->id,
                    &row->session_id,
                    &row->parent_id,
                    &row->subject,
                    &row->model,
                    &row->key_name,
                    &row->provider,
                    &row->level,
                    &row->route,
                    &row->talk};

    if (!(row->cost_usd >= 0))
        row->cost_usd = -1; /* also NaN */
    if (row->session_id.n == 0)
        row->session_id = row->id;
    if (en->kind == DB_SQLITE)
        return;
    for (size_t i = 0; i < COUNT_OF(names); i++)
        *names[i] = engine_clean_name(en, *names[i]);
    for (size_t i = 0; i < row_field_count; i++)
        if (row_fields[i].kind == ROW_TEXT && !row_fields[i].text)
            *row_text(row, &row_fields[i]) = engine_clean(en, *row_text(row, &row_fields[i]));
}

/* ---- out ---- */

void engine_field_read(const struct row_field *f, const struct db_value *v, void *row)
{
    void *to = (char *)row + f->at;
    bool none = v->type == DB_NULL;

    switch (f->kind) {
    case ROW_TEXT:
    case ROW_BODY:
        *(str *)to = none || v->s.n == 0 ? STR("") : v->s;
        break;
    case ROW_INT:
        *(int *)to = (int)v->i;
        break;
    case ROW_BOOL:
        *(bool *)to = v->i != 0;
        break;
    case ROW_I64:
        *(int64_t *)to = v->i;
        break;
    case ROW_KNOWN:
        *(int64_t *)to = none ? -1 : v->i;
        break;
    case ROW_COST:
        *(double *)to = none ? -1 : v->type == DB_INT ? (double)v->i : v->d;
        break;
    }
}

void engine_row_read(const struct db_value *v, size_t n, struct texts_place *at,
                     struct store_call *out)
{
    const struct db_value *field = v + ENGINE_FIRST_FIELD;

    *out = store_call_none;
    at->call_n = v[ENGINE_CALL_N].i;
    at->block = v[ENGINE_BLOCK].type == DB_NULL ? -1 : v[ENGINE_BLOCK].i;
    at->block_n = v[ENGINE_BLOCK_N].i;
    for (size_t i = 0; i < row_field_count; i++)
        if (!row_fields[i].text)
            engine_field_read(&row_fields[i], field++, out);
    assert(field == v + n);
}

void engine_row_keep(struct store_call *row, struct arena *a)
{
    for (size_t i = 0; i < row_field_count; i++)
        if (row_fields[i].kind == ROW_TEXT && !row_fields[i].text)
            *row_text(row, &row_fields[i]) = arena_dup(a, *row_text(row, &row_fields[i]));
}

static bool engine_on_call(void *ctx, const struct db_value *v, size_t n)
{
    struct engine_calls *c = ctx;

    c->items = base_grow(c->items, c->count, &c->cap, sizeof c->items[0]);
    assert(c->count < c->cap);
    engine_row_read(v, n, &c->items[c->count].at, &c->items[c->count].row);
    engine_row_keep(&c->items[c->count++].row, c->arena);
    return true;
}

bool engine_calls_read(struct engine *en, int text, const struct db_value *args, size_t n,
                       struct engine_calls *out, struct err *e)
{
    return db_query(en->db, en->text[text].p, args, n, (struct db_rows){engine_on_call, out}, e);
}
