/* query_erase.c - counts what an erasure would delete, and deletes nothing.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "store/erase_find.h"
#include "store/query_build.h"

#define CALLS " FROM llm_interactions WHERE session_id = $1"

/* Of a session $1; $2: the subject, whose threads are counted apart, or "". */
static const char of_session[] =
    "SELECT (SELECT count(*) FROM alert_sessions WHERE session_id = $1),"
    " (SELECT count(*)" CALLS ") + (SELECT count(*) FROM (" ERASE_RUNNING_CALLS ") running),"
    " (SELECT count(*)" CALLS " AND decision_kind IS NOT NULL),"
    " (SELECT count(*) FROM mcp_communications WHERE session_id = $1),"
    " (SELECT count(*)" ERASE_THREAD_OF_SESSION " AND ($2 = '' OR t.key_name <> $2)),"
    " (SELECT count(*) FROM agent_runs WHERE session_id = $1)"
    " + (SELECT count(*) FROM optimize_runs WHERE run_id = $1)";

enum { SESSIONS, CALL_COUNT, DECISIONS, COMMUNICATIONS, THREADS, RUNS, COUNTS };
static const char *const members[COUNTS] = {
    "sessions", "interactions", "decisions", "communications", "threads", "runs"};

struct query_erase_ids {
    struct arena *arena;
    str *items;
    size_t count, cap;
};

static bool query_erase_add_id(void *ctx, const struct db_value *columns, size_t n)
{
    struct query_erase_ids *ids = ctx;

    assert(n == 1);
    ids->items = base_grow(ids->items, ids->count, &ids->cap, sizeof ids->items[0]);
    ids->items[ids->count++] = arena_dup(ids->arena, columns[0].s);
    return true;
}

static bool query_erase_count_session(struct reader *r, str id, str subject, int64_t sums[COUNTS],
                                      struct err *e)
{
    int64_t n[COUNTS] = {0};

    if (!db_query(r->db,
                  of_session,
                  DB_ARGS(db_text(id), db_text(subject)),
                  DB_ROW(db_into_i64(&n[SESSIONS]),
                         db_into_i64(&n[CALL_COUNT]),
                         db_into_i64(&n[DECISIONS]),
                         db_into_i64(&n[COMMUNICATIONS]),
                         db_into_i64(&n[THREADS]),
                         db_into_i64(&n[RUNS])),
                  e))
        return false;
    for (size_t i = 0; i < COUNTS; i++)
        sums[i] += n[i];
    return true;
}

bool query_erase(struct reader *r, enum store_erase_what what, str name, struct buf *out,
                 struct err *e)
{
    struct query_erase_ids ids = {.arena = &r->arena}, runs = {.arena = &r->arena};
    bool subject = what == STORE_ERASE_SUBJECT, ok = true;
    struct db_value id = db_text(name);
    int64_t sums[COUNTS] = {0};
    struct json_out o;

    assert(name.n > 0);
    if (!query_begin_object(r, out, &o, e))
        return false;
    if (!subject)
        (void)query_erase_add_id(&ids, &id, 1);
    else
        ok = erase_find_sessions(
                 r->db, &r->arena, name, (struct db_rows){query_erase_add_id, &ids}, e) &&
             erase_find_runs(
                 r->db, &r->arena, name, (struct db_rows){query_erase_add_id, &runs}, e) &&
             db_number(r->db,
                       "SELECT count(*) FROM threads WHERE key_name = $1",
                       DB_ARGS(id),
                       &sums[THREADS],
                       e);
    if (ids.count)
        qsort(ids.items, ids.count, sizeof ids.items[0], str_order);
    for (size_t i = 0; ok && i < ids.count; i++)
        if (i == 0 || !str_eq(ids.items[i], ids.items[i - 1]))
            ok = query_erase_count_session(r, ids.items[i], subject ? name : STR(""), sums, e);
    sums[RUNS] += (int64_t)runs.count;
    for (size_t i = 0; i < COUNTS; i++)
        json_member_i64(&o, members[i], sums[i]);
    free(ids.items);
    free(runs.items);
    return query_end_object(r, ok, &o, e);
}
