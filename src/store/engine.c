/* SPDX-License-Identifier: Apache-2.0 */
#include "store/engine.h"

#include "store/engine_state.h"

#define SQL_MAX 8192u

/* ---- opening ---- */

/* Texts with the columns in place of the first %, and their marks in place of the second; # is
 * ENGINE_MARKS marks. */
static const char *const texts[ENGINE_TEXTS] = {
    [ENGINE_PUT_CALL] = "INSERT INTO llm_interactions (%) VALUES (%)",
    [ENGINE_LOOK_UP] = "SELECT interaction_id FROM llm_interactions WHERE interaction_id IN (#)",
    [ENGINE_LOOK_UP_TOOLS] =
        "SELECT communication_id FROM mcp_communications WHERE communication_id IN (#)",
    [ENGINE_LOOK_UP_ERASED] =
        "SELECT subject FROM audit_log WHERE action = 'erased' AND subject IN (#)",
    [ENGINE_LOOK_UP_OWNERS] =
        "SELECT session_id, key_name FROM alert_sessions WHERE session_id IN (#)",
    [ENGINE_LOOK_UP_RUNNING] = "SELECT session_id FROM call_pieces WHERE session_id IN (#)",
    [ENGINE_GET_SESSION] = "SELECT % FROM llm_interactions WHERE session_id = $1 AND"
                           " (started_ms, call_n) > ($2, $3) ORDER BY started_ms, call_n LIMIT $4",
    [ENGINE_GET_UNMOVED] = "SELECT % FROM llm_interactions WHERE block IS NULL AND call_n > $1"
                           " ORDER BY call_n LIMIT $2",
};

static void engine_make_texts(struct engine *en)
{
    for (size_t i = 0; i < ENGINE_TEXTS; i++) {
        bool marks = false;

        buf_init(&en->text[i], SQL_MAX);
        for (const char *p = texts[i]; *p; p++)
            if (*p == '%') {
                engine_columns(&en->text[i], marks);
                marks = true;
            } else if (*p == '#') {
                for (unsigned n = 1; n <= ENGINE_MARKS; n++)
                    buf_printf(&en->text[i], "%s$%u", n > 1 ? ", " : "", n);
            } else {
                buf_add_c(&en->text[i], *p);
            }
        buf_add_c(&en->text[i], '\0');
        assert(!buf_full(&en->text[i]));
    }
}

void engine_close(struct engine *en)
{
    struct err e;

    if (!en)
        return;
    /* The last head: of the entries that are on disk. */
    if (en->db && engine_stale(en) && engine_turn(en, true, &e)) {
        if (db_run(en->db, "UPDATE erasures SET scrubbed = 1 WHERE 1 = 0", DB_NO_ARGS, &e) &&
            db_commit(en->db, &e))
            engine_anchor(en);
        else
            db_rollback(en->db);
    }
    db_close(en->reader);
    db_close(en->db); /* the last one: a WAL is taken in and goes */
    for (size_t i = 0; i < ENGINE_TEXTS; i++)
        buf_release(&en->text[i]);
    engine_pieces_forget(en);
    map_release(&en->pieced);
    map_release(&en->owners);
    engine_usage_release(&en->usage);
    map_release(&en->sessions);
    json_release(&en->doc);
    buf_release(&en->canon);
    buf_release(&en->unlogged);
    engine_blocks_release(en);
    engine_requests_forget(en);
    texts_release(&en->texts);
    free(en->head_path);
    arena_release(&en->arena);
    arena_release(&en->scratch);
    pthread_mutex_destroy(&en->read_lock);
    free(en->url);
    free(en->spool);
    free(en);
}

