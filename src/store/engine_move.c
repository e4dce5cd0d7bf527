/* engine_move.c - moves calls of an earlier version into blocks.
 *
 * Their columns are in llm_interactions since the tables were brought to this version; their texts
 * are in old_interactions, where texts.h finds them until they are in a block. They are moved a few
 * at a time, oldest first, each batch in a separate transaction, so an interrupted move continues
 * where it stopped. Once all are moved, the old tables go, and with SQLite the file is rewritten,
 * so that the disk gets its bytes back.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "store/engine_state.h"

#define MOVE_CALLS 200

static const char *const old_tables[] = {"old_segments", "old_decisions", "old_interactions"};
static const char *const old_words[] = {"interactions_text", "decisions_text"};

static bool move_drop_tables(struct engine *en, const char *const *tables, size_t n, struct err *e)
{
    char sql[64];

    for (size_t i = 0; i < n; i++) {
        (void)snprintf(sql, sizeof sql, "DROP TABLE IF EXISTS %s", tables[i]);
        if (!db_run(en->db, sql, DB_NO_ARGS, e))
            return false;
    }
    return true;
}

bool engine_move_drop_words(struct engine *en, struct err *e)
{
    return en->move != ENGINE_MOVE || move_drop_tables(en, old_words, COUNT_OF(old_words), e);
}

/* The texts of a call that an earlier version stored. Damaged texts are left out; `audit verify`
 * reports them. */
static bool move_read(struct engine *en, struct engine_call *call, struct arena *texts,
                      struct err *e)
{
    arena_reset(texts);
    if (texts_read(&en->texts, &call->at, texts, &call->row, e))
        return true;
    if (!en->texts.damaged)
        return false;
    log_error("store: a call of an earlier version is damaged; the rest of it is moved",
              LOG_STR("call", call->row.id),
              LOG_ERR(e));
    return true;
}

/* ---- calls that the audit log does not know ---- */

/* Stores of a time before there was an audit log: it begins with the calls that they have. */
static bool move_adopt(struct engine *en, struct err *e)
{
    struct db_value args[] = {db_int(0), db_int(MOVE_CALLS)};
    struct arena texts, rows;
    struct engine_calls calls = {.arena = &rows};
    bool ok = true;

    arena_init(&texts, ENGINE_ARENA_MAX);
    arena_init(&rows, ENGINE_ARENA_MAX);
    do {
        calls.count = 0;
        arena_reset(&rows);
        ok = engine_calls_read(en, ENGINE_GET_UNMOVED, args, 2, &calls, e);
        assert(calls.count <= MOVE_CALLS);
        for (size_t i = 0; ok && i < calls.count; i++) {
            struct engine_call *call = &calls.items[i];

            args[0] = db_int(call->at.call_n);
            ok = move_read(en, call, &texts, e);
            buf_reset(&en->canon);
            audit_add_row(&en->canon, &row_calls, &call->row);
            ok = ok && engine_audit_row(en, STR("record"), call->row.id, STR("adopted"), e);
        }
    } while (ok && calls.count == MOVE_CALLS);
    arena_release(&texts);
    arena_release(&rows);
    free(calls.items);
    return ok;
}

bool engine_move_needed(struct db *db, bool *out, struct err *e)
{
    const char *sql = db_kind(db) == DB_POSTGRES
                          ? "SELECT count(*) FROM pg_class WHERE relname = 'old_interactions' AND"
                            " relnamespace = current_schema()::regnamespace"
                          : "SELECT count(*) FROM sqlite_master WHERE name = 'old_interactions'";
    int64_t there = 0;
    bool ok = db_number(db, sql, DB_NO_ARGS, &there, e);

    *out = there > 0;
    return ok;
}

bool engine_move_look(struct engine *en, struct err *e)
{
    bool needed;

    if (!engine_move_needed(en->db, &needed, e))
        return false;
    assert(en->move == ENGINE_MOVE || !needed);
    if (!needed)
        en->move = ENGINE_IN_BLOCKS;
    return true;
}

