/* thread_store.h - shared by the files of thread.h.
 *
 *   thread.c         opens; stores checkpoints and writes
 *   thread_read.c    reads checkpoints
 *   thread_value.c   stores values as differences
 *   thread_state.c   makes checkpoints from updates, by the channels' reducers
 *   thread_prune.c   deletes unreachable checkpoints and values
 *   thread_group.c   writes waiting puts together
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <pthread.h>

#include "agent/thread.h"
#include "base/json.h"
#include "store/db.h"

struct threads {
    struct db *writer, *reader;
    pthread_mutex_t lock, read_lock;
    uint64_t last_id; /* time of the newest id made here; under lock */

    pthread_mutex_t queue_lock; /* if both are needed, taken before lock */
    pthread_cond_t queued;
    struct thread_job *first, *last; /* waiting puts */
    bool led;                        /* a thread is writing them */
};

/* A waiting put; owned by its caller, and lent until it is over. */
struct thread_job {
    bool (*put)(struct db *db, const struct thread_asker *who, const struct thread_tuple *tuple,
                struct err *e);
    const struct thread_asker *who;
    const struct thread_tuple *tuple;
    struct thread_job *next;
    bool over, ok;
    struct err err;
};

/* The put is on disk when it returns. */
bool thread_put_together(struct threads *t, struct thread_job *j, struct err *e) MUST_USE;

/* The place of a channel. */
struct thread_place {
    str thread, ns, channel;
};

/* A value that was read, and its position in the chain of differences. */
struct thread_blob {
    struct buf bytes;
    char type[64];
    size_t type_size;
    bool found, broken;
    int64_t depth, since, whole;
};

void thread_blob_init(struct thread_blob *b);
void thread_blob_release(struct thread_blob *b);
/* `found` says whether the value exists. */
bool thread_value_read(struct db *db, const struct thread_place *at, str version, str writer,
                       struct thread_blob *out, struct err *e) MUST_USE;
/* The writer of a value, and the value before it: the difference from that one is stored. */
struct thread_origin {
    str writer, base_version, base_writer; /* base_writer "": no value before it */
    int64_t now_us;
};

/* Stores a difference from the base, if there is a base writer and that is shorter. */
bool thread_value_write(struct db *db, const struct thread_place *at, const struct thread_value *v,
                        const struct thread_origin *by, struct err *e) MUST_USE;

/* Whether the thread exists and may be seen. */
bool thread_seen(struct db *db, const struct thread_asker *who, str thread, bool *there,
                 struct err *e) MUST_USE;
/* The value of a channel, or NULL. */
const struct thread_value *thread_tuple_value(const struct thread_tuple *t, str channel);
/* threads_put for a caller that holds the lock. */
bool thread_put_locked(struct threads *t, const struct thread_asker *who,
                       const struct thread_tuple *put, struct err *e) MUST_USE;
bool thread_missing(struct err *e, str thread);