bool engine_open(const struct engine_options *o, struct engine **out, struct err *e)
{
    struct engine *en = base_alloc(sizeof *en);

    *en = (struct engine){.url = str_copy(o->url),
                          .spool = str_copy(o->spool),
                          .count_interrupted = o->count_interrupted,
                          .ctx = o->ctx,
                          .pieced_unknown = true,
                          .anchored_seq = -1};
    pthread_mutex_init(&en->read_lock, NULL);
    arena_init(&en->arena, ENGINE_ARENA_MAX);
    arena_reserve(&en->arena, ENGINE_ARENA_KEPT);
    arena_init(&en->scratch, ENGINE_ARENA_MAX);
    map_init(&en->pieced, NULL, ENGINE_PIECED_MAX);
    map_init(&en->owners, NULL, ENGINE_OWNERS_MAX);
    engine_usage_init(&en->usage);
    map_init(&en->sessions, NULL, ENGINE_OWNERS_MAX);
    json_init(&en->doc);
    buf_init(&en->canon, ENGINE_CANON_MAX);
    buf_init(&en->unlogged, ENGINE_CANON_MAX);
    engine_blocks_init(en);
    texts_init(&en->texts, NULL);
    if (o->head_path)
        en->head_path = str_copy(str_c(o->head_path));
    engine_make_texts(en);
    if (db_open(o->url, DB_WRITE, &en->db, e) && db_open(o->url, DB_READ, &en->reader, e)) {
        en->kind = db_kind(en->db);
        if (o->lease)
            db_lease_join(en->db, o->lease);
        en->texts.db = en->db;
        if (engine_audit_open(en, e) && engine_move_begin(en, e)) {
            engine_anchor(en);
            *out = en;
            return true;
        }
    }
    engine_close(en);
    return false;
}

/* ---- places ---- */

static const struct {
    const char *get, *put;
} places[] = {
    [DB_SQLITE] = {"SELECT segment, place FROM store_progress WHERE spool IN ($1, '')",
                   "INSERT INTO store_progress (one, spool, segment, place) VALUES (1, $1, $2, $3)"
                   " ON CONFLICT (one) DO UPDATE SET spool = excluded.spool,"
                   " segment = excluded.segment, place = excluded.place"},
    [DB_POSTGRES] = {"SELECT segment, place FROM store_progress WHERE spool = $1",
                     "INSERT INTO store_progress (spool, segment, place) VALUES ($1, $2, $3)"
                     " ON CONFLICT (spool) DO UPDATE SET segment = excluded.segment,"
                     " place = excluded.place"},
};

bool engine_place(struct engine *en, struct journal_place *out, struct err *e)
{
    struct db_value spool = db_text(str_c(en->spool));

    *out = (struct journal_place){0, 0};
    return db_query(en->db,
                    places[en->kind].get,
                    &spool,
                    1,
                    DB_ROW(db_into_u64(&out->segment), db_into_u64(&out->offset)),
                    e);
}

/* ---- a batch ---- */

static void engine_clear_batch(struct engine *en)
{
    en->count = en->size = 0;
    engine_owners_forget(en);
    engine_usage_forget(en);
    engine_sessions_forget(en);
    arena_reset(&en->arena);
}

/* Cached requests and texts stay: a call never changes, it is only erased. */
bool engine_turn(struct engine *en, bool durable, struct err *e)
{
    struct db_turn turn;

    assert(en->count == 0);
    if (!db_begin(en->db, durable, e))
        return false;
    turn = db_turn(en->db);
    if (turn.lost) { /* a server that crashed has lost commits that were not durable */
        db_rollback(en->db);
        return err_set(e,
                       ERR_SYSTEM,
                       "the connection to PostgreSQL was lost: how far the tables are is read"
                       " again");
    }
    if (!turn.passed)
        return true;
    en->blocks_known = en->head_known = false;
    if (turn.erased != en->erased) {
        engine_requests_forget(en);
        texts_forget(&en->texts);
        en->erased_any = true;
        en->erased = turn.erased;
    }
    return en->move != ENGINE_MOVE || engine_move_look(en, e);
}

bool engine_begin(struct engine *en, bool durable, struct err *e)
{
    assert(en->count == 0);
    return engine_turn(en, durable, e) && engine_audit_begin(en, e) && engine_blocks_begin(en, e) &&
           (!en->caught_up || !en->pieced_unknown || engine_pieces_recall(en, e));
}

bool engine_full(const struct engine *en)
{
    assert(en->count <= ENGINE_BATCH_MAX);
    /* In PostgreSQL a row that changes often in one transaction becomes slow to find. */
    size_t count_max = en->kind == DB_POSTGRES ? ENGINE_BATCH_POSTGRES_MAX : ENGINE_BATCH_MAX;

    return en->count >= count_max || en->size >= ENGINE_BATCH_SIZE_MAX;
}

static bool engine_read_record(uint32_t type, str body, union engine_content *out)
{
    static const struct store_session no_session = {
        .started_us = -1, .completed_us = -1, .put_us = -1};
    static const struct store_tool no_tool = {.duration_ms = -1};

    switch (type) {
    case FRAME_CALL:
    case FRAME_BEGIN:
        return row_call_get(body, &out->call);
    case FRAME_PIECE:
        return row_piece_get(body, &out->piece);
    case FRAME_SESSION:
        out->session = no_session;
        return row_get(&row_sessions, body, &out->session);
    case FRAME_TOOL:
        out->tool = no_tool;
        return row_get(&row_tools, body, &out->tool);
    case FRAME_NOTE:
        out->note = (struct store_note){0};
        return row_get(&row_notes, body, &out->note);
    default:
        return false;
    }
}