bool engine_move_begin(struct engine *en, struct err *e)
{
    bool needed, rewrite = false;

    if (!engine_move_needed(en->db, &needed, e) ||
        (!needed && !db_rewrite_due(en->db, &rewrite, e)))
        return false;
    en->move = needed ? ENGINE_MOVE : rewrite ? ENGINE_REWRITE : ENGINE_IN_BLOCKS;
    if (!needed || en->head.seq > 0)
        return true;
    if (!engine_turn(en, true, e))
        return false;
    if (engine_audit_begin(en, e) && engine_blocks_begin(en, e) &&
        (en->head.seq > 0 || move_adopt(en, e)) && db_commit(en->db, e)) {
        en->blocks_known = false;
        arena_reset(&en->arena);
        return true;
    }
    engine_rollback(en);
    return false;
}

/* ---- moving ---- */

static bool move_call(struct engine *en, struct engine_call *call, struct arena *texts,
                      struct err *e)
{
    struct db_value args[] = {db_int(call->at.call_n), db_null(), db_null(), db_text(call->row.id)};

    if (!move_read(en, call, texts, e) ||
        !engine_block_put(en, ENGINE_MOVED, &call->row, &call->at, e))
        return false;
    args[1] = db_int(call->at.block);
    args[2] = db_int(call->at.block_n);
    return db_run(en->db,
                  "UPDATE llm_interactions SET block = $2, block_n = $3 WHERE call_n = $1",
                  args,
                  3,
                  e) &&
           db_run(en->db, "DELETE FROM old_interactions WHERE interaction_id = $1", &args[3], 1, e);
}

static bool move_calls(struct engine *en, size_t *count, struct err *e)
{
    struct db_value args[] = {db_int(0), db_int(MOVE_CALLS)};
    struct engine_calls calls = {.arena = &en->arena};
    struct arena texts;
    bool ok = engine_calls_read(en, ENGINE_GET_UNMOVED, args, 2, &calls, e);

    assert(calls.count <= MOVE_CALLS);
    arena_init(&texts, ENGINE_ARENA_MAX);
    for (size_t i = 0; ok && i < calls.count; i++)
        ok = move_call(en, &calls.items[i], &texts, e);
    arena_release(&texts);
    *count = calls.count;
    free(calls.items);
    return ok;
}

/* Nothing is left in them that is not elsewhere, so nothing of it has to be overwritten: the file
 * is rewritten afterwards. The file of a new store had nothing in them and stays. */
static bool move_drop(struct engine *en, struct err *e)
{
    bool rewrite;

    assert(en->move == ENGINE_MOVE);
    if (!engine_turn(en, false, e)) /* at once, for who reads them */
        return false;
    if (!move_drop_tables(en, old_tables, COUNT_OF(old_tables), e) ||
        !engine_move_drop_words(en, e) || !db_commit(en->db, e)) {
        engine_rollback(en);
        return false;
    }
    if (!db_rewrite_due(en->db, &rewrite, e))
        return false;
    en->move = rewrite ? ENGINE_REWRITE : ENGINE_IN_BLOCKS;
    return true;
}

/* If the file cannot be rewritten, it stays larger than needed, and nothing else is wrong. */
static void move_rewrite(struct engine *en)
{
    struct err e;

    assert(en->move == ENGINE_REWRITE);
    en->move = ENGINE_IN_BLOCKS;
    en->scrub = true; /* the WAL is now as long as the file */
    if (!db_rewrite(en->db, &e))
        log_warn("store: the file was not rewritten and keeps its old size; the next start tries"
                 " again",
                 LOG_ERR(&e));
}

bool engine_moving(const struct engine *en)
{
    return en->move != ENGINE_IN_BLOCKS;
}

bool engine_move(struct engine *en, struct err *e)
{
    size_t count = 0;
    bool ok;

    if (en->move == ENGINE_REWRITE)
        move_rewrite(en);
    if (en->move == ENGINE_IN_BLOCKS)
        return true;
    if (!engine_turn(en, false, e))
        return false;
    if (en->move == ENGINE_IN_BLOCKS) { /* another daemon has finished it */
        db_rollback(en->db);
        return true;
    }
    ok = engine_blocks_begin(en, e) && move_calls(en, &count, e) && engine_blocks_commit(en, e) &&
         db_commit(en->db, e);
    arena_reset(&en->arena);
    if (!ok) {
        engine_rollback(en);
        return false;
    }
    return count > 0 || move_drop(en, e);
}
