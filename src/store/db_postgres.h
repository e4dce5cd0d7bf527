/* db_postgres.h - what the files of the PostgreSQL driver share.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/map.h"
#include "store/db_driver.h"
#include "store/db_gather.h"

#include <libpq-fe.h>
#include <pthread.h>

#define PG_ARENA_MAX ((size_t)1 << 30)

struct pg_statement {
    char *sql;
    char name[24];
    uint64_t used;
};

struct pg_db {
    struct db db;
    enum db_mode mode;
    char *url;
    PGconn *conn;
    struct map statements; /* by text */
    uint64_t uses, names;
    struct arena arena;     /* values of one row */
    struct arena sending;   /* of one statement */
    struct db_gather *rows; /* that wait to be sent */
    int64_t changed;
    uint64_t given;   /* rows of the query */
    bool ready;       /* this connection is set up; the owner's has the lock */
    bool claimed;     /* the owner's: epoch is of this connection */
    int64_t epoch;    /* the owner's; 0 before its first transaction */
    bool open, piped; /* in a transaction; in pipeline mode */
    unsigned pending; /* answers that were not read yet */
    bool failed;      /* in this transaction, and why */
    struct err why;

    pthread_mutex_t lock; /* of cancel, which another thread uses */
    PGcancel *cancel;
};

static inline struct pg_db *pg_of(struct db *db)
{
    return (struct pg_db *)(void *)db;
}

/* Why a result, or the connection, is none. ERR_INPUT if it is the row's fault. */
bool pg_fail_conn(struct pg_db *d, struct err *e);
bool pg_fail_result(struct pg_db *d, const PGresult *r, struct err *e);

bool pg_open(str where, enum db_mode mode, struct db **out, struct err *e) MUST_USE;
void pg_close(struct db *db);
/* Connected and set up, now or again. */
bool pg_connected(struct pg_db *d, struct err *e) MUST_USE;
/* Drops the connection and opens another one, which pg_connected sets up. */
void pg_reset(struct pg_db *d);
void pg_forget_statements(struct pg_db *d);
void pg_set_cancel(struct pg_db *d, PGcancel *cancel);

/* Statements that give no rows, outside of pipeline mode. */
bool pg_exec(struct pg_db *d, const char *sql, struct err *e);
/* The first column of the first row of the last statement, "" if it has no row. */
bool pg_exec_text(struct pg_db *d, const char *sql, char *out, size_t size, struct err *e);

/* One process owns the tables (db_postgres_owner.c). The lock keeps others off as long as the
 * connection lives. */
bool pg_owner_take_lock(struct pg_db *d, struct err *e) MUST_USE;
/* Begins a transaction of the owner with sql; fails if another process has owned the tables since
 * the transaction before, so that the caller reads its state again. */
bool pg_owner_begin(struct pg_db *d, const char *sql, struct err *e) MUST_USE;

/* Sends a statement, in pipeline mode or alone. */
bool pg_send(struct db *db, const char *sql, const struct db_value *args, size_t n,
             struct err *e) MUST_USE;
