/* db_sqlite.c - the SQLite implementation of db.h.
 *
 * WAL, and synchronous NORMAL: a commit may be lost with the machine's power, but the database is
 * whole. A durable transaction is made with FULL, which brings all before it to disk as well.
 * Deleted bytes are overwritten (secure_delete): erased data cannot be recovered from the file.
 *
 * A parameter "$1" is a name to SQLite, numbered by where it first appears; the argument of each is
 * looked up once, when the statement is prepared.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/buf.h"
#include "base/log.h"
#include "base/map.h"
#include "store/db_driver.h"
#include "store/db_gather.h"
#include "store/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

#define WAITS_MS 20u          /* after its last look a writer still waits, or has its turn */
#define BUSY_MS 2000          /* that an owner or a reader waits for a lock */
#define BUSY_START_MS 10000u  /* an owner that has just opened the store waits at least so long */
#define BUSY_LOG_MS 1000u     /* and says after this time for whom */
#define BUSY_BESIDE_MS 10000u /* the owner's batches may follow one another */
#define COLUMNS_MAX 128
#define NEAR_COUNT 64 /* a power of two */
#define ROWS_MAX 16u  /* gathered into a statement; with more of them a row costs hardly less */
#define ARGS_MAX (ROWS_MAX * DB_ARGS_MAX)

struct statement {
    char *sql;
    sqlite3_stmt *st;
    uint64_t used; /* when it was last */
    int count;     /* of parameters */
    uint16_t *args;
};

struct sqlite_db {
    struct db db;
    sqlite3 *sqlite;
    struct db_gather *rows;             /* that wait to be run; NULL before the first */
    struct map statements;              /* by text: struct statement */
    struct statement *near[NEAR_COUNT]; /* by the address of the text, which is mostly the same
                                           again */
    uint64_t uses;
    enum db_mode mode;
    bool durable; /* how it commits now */
    uint64_t opened_ms;
    uint64_t busy_since_ms; /* of the lock that is waited for */
    bool logged;            /* that it waits */
};

/* When a writer beside the owner last waited for its turn, in any database of this process. */
static _Atomic uint64_t db_sqlite_waited_ms;

static struct sqlite_db *sqlite_of(struct db *db)
{
    return (struct sqlite_db *)(void *)db;
}

static bool db_sqlite_is_row_fault(int code)
{
    return code == SQLITE_TOOBIG || code == SQLITE_MISMATCH || code == SQLITE_CONSTRAINT;
}

/* Why the last call failed. ERR_INPUT if it is the row's fault, ERR_LIMIT if the disk is full. */
static bool db_sqlite_fail(struct sqlite_db *d, struct err *e)
{
    int code = sqlite3_errcode(d->sqlite);

    if (code == SQLITE_INTERRUPT)
        return err_set(e, ERR_CANCELLED, "the query was stopped");
    if (code == SQLITE_BUSY)
        return lock_fail_database(sqlite3_db_filename(d->sqlite, "main"), e);
    return err_set(e,
                   db_sqlite_is_row_fault(code) ? ERR_INPUT
                   : code == SQLITE_FULL        ? ERR_LIMIT
                                                : ERR_SYSTEM,
                   "database: %s",
                   sqlite3_errmsg(d->sqlite));
}

static bool db_sqlite_script(struct db *db, const char *sql, struct err *e)
{
    struct sqlite_db *d = sqlite_of(db);

    if (sqlite3_exec(d->sqlite, sql, NULL, NULL, NULL) == SQLITE_OK)
        return true;
    db_sqlite_fail(d, e);
    e->code = ERR_SYSTEM;
    return false;
}

static void db_sqlite_free(struct statement *s)
{
    sqlite3_finalize(s->st);
    free(s->args);
    free(s->sql);
    free(s);
}

/* ---- opening ---- */

/* The file is made here, because SQLite would let the group and others read it. One that is there
 * is not opened: closing it would end the locks of this process's other connections, and who closes
 * the file next would then take the WAL away from under them. */