/* By what a record is asked for in the tables; "" if it does not matter. */
static str engine_id_of(struct engine *en, const struct engine_record *r)
{
    if (r->type == FRAME_PIECE || r->type > FRAME_TOOL || r->type == FRAME_SESSION)
        return STR("");
    return engine_clean_name(en, r->type == FRAME_TOOL ? r->content->tool.id : r->content->call.id);
}

bool engine_put(struct engine *en, uint32_t type, str body, struct err *e)
{
    union engine_content *c = arena_alloc(&en->arena, sizeof *c);

    assert(en->count < ENGINE_BATCH_MAX);
    body = arena_dup(&en->arena, body);
    if (!engine_read_record(type, body, c))
        return err_input(e, "a record of a kind (%u) that is not known", type);
    en->records[en->count++] = (struct engine_record){type, body, c, false};
    en->size += body.n;
    return true;
}

/* ---- which of them are new ---- */

struct fresh {
    struct engine *en;
    struct map ids;
};

static bool engine_on_known(void *ctx, const struct db_value *columns, size_t n)
{
    assert(n == 1);
    (void)map_remove(ctx, columns[0].s); /* the rest is new */
    return true;
}

/* Such a call ended after its session was erased. */
static bool engine_on_erased(void *ctx, const struct db_value *columns, size_t n)
{
    struct fresh *f = ctx;

    f->en->scrub = f->en->late = true;
    return engine_on_known(&f->ids, columns, n);
}

bool engine_ask(struct engine *en, int text, const str *ids, size_t n, struct db_rows rows,
                struct err *e)
{
    struct db_value args[ENGINE_MARKS];

    assert(text >= 0 && text < ENGINE_TEXTS);
    for (size_t from = 0; from < n; from += ENGINE_MARKS) {
        for (size_t i = 0; i < ENGINE_MARKS; i++)
            args[i] = from + i < n ? db_text_or_null(ids[from + i]) : db_null();
        if (!db_query(en->db, en->text[text].p, args, ENGINE_MARKS, rows, e))
            return false;
    }
    return true;
}

/* Whose the sessions of calls are is asked for at once. */
static bool engine_look_up_owners(struct engine *en, struct err *e)
{
    str sessions[ENGINE_BATCH_MAX];
    size_t n = 0;

    for (size_t i = 0; i < en->count; i++) {
        const struct engine_record *r = &en->records[i];

        const struct store_call *c = &r->content->call;

        if (r->type == FRAME_CALL || r->type == FRAME_BEGIN)
            sessions[n++] = engine_clean_name(en, c->session_id.n ? c->session_id : c->id);
    }
    return engine_owners_look_up(en, sessions, n, e);
}

/* A call that began a session is in the tables only if that session is. */
static bool engine_may_be_there(struct engine *en, const struct engine_record *r, str id)
{
    const struct store_call *c = &r->content->call;
    bool begins = r->type != FRAME_TOOL && (c->session_id.n == 0 || str_eq(c->session_id, c->id));
    const struct map_entry *owner = begins ? map_find(&en->owners, id) : NULL;

    return !owner || owner->value.ptr;
}

/* Which are in the tables, or were erased from them, or come twice. */
static bool engine_look_up_records(struct engine *en, struct err *e)
{
    str ids[ENGINE_BATCH_MAX], asked[ENGINE_BATCH_MAX];
    size_t tools = 0, n = 0;
    struct fresh fresh = {.en = en};
    struct db_rows rows = {engine_on_known, &fresh.ids}, erased = {engine_on_erased, &fresh};
    struct err full;
    bool ok = true;

    map_init(&fresh.ids, NULL, ENGINE_BATCH_MAX);
    for (size_t i = 0; i < en->count; i++) {
        ids[i] = engine_id_of(en, &en->records[i]);
        if (ids[i].n == 0)
            continue;
        tools += en->records[i].type == FRAME_TOOL;
        if (engine_may_be_there(en, &en->records[i], ids[i]))
            asked[n++] = ids[i];
        if (!map_set(&fresh.ids, ids[i], MAP_U64(0), &full))
            base_die("a batch has more records than it may");
    }
    ok = (n == tools || engine_ask(en, ENGINE_LOOK_UP, asked, n, rows, e)) &&
         (tools == 0 || engine_ask(en, ENGINE_LOOK_UP_TOOLS, asked, n, rows, e)) &&
         (!en->erased_any || engine_ask(en, ENGINE_LOOK_UP_ERASED, ids, en->count, erased, e));
    for (size_t i = 0; ok && i < en->count; i++) {
        struct engine_record *r = &en->records[i];

        r->there = ids[i].n > 0 && !map_find(&fresh.ids, ids[i]);
        if (!r->there && ids[i].n > 0 && r->type != FRAME_BEGIN)
            map_remove(&fresh.ids, ids[i]);
    }
    map_release(&fresh.ids);
    return ok;
}

