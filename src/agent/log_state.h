/* log_state.h - the log as its own files see it: log.c writes, log_read.c reads.
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
    const struct agent_row *row; /* behind them; NULL: none */
    struct wait *next;
    sem_t over; /* each is woken by itself: among a thousand a broadcast would wake all for one */
    bool ok;
    bool later; /* nobody waits: it is the writer's, with all its texts */
    struct err err;
};

struct agent_log {
    struct db *writer, *reader;
    pthread_t thread;
    pthread_mutex_t lock, read_lock;
    pthread_cond_t work, done; /* done: something that nobody waited for */
    struct wait *first, *last;
    uint64_t later, written; /* of what nobody waits for: how much was posted, and is done */
    bool stop;
};

/* What is on its way has come. */
void log_settle(struct agent_log *l);
