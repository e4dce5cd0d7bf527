/* store_help.h - shared by the tests of the store: a folder, samples, access that bypasses the
 * store.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/buf.h"
#include "store/audit.h"
#include "store/store.h"
#include "test.h"

#define SETTLE_MS 240000 /* the machine may be busy */

struct db;

struct place {
    char dir[64], path[96], spool[104], url[300];
    bool postgres; /* started by tools/postgres-run; else SQLite */
    char database[32];
    void *held; /* the lock of database_away, with SQLite */
    struct log quiet;
    struct log_scope scope;
};

/* With PostgreSQL, place_init copies a database that has the tables already, because creating them
 * takes most of the time of a short test; place_init_empty creates an empty one. With SQLite no
 * file exists yet. */
void place_init(struct place *p);
void place_init_empty(struct place *p);
void place_release(struct place *p);

/* Closes all connections to the place's PostgreSQL database and refuses new ones; or allows them
 * again. */
void postgres_away(struct place *p, bool away);

/* Locks SQLite's database, or calls postgres_away. */
void database_away(struct place *p, bool away);

struct store_options options(struct place *p);
struct store *open_store(struct place *p);
void settle(struct store *s);

/* Runs a statement, over a connection of its own; `ask` returns a number. */
long long ask(struct place *p, const char *sql);
/* The number of entries in blocks with this word; table is "interactions", or "decisions" for their
 * decisions. */
long long words(struct place *p, const char *table, const char *word);
void do_sql(struct place *p, const char *sql);

/* The name of a PostgreSQL database with the tables of that version, as a template; created
 * once. */
const char *store_tables_of(int newest);

/* Creates the tables by the schema steps up to version `newest` only. */
void steps_store(struct place *p, int newest);
/* A store as version 11 left it, closed: its tables, and calls, each of which is a session by
 * itself. A call has the first OLD_FIELDS fields of row.h. */
#define OLD_FIELDS 48
void old_store(struct place *p);
void old_store_put(struct place *p, const struct store_call *row);

/* Changes the entries of a packed block, as somebody with write access to the tables could. `edit`
 * may replace entries, and returns their new number (at most one more). The store must be
 * closed. */
void block_change(struct place *p, long long block, size_t (*edit)(str *entries, size_t n));

/* anywhere: searches all files of the place. in_tables: searches all tables of its database; needle
 * in lower case. */
bool anywhere(struct place *p, str needle);
bool in_tables(struct place *p, const char *needle);

/* Reads a call of the tables by its id (ERR_NOT_FOUND), or all calls, newest first, with their
 * texts. */
struct store_row_sink {
    bool (*on_call)(void *ctx, const struct store_call *row); /* false: stop */
    void *ctx;
};
bool stored_call(struct store *s, str id, struct store_row_sink sink, struct err *e);
bool stored_calls(struct store *s, struct store_row_sink sink, struct err *e);

/* A read-only connection. */
struct db *open_reader(struct place *p);

/* Verifies the audit log. */
struct audit_report verify(struct place *p);
/* The same over an open connection, because PostgreSQL starts a process for each new one. */
struct audit_report verify_by(struct place *p, struct db *db);

/* Puts a call; its ticket increments one of the counters. */
void put_counted(struct store *s, const struct store_call *row, _Atomic unsigned *stored,
                 _Atomic unsigned *refused);

/* A row generated from its number. */
struct sample {
    char id[32], session[16], body[3000];
    struct store_call row;
};

/* Appends about `size` bytes of words that are a function of the seed: a letter, a number below
 * `numbers` (at most 65536) in hexadecimal, and `after`. Tests generate megabytes, and printf would
 * take a third of their time. */
void add_prose(struct buf *b, uint64_t seed, size_t size, unsigned numbers, str after);

void sample_fill(struct sample *m, unsigned who, unsigned n);

/* Sink: each row must be exactly the one that sample_fill generated; counts them in the unsigned
 * ctx. */
bool check_sample(void *ctx, const struct store_call *row);
unsigned samples_in(struct store *s);

/* Sink: each row must be this one. */
struct expected {
    const struct store_call *row;
    unsigned seen;
};

bool same_row(void *ctx, const struct store_call *got);