static bool engine_write_record(struct engine *en, const struct engine_record *r, struct err *e)
{
    union engine_content *c = r->content;

    switch (r->type) {
    case FRAME_PIECE:
        return engine_piece_put(en, &c->piece, STR(""), e);
    case FRAME_BEGIN:
        return r->there || engine_call_begin(en, &c->call, r->body, e);
    case FRAME_SESSION:
        return engine_sessions_write(en, e) && engine_session_put(en, &c->session, e);
    case FRAME_TOOL:
        return r->there || (engine_sessions_write(en, e) && engine_tool_put(en, &c->tool, e));
    case FRAME_NOTE:
        return engine_sessions_write(en, e) && engine_note_put(en, &c->note, e);
    default:
        return r->there ? engine_pieces_drop(en, engine_clean_name(en, c->call.id), e)
                        : engine_call_put(en, &c->call, e);
    }
}

bool engine_commit(struct engine *en, struct journal_place place, struct err *e)
{
    assert(en->head_known && en->blocks_known);
    if (!engine_look_up_owners(en, e) || !engine_look_up_records(en, e))
        return false;
    for (size_t i = 0; i < en->count; i++)
        if (!engine_write_record(en, &en->records[i], e))
            return false;
    if (!engine_sessions_write(en, e) || !engine_audit_records(en, e) ||
        !engine_blocks_commit(en, e) || !engine_usage_flush(en, e) ||
        !db_run(en->db,
                places[en->kind].put,
                DB_ARGS(db_text(str_c(en->spool)),
                        db_int((int64_t)place.segment),
                        db_int((int64_t)place.offset)),
                e) ||
        !db_commit(en->db, e))
        return false;
    engine_clear_batch(en);
    engine_tidy(en);
    return true;
}

bool engine_untidy(const struct engine *en)
{
    return en->scrub;
}

bool engine_was_late(struct engine *en)
{
    bool late = en->late;

    en->late = false;
    return late;
}

void engine_tidy(struct engine *en)
{
    bool done = false;
    struct err e;

    if (!en->scrub)
        return;
    if (db_scrub(en->db, &done, &e) && done &&
        db_run(en->db, "UPDATE erasures SET scrubbed = 1 WHERE scrubbed = 0", DB_NO_ARGS, &e))
        en->scrub = false;
    else if (!done)
        log_warn("store: erased data is still in its files, because readers are active");
    else
        log_warn("store: erased data is still in its files", LOG_ERR(&e));
}

void engine_rollback(struct engine *en)
{
    db_rollback(en->db);
    engine_clear_batch(en);
    buf_reset(&en->unlogged);
    engine_requests_forget(en);
    texts_forget(&en->texts);
    en->blocks_known = false;
    en->head_known = false;
    en->pieced_unknown = true; /* keys that were dropped from the set may be in the table again */
}

/* ---- reading ---- */

struct talks {
    bool (*fn)(void *ctx, str session, str talk);
    void *ctx;
};

static bool engine_give_conversation(void *ctx, const struct db_value *columns, size_t n)
{
    const struct talks *t = ctx;

    assert(n == 2);
    return t->fn(t->ctx, columns[0].s, columns[1].s);
}

bool engine_talks(struct engine *en, size_t n_max, bool (*fn)(void *ctx, str session, str talk),
                  void *ctx, struct err *e)
{
    struct talks t = {fn, ctx};
    bool ok;

    pthread_mutex_lock(&en->read_lock);
    ok = db_query(en->reader,
                  "SELECT session_id, talk FROM llm_interactions WHERE talk IS NOT NULL"
                  " ORDER BY call_n DESC LIMIT $1",
                  DB_ARGS(db_int((int64_t)n_max)),
                  (struct db_rows){engine_give_conversation, &t},
                  e);
    pthread_mutex_unlock(&en->read_lock);
    return ok;
}
