/* log_state.h - the log's internals, shared by log.c (writes) and log_read.c (reads).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <pthread.h>
#include <semaphore.h>

#include "agent/log.h"
#include "store/db.h"

struct wait {
    const struct agent_effect *effects;
    size_t n;
    const struct agent_row *row; /* after them; NULL: none */
    bool owned;                  /* put by the run itself: fails if another daemon owns the run */
    struct wait *next;
    sem_t over; /* one for each waiter: a broadcast would wake all of them for one */
    /* Instead of all of the above. */
    bool (*run)(void *ctx, struct db *db, struct err *e);
    void *ctx;
    bool ok;
    bool later;         /* nobody waits: the writer owns it, with all its texts */
    bool passed;        /* failed once: readers do not wait for it any more */
    int64_t give_up_ms; /* when the writer stops to retry it; 0: it has not failed yet */
    struct err err;
};

struct agent_log {
    struct db *writer, *reader;
    pthread_t thread;
    pthread_mutex_t lock, read_lock;
    pthread_cond_t work, done; /* done: signals the end of puts without a waiter */
    struct wait *first, *last;
    uint64_t later, written; /* number of puts without a waiter: queued, and written */
    bool stop;
    char daemon[64]; /* "": the log is not shared */
    struct bus *bus;
};

/* Waits until all queued puts are written. */
void log_settle(struct agent_log *l);
/* log.c: within a transaction of the writer. */
bool log_run(struct agent_log *l, bool (*run)(void *ctx, struct db *db, struct err *e), void *ctx,
             struct err *e) MUST_USE;
/* log_read.c: a query of the reader, which sees all puts. */
bool log_ask(struct agent_log *l, const char *sql, const struct db_value *args, size_t n,
             struct db_rows rows, struct err *e) MUST_USE;
/* log_read.c: rows of RUN_COLUMNS. */
struct agent_log_list {
    struct arena *arena;
    union {
        struct agent_effect *effects;
        struct agent_row *rows;
    } u;
    size_t n, max;
    bool full; /* the arena has no room for the next one */
};
bool log_on_row(void *ctx, const struct db_value *columns, size_t n);
/* After a query with log_on_row: ERR_LIMIT if it ended because the arena is full. */
bool log_rows_fit(const struct agent_log_list *l, struct err *e) MUST_USE;
#define RUN_COLUMNS                                                                                \
    "SELECT run_id, app, session_id, status, reason, input, result, created_us, updated_us,"       \
    " key_name, daemon_id FROM agent_runs"
/* log_share.c: fails if the run belongs to another daemon. In a transaction. */
bool log_check_owner(struct agent_log *l, struct db *db, str run, struct err *e) MUST_USE;
