/* db_postgres.h - shared by the files of the PostgreSQL driver.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/buf.h"
#include "base/map.h"
#include "store/db_driver.h"
#include "store/db_gather.h"
#include "store/db_lease.h"

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
    struct db_gather *rows; /* rows that wait to be sent */
    int64_t changed;
    uint64_t given;         /* rows that the query has returned */
    bool ready;             /* this connection is set up */
    struct db_lease *lease; /* NULL: none */
    bool claims;            /* the turn was another daemon\'s, */
    int64_t claimed;        /* and is taken with this fence */
    bool open, piped;       /* in a transaction; in pipeline mode */
    unsigned pending;       /* results not read yet */
    bool failed;            /* a statement of this transaction failed, and why */
    struct err why;

    pthread_mutex_t lock; /* protects cancel, which another thread uses */
    PGcancel *cancel;
};

static inline struct pg_db *pg_of(struct db *db)
{
    return (struct pg_db *)(void *)db;
}

/* Fills `e` from a failed connection or result. ERR_INPUT if the row is at fault. */
bool pg_fail_conn(struct pg_db *d, struct err *e);
bool pg_fail_result(struct pg_db *d, const PGresult *r, struct err *e);

bool pg_open(str where, enum db_mode mode, struct db **out, struct err *e) MUST_USE;
void pg_close(struct db *db);
/* Connects and sets up the connection if needed. */
bool pg_connected(struct pg_db *d, struct err *e) MUST_USE;
/* Drops the connection and opens another one, which pg_connected sets up. */
void pg_reset(struct pg_db *d);
void pg_forget_statements(struct pg_db *d);
void pg_set_cancel(struct pg_db *d, PGcancel *cancel);
void pg_interrupt(struct db *db);

/* Runs statements that return no rows, outside of pipeline mode. */
bool pg_exec(struct pg_db *d, const char *sql, struct err *e);
/* The first column of the first row of the last statement, "" if it has no row. */
bool pg_exec_text(struct pg_db *d, const char *sql, char *out, size_t size, struct err *e);

/* db_postgres_lease.c. pg_lease_set_up prepares a connection. pg_lease_begin begins a transaction
 * with sql under the connection's lease; it fails if the lease is lost. */
bool pg_lease_set_up(struct pg_db *d, struct err *e) MUST_USE;
bool pg_lease_begin(struct pg_db *d, const char *sql, struct err *e) MUST_USE;
/* Sends, in the transaction, that the turn is this daemon's, if d->claims. */
bool pg_lease_claim_turn(struct pg_db *d, struct err *e) MUST_USE;

/* Sends a statement, in pipeline mode or alone. */
bool pg_send(struct db *db, const char *sql, const struct db_value *args, size_t n,
             struct err *e) MUST_USE;
