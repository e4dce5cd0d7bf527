/* db.h - SQL, whichever database: one text that both understand, values as $1, $2, ..., rows by a
 * callback.
 *
 *     struct db_value args[] = {db_text(id), db_int(10)};
 *     if (!db_run(db, "DELETE FROM t WHERE a = $1 AND n < $2", args, 2, e)) ...
 *     if (!db_query(db, "SELECT a FROM t WHERE n < $1", args + 1, 1, rows, e)) ...
 *
 * A struct db is one connection, used by one thread at a time. Statements are prepared once and
 * kept by their text, up to a ceiling. Where the SQL of the two databases differs, callers have a
 * table with one text for each and choose by db_kind.
 *
 * In a transaction on PostgreSQL, db_run may send without waiting (pipeline mode): a later call
 * then returns its error, db_commit at the latest. ERR_INPUT is about one row, every other code
 * about the database.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/err.h"
#include "base/str.h"

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

static inline struct db_value db_blob(str s)
{
    return (struct db_value){DB_BLOB, 0, 0, s};
}

enum db_mode {
    DB_WRITE, /* its owner: makes it if it is not there, and brings its tables to today's version */
    DB_READ,  /* for who only looks; a writer may be at work in another process */
    DB_BESIDE, /* as DB_WRITE, but for tables that the owner shares: there may be many of these */
    DB_NEW     /* an empty SQLite file for an export, with no tables; of no use if a call fails */
};

/* url: "sqlite:PATH" or "postgres://...". */
bool db_open(str url, enum db_mode mode, struct db **out, struct err *e) MUST_USE;
void db_close(struct db *db); /* NULL: nothing */
enum db_kind db_kind(const struct db *db);

struct db_rows {
    /* Lent for the call. False: enough. It may not use the same struct db. */
    bool (*on_row)(void *ctx, const struct db_value *columns, size_t n);
    void *ctx;
};

/* Makes nothing of rows. */
bool db_run(struct db *db, const char *sql, const struct db_value *args, size_t n,
            struct err *e) MUST_USE;
/* As db_run, for an "INSERT INTO t (...) VALUES (...)" that is run for many rows. In a transaction
 * rows are run together (store/db_gather.h), before the next db_run, db_query or db_commit; that
 * one then returns the error of a row. sql must live as long as db. Where it ends in "ON CONFLICT
 * ... DO UPDATE ...", the first value is the key. */
bool db_put(struct db *db, const char *sql, const struct db_value *args, size_t n,
            struct err *e) MUST_USE;
/* Rows changed by the last db_run; waits for it. */
bool db_changed(struct db *db, int64_t *out, struct err *e) MUST_USE;
bool db_query(struct db *db, const char *sql, const struct db_value *args, size_t n,
              struct db_rows rows, struct err *e) MUST_USE;

/* durable: once it is committed, it and all before it outlive the machine's power. For a reader it
 * is one view of the database. */
bool db_begin(struct db *db, bool durable, struct err *e) MUST_USE;
bool db_commit(struct db *db, struct err *e) MUST_USE;
void db_rollback(struct db *db);

/* What was deleted goes from the files as well, as far as the database can be made to: outside of a
 * transaction. done is false if readers are in the way: try again. */
bool db_scrub(struct db *db, bool *done, struct err *e) MUST_USE;
/* Rewrites the file, where the database does not free the disk of dropped tables by itself. */
bool db_rewrite(struct db *db, struct err *e) MUST_USE;
/* Whether that was begun by an earlier process, and not ended. */
bool db_rewrite_due(struct db *db, bool *out, struct err *e) MUST_USE;
/* How many bytes the rows take, roughly. */
bool db_size(struct db *db, int64_t *out, struct err *e) MUST_USE;

/* Whether a DB_BESIDE of this process waits for an owner's transaction to end (SQLite). */
bool db_others_wait(void);
/* Stops the query that another thread runs on this connection, which then fails. */
void db_interrupt(struct db *db);
