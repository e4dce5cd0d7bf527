/* query_narrow.c - limits a search for words to the calls that another index allows.
 *
 * The word index names the blocks that may have the words, for the calls of all keys. The calls of
 * a session, of a key with few sessions, or of a tool are known before a block is unpacked: the
 * search skips blocks without such calls, and in the other blocks it matches only these calls.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "store/query_build.h"

#define NARROW_CALLS_MAX 4000   /* calls of a list */
#define NARROW_SESSIONS_MAX 400 /* sessions of a key whose calls are listed */
#define NARROW_TRIES_MAX 2000   /* blocks without a call of the tool, until no more are left out */

bool tool_name_read(struct reader *r, str text, struct tool_name *out, struct err *e)
{
    size_t dot = str_find(text, STR("."));
    struct sql q;
    int64_t n;

    *out = (struct tool_name){.tool = text, .server = STR("")};
    if (dot == STR_NONE || dot == 0 || dot + 1 == text.n)
        return true;
    sql_begin(&q, "SELECT count(*) FROM (SELECT 1 FROM call_tools t");
    sql_where(&q, "t.tool =", db_text(text));
    sql_limit(&q, 1, 0);
    sql_add(&q, ") AS counted");
    if (!sql_number(r, &q, &n, e))
        return false;
    if (n == 0)
        *out = (struct tool_name){.tool = str_slice(text, dot + 1, text.n),
                                  .server = str_slice(text, 0, dot)};
    return true;
}

void tool_name_where_server(struct sql *q, const char *column, const struct tool_name *t)
{
    if (!t->server.n)
        return;
    sql_and(q);
    sql_add(q, "EXISTS (SELECT 1 FROM mcp_communications m WHERE m.session_id = ");
    sql_add(q, column);
    sql_where(q, "m.server_name =", db_text(t->server));
    sql_where(q, "m.tool_name =", db_text(t->tool));
    sql_add(q, ")");
}

static bool narrow_on_call(void *ctx, const struct db_value *v, size_t n)
{
    struct narrow *x = ctx;

    assert(n == 3 && x->n <= NARROW_CALLS_MAX);
    if (x->n == NARROW_CALLS_MAX) {
        x->how = NARROW_NOT;
        return false;
    }
    x->calls[x->n++] = (struct narrow_call){.block = v[0].i, .block_n = v[1].i, .call_n = v[2].i};
    return true;
}

static int narrow_by_block(const void *a, const void *b)
{
    const struct narrow_call *x = a, *y = b;

    if (x->block != y->block)
        return x->block < y->block ? -1 : 1;
    return (x->block_n > y->block_n) - (x->block_n < y->block_n);
}

#define NARROW_SELECT "SELECT i.block, i.block_n, i.call_n FROM "

/* Runs the statement, whose rows are all that the search can have unless they are too many. */
static bool narrow_list(struct narrow *x, struct sql *q, struct err *e)
{
    x->how = NARROW_LIST;
    x->n = 0;
    sql_and(q);
    sql_add(q, "i.block IS NOT NULL");
    sql_limit(q, NARROW_CALLS_MAX + 1, 0);
    if (!x->calls)
        x->calls = arena_alloc(&x->r->arena, NARROW_CALLS_MAX * sizeof *x->calls);
    if (!sql_query(x->r, q, (struct db_rows){narrow_on_call, x}, e))
        return false;
    if (x->how == NARROW_LIST)
        qsort(x->calls, x->n, sizeof *x->calls, narrow_by_block);
    return true;
}

static bool narrow_to_session(struct narrow *x, str session_id, struct err *e)
{
    struct sql q;

    sql_begin(&q, NARROW_SELECT QUERY_CALLS);
    sql_where(&q, "i.session_id =", db_text(session_id));
    return narrow_list(x, &q, e);
}

