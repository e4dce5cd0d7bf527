/* db_driver.h - the interface of a database driver: one file each, one table of functions.
 *
 * Each driver has its own struct that begins with struct db.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "store/db.h"
#include "store/schema.h"

#define DB_STATEMENTS_MAX 256u /* prepared statements kept; the least recently used is dropped */
#define DB_ARGS_MAX 128u

struct db {
    const struct db_driver *driver;
    struct db_turn turn;
    bool tables_known; /* this process has migrated them: a new connection need not */
};

struct db_driver {
    enum db_kind kind;
    const char *schemes[3]; /* of the URL; ends with NULL */
    const struct schema_step *steps;
    const size_t *step_count;
    const char *whole_sql; /* all steps at once, for an empty database; or NULL */
    /* Each returns one number: whether the version table exists; whether tables that are not ours
     * exist. */
    const char *has_versions_sql, *has_others_sql;
    const char *alone_sql; /* makes a transaction wait for others that create tables, or NULL */

    /* where: the URL; for SQLite the path. Creates no tables. A connection with tables_known may
     * connect at its first use. */
    bool (*open)(str where, enum db_mode mode, struct db **out, struct err *e);
    void (*close)(struct db *db);
    bool (*script)(struct db *db, const char *sql, struct err *e); /* several statements */
    bool (*run)(struct db *db, const char *sql, const struct db_value *args, size_t n,
                struct err *e);
    /* db_put */
    bool (*put)(struct db *db, const char *sql, const struct db_value *args, size_t n,
                struct err *e);
    bool (*changed)(struct db *db, int64_t *out, struct err *e);
    bool (*query)(struct db *db, const char *sql, const struct db_value *args, size_t n,
                  struct db_rows rows, struct err *e);
    bool (*begin)(struct db *db, bool durable, struct err *e);
    bool (*commit)(struct db *db, struct err *e);
    void (*rollback)(struct db *db);
    void (*interrupt)(struct db *db);
    bool (*scrub)(struct db *db, bool *done, struct err *e);
    const char *size_sql;
    const char *rewrite_due_sql; /* one number, not 0 if it is due; or NULL: never */
    const char *rewrite_sql;     /* rewrites the file without deleted rows; or NULL */
};

extern const struct db_driver db_driver_sqlite;
extern const struct db_driver db_driver_postgres;

/* Creates the tables, or migrates them to the current version, in one transaction. DB_READ: they
 * must already have the current version. */
bool db_migrate(struct db *db, enum db_mode mode, struct err *e) MUST_USE;
