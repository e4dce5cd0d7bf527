/* map.h - from names to values: a hash map that no input can slow down.
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
 * With an arena the keys are copied into it, and a key that is removed leaves its copy there until
 * the arena goes; with NULL they are borrowed, and must live as long as their entry. The values are
 * the caller's.
 *
 * Promises:
 *   - Entries come back in the order in which their keys were first set.
 *   - The hash is keyed with chance of its own for each map (SipHash-1-3), so nobody outside can
 *     choose keys that collide.
 *   - It holds at most count_max entries, and memory for about twice those it held at most.
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
    struct map_entry *entries; /* in order, the removed among them */
    size_t used, cap;          /* of entries */
    uint32_t *slots;           /* 0 is free, else 1 + an index of entries */
    size_t slot_count;         /* a power of two, more than cap */
    uint64_t seed[2];          /* chosen when the first entry is set */
};

/* Allocates nothing yet; the arena, if any, is lent until the release. */
void map_init(struct map *m, struct arena *keys, size_t count_max);
void map_release(struct map *m);

/* A new entry, or another value for the key that is there. ERR_LIMIT if the map is full. */
bool map_set(struct map *m, str key, union map_value value, struct err *e) MUST_USE;

/* NULL if it is not there; lent until the next set or remove. */
struct map_entry *map_find(const struct map *m, str key);

/* Whether it was there. */
bool map_remove(struct map *m, str key);
size_t map_count(const struct map *m);

/* The entry after one, or the first for NULL; NULL at the end. Removing the entry one stands on is
 * allowed, setting is not. */
struct map_entry *map_next(const struct map *m, const struct map_entry *after);

/* The hash by itself: SipHash-1-3 of the bytes under a key of 128 bits. */
uint64_t map_hash(const uint64_t seed[2], str bytes);
