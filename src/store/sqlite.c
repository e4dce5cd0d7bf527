/* sqlite.c - the SQLite engine: one connection that writes, one that reads.
 *
 * WAL, and synchronous NORMAL: a commit may be lost with the machine's power, but then so is the
 * progress recorded in it, and the journal still has the rows. Only before a segment of the journal
 * goes is a commit made with FULL, which brings all before it to disk as well. Checkpoints happen
 * in commits, on the taker's thread, where nobody waits for them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "store/sqlite.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/file.h"
#include "store/engine.h"
#include "store/row.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#define BUSY_MS 2000
#define SQL_MAX 8192u
#define ROW_ARENA_MAX ((size_t)2 << 30)
#define LIST_MAX 10000u
#define PIECES_SIZE_MAX ((size_t)64 << 20) /* of one kind of one call */

enum {
    PUT_CALL,
    PUT_SESSION,
    DROP_PIECES,
    PUT_PIECE,
    PUT_PLACE,
    ORPHAN_NEXT,
    ORPHAN_PIECES,
    ORPHAN_DONE,
    WRITE_COUNT
};
enum { GET_CALL, HAS_CALL, LIST_CALLS, LIST_BEFORE, READ_COUNT };

struct engine {
    sqlite3 *writer, *reader;
    sqlite3_stmt *write[WRITE_COUNT], *read[READ_COUNT];
    struct sqlite_pack pack;
    pthread_mutex_t read_lock;
    bool durable; /* how the writer commits now */
};

/* %s stands for the columns, the second for as many question marks. */
static const char *const write_sql[WRITE_COUNT] = {
    [PUT_CALL] = "INSERT OR IGNORE INTO llm_interactions (%s) VALUES (%s)",
    [PUT_SESSION] =
        "INSERT INTO alert_sessions (session_id, first_seen_ms, last_seen_ms, call_count)"
        " VALUES (?1, ?2, ?2, 1)"
        " ON CONFLICT (session_id) DO UPDATE SET call_count = call_count + 1,"
        " first_seen_ms = min(coalesce(first_seen_ms, ?2), coalesce(?2, "
        "first_seen_ms)),"
        " last_seen_ms = max(coalesce(last_seen_ms, ?2), coalesce(?2, last_seen_ms))",
    [DROP_PIECES] = "DELETE FROM call_pieces WHERE call_id = ?1",
    [PUT_PIECE] = "INSERT OR IGNORE INTO call_pieces VALUES (?1, ?2, ?3, ?4)",
    [PUT_PLACE] = "INSERT OR REPLACE INTO store_progress VALUES (1, ?1, ?2)",
    [ORPHAN_NEXT] = "SELECT call_id FROM call_pieces WHERE call_id > ?1 ORDER BY call_id LIMIT 1",
    [ORPHAN_PIECES] = "SELECT kind, bytes FROM call_pieces WHERE call_id = ?1 ORDER BY n",
    [ORPHAN_DONE] = "SELECT 1 FROM llm_interactions WHERE interaction_id = ?1",
};

static const char *const read_sql[READ_COUNT] = {
    [GET_CALL] = "SELECT %s FROM llm_interactions WHERE interaction_id = ?1",
    [HAS_CALL] = "SELECT 1 FROM llm_interactions WHERE interaction_id = ?1",
    [LIST_CALLS] = "SELECT %s FROM llm_interactions"
                   " ORDER BY started_ms DESC, interaction_id DESC LIMIT ?2",
    [LIST_BEFORE] =
        "SELECT %s FROM llm_interactions WHERE (started_ms, interaction_id) <"
        " (SELECT started_ms, interaction_id FROM llm_interactions WHERE interaction_id = ?1)"
        " ORDER BY started_ms DESC, interaction_id DESC LIMIT ?2",
};

/* ---- what all of it uses ---- */

bool sqlite_err(sqlite3 *db, const char *what, struct err *e)
{
    int code = sqlite3_errcode(db);
    bool row = code == SQLITE_TOOBIG || code == SQLITE_MISMATCH || code == SQLITE_CONSTRAINT;

    return err_set(e, row ? ERR_INPUT : ERR_SYSTEM, "%s: %s", what, sqlite3_errmsg(db));
}

