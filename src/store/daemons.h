/* daemons.h - the daemons that share one PostgreSQL: which of them live, and the lease that lets
 * one write.
 *
 *     struct daemons *d = store_daemons(store);        NULL for SQLite and "none"
 *     daemons_watch(d, &watch);                        then read what is yours from the tables
 *     daemons_list(d, &list);                          for health; never waits for the database
 *
 * A daemon is a row of `daemons`. Its id is random and stays in its spool folder, so a restart on
 * that folder is the same daemon. A thread with its own connection renews the row's lease each
 * DAEMONS_HEARTBEAT_MS; all times are those of the database's clock. A daemon that was not seen for
 * DAEMONS_LEASE_MS is taken over by exactly one of the others: in one transaction its fence grows
 * by one, its state becomes "gone", and daemons_takeover_sql hands its work to the new owner.
 *
 * Each write transaction of a daemon, on any connection of its process to that database, first
 * compares the row's fence with the one it registered with. If they differ, the transaction fails
 * with ERR_CONFLICT before its first write. The thread then calls on_lost, registers again with a
 * new fence, and writing goes on.
 *
 *     running --no heartbeat for a lease--> gone
 *        |  ^                                 |
 *        |  +------ registers again ----------+
 *        +--store_close--> stopping --another daemon has taken its work--> stopped
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/log.h"

#define DAEMONS_HEARTBEAT_MS 1000u
#define DAEMONS_LEASE_MS 5000u
#define DAEMONS_ID_SIZE 33     /* 32 characters and a NUL */
#define DAEMONS_LISTED_MAX 64u /* the running ones first, then the last seen */

struct daemons;
struct store;

struct daemons *store_daemons(struct store *s);
/* The id of this daemon; "" for SQLite and "none". */
str store_daemon(const struct store *s);

/* For the store: registers this daemon, and starts and stops its thread. */
struct daemons_options {
    str url, id;
    struct log *log;                 /* lent */
    unsigned heartbeat_ms, lease_ms; /* 0: the constants above */
    /* At each heartbeat: how many daemons run, and whether one of them has finished a requested
     * erasure. */
    void (*on_beat)(void *ctx, size_t running, bool erased);
    void *ctx;
};
bool daemons_start(const struct daemons_options *o, struct daemons **out, struct err *e) MUST_USE;
void daemons_stop(struct daemons *d); /* after the last write; NULL is allowed */
struct db_lease *daemons_lease(struct daemons *d);
/* Where this daemon is reached; the row has it with the next heartbeat. */
void daemons_reached(struct daemons *d, str address);

/* Takes in the journal in the folder o->spool, which a daemon that is no more has left: its records
 * go to the tables, those that are there already stay as they are, and calls that had not ended
 * become incomplete rows. Fails if the daemon that has the folder lives. *records: how many it had
 * that were not taken in before. Waits as long as that takes. */
struct store_options;
bool store_adopt(const struct store_options *o, uint64_t *records, struct err *e) MUST_USE;

/* Called on the thread of the heartbeat. Neither may call daemons_watch. */
struct daemons_watch {
    /* This daemon took over the work of another one that died or has stopped: the rows that
     * daemons_takeover_sql changes now belong to it. May be NULL. */
    void (*on_gone)(void *ctx, str daemon_id);
    /* This daemon was taken over: its work in memory is another's. No write succeeds before this
     * returns, so it returns once that work was stopped or marked. May be NULL. */
    void (*on_lost)(void *ctx);
    void *ctx; /* lent until daemons_watch is called with NULL */
};
/* One watch; NULL removes it, after a running call of it has ended. A daemon whose watch has no
 * on_gone takes over no other. */
void daemons_watch(struct daemons *d, const struct daemons_watch *w);

/* Statements that hand work over, in the transaction of the takeover: $1 is the daemon that is
 * gone, $2 the one that takes over. Ends with NULL. In daemons_takeover.c. */
extern const char *const daemons_takeover_sql[];

struct daemons_row {
    char id[DAEMONS_ID_SIZE];
    char address[128]; /* where it is reached, or "" */
    char version[32];
    char state[16]; /* running, stopping, stopped, gone */
    int64_t fence, started_us, seen_us;
    bool self;
};
struct daemons_list {
    struct daemons_row items[DAEMONS_LISTED_MAX];
    size_t count;
    bool known; /* the list was read within the last lease */
};
/* Reads the list from the database; *live: whether the daemon of that id runs and renews its lease,
 * unless that is NULL. ERR_NOT_FOUND: the store is not PostgreSQL. */
bool daemons_look(str url, str id, bool *live, struct daemons_list *out, struct err *e) MUST_USE;
/* Lists the daemons as of the last heartbeat. */
void daemons_list(struct daemons *d, struct daemons_list *out);
/* Whether another daemon was running at the last heartbeat. Takes no lock. */
bool daemons_others(const struct daemons *d);
/* Whether this daemon's lease held at the last heartbeat. Takes no lock. */
bool daemons_held(const struct daemons *d);
str daemons_self(const struct daemons *d);
