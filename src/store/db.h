/* db.h - SQL for both databases: one text that both understand, values as $1, $2, ..., rows by
 * callback.
 *
 *     if (!db_run(db, "DELETE FROM t WHERE a = $1", DB_ARGS(db_text(id)), e)) ...
 *     if (!db_query(db, "SELECT a FROM t WHERE n < $1", DB_ARGS(db_int(10)), rows, e)) ...
 *
 * A struct db is one connection, used by one thread at a time. Statements are prepared once and
 * cached by their text, up to DB_STATEMENTS_MAX. Where the SQL of the two databases differs,
 * callers have one text for each and choose by db_kind.
 *
 * In a transaction on PostgreSQL, db_run may send without waiting (pipeline mode): then a later
 * call returns its error, db_commit at the latest. ERR_INPUT concerns one row; every other code
 * concerns the database.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/arena.h"
#include "base/err.h"

struct db;

enum db_kind { DB_SQLITE, DB_POSTGRES };
enum db_type { DB_NULL, DB_INT, DB_REAL, DB_TEXT, DB_BLOB };

struct db_value {
    enum db_type type;
    int64_t i; /* DB_INT */
    double d;  /* DB_REAL */
    str s;     /* DB_TEXT, DB_BLOB: lent */
};

static inline struct db_value db_null(void)
{
    return (struct db_value){DB_NULL, 0, 0, {0}};
}

static inline struct db_value db_int(int64_t i)
{
    return (struct db_value){DB_INT, i, 0, {0}};
}

static inline struct db_value db_real(double d)
{
    return (struct db_value){DB_REAL, 0, d, {0}};
}

static inline struct db_value db_text(str s)
{
    return (struct db_value){DB_TEXT, 0, 0, s};
}

static inline struct db_value db_text_or_null(str s) /* "": null */
{
    return s.n ? db_text(s) : db_null();
}

static inline struct db_value db_blob(str s)
{
    return (struct db_value){DB_BLOB, 0, 0, s};
}

/* The values of one statement and their number: db_run(db, sql, DB_ARGS(db_text(id)), e). */
#define DB_ARGS(...)                                                                               \
    (const struct db_value[]){__VA_ARGS__}, COUNT_OF(((const struct db_value[]){__VA_ARGS__}))
#define DB_NO_ARGS NULL, 0

enum db_mode {
    DB_WRITE,  /* the engine's: creates the database if needed and migrates its tables */
    DB_READ,   /* read only; a writer may run in another process */
    DB_BESIDE, /* like DB_WRITE, for tables that the engine shares; many are allowed */
    DB_NEW     /* an empty SQLite file for an export; unusable after a failed call */
};

/* url: "sqlite:PATH" or "postgres://...". */
bool db_open(str url, enum db_mode mode, struct db **out, struct err *e) MUST_USE;
void db_close(struct db *db); /* NULL is allowed */
enum db_kind db_kind(const struct db *db);

struct db_rows {
    /* Lent for the call. False: stop. It must not use the same struct db. */
    bool (*on_row)(void *ctx, const struct db_value *columns, size_t n);
    void *ctx;
};

/* Where DB_ROW puts a column of the first row; NULL leaves the place as it is. */
struct db_into {
    enum { DB_INTO_I64, DB_INTO_TEXT, DB_INTO_BYTES, DB_INTO_FOUND } kind;
    void *to;
    size_t size;
    struct arena *arena;
};

struct db_row {
    const struct db_into *into;
    size_t n;
};
struct db_rows db_row_rows(struct db_row *row);

static inline struct db_into db_into_i64(int64_t *to)
{
    return (struct db_into){DB_INTO_I64, to, 0, NULL};
}

static inline struct db_into db_into_u64(uint64_t *to)
{
    return (struct db_into){DB_INTO_I64, to, 0, NULL};
}

static inline struct db_into db_into_text(struct arena *a, str *to) /* a copy in the arena */
{
    return (struct db_into){DB_INTO_TEXT, to, 0, a};
}

static inline struct db_into db_into_bytes(void *to, size_t size) /* only if there are as many */
{
    return (struct db_into){DB_INTO_BYTES, to, size, NULL};
}

static inline struct db_into db_into_found(bool *to) /* true; not a column */
{
    return (struct db_into){DB_INTO_FOUND, to, 0, NULL};
}

/* The first row, column by column: db_query(db, sql, DB_ARGS(...), DB_ROW(db_into_i64(&n)), e). */
#define DB_ROW(...)                                                                                \
    db_row_rows(&(struct db_row){(const struct db_into[]){__VA_ARGS__},                            \
                                 COUNT_OF(((const struct db_into[]){__VA_ARGS__}))})

/* Ignores rows. */
bool db_run(struct db *db, const char *sql, const struct db_value *args, size_t n,
            struct err *e) MUST_USE;
/* Like db_run, for an "INSERT INTO t (...) VALUES (...)" that is run for many rows. In a
 * transaction, rows are combined (store/db_gather.h) and run before the next db_run, db_query or
 * db_commit, which then returns the error of a row. sql must live as long as db. If it ends in "ON
 * CONFLICT ... DO UPDATE ...", the first value is the key. */
bool db_put(struct db *db, const char *sql, const struct db_value *args, size_t n,
            struct err *e) MUST_USE;
/* Rows changed by the last db_run; waits for it. */
bool db_changed(struct db *db, int64_t *out, struct err *e) MUST_USE;
bool db_query(struct db *db, const char *sql, const struct db_value *args, size_t n,
              struct db_rows rows, struct err *e) MUST_USE;
/* Reads the only number of the only row; 0 for NULL, or if there is no row. */
bool db_number(struct db *db, const char *sql, const struct db_value *args, size_t n, int64_t *out,
               struct err *e) MUST_USE;

/* durable: after the commit, this and all earlier transactions survive a power failure. For a
 * reader, the transaction is one snapshot of the database. */
bool db_begin(struct db *db, bool durable, struct err *e) MUST_USE;
/* What a transaction of DB_WRITE under a lease (store/db_lease.h) found when it began. */
struct db_turn {
    bool passed;    /* another daemon wrote since db_turn was last called */
    bool lost;      /* so was the connection, and with it perhaps the last commits */
    int64_t erased; /* grows with each erasure, whichever daemon makes it */
};
struct db_turn db_turn(struct db *db);
bool db_commit(struct db *db, struct err *e) MUST_USE;
void db_rollback(struct db *db);
/* Commits if ok, else rolls back; whether it committed. */
static inline bool db_end(struct db *db, bool ok, struct err *e)
{
    ok = ok && db_commit(db, e);
    if (!ok)
        db_rollback(db);
    return ok;
}

/* Removes deleted rows from the files as well, as far as the database allows. Outside of a
 * transaction. *done is false if readers block it: try again. */
bool db_scrub(struct db *db, bool *done, struct err *e) MUST_USE;
/* Rewrites the file if the database does not free the disk space of dropped tables by itself. */
bool db_rewrite(struct db *db, struct err *e) MUST_USE;
/* Whether an earlier process began a rewrite and did not finish it. */
bool db_rewrite_due(struct db *db, bool *out, struct err *e) MUST_USE;
/* The approximate size of the rows in bytes. */
bool db_size(struct db *db, int64_t *out, struct err *e) MUST_USE;

/* Whether a DB_BESIDE connection of this process waits for an owner's transaction to end
 * (SQLite). */
bool db_others_wait(void);
/* Stops the query that another thread runs on this connection; that query fails. */
void db_interrupt(struct db *db);
