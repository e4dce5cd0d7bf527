/* engine_pieces.c - calls that still run: their pieces, and what becomes of those whose process
 * ended first.
 *
 * Most calls have no pieces, so which may have some is kept in memory; where that is not known the
 * tables are asked.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "store/engine_state.h"

#define PIECES_SIZE_MAX ((size_t)64 << 20) /* of one kind of one call */

static const struct {
    str kind;
    size_t at;    /* the text of the row that the pieces make */
    size_t began; /* the member of the row with the time of its first byte, or 0 */
} piece_kinds[] = {
    {STR_INIT("request"), offsetof(struct store_call, request), 0},
    {STR_INIT("reply"), offsetof(struct store_call, reply), 0},
    {STR_INIT("reasoning"),
     offsetof(struct store_call, reasoning),
     offsetof(struct store_call, reasoning_ms)},
    {STR_INIT("answer"),
     offsetof(struct store_call, answer),
     offsetof(struct store_call, answer_ms)},
};

/* A call put together from its pieces. */
struct orphan {
    struct arena *arena;
    bool continued; /* the final row has only the rest of the texts */
    struct store_call row;
    int64_t first_ms[COUNT_OF(piece_kinds)], last_ms; /* of the pieces; 0: unknown */
    struct buf text[COUNT_OF(piece_kinds)];
};

/* ---- which may have some ---- */

void engine_pieces_forget(struct engine *en)
{
    for (struct map_entry *i = map_next(&en->pieced, NULL); i; i = map_next(&en->pieced, i))
        free(i->value.ptr);
    map_release(&en->pieced);
}

static void engine_pieces_remember(struct engine *en, str id)
{
    struct err e;
    char *key;

    assert(id.n > 0);
    if (en->pieced_unknown || map_find(&en->pieced, id))
        return;
    key = str_copy(id);
    if (!map_set(&en->pieced, (str){key, id.n}, MAP_PTR(key), &e)) {
        free(key);
        en->pieced_unknown = true;
    }
}

static bool engine_pieces_recall_one(void *ctx, const struct db_value *columns, size_t n)
{
    struct engine *en = ctx;

    assert(n == 1);
    engine_pieces_remember(en, columns[0].s);
    return !en->pieced_unknown;
}

bool engine_pieces_recall(struct engine *en, struct err *e)
{
    struct db_value spool = db_text(str_c(en->spool));

    engine_pieces_forget(en);
    en->pieced_unknown = false;
    if (db_query(en->db,
                 "SELECT DISTINCT call_id FROM call_pieces WHERE spool = $1",
                 &spool,
                 1,
                 (struct db_rows){engine_pieces_recall_one, en},
                 e))
        return true;
    en->pieced_unknown = true;
    return false;
}

static bool engine_pieces_may_have(struct engine *en, str id)
{
    return en->pieced_unknown || map_find(&en->pieced, id);
}

bool engine_pieces_none(const struct engine *en)
{
    return en->kind == DB_SQLITE && !en->pieced_unknown && map_count(&en->pieced) == 0;
}

/* ---- in and out of the table ---- */

bool engine_piece_put(struct engine *en, const struct store_piece *piece, str session_id,
                      struct err *e)
{
    struct db_value args[] = {db_text(engine_clean_name(en, piece->id)),
                              db_int(piece->n),
                              db_text(engine_clean_name(en, piece->kind)),
                              db_blob(piece->bytes),
                              db_text_or_null(session_id),
                              db_text(str_c(en->spool)),
                              db_int(piece->time_ms)};

    assert(en->head_known); /* in a batch */
    engine_pieces_remember(en, args[0].s);
    return db_run(en->db,
                  "INSERT INTO call_pieces (call_id, n, kind, bytes, session_id, spool, time_ms)"
                  " VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING",
                  args,
                  COUNT_OF(args),
                  e);
}

bool engine_pieces_drop(struct engine *en, str id, struct err *e)
{
    struct map_entry *found = map_find(&en->pieced, id);
    void *key = found ? found->value.ptr : NULL;

    if (!engine_pieces_may_have(en, id))
        return true;
    if (found)
        map_remove(&en->pieced, id);
    if (!db_run(en->db, "DELETE FROM call_pieces WHERE call_id = $1", DB_ARGS(db_text(id)), e)) {
        free(key);
        return false;
    }
    free(key);
    return true;
}

static bool engine_pieces_add_piece(void *ctx, const struct db_value *columns, size_t n)
{
    struct orphan *o = ctx;
    struct store_call begun;
    str kind = columns[0].s, bytes = columns[1].s;

    assert(n == 3);
    if (columns[2].i > o->last_ms)
        o->last_ms = columns[2].i;
    if (str_eq(kind, STR(STORE_RESTART))) {
        o->continued = false;
        for (size_t i = 0; i < COUNT_OF(piece_kinds); i++) {
            buf_reset(&o->text[i]);
            o->first_ms[i] = 0;
        }
    }
    o->continued |= str_eq(kind, STR(STORE_CONTINUED));
    if (str_eq(kind, STR(ENGINE_BEGIN_KIND)) && row_call_get(arena_dup(o->arena, bytes), &begun))
        o->row = begun;
    for (size_t i = 0; i < COUNT_OF(piece_kinds); i++)
        if (str_eq(kind, piece_kinds[i].kind)) {
            buf_add(&o->text[i], bytes);
            if (o->first_ms[i] == 0)
                o->first_ms[i] = columns[2].i;
        }
    return true;
}