static bool db_sqlite_make_private(const char *path, struct err *e)
{
    int fd;

    if (strcmp(path, ":memory:") == 0)
        return true; /* no file at all: for who keeps nothing */
    fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return errno == EEXIST || err_sys(e, "open %s", path);
    close(fd);
    return true;
}

static bool db_sqlite_check_there(const char *path, struct err *e)
{
    return access(path, F_OK) == 0 || err_set(e, ERR_NOT_FOUND, "there is no store at %s", path);
}

/* Whether nothing can change the file: its folder cannot be written and there is no WAL. Then
 * SQLite can only read it as immutable: otherwise it makes two files beside it. */
static bool db_sqlite_is_fixed(const char *path)
{
    const char *slash = strrchr(path, '/');
    char other[FILE_PATH_MAX + 8];

    (void)snprintf(other, sizeof other, "%s-wal", path);
    if (access(other, F_OK) == 0)
        return false;
    (void)snprintf(other, sizeof other, "%.*s.", slash ? (int)(slash - path) + 1 : 0, path);
    return access(other, W_OK) != 0;
}

/* A URI that opens the file as immutable. */
static void db_sqlite_write_fixed(const char *path, struct buf *out)
{
    buf_add(out, STR("file:"));
    for (const char *p = path; *p; p++)
        if (strchr("%?#", *p))
            buf_printf(out, "%%%02x", (unsigned)(unsigned char)*p);
        else
            buf_add_c(out, *p);
    buf_printf(out, "?immutable=1%c", '\0');
}

static int db_sqlite_open_file(const char *path, enum db_mode mode, int flags, sqlite3 **out)
{
    struct buf uri;
    int got;

    if (mode != DB_READ || !db_sqlite_is_fixed(path))
        return sqlite3_open_v2(path, out, flags, NULL);
    buf_init(&uri, 3 * FILE_PATH_MAX + 64);
    db_sqlite_write_fixed(path, &uri);
    assert(!buf_full(&uri));
    got = sqlite3_open_v2(uri.p, out, flags | SQLITE_OPEN_URI, NULL);
    buf_release(&uri);
    return got;
}

#define WRITER                                                                                     \
    "PRAGMA page_size = 8192; PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL;"        \
    "PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 4000;"                               \
    "PRAGMA journal_size_limit = 67108864; PRAGMA temp_store = MEMORY;"                            \
    "PRAGMA cache_size = -16384; PRAGMA secure_delete = ON"

static const struct {
    int flags;
    bool (*check)(const char *path, struct err *e);
    const char *pragmas;
} modes[] = {
    [DB_WRITE] = {SQLITE_OPEN_READWRITE, db_sqlite_make_private, WRITER},
    [DB_BESIDE] = {SQLITE_OPEN_READWRITE, db_sqlite_make_private, WRITER},
    [DB_NEW] = {SQLITE_OPEN_READWRITE,
                db_sqlite_make_private,
                "PRAGMA page_size = 8192; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;"
                "PRAGMA locking_mode = EXCLUSIVE; PRAGMA cache_size = -32768"},
    [DB_READ] = {SQLITE_OPEN_READONLY,
                 db_sqlite_check_there,
                 "PRAGMA query_only = 1; PRAGMA temp_store = MEMORY; PRAGMA cache_size = -8192"},
};

