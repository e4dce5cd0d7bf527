/* map.h - a hash map from names to values that hostile keys cannot slow down.
 *
 *     struct map m;
 *     map_init(&m, &arena, 1000);
 *     if (!map_set(&m, name, MAP_PTR(thing), e))
 *         return false;
 *     struct map_entry *found = map_find(&m, name);
 *     for (struct map_entry *i = map_next(&m, NULL); i; i = map_next(&m, i))
 *         use(i->key, i->value.ptr);
 *     map_release(&m);
 *
 * With an arena the map copies keys into it; the copy of a removed key stays there until the arena
 * is released. With NULL the map borrows the keys, which must live as long as their entry. The
 * caller owns the values.
 *
 * Promises:
 *   - Iteration follows the order in which keys were first set.
 *   - Each map has its own random hash key (SipHash-1-3), so nobody outside can choose keys that
 *     collide.
 *   - A map has at most count_max entries. Its memory is about twice what its largest number of
 *     entries needed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/arena.h"
#include "base/err.h"

#define MAP_COUNT_MAX ((size_t)1 << 30)
#define MAP_PTR(p) ((union map_value){.ptr = (p)})
#define MAP_U64(n) ((union map_value){.u64 = (n)})

union map_value {
    void *ptr;
    uint64_t u64;
};

struct map_entry {
    str key;
    union map_value value; /* may be changed in place */
    uint64_t hash;
    bool removed;
};

struct map {
    struct arena *keys; /* or NULL: keys are borrowed */
    size_t count, count_max;
    struct map_entry *entries; /* in order, including removed ones */
    size_t used, cap;          /* of entries */
    uint32_t *slots;           /* 0: free, else 1 + an index of entries */
    size_t slot_count;         /* a power of two, more than cap */
    uint64_t seed[2];          /* chosen when the first entry is set */
};

/* Allocates nothing yet; the arena, if any, must live until map_release. */
void map_init(struct map *m, struct arena *keys, size_t count_max);
void map_release(struct map *m);

/* Adds an entry, or changes the value of an existing key. ERR_LIMIT if the map is full. */
bool map_set(struct map *m, str key, union map_value value, struct err *e) MUST_USE;

/* NULL if the key is absent; valid until the next set or remove. */
struct map_entry *map_find(const struct map *m, str key);
/* The pointer that is the value of the key, or NULL. */
void *map_find_ptr(const struct map *m, str key);

/* Returns whether the key existed. */
bool map_remove(struct map *m, str key);
size_t map_count(const struct map *m);

/* The entry after the given one, or the first for NULL; NULL at the end. The loop may remove the
 * current entry, but must not set any. */
struct map_entry *map_next(const struct map *m, const struct map_entry *after);

/* The hash function itself: SipHash-1-3 of the bytes under a key of 128 bits. */
uint64_t map_hash(const uint64_t seed[2], str bytes);
