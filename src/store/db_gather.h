/* db_gather.h - combines rows of one INSERT into statements of many rows.
 *
 *     struct db_gather *g = db_gather_new(db, &way);
 *     db_gather_put(g, sql, args, n, e) ...     a row waits for others of its text
 *     db_gather_send(g, e)                      before any other statement, and before the commit
 *
 * Starting a statement costs several times as much as one of its rows: PostgreSQL's server reads
 * and answers it, SQLite opens a cursor for the table and for each index. So rows of db_put wait
 * until rows_max of the same text are collected or something else is sent; then they are sent as
 * statements of 64, 16, 4 and 1 rows, each text prepared once:
 *
 *     INSERT INTO t (a, b) VALUES ($1, $2), ($3, $4), ... ON CONFLICT ...
 *
 * A statement that updates on conflict may touch a row only once. Its first value is the key: a row
 * whose key equals that of a waiting row sends the waiting rows first, and so does a row of another
 * such statement. So rows are changed in the order of their puts.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "store/db.h"

struct db_gather;

/* How a driver runs the statements. */
struct db_gather_way {
    size_t rows_max; /* rows in a statement: 64, 16, 4 or 1 */
    str insert;      /* replaces "INSERT" */
    char mark;       /* before the number of a value: '$' or '?' */
    bool (*run)(struct db *db, const char *sql, const struct db_value *args, size_t n,
                struct err *e);
};

/* `way` is lent until db_gather_free. */
struct db_gather *db_gather_new(struct db *db, const struct db_gather_way *way) MUST_USE;
void db_gather_free(struct db_gather *g); /* NULL is allowed */

/* Copies the values. sql belongs to the caller and must live as long as g. */
bool db_gather_put(struct db_gather *g, const char *sql, const struct db_value *args, size_t n,
                   struct err *e) MUST_USE;
/* Runs the statements of all waiting rows. NULL is allowed. */
bool db_gather_send(struct db_gather *g, struct err *e) MUST_USE;
/* Drops the waiting rows. NULL is allowed. */
void db_gather_drop(struct db_gather *g);