/* SQLite's memory statistics are not used, and counting takes a lock for each allocation. */
static void db_sqlite_set_up(void)
{
    (void)sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

static pthread_once_t once = PTHREAD_ONCE_INIT;

/* SQLite's own way of waiting soon sleeps for 100 ms at a time, and commits here take less than
 * one: who writes beside another would wait for the clock and not for the lock. */
static bool db_sqlite_gives_up(const struct sqlite_db *d, uint64_t now)
{
    uint64_t waited = now - d->busy_since_ms;

    if (d->mode == DB_WRITE && now - d->opened_ms <= BUSY_START_MS)
        return false;
    return waited > (d->mode == DB_BESIDE ? BUSY_BESIDE_MS : BUSY_MS);
}

static void db_sqlite_log_wait(struct sqlite_db *d, uint64_t now)
{
    const char *path = sqlite3_db_filename(d->sqlite, "main");
    char holder[LOCK_HOLDER_SIZE];

    if (d->mode != DB_WRITE || d->logged || now - d->busy_since_ms < BUSY_LOG_MS)
        return;
    d->logged = true;
    lock_find_holder(path, holder);
    log_warn("store: waiting for another process, which has the database locked",
             LOG_TEXT("by", holder),
             LOG_TEXT("path", path));
}

static int db_sqlite_wait_a_little(void *ctx, int count)
{
    struct sqlite_db *d = ctx;
    struct timespec pause = {0, 500000};
    uint64_t now = clock_mono_ms(&clock_real);

    if (count == 0)
        d->busy_since_ms = now;
    assert(count == 0 || d->busy_since_ms <= now);
    if (db_sqlite_gives_up(d, now))
        return 0;
    db_sqlite_log_wait(d, now);
    if (d->mode == DB_BESIDE)
        atomic_store_explicit(&db_sqlite_waited_ms, now, memory_order_relaxed);
    (void)nanosleep(&pause, NULL);
    return 1;
}

static void db_sqlite_close(struct db *db)
{
    struct sqlite_db *d = sqlite_of(db);

    for (struct map_entry *i = map_next(&d->statements, NULL); i; i = map_next(&d->statements, i))
        db_sqlite_free(i->value.ptr);
    db_gather_free(d->rows);
    map_release(&d->statements);
    sqlite3_close(d->sqlite);
    free(d);
}

static bool db_sqlite_open(str where, enum db_mode mode, struct db **out, struct err *e)
{
    struct sqlite_db *d;
    char path[FILE_PATH_MAX];

    if (where.n == 0 || where.n >= sizeof path || memchr(where.p, '\0', where.n))
        return err_input(e, "a path of %zu bytes, or one with a NUL", where.n);
    (void)snprintf(path, sizeof path, STR_FMT, STR_ARG(where));
    assert((size_t)mode < COUNT_OF(modes));
    if (!modes[mode].check(path, e))
        return false;
    (void)pthread_once(&once, db_sqlite_set_up);
    d = base_alloc(sizeof *d);
    *d = (struct sqlite_db){.db = {.driver = &db_driver_sqlite}, .mode = mode};
    d->opened_ms = clock_mono_ms(&clock_real);
    map_init(&d->statements, NULL, DB_STATEMENTS_MAX);
    if (db_sqlite_open_file(path, mode, modes[mode].flags | SQLITE_OPEN_NOMUTEX, &d->sqlite) !=
        SQLITE_OK) {
        db_sqlite_fail(d, e);
    } else {
        sqlite3_busy_handler(d->sqlite, db_sqlite_wait_a_little, d);
        if (db_sqlite_script(&d->db, modes[mode].pragmas, e)) {
            *out = &d->db;
            return true;
        }
    }
    db_sqlite_close(&d->db);
    return false;
}

/* ---- statements ---- */

static void db_sqlite_forget_oldest(struct sqlite_db *d)
{
    struct statement *oldest = NULL;

    for (struct map_entry *i = map_next(&d->statements, NULL); i; i = map_next(&d->statements, i)) {
        struct statement *s = i->value.ptr;

        if (!oldest || s->used < oldest->used)
            oldest = s;
    }
    assert(oldest);
    for (size_t i = 0; i < NEAR_COUNT; i++)
        if (d->near[i] == oldest)
            d->near[i] = NULL;
    map_remove(&d->statements, str_c(oldest->sql));
    db_sqlite_free(oldest);
    assert(map_count(&d->statements) < DB_STATEMENTS_MAX);
}

/* Which argument each parameter is: "$12" and "?12" are both the twelfth. One without a name is a
 * number that no "?" has: it is not used. */
static bool db_sqlite_number_args(struct statement *s, struct err *e)
{
    assert(s->st && !s->args);
    s->count = sqlite3_bind_parameter_count(s->st);
    if (s->count > (int)ARGS_MAX)
        return err_set(e, ERR_LIMIT, "a statement with %d parameters", s->count);
    s->args = base_alloc((size_t)s->count * sizeof s->args[0]);
    for (int i = 0; i < s->count; i++) {
        const char *name = sqlite3_bind_parameter_name(s->st, i + 1);
        unsigned n = name ? 0 : (unsigned)i + 1;

        for (const char *p = name ? name + 1 : ""; *p >= '0' && *p <= '9' && n <= ARGS_MAX; p++)
            n = 10 * n + (unsigned)(*p - '0');
        if (n == 0 || n > ARGS_MAX)
            return err_set(e, ERR_SYSTEM, "a parameter is $1 to $%u", ARGS_MAX);
        s->args[i] = (uint16_t)(n - 1);
    }
    return true;
}

static bool db_sqlite_compile(struct sqlite_db *d, const char *sql, struct statement *s,
                              struct err *e)
{
    int got = sqlite3_prepare_v3(d->sqlite, sql, -1, SQLITE_PREPARE_PERSISTENT, &s->st, NULL);

    return got == SQLITE_OK ? db_sqlite_number_args(s, e) : db_sqlite_fail(d, e);
}

/* Texts are long, so comparing one is far cheaper than hashing it. */
static struct statement *db_sqlite_known(struct sqlite_db *d, const char *sql)
{
    struct statement **near = &d->near[(uintptr_t)sql / 16 % NEAR_COUNT];
    struct map_entry *found;

    if (*near && strcmp((*near)->sql, sql) == 0)
        return *near;
    found = map_find(&d->statements, str_c(sql));
    if (found)
        *near = found->value.ptr;
    return found ? *near : NULL;
}

static bool db_sqlite_prepare(struct sqlite_db *d, const char *sql, struct statement **out,
                              struct err *e)
{
    struct statement *s = db_sqlite_known(d, sql);

    if (!s) {
        s = base_alloc(sizeof *s);
        *s = (struct statement){0};
        if (!db_sqlite_compile(d, sql, s, e)) {
            db_sqlite_free(s);
            return false;
        }
        if (map_count(&d->statements) >= DB_STATEMENTS_MAX)
            db_sqlite_forget_oldest(d);
        s->sql = base_alloc(strlen(sql) + 1);
        memcpy(s->sql, sql, strlen(sql) + 1);
        if (!map_set(&d->statements, str_c(s->sql), MAP_PTR(s), e))
            base_die("the map of statements is full");
    }
    assert(s->st && s->sql);
    s->used = ++d->uses;
    *out = s;
    return true;
}

static int db_sqlite_bind_one(sqlite3_stmt *st, int at, const struct db_value *v)
{
    assert(at > 0 && (v->s.n == 0 || v->s.p));
    switch (v->type) {
    case DB_NULL:
        break;
    case DB_INT:
        return sqlite3_bind_int64(st, at, v->i);
    case DB_REAL:
        return sqlite3_bind_double(st, at, v->d);
    case DB_TEXT:
        return sqlite3_bind_text64(
            st, at, v->s.n ? v->s.p : "", v->s.n, SQLITE_STATIC, SQLITE_UTF8);
    case DB_BLOB:
        return sqlite3_bind_blob64(st, at, v->s.n ? v->s.p : "", v->s.n, SQLITE_STATIC);
    }
    return sqlite3_bind_null(st, at);
}

/* Ready to be stepped. Binds every parameter, so nothing of an earlier run is read: those values
 * were lent and may be gone. */
static bool db_sqlite_start(struct sqlite_db *d, const char *sql, const struct db_value *args,
                            size_t n, struct statement **out, struct err *e)
{
    if (!db_sqlite_prepare(d, sql, out, e))
        return false;
    for (int i = 0; i < (*out)->count; i++) {
        size_t arg = (*out)->args[i];

        if (arg >= n)
            return err_set(e, ERR_SYSTEM, "$%zu has no value: %.80s", arg + 1, sql);
        if (db_sqlite_bind_one((*out)->st, i + 1, &args[arg]) != SQLITE_OK)
            return db_sqlite_fail(d, e);
    }
    return true;
}

/* Runs it before the rows that wait: db_sqlite_run is for everybody else. */
static bool db_sqlite_run_now(struct db *db, const char *sql, const struct db_value *args, size_t n,
                              struct err *e)
{
    struct sqlite_db *d = sqlite_of(db);
    struct statement *s;
    int got;
    bool ok;

    if (!db_sqlite_start(d, sql, args, n, &s, e))
        return false;
    while ((got = sqlite3_step(s->st)) == SQLITE_ROW)
        ;
    ok = got == SQLITE_DONE || db_sqlite_fail(d, e);
    sqlite3_reset(s->st);
    return ok;
}

static bool db_sqlite_run(struct db *db, const char *sql, const struct db_value *args, size_t n,
                          struct err *e)
{
    return db_gather_send(sqlite_of(db)->rows, e) && db_sqlite_run_now(db, sql, args, n, e);
}

/* FAIL leaves the rows before one that fails: the caller rolls all of it back. So SQLite need not
 * copy each page that the statement changes. */
static const struct db_gather_way db_sqlite_rows = {
    ROWS_MAX, STR_INIT("INSERT OR FAIL"), '?', db_sqlite_run_now};

/* Outside of a transaction each row is one. */
static bool db_sqlite_put(struct db *db, const char *sql, const struct db_value *args, size_t n,
                          struct err *e)
{
    struct sqlite_db *d = sqlite_of(db);

    assert(n > 0 && n <= DB_ARGS_MAX); /* of a row: a statement takes ROWS_MAX of them */
    if (sqlite3_get_autocommit(d->sqlite))
        return db_sqlite_run_now(db, sql, args, n, e);
    if (!d->rows)
        d->rows = db_gather_new(db, &db_sqlite_rows);
    return db_gather_put(d->rows, sql, args, n, e);
}

static bool db_sqlite_changed(struct db *db, int64_t *out, struct err *e)
{
    (void)e;
    *out = sqlite3_changes64(sqlite_of(db)->sqlite);
    return true;
}

static struct db_value db_sqlite_column(sqlite3_stmt *st, int at)
{
    const char *p;

    switch (sqlite3_column_type(st, at)) {
    case SQLITE_INTEGER:
        return db_int(sqlite3_column_int64(st, at));
    case SQLITE_FLOAT:
        return db_real(sqlite3_column_double(st, at));
    case SQLITE_TEXT:
        p = (const char *)sqlite3_column_text(st, at);
        return db_text((str){p ? p : "", p ? (size_t)sqlite3_column_bytes(st, at) : 0});
    case SQLITE_BLOB:
        p = sqlite3_column_blob(st, at);
        return db_blob((str){p ? p : "", p ? (size_t)sqlite3_column_bytes(st, at) : 0});
    default:
        return db_null();
    }
}

static bool db_sqlite_query(struct db *db, const char *sql, const struct db_value *args, size_t n,
                            struct db_rows rows, struct err *e)
{
    struct db_value columns[COLUMNS_MAX];
    struct sqlite_db *d = sqlite_of(db);
    bool more = true, ok = true;
    int got = SQLITE_DONE, count;
    struct statement *s;

    if (!db_gather_send(d->rows, e) || !db_sqlite_start(d, sql, args, n, &s, e))
        return false;
    count = sqlite3_column_count(s->st);
    assert(count <= COLUMNS_MAX);
    while (more && (got = sqlite3_step(s->st)) == SQLITE_ROW) {
        for (int i = 0; i < count; i++)
            columns[i] = db_sqlite_column(s->st, i);
        more = rows.on_row(rows.ctx, columns, (size_t)count);
    }
    if (more && got != SQLITE_DONE)
        ok = db_sqlite_fail(d, e);
    sqlite3_reset(s->st);
    return ok;
}

/* ---- transactions ---- */

static bool db_sqlite_begin(struct db *db, bool durable, struct err *e)
{
    struct sqlite_db *d = sqlite_of(db);

    assert(d->sqlite && (d->mode != DB_READ || !d->rows)); /* a reader puts nothing */
    if (d->mode == DB_READ)
        return db_sqlite_run(db, "BEGIN", NULL, 0, e);
    if (durable != d->durable) {
        if (!db_sqlite_script(
                db, durable ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL", e))
            return false;
        d->durable = durable;
    }
    return db_sqlite_run(db, "BEGIN IMMEDIATE", NULL, 0, e);
}

static bool db_sqlite_commit(struct db *db, struct err *e)
{
    return db_sqlite_run(db, "COMMIT", NULL, 0, e);
}

static void db_sqlite_rollback(struct db *db)
{
    db_gather_drop(sqlite_of(db)->rows);
    sqlite3_exec(sqlite_of(db)->sqlite, "ROLLBACK", NULL, NULL, NULL);
}

static bool db_sqlite_keep_busy(void *ctx, const struct db_value *columns, size_t n)
{
    assert(n == 3);
    *(bool *)ctx = columns[0].i == 0;
    return false;
}

/* Removes free pages from the end of the file, and their old contents from the WAL, by a checkpoint
 * that truncates it. */
static bool db_sqlite_scrub(struct db *db, bool *done, struct err *e)
{
    *done = false;
    return db_sqlite_script(db, "PRAGMA incremental_vacuum", e) &&
           db_sqlite_query(db,
                           "PRAGMA wal_checkpoint(TRUNCATE)",
                           NULL,
                           0,
                           (struct db_rows){db_sqlite_keep_busy, done},
                           e);
}

static void db_sqlite_interrupt(struct db *db)
{
    sqlite3_interrupt(sqlite_of(db)->sqlite);
}

bool db_others_wait(void)
{
    uint64_t waited = atomic_load_explicit(&db_sqlite_waited_ms, memory_order_relaxed);

    return waited > 0 && clock_mono_ms(&clock_real) - waited < WAITS_MS;
}

const struct db_driver db_driver_sqlite = {
    .kind = DB_SQLITE,
    .schemes = {"sqlite"},
    .steps = schema_steps,
    .step_count = &schema_step_count,
    .whole_sql = schema_whole,
    .has_versions_sql = "SELECT count(*) FROM sqlite_master WHERE name = 'store_version'",
    .has_others_sql = "SELECT count(*) FROM sqlite_master",
    .open = db_sqlite_open,
    .close = db_sqlite_close,
    .script = db_sqlite_script,
    .run = db_sqlite_run,
    .put = db_sqlite_put,
    .changed = db_sqlite_changed,
    .query = db_sqlite_query,
    .begin = db_sqlite_begin,
    .commit = db_sqlite_commit,
    .rollback = db_sqlite_rollback,
    .interrupt = db_sqlite_interrupt,
    .scrub = db_sqlite_scrub,
    .size_sql = "SELECT (page_count - freelist_count) * page_size FROM pragma_page_count,"
                " pragma_freelist_count, pragma_page_size",
    /* A store of before blocks has none, and gets it with its new file. */
    .rewrite_due_sql = "SELECT auto_vacuum = 0 FROM pragma_auto_vacuum",
    .rewrite_sql = "PRAGMA auto_vacuum = INCREMENTAL; PRAGMA temp_store = FILE; VACUUM;"
                   "PRAGMA temp_store = MEMORY", /* the new file is made in a temporary one */
};
