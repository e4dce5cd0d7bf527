/* db_gather.h - rows of one INSERT gathered into a statement of many rows.
 *
 *     struct db_gather *g = db_gather_new(db, &way);
 *     db_gather_put(g, sql, args, n, e) ...     a row waits for others of its text
 *     db_gather_send(g, e)                      before any other statement, and before the commit
 *
 * To start a statement costs several times as much as a row of it: PostgreSQL's server reads and
 * answers it, SQLite opens a cursor for the table and for each index. So rows of db_put wait until
 * rows_max of one text are together or something else is sent; then they go as statements of 64,
 * 16, 4 and 1 rows, each text prepared once:
 *
 *     INSERT INTO t (a, b) VALUES ($1, $2), ($3, $4), ... ON CONFLICT ...
 *
 * A statement that updates on conflict may meet a row only once. Its first value is the key: a row
 * with the key of one that waits sends those that wait first, and so does a row of another such
 * statement, so that they change a row in the order of their puts.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "store/db.h"

struct db_gather;

/* How a driver takes the statements. */
struct db_gather_way {
    size_t rows_max; /* of a statement: 64, 16, 4 or 1 */
    str insert;      /* in place of "INSERT" */
    char mark;       /* before the number of a value: '$' or '?' */
    bool (*run)(struct db *db, const char *sql, const struct db_value *args, size_t n,
                struct err *e);
};

/* The way is lent until db_gather_free. */
struct db_gather *db_gather_new(struct db *db, const struct db_gather_way *way) MUST_USE;
void db_gather_free(struct db_gather *g); /* NULL: nothing */

/* Copies the values. sql is the caller's: it lives as long as g. */
bool db_gather_put(struct db_gather *g, const char *sql, const struct db_value *args, size_t n,
                   struct err *e) MUST_USE;
/* Runs the statements of all rows that wait. NULL: nothing. */
bool db_gather_send(struct db_gather *g, struct err *e) MUST_USE;
/* Forgets the rows that wait. NULL: nothing. */
void db_gather_drop(struct db_gather *g);