/* Loads the pieces of a call. Call engine_pieces_orphan_release in any case. */
static bool engine_pieces_orphan_read(struct engine *en, str id, struct orphan *o, struct err *e)
{
    *o = (struct orphan){.arena = &en->arena, .row = store_call_none};
    for (size_t i = 0; i < COUNT_OF(o->text); i++)
        buf_init(&o->text[i], PIECES_SIZE_MAX);
    return db_query(en->db,
                    "SELECT kind, bytes, time_ms FROM call_pieces WHERE call_id = $1 ORDER BY n",
                    DB_ARGS(db_text(id)),
                    (struct db_rows){engine_pieces_add_piece, o},
                    e);
}

static void engine_pieces_orphan_release(struct orphan *o)
{
    for (size_t i = 0; i < COUNT_OF(o->text); i++)
        buf_release(&o->text[i]);
}

bool engine_pieces_join(struct engine *en, struct store_call *row, struct err *e)
{
    struct orphan o;
    bool ok;

    if (!engine_pieces_may_have(en, row->id))
        return true;
    ok = engine_pieces_orphan_read(en, row->id, &o, e);
    for (size_t i = 0; ok && o.continued && i < COUNT_OF(piece_kinds); i++) {
        str *text = (str *)(void *)((char *)row + piece_kinds[i].at);

        if (o.text[i].n > 0) {
            buf_add(&o.text[i], *text);
            *text = arena_dup(&en->arena, buf_str(&o.text[i]));
        }
    }
    engine_pieces_orphan_release(&o);
    return ok;
}

/* ---- what an earlier process left ---- */

/* The pieces have more text than the row that was stored when the call began, and later times. */
static void engine_pieces_orphan_finish(struct orphan *o, str id)
{
    struct store_call *row = &o->row;

    for (size_t i = 0; i < COUNT_OF(piece_kinds); i++) {
        int64_t *began = (int64_t *)(void *)((char *)row + piece_kinds[i].began);

        if (o->text[i].n > 0)
            *(str *)(void *)((char *)row + piece_kinds[i].at) = buf_str(&o->text[i]);
        if (piece_kinds[i].began && *began < 0 && o->first_ms[i] > 0)
            *began = o->first_ms[i];
    }
    if (o->last_ms > 0 && o->last_ms > row->ended_ms)
        row->ended_ms = o->last_ms;
    row->id = id;
    row->complete = false;
    row->has_reasoning |= row->reasoning.n > 0;
    if (row->reasoning.n > 0 && (row->state.n == 0 || str_eq(row->state, STR("unclosed"))))
        row->state = row->answer.n > 0 ? STR("complete") : STR("unclosed");
    if (row->error_code.n == 0) {
        row->error_code = STR("interrupted");
        row->error_message = STR("the process ended before the call did");
    }
}

static bool engine_pieces_orphan_put(struct engine *en, str id, struct err *e)
{
    struct orphan o;
    bool ok = engine_pieces_orphan_read(en, id, &o, e);

    if (ok) {
        engine_pieces_orphan_finish(&o, id);
        if (en->count_interrupted)
            en->count_interrupted(en->ctx, &o.row);
        /* Its pieces go first: their text is in the row already. */
        ok = engine_pieces_drop(en, id, e) && engine_call_put(en, &o.row, e);
    }
    engine_pieces_orphan_release(&o);
    return ok;
}

bool engine_put_orphans(struct engine *en, size_t *count, struct err *e)
{
    str id = STR(""), known;
    size_t n = 0;

    en->pieced_unknown = true;
    for (;;) {
        struct db_value args[] = {db_text(id), db_text(str_c(en->spool))};

        id = known = STR("");
        if (!db_query(en->db,
                      "SELECT call_id, coalesce((SELECT interaction_id FROM llm_interactions"
                      " WHERE interaction_id = call_id), (SELECT subject FROM audit_log"
                      " WHERE action = 'erased' AND subject = call_id)) FROM call_pieces"
                      " WHERE call_id > $1 AND spool IN ($2, '') ORDER BY call_id LIMIT 1",
                      args,
                      2,
                      DB_ROW(db_into_text(&en->arena, &id), db_into_text(&en->arena, &known)),
                      e))
            return false;
        if (id.n == 0)
            break;
        if (!(known.n ? engine_pieces_drop(en, id, e) : engine_pieces_orphan_put(en, id, e)))
            return false;
        n += known.n == 0;
        en->scrub |= known.n > 0;
        en->late |= known.n > 0;
    }
    engine_pieces_forget(en);
    en->pieced_unknown = false;
    en->caught_up = true;
    *count = n;
    return true;
}