bool sqlite_do(sqlite3 *db, const char *sql, struct err *e)
{
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK)
        return true;
    sqlite_err(db, "database", e);
    e->code = ERR_SYSTEM;
    return false;
}

bool sqlite_prepare(sqlite3 *db, const char *sql, sqlite3_stmt **out, struct err *e)
{
    return sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, out, NULL) == SQLITE_OK ||
           sqlite_err(db, "database", e);
}

bool sqlite_run(sqlite3 *db, sqlite3_stmt *st, struct err *e)
{
    bool ok = sqlite3_step(st) == SQLITE_DONE || sqlite_err(db, "database", e);

    sqlite3_reset(st);
    return ok;
}

/* ---- opening ---- */

/* The file is made here, because SQLite would let the group and others read it. */
static bool make_private(const char *path, struct err *e)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

    if (fd < 0)
        return err_sys(e, "open %s", path);
    close(fd);
    return true;
}

static bool connect_to(const char *path, int flags, const char *pragmas, sqlite3 **out,
                       struct err *e)
{
    if (sqlite3_open_v2(path, out, flags | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK)
        return sqlite_err(*out, "open", e);
    sqlite3_busy_timeout(*out, BUSY_MS);
    return sqlite_do(*out, pragmas, e);
}

static bool prepare_all(sqlite3 *db, const char *const *sql, size_t count, sqlite3_stmt **out,
                        struct err *e)
{
    struct buf columns, marks, text;
    bool ok = true;

