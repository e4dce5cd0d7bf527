/* rand.h - random numbers: from the system for keys and ids, from a seed for jitter and tests.
 *
 *     rand_os(key, sizeof key);
 *
 *     struct rand r;
 *     rand_init(&r, seed);
 *     wait_ms += rand_below(&r, wait_ms / 2 + 1);
 *
 *     char id[RAND_ID_SIZE];
 *     rand_id(&ids, id);                       "01924f6e-8a51-7c3e-9b1f-5d2e8c7a4f60"
 *
 * Ids are UUIDs of version 7 (RFC 9562): 48 bits of wall time in milliseconds, a counter of 42 bits
 * that begins at a random place each millisecond, 32 random bits.
 *
 * Promises:
 *   - Ids from one struct rand_ids sort, as text, in the order of their creation, even if the clock
 *     is set back; any number of threads may call rand_id.
 *   - rand_os cannot fail: without a random source of the system the process aborts.
 *   - A struct rand with the same seed gives the same numbers on every machine. Do not use it for
 *     secrets: enough numbers reveal the rest. One thread at a time.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/clock.h"
#include "base/str.h"

#include <pthread.h>

#define RAND_ID_SIZE 37 /* 36 characters and a NUL */
#define RAND_POOL_SIZE 240

void rand_os(void *bytes, size_t size);

/* xoshiro256**, by Blackman and Vigna. */
struct rand {
    uint64_t s[4];
};

void rand_init(struct rand *r, uint64_t seed);

static inline uint64_t rand_rotate(uint64_t x, unsigned by)
{
    return x << by | x >> (64 - by);
}

/* With a seed from the system. */
void rand_init_os(struct rand *r);
uint64_t rand_u64(struct rand *r);

/* Uniformly distributed below n. n must not be 0. */
uint64_t rand_below(struct rand *r, uint64_t n);

struct rand_ids {
    const struct clock *clock;
    pthread_mutex_t lock;
    uint64_t ms, counter; /* of the last id */
    size_t left;          /* bytes of the pool not used yet */
    unsigned char pool[RAND_POOL_SIZE];
};

/* The clock must live until rand_ids_release. */
void rand_ids_init(struct rand_ids *ids, const struct clock *clock);
void rand_ids_release(struct rand_ids *ids);

/* The next id, in lower case; the returned text is in out. */
str rand_id(struct rand_ids *ids, char out[RAND_ID_SIZE]);
/* Whether the text looks like an id of rand_id. */
bool rand_is_id(str text);
/* The same with a wall time that the caller has just read. */
str rand_id_at(struct rand_ids *ids, int64_t wall_ms, char out[RAND_ID_SIZE]);
