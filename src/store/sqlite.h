/* sqlite.h - what the files of the SQLite engine share.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "store/store.h"

#include <sqlite3.h>
#include <zlib.h>

/* Why the last call on db failed, after `what`. ERR_INPUT if it is the row's fault. */
bool sqlite_err(sqlite3 *db, const char *what, struct err *e);
bool sqlite_do(sqlite3 *db, const char *sql, struct err *e) MUST_USE;
bool sqlite_prepare(sqlite3 *db, const char *sql, sqlite3_stmt **out, struct err *e) MUST_USE;

/* To its end, and ready to be used again. */
bool sqlite_run(sqlite3 *db, sqlite3_stmt *st, struct err *e) MUST_USE;
void sqlite_bind_str(sqlite3_stmt *st, int at, str s);
str sqlite_str(sqlite3_stmt *st, int at);

/* Makes the tables, or brings them to today's version, in one transaction. */
bool sqlite_migrate(sqlite3 *db, struct err *e) MUST_USE;

/* "interaction_id, session_id, ..., request, request_size, ...": all columns, in order. */
void sqlite_call_columns(struct buf *out, const char *each);

/* Binds a call to those columns, from the first on. Bodies are packed with `pack`. */
struct sqlite_pack {
    z_stream z;
    char *out[2]; /* of the two bodies */
    size_t cap[2];
};
bool sqlite_pack_init(struct sqlite_pack *p, struct err *e) MUST_USE;
void sqlite_pack_release(struct sqlite_pack *p);
void sqlite_call_bind(sqlite3_stmt *st, const struct store_call *row, struct sqlite_pack *p);

/* The row a statement stands on; bodies are unpacked into the arena, all else is lent. */
bool sqlite_call_read(sqlite3_stmt *st, struct arena *a, struct store_call *out,
                      struct err *e) MUST_USE;
