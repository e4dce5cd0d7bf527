/* thread.h - threads of an agent: checkpoints with parents, the values of their channels, pending
 * writes.
 *
 *     struct threads *t;
 *     if (!threads_open(url, &t, e)) ...
 *     threads_put(t, &who, &put, e)             on disk when it returns; any thread
 *     threads_get(t, &who, (struct thread_key){thread, ns, id}, &arena, &tuple, e)
 *     threads_close(t);
 *
 * A checkpoint stores only the values of channels that changed; the others come from its parent. A
 * value is stored as a difference from the one before, and whole again once the differences are as
 * large as the value: so storage grows linearly with the conversation, not quadratically. To go
 * back in time, put a checkpoint with an older parent; two children of one parent never see each
 * other's values, even if they use the same version numbers.
 *
 * A thread belongs to the key that made it. Values are opaque bytes with a type; versions and
 * checkpoints are the client's JSON, unchanged.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"

#define THREAD_ID_MAX 512
#define THREAD_CHANNELS_MAX 4096
#define THREAD_WRITES_MAX 10000
#define THREAD_LIST_MAX 1000
#define THREAD_TUPLE_MAX ((size_t)64 << 20)  /* bytes of values and writes of one checkpoint */
#define THREAD_LISTED_MAX ((size_t)32 << 10) /* bytes of its metadata in a list */

struct threads;

struct thread_asker {
    str key;  /* owner of the threads */
    bool all; /* threads of every key */
    int64_t now_us;
    bool order; /* a turn of an order: nobody else writes an order's thread */
};

struct thread_value {
    str channel;
    str version; /* JSON, as in the checkpoint's channel_versions */
    str type, bytes;
    bool empty; /* the channel changed and now has no value */
};

struct thread_write {
    str task;
    int64_t idx; /* in the task; negative: thread_special */
    str channel, type, bytes;
};

struct thread_tuple {
    str thread, ns, id;
    str parent;               /* "": no parent */
    bool newest;              /* of a put: ERR_CONFLICT if the parent is not the newest any more */
    str checkpoint, metadata; /* JSON objects; channel_versions is in the checkpoint */
    struct thread_value *values;
    size_t value_count;
    struct thread_write *writes;
    size_t write_count;
};

struct thread_key {
    str thread, ns, id;
};

struct thread_list {
    struct thread_tuple *items;
    size_t count;
};

struct thread_filter {
    str thread;
    const str *ns; /* NULL: all */
    str before;    /* ids below this one; "": all */
    str metadata;  /* a JSON object whose members must be equal; "": any */
    bool newest;   /* only the newest of each thread and namespace */
    size_t count_max;
};

/* Whether a checkpoint with this metadata is an order's. */
bool thread_is_order(str metadata);

bool threads_open(str url, struct threads **out, struct err *e) MUST_USE;
void threads_close(struct threads *t); /* NULL is allowed */

/* Creates the thread for the key, without a checkpoint, if it does not exist. ERR_NOT_FOUND: it
 * belongs to another key. ERR_CONFLICT, as of all writes: it is an order's, and who is not. */
bool threads_claim(struct threads *t, const struct thread_asker *who, str thread,
                   struct err *e) MUST_USE;
/* Puts all of the tuple except the writes. A repeated put changes nothing. */
bool threads_put(struct threads *t, const struct thread_asker *who, const struct thread_tuple *put,
                 struct err *e) MUST_USE;
/* An existing write stays unchanged; one with a special index is replaced. The checkpoint may
 * arrive later. */
bool threads_put_writes(struct threads *t, const struct thread_asker *who,
                        const struct thread_tuple *put, struct err *e) MUST_USE;
/* The fixed index of a channel that has one (errors, interrupts, ...), else idx. */
int64_t thread_special(str channel, int64_t idx);

/* id "" is the newest. ERR_NOT_FOUND if it does not exist. Texts are in the arena, which must have
 * room for THREAD_TUPLE_MAX and a quarter more. */
bool threads_get(struct threads *t, const struct thread_asker *who, struct thread_key key,
                 struct arena *a, struct thread_tuple *out, struct err *e) MUST_USE;
/* Lists checkpoints, newest first: only thread, ns, id and metadata are set. Metadata longer than
 * THREAD_LISTED_MAX are listed as {}, so that a list always fits into THREAD_TUPLE_MAX. */
bool threads_list(struct threads *t, const struct thread_asker *who, const struct thread_filter *f,
                  struct arena *a, struct thread_list *out, struct err *e) MUST_USE;
/* Deletes everything of the thread; a missing thread is no error. */
bool threads_delete(struct threads *t, const struct thread_asker *who, str thread,
                    struct err *e) MUST_USE;
/* Keeps the newest `keep` checkpoints of each namespace and everything that their state needs:
 * values from older checkpoints, and older checkpoints whose writes represent a value. */
bool threads_prune(struct threads *t, const struct thread_asker *who, str thread, size_t keep,
                   size_t *removed, struct err *e) MUST_USE;

/* A checkpoint made from updates: each channel combines its value with its update by its reducer
 * (channel.h), as named here or in an earlier update, else last. from: the checkpoint to
 * continue from; "" is the newest, or an empty state for a new thread. Its metadata is that of
 * the checkpoint before, with the update's members replacing those of the same name. */
struct thread_update {
    str thread, ns, from;
    /* ERR_CONFLICT if `from` is no longer the newest checkpoint, or if it is "" and the thread has
     * one: another daemon has continued the thread. */
    bool newest;
    str values, reducers, metadata; /* JSON objects */
};

/* id_out: id of the new checkpoint, in the arena. */
bool threads_update(struct threads *t, const struct thread_asker *who,
                    const struct thread_update *u, struct arena *a, str *id_out,
                    struct err *e) MUST_USE;