    buf_init(&columns, SQL_MAX);
    buf_init(&marks, SQL_MAX);
    buf_init(&text, SQL_MAX);
    sqlite_call_columns(&columns, NULL);
    sqlite_call_columns(&marks, "?");
    for (size_t i = 0; ok && i < count; i++) {
        str rest = str_c(sql[i]), fill[] = {buf_str(&columns), buf_str(&marks)};

        buf_reset(&text);
        for (size_t n = 0, at; (at = str_find(rest, STR("%s"))) != STR_NONE; n++) {
            assert(n < COUNT_OF(fill));
            buf_add(&text, str_slice(rest, 0, at));
            buf_add(&text, fill[n]);
            rest = str_slice(rest, at + 2, rest.n);
        }
        buf_add(&text, rest);
        buf_add_c(&text, '\0');
        assert(!buf_full(&text));
        ok = sqlite_prepare(db, text.p, &out[i], e);
    }
    buf_release(&columns);
    buf_release(&marks);
    buf_release(&text);
    return ok;
}

static void engine_close(struct engine *en)
{
    for (size_t i = 0; i < WRITE_COUNT; i++)
        sqlite3_finalize(en->write[i]);
    for (size_t i = 0; i < READ_COUNT; i++)
        sqlite3_finalize(en->read[i]);
    sqlite3_close(en->reader);
    sqlite3_close(en->writer); /* the last one: the WAL is taken in and goes */
    sqlite_pack_release(&en->pack);
    pthread_mutex_destroy(&en->read_lock);
    free(en);
}

static bool open_both(struct engine *en, const char *path, struct err *e)
{
    return sqlite_pack_init(&en->pack, e) && make_private(path, e) &&
           connect_to(path,
                      SQLITE_OPEN_READWRITE,
                      "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;"
                      "PRAGMA wal_autocheckpoint = 4000; PRAGMA journal_size_limit = 67108864;"
                      "PRAGMA temp_store = MEMORY; PRAGMA cache_size = -16384",
                      &en->writer,
                      e) &&
           sqlite_migrate(en->writer, e) &&
           connect_to(path, SQLITE_OPEN_READWRITE, "PRAGMA query_only = 1", &en->reader, e) &&
           prepare_all(en->writer, write_sql, WRITE_COUNT, en->write, e) &&
           prepare_all(en->reader, read_sql, READ_COUNT, en->read, e);
}

static bool engine_open(const char *path, struct engine **out, struct err *e)
{
    struct engine *en = base_alloc(sizeof *en);

    *en = (struct engine){0};
    pthread_mutex_init(&en->read_lock, NULL);
    if (!open_both(en, path, e)) {
        engine_close(en);
        return err_prefix(e, "%s: ", path);
    }
    *out = en;
    return true;
}

static bool engine_place(struct engine *en, struct journal_place *out, struct err *e)
{
    sqlite3_stmt *st;
    int got;

    if (!sqlite_prepare(en->writer, "SELECT segment, place FROM store_progress", &st, e))
        return false;
    got = sqlite3_step(st);
    *out = (struct journal_place){0, 0};
    if (got == SQLITE_ROW)
        *out = (struct journal_place){(uint64_t)sqlite3_column_int64(st, 0),
                                      (uint64_t)sqlite3_column_int64(st, 1)};
    else if (got != SQLITE_DONE)
        sqlite_err(en->writer, "read the progress", e);
    sqlite3_finalize(st);
    return got == SQLITE_ROW || got == SQLITE_DONE;
}

/* ---- writing ---- */

static bool engine_begin(struct engine *en, bool durable, struct err *e)
{
    if (durable != en->durable) {
        if (!sqlite_do(en->writer,
                       durable ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL",
                       e))
            return false;
        en->durable = durable;
    }
    return sqlite_do(en->writer, "BEGIN IMMEDIATE", e);
}

static bool drop_pieces(struct engine *en, str id, struct err *e)
{
    sqlite_bind_str(en->write[DROP_PIECES], 1, id);
    return sqlite_run(en->writer, en->write[DROP_PIECES], e);
}

static bool put_row(struct engine *en, const struct store_call *row, struct err *e)
{
    sqlite3_stmt *session = en->write[PUT_SESSION];

    sqlite_call_bind(en->write[PUT_CALL], row, &en->pack);
    if (!sqlite_run(en->writer, en->write[PUT_CALL], e))
        return false;
    if (sqlite3_changes(en->writer) > 0 && row->session_id.n > 0) {
        sqlite_bind_str(session, 1, row->session_id);
        if (row->started_ms == -1)
            sqlite3_bind_null(session, 2);
        else
            sqlite3_bind_int64(session, 2, row->started_ms);
        if (!sqlite_run(en->writer, session, e))
            return false;
    }
    return drop_pieces(en, row->id, e);
}

static bool engine_put_piece(struct engine *en, const struct store_piece *piece, struct err *e)
{
    sqlite3_stmt *st = en->write[PUT_PIECE];

    sqlite_bind_str(st, 1, piece->id);
    sqlite3_bind_int64(st, 2, piece->n);
    sqlite3_bind_text64(st, 3, piece->kind.p, piece->kind.n, SQLITE_STATIC, SQLITE_UTF8);
    sqlite3_bind_blob64(st, 4, piece->bytes.n ? piece->bytes.p : "", piece->bytes.n, SQLITE_STATIC);
    return sqlite_run(en->writer, st, e);
}

static bool engine_commit(struct engine *en, struct journal_place place, struct err *e)
{
    sqlite3_stmt *st = en->write[PUT_PLACE];

    sqlite3_bind_int64(st, 1, (sqlite3_int64)place.segment);
    sqlite3_bind_int64(st, 2, (sqlite3_int64)place.offset);
    return sqlite_run(en->writer, st, e) && sqlite_do(en->writer, "COMMIT", e);
}

static void engine_rollback(struct engine *en)
{
    if (!sqlite3_get_autocommit(en->writer))
        sqlite3_exec(en->writer, "ROLLBACK", NULL, NULL, NULL);
}

/* ---- calls that never ended ---- */

static const struct {
    str kind;
    size_t at; /* in struct store_call */
} piece_kinds[] = {
    {STR_INIT("request"), offsetof(struct store_call, request)},
    {STR_INIT("reply"), offsetof(struct store_call, reply)},
    {STR_INIT("reasoning"), offsetof(struct store_call, reasoning)},
    {STR_INIT("answer"), offsetof(struct store_call, answer)},
};

struct orphan {
    struct arena arena;
    bool continued; /* the final row has only the rest of the texts */
    struct store_call row;
    struct buf text[COUNT_OF(piece_kinds)];
};

static void orphan_add(struct orphan *o, str kind, str bytes)
{
    struct store_call begun;

    o->continued |= str_eq(kind, STR(STORE_CONTINUED));
    if (str_eq(kind, ENGINE_BEGIN_KIND) && row_call_get(arena_dup(&o->arena, bytes), &begun))
        o->row = begun;
    for (size_t i = 0; i < COUNT_OF(piece_kinds); i++)
        if (str_eq(kind, piece_kinds[i].kind))
            buf_add(&o->text[i], bytes);
}

/* The pieces' text is more than what was known at the beginning. */
static void orphan_finish(struct orphan *o, str id)
{
    struct store_call *row = &o->row;

    for (size_t i = 0; i < COUNT_OF(piece_kinds); i++)
        if (o->text[i].n > 0)
            *(str *)(void *)((char *)row + piece_kinds[i].at) = buf_str(&o->text[i]);
    row->id = id;
    row->complete = false;
    row->has_reasoning |= row->reasoning.n > 0;
    if (row->state.n == 0 && row->reasoning.n > 0)
        row->state = row->answer.n > 0 ? STR("complete") : STR("unclosed");
    if (row->error_code.n == 0) {
        row->error_code = STR("interrupted");
        row->error_message = STR("the process ended before the call did");
    }
}

/* What there is of a call; orphan_release in any case. */
static bool orphan_read(struct engine *en, str id, struct orphan *o, struct err *e)
{
    sqlite3_stmt *st = en->write[ORPHAN_PIECES];
    bool ok;
    int got;

    *o = (struct orphan){.row = store_call_none};
    arena_init(&o->arena, ROW_ARENA_MAX);
    for (size_t i = 0; i < COUNT_OF(o->text); i++)
        buf_init(&o->text[i], PIECES_SIZE_MAX);
    sqlite_bind_str(st, 1, id);
    while ((got = sqlite3_step(st)) == SQLITE_ROW)
        orphan_add(o, sqlite_str(st, 0), sqlite_str(st, 1));
    ok = got == SQLITE_DONE || sqlite_err(en->writer, "read pieces", e);
    sqlite3_reset(st);
    return ok;
}

static void orphan_release(struct orphan *o)
{
    for (size_t i = 0; i < COUNT_OF(o->text); i++)
        buf_release(&o->text[i]);
    arena_release(&o->arena);
}

static bool orphan_put(struct engine *en, str id, struct err *e)
{
    struct orphan o;
    bool ok = orphan_read(en, id, &o, e);

    orphan_finish(&o, id);
    ok = ok && put_row(en, &o.row, e);
    orphan_release(&o);
    return ok;
}

/* A row whose texts began in pieces gets them in front. */
static bool engine_put_call(struct engine *en, const struct store_call *row, struct err *e)
{
    struct orphan o;
    struct store_call whole = *row;
    bool ok = orphan_read(en, row->id, &o, e);

    for (size_t i = 0; ok && o.continued && i < COUNT_OF(piece_kinds); i++) {
        str *text = (str *)(void *)((char *)&whole + piece_kinds[i].at);

        if (o.text[i].n > 0) {
            buf_add(&o.text[i], *text);
            *text = buf_str(&o.text[i]);
        }
    }
    ok = ok && put_row(en, &whole, e);
    orphan_release(&o);
    return ok;
}

/* The first id behind `after` of which there are pieces; "" if there is none. */
static bool orphan_next(struct engine *en, struct buf *id, struct err *e)
{
    sqlite3_stmt *st = en->write[ORPHAN_NEXT];
    struct buf next;
    int got;

    sqlite3_bind_text64(st, 1, id->n ? id->p : "", id->n, SQLITE_STATIC, SQLITE_UTF8);
    got = sqlite3_step(st);
    buf_init(&next, id->size_max);
    if (got == SQLITE_ROW)
        buf_add(&next, sqlite_str(st, 0));
    sqlite3_reset(st);
    sqlite3_clear_bindings(st);
    buf_release(id);
    *id = next;
    return got == SQLITE_ROW || got == SQLITE_DONE || sqlite_err(en->writer, "read pieces", e);
}

static bool engine_put_orphans(struct engine *en, size_t *count, struct err *e)
{
    sqlite3_stmt *done = en->write[ORPHAN_DONE];
    struct buf id;
    size_t n = 0;
    bool ok;

    buf_init(&id, PIECES_SIZE_MAX);
    while ((ok = orphan_next(en, &id, e)) && id.n > 0) {
        bool there;

        sqlite_bind_str(done, 1, buf_str(&id));
        there = sqlite3_step(done) == SQLITE_ROW;
        sqlite3_reset(done);
        ok = there ? drop_pieces(en, buf_str(&id), e) : orphan_put(en, buf_str(&id), e);
        if (!ok)
            break;
        n += !there;
    }
    buf_release(&id);
    if (ok)
        *count = n;
    return ok;
}

/* ---- reading ---- */

static bool read_rows(struct engine *en, sqlite3_stmt *st, struct store_row_sink sink,
                      size_t *count, struct err *e)
{
    struct arena arena;
    bool ok = true, more = true;
    int got = SQLITE_DONE;

    arena_init(&arena, ROW_ARENA_MAX);
    *count = 0;
    while (ok && more && (got = sqlite3_step(st)) == SQLITE_ROW) {
        struct store_call row;

        arena_reset(&arena);
        ok = sqlite_call_read(st, &arena, &row, e);
        *count += ok;
        more = ok && sink.on_call(sink.ctx, &row);
    }
    if (ok && more && got != SQLITE_DONE)
        ok = sqlite_err(en->reader, "read", e);
    sqlite3_reset(st);
    arena_release(&arena);
    return ok;
}

static bool engine_get(struct engine *en, str id, struct store_row_sink sink, struct err *e)
{
    size_t count;
    bool ok;

    pthread_mutex_lock(&en->read_lock);
    sqlite_bind_str(en->read[GET_CALL], 1, id);
    ok = read_rows(en, en->read[GET_CALL], sink, &count, e);
    pthread_mutex_unlock(&en->read_lock);
    if (ok && count == 0)
        return err_set(e, ERR_NOT_FOUND, "no call with the id " STR_FMT, STR_ARG(id));
    return ok;
}

static bool knows(struct engine *en, str id, struct err *e)
{
    bool there;

    sqlite_bind_str(en->read[HAS_CALL], 1, id);
    there = sqlite3_step(en->read[HAS_CALL]) == SQLITE_ROW;
    sqlite3_reset(en->read[HAS_CALL]);
    return there || err_set(e, ERR_NOT_FOUND, "no call with the id " STR_FMT, STR_ARG(id));
}

static bool engine_list(struct engine *en, str before_id, size_t n_max, struct store_row_sink sink,
                        struct err *e)
{
    sqlite3_stmt *st = en->read[before_id.n > 0 ? LIST_BEFORE : LIST_CALLS];
    size_t count;
    bool ok;

    pthread_mutex_lock(&en->read_lock);
    ok = before_id.n == 0 || knows(en, before_id, e);
    if (before_id.n > 0)
        sqlite_bind_str(st, 1, before_id);
    sqlite3_bind_int64(st, 2, (sqlite3_int64)(n_max < LIST_MAX ? n_max : LIST_MAX));
    ok = ok && read_rows(en, st, sink, &count, e);
    pthread_mutex_unlock(&en->read_lock);
    return ok;
}

const struct engine_ops engine_sqlite = {
    .scheme = "sqlite",
    .open = engine_open,
    .close = engine_close,
    .place = engine_place,
    .begin = engine_begin,
    .put_call = engine_put_call,
    .put_piece = engine_put_piece,
    .put_orphans = engine_put_orphans,
    .commit = engine_commit,
    .rollback = engine_rollback,
    .get = engine_get,
    .list = engine_list,
};
