/* store_help.h - what the tests of the store share: a folder, samples, a look from outside.
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
    bool postgres; /* by tools/postgres-run; else SQLite */
    char database[32];
    void *held; /* of database_away, with SQLite */
    struct log quiet;
    struct log_scope scope;
};

/* With PostgreSQL the database is a copy of one that has the tables, because to make them takes
 * most of the time of a short test; or it is empty. With SQLite there is no file yet. */
void place_init(struct place *p);
void place_init_empty(struct place *p);
void place_release(struct place *p);

/* No connection to the place's PostgreSQL is left, and none is taken; or they are again. */
void postgres_away(struct place *p, bool away);

/* The database is locked, or as postgres_away. */
void database_away(struct place *p, bool away);

struct store_options options(struct place *p);
struct store *open_store(struct place *p);
void settle(struct store *s);

/* One number, or any statement, not by the store's own connections. */
long long ask(struct place *p, const char *sql);
/* In how many entries of blocks the word is: "interactions", or "decisions" for what they say. */
long long words(struct place *p, const char *table, const char *word);
void do_sql(struct place *p, const char *sql);

/* The name of a PostgreSQL database with the tables of that version, for copies; made once. */
const char *store_tables_of(int newest);

/* Tables made by the steps up to version `newest`, and nothing else. */
void steps_store(struct place *p, int newest);
/* A store as version 11 left it, without a process that has it: its tables, and calls in them, each
 * a session by itself. A call has the first OLD_FIELDS fields of row.h. */
#define OLD_FIELDS 48
void old_store(struct place *p);
void old_store_put(struct place *p, const struct store_call *row);

/* The entries of a packed block, changed by whoever can write to the tables: edit may replace them,
 * and returns how many there are then (at most one more). The store is closed. */
void block_change(struct place *p, long long block, size_t (*edit)(str *entries, size_t n));

/* In any file of the place; in any table of its database, wherever that is (lower case letters). */
bool anywhere(struct place *p, str needle);
bool in_tables(struct place *p, const char *needle);

/* A connection that cannot write. */
struct db *open_reader(struct place *p);

/* Whether the audit log holds. */
struct audit_report verify(struct place *p);
/* The same by a connection that is there: PostgreSQL starts a process for a new one. */
struct audit_report verify_by(struct place *p, struct db *db);

/* Counts how its ticket went. */
void put_counted(struct store *s, const struct store_call *row, _Atomic unsigned *stored,
                 _Atomic unsigned *refused);

/* A row that can be told from its number alone. */
struct sample {
    char id[32], session[16], body[3000];
    struct store_call row;
};

/* Adds that many bytes or a few more of words that depend on the seed alone: a letter and a number
 * below `numbers` (at most 65536) in hexadecimal, and `after`. Tests make megabytes of them, and
 * printf would take a third of their time. */
void add_prose(struct buf *b, uint64_t seed, size_t size, unsigned numbers, str after);

void sample_fill(struct sample *m, unsigned who, unsigned n);

/* Sinks: each row must be just as sample_fill made it, and is counted in the unsigned ctx; */
bool check_sample(void *ctx, const struct store_call *row);
unsigned samples_in(struct store *s);

/* each row must be this one. */
struct expected {
    const struct store_call *row;
    unsigned seen;
};

bool same_row(void *ctx, const struct store_call *got);