static bool narrow_to_key(struct narrow *x, str key_name, struct err *e)
{
    struct sql q;
    int64_t n;

    sql_begin(&q, "SELECT count(*) FROM (SELECT 1 FROM alert_sessions s");
    sql_where(&q, "s.key_name =", db_text(key_name));
    sql_limit(&q, NARROW_SESSIONS_MAX + 1, 0);
    sql_add(&q, ") AS counted");
    if (!sql_number(x->r, &q, &n, e))
        return false;
    if (n > NARROW_SESSIONS_MAX)
        return true;
    sql_begin(&q,
              NARROW_SELECT "alert_sessions s CROSS JOIN " QUERY_CALLS
                            " WHERE i.session_id = s.session_id");
    q.where = true;
    sql_where(&q, "s.key_name =", db_text(key_name));
    return narrow_list(x, &q, e);
}

static bool narrow_to_tool(struct narrow *x, str tool, struct err *e)
{
    struct sql q;
    int64_t n;

    sql_begin(&q, "SELECT count(*) FROM (SELECT 1 FROM call_tools t");
    sql_where(&q, "t.tool =", db_text(tool));
    sql_limit(&q, NARROW_CALLS_MAX + 1, 0);
    sql_add(&q, ") AS counted");
    if (!sql_number(x->r, &q, &n, e))
        return false;
    if (n > NARROW_CALLS_MAX / 4) { /* to list them all takes longer than to ask for some blocks */
        x->how = NARROW_TOOL;
        x->tool = tool;
        x->tries = NARROW_TRIES_MAX;
        return true;
    }
    sql_begin(&q,
              NARROW_SELECT "call_tools t CROSS JOIN " QUERY_CALLS " WHERE i.call_n = t.call_n");
    q.where = true;
    sql_where(&q, "t.tool =", db_text(tool));
    return narrow_list(x, &q, e);
}

bool narrow_begin(struct narrow *x, struct reader *r, const struct find *f, struct err *e)
{
    *x = (struct narrow){.r = r, .how = NARROW_NOT};
    if (f->session_id.n && !narrow_to_session(x, f->session_id, e))
        return false;
    if (x->how == NARROW_NOT && f->a->key_name.n && !narrow_to_key(x, f->a->key_name, e))
        return false;
    return x->how != NARROW_NOT || !f->tool.n || narrow_to_tool(x, f->tool, e);
}

bool narrow_may_have(const struct narrow *x, int64_t block)
{
    size_t low = 0, high = x->n;

    if (x->how != NARROW_LIST)
        return true;
    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (x->calls[middle].block < block)
            low = middle + 1;
        else
            high = middle;
    }
    return low < x->n && x->calls[low].block == block;
}

/* The calls of the tool in a block, in the place of those of the block before. */
static bool narrow_read_tool(struct narrow *x, int64_t block, int64_t first_n, int64_t last_n,
                             struct err *e)
{
    struct sql q;

    if (!x->calls)
        x->calls = arena_alloc(&x->r->arena, NARROW_CALLS_MAX * sizeof *x->calls);
    x->n = 0;
    sql_begin(&q,
              NARROW_SELECT "call_tools t CROSS JOIN " QUERY_CALLS " WHERE i.call_n = t.call_n");
    q.where = true;
    sql_where(&q, "t.tool =", db_text(x->tool));
    sql_where(&q, "t.call_n >=", db_int(first_n));
    sql_where(&q, "t.call_n <=", db_int(last_n));
    sql_where(&q, "i.block =", db_int(block));
    return sql_query(x->r, &q, (struct db_rows){narrow_on_call, x}, e);
}

bool narrow_block(struct narrow *x, int64_t block, int64_t first_n, int64_t last_n,
                  struct narrow_calls *out, struct err *e)
{
    size_t from = 0;

    *out = (struct narrow_calls){.all = true};
    if (x->how == NARROW_TOOL && !narrow_read_tool(x, block, first_n, last_n, e))
        return false;
    if (x->how == NARROW_NOT)
        return true;
    while (from < x->n && x->calls[from].block != block)
        from++;
    *out = (struct narrow_calls){.at = x->calls + from};
    while (from + out->n < x->n && out->at[out->n].block == block)
        out->n++;
    if (x->how == NARROW_TOOL && out->n == 0 && --x->tries == 0)
        x->how = NARROW_NOT;
    return true;
}
