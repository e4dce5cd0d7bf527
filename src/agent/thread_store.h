/* thread_store.h - what the files of thread.h share.
 *
 *   thread.c         opening; checkpoints and writes in
 *   thread_read.c    checkpoints out
 *   thread_value.c   values as what differs from the one before
 *   thread_state.c   checkpoints made of updates, by the reducers of the channels
 *   thread_prune.c   what nobody can reach any more
 *   thread_group.c   puts that wait for the disk together
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
    uint64_t last_id; /* the time of the newest id that was made here; under lock */

    pthread_mutex_t queue_lock; /* taken before lock, if both are */
    pthread_cond_t queued;
    struct thread_job *first, *last; /* puts that wait */
    bool led;                        /* somebody is at them */
};

/* A put that waits; its owner's, and lent until it is over. */
struct thread_job {
    bool (*put)(struct db *db, const struct thread_asker *who, const struct thread_tuple *tuple,
                struct err *e);
    const struct thread_asker *who;
    const struct thread_tuple *tuple;
    struct thread_job *next;
    bool over, ok;
    struct err err;
};

/* On disk when it returns. */
bool thread_put_together(struct threads *t, struct thread_job *j, struct err *e) MUST_USE;

/* Where a channel of a thread is. */
struct thread_place {
    str thread, ns, channel;
};

/* A value read, and where it stands in its chain of differences. */
struct thread_blob {
    struct buf bytes;
    char type[64];
    size_t type_size;
    bool found, broken;
    int64_t depth, since, whole;
};

void thread_blob_init(struct thread_blob *b);
void thread_blob_release(struct thread_blob *b);
/* found says whether there is one. */
bool thread_value_read(struct db *db, const struct thread_place *at, str version, str writer,
                       struct thread_blob *out, struct err *e) MUST_USE;
/* As a difference from the base, if it has a writer and that is shorter. */
/* Who writes a value, and the value before it: what differs from that one is stored. */
struct thread_origin {
    str writer, base_version, base_writer; /* base_writer "": there is none before */
    int64_t now_us;
};

bool thread_value_write(struct db *db, const struct thread_place *at, const struct thread_value *v,
                        const struct thread_origin *by, struct err *e) MUST_USE;

/* Whether the thread is there and may be seen. */
bool thread_seen(struct db *db, const struct thread_asker *who, str thread, bool *there,
                 struct err *e) MUST_USE;
/* Commits if all went well until here, else takes it back. */
bool thread_end(struct db *db, bool ok, struct err *e) MUST_USE;
/* threads_put for who holds the lock. */
bool thread_put_locked(struct threads *t, const struct thread_asker *who,
                       const struct thread_tuple *put, struct err *e) MUST_USE;
bool thread_missing(struct err *e, str thread);
