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
    struct wait *next;
    sem_t over; /* one for each waiter: a broadcast would wake all of them for one */
    bool ok;
    bool later; /* nobody waits: the writer owns it, with all its texts */
    struct err err;
};

struct agent_log {
    struct db *writer, *reader;
    pthread_t thread;
    pthread_mutex_t lock, read_lock;
    pthread_cond_t work, done; /* done: signals the end of puts that nobody waited for */
    struct wait *first, *last;
    uint64_t later, written; /* number of puts that nobody waits for: queued, and done */
    bool stop;
};

/* Waits until all queued puts are written. */
void log_settle(struct agent_log *l);
