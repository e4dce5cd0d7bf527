/* audit_verify_blocks.c - texts that no call has, and sums by the hour.
 *
 * Each entry of a block that is not empty belongs to one call: texts of no call, or of two, are
 * found. The index of words is not verified: a search looks at the texts themselves.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "store/audit_verify_state.h"

#define PAGE VERIFY_PAGE

/* ---- packed blocks ---- */

struct verify_block {
    int64_t block, first_n, last_n, calls, raw_size;
};

struct verify_blocks {
    struct verify *v;
    struct verify_block page[PAGE], *at;
    size_t count;
    const struct block_view *view;
    bool *used; /* the entries that a call has */
};

static bool verify_on_block(void *ctx, const struct db_value *c, size_t n)
{
    struct verify_blocks *b = ctx;

    assert(n == 5 && b->count < PAGE);
    b->page[b->count++] = (struct verify_block){c[0].i, c[1].i, c[2].i, c[3].i, c[4].i};
    return true;
}

static void verify_wrong_block(struct verify_blocks *b, const char *why)
{
    verify_wrong(
        b->v, 0, why, arena_printf(&b->v->call_arena, "block %lld", (long long)b->at->block));
}

static bool verify_on_place(void *ctx, const struct db_value *c, size_t n)
{
    struct verify_blocks *b = ctx;
    int64_t place = c[0].i;

    assert(n == 1);
    if (place < 0 || (size_t)place >= b->view->count)
        verify_wrong_block(b, "a call has a place beyond the end of its block");
    else if (b->used[place])
        verify_wrong_block(b, "two calls have the same place in a block");
    else
        b->used[place] = true;
    return b->v->r->ok;
}

static bool verify_block(struct verify_blocks *b, struct err *e)
{
    struct verify *v = b->v;
    struct db_value args[] = {db_int(b->at->first_n), db_int(b->at->last_n), db_int(b->at->block)};

    arena_reset(&v->call_arena);
    arena_reset(&v->text_arena);
    if (!texts_block(&v->texts, b->at->block, &b->view, e)) {
        if (v->texts.damaged)
            verify_wrong(v, 0, "a block cannot be read", str_c(e->text));
        return v->texts.damaged;
    }
    if (b->at->calls != (int64_t)b->view->count || b->at->raw_size != (int64_t)b->view->raw.n)
        verify_wrong_block(b, "a block is not of the size that its row says");
    b->used = arena_zero(&v->text_arena, b->view->count + 1, sizeof *b->used);
    if (!db_query(v->db,
                  "SELECT block_n FROM llm_interactions WHERE call_n BETWEEN $1 AND $2 AND block ="
                  " $3 AND texts <> 0",
                  args,
                  3,
                  (struct db_rows){verify_on_place, b},
                  e))
        return false;
    for (size_t i = 0; i < b->view->count; i++) {
        if (block_entry(b->view, i).n > 0 && !b->used[i])
            verify_wrong_block(b, "a block has texts that no call has");
        v->placed += b->used[i];
    }
    return true;
}

static bool verify_packed(struct verify *v, struct err *e)
{
    struct verify_blocks b = {.v = v};
    struct db_value after = db_int(INT64_MIN);
    int64_t last_n = INT64_MIN;

    do {
        b.count = 0;
        if (!db_query(v->db,
                      "SELECT block, first_n, last_n, calls, raw_size FROM call_blocks WHERE block"
                      " > $1 ORDER BY block LIMIT 100",
                      &after,
                      1,
                      (struct db_rows){verify_on_block, &b},
                      e))
            return false;
        for (size_t i = 0; i < b.count && v->r->ok; i++) {
            b.at = &b.page[i];
            if (b.at->first_n <= last_n || b.at->last_n < b.at->first_n)
                verify_wrong_block(&b, "a block does not follow the one before it");
            last_n = b.at->last_n;
            after = db_int(b.at->block);
            if (!verify_block(&b, e))
                return false;
        }
    } while (b.count == PAGE && v->r->ok);
    return true;
}

bool verify_blocks(struct verify *v, struct err *e)
{
    int64_t open = 0, expected = 0;

    if (!verify_packed(v, e) ||
        !db_number(v->db,
                   "SELECT count(*) FROM call_texts WHERE length(texts) > 0",
                   DB_NO_ARGS,
                   &open,
                   e) ||
        !db_number(v->db,
                   "SELECT count(*) FROM llm_interactions WHERE texts <> 0 AND block IS NOT NULL",
                   DB_NO_ARGS,
                   &expected,
                   e))
        return false;
    if (v->placed + open != expected)
        verify_wrong(v, 0, "there are more or fewer texts than calls that have some", STR(""));
    return true;
}

/* ---- sums by the hour ---- */

static bool verify_on_hour(void *ctx, const struct db_value *c, size_t n)
{
    assert(n == 1);
    verify_wrong(ctx, 0, "the sums of an hour are not those of its calls", c[0].s);
    return false;
}

/* The sums and, taken away from them, the calls: nothing may be left. */
static bool verify_usage_table(struct verify *v, const struct usage_table *t, struct err *e)
{
    str names = str_c(t->sums), name;

    buf_reset(&v->sql);
    buf_printf(&v->sql,
               "SELECT '%s of model ' || model FROM (SELECT 1 AS sign, %s, %s FROM %s"
               " UNION ALL SELECT -1, ",
               t->name,
               t->which,
               t->sums,
               t->name);
    usage_write_call(t, &v->sql);
    buf_printf(&v->sql,
               " FROM %s) x GROUP BY %s HAVING min(sign) = max(sign)"
               " OR abs(sum(sign * cost_usd)) > 0.000000001 * (1 + sum(abs(cost_usd)))",
               t->call_from,
               t->which);
    while ((name = usage_next_name(&names)).n)
        if (!str_eq(name, STR("cost_usd")))
            buf_printf(&v->sql, " OR sum(sign * " STR_FMT ") <> 0", STR_ARG(name));
    buf_add_c(&v->sql, '\0');
    return db_query(v->db, v->sql.p, DB_NO_ARGS, (struct db_rows){verify_on_hour, v}, e);
}

bool verify_usage(struct verify *v, struct err *e)
{
    for (size_t i = 0; i < COUNT_OF(usage_tables); i++)
        if (!verify_usage_table(v, &usage_tables[i], e))
            return false;
    return true;
}
