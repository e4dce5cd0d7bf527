/* arena.h - memory that is released all at once.
 *
 *     struct arena a;
 *     arena_init(&a, 1 << 20);
 *     str kept = arena_dup(&a, lent);
 *     arena_release(&a);
 *
 * One arena a request or run. It grows by blocks up to the ceiling it was born with; asking for
 * more is our own mistake (input is bounded where it enters) and ends the process.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/str.h"

struct arena_block;

struct arena {
    char *at, *end;            /* what is free in the newest block */
    struct arena_block *block; /* the newest, chained to the older */
    size_t size;               /* of all blocks */
    size_t size_max;
};

void arena_init(struct arena *a, size_t size_max);
/* For one that holds nothing yet: its first block has room for as much, if the ceiling allows. */
void arena_reserve(struct arena *a, size_t size);

/* For one that holds nothing yet: its first bytes are the caller's, as on the stack for what seldom
 * needs more. They must outlive what is made of them; a reset gives them back. */
static inline void arena_lend(struct arena *a, max_align_t *room, size_t size)
{
    a->at = (char *)room;
    a->end = a->at + size;
}

/* Aligned for any type, not zeroed. size may be 0. */
void *arena_alloc_more(struct arena *a, size_t size) MUST_USE;
static inline void *arena_alloc(struct arena *a, size_t size)
{
    const size_t unit = _Alignof(max_align_t);
    char *p = a->at;

    /* Nothing asked for is more than there is, so that it is not told from no block at all. */
    if (size - 1 >= (size_t)(a->end - p))
        return arena_alloc_more(a, size);
    a->at = p + (size + unit - 1) / unit * unit;
    return p;
}

/* The same for n things of a size, zeroed. */
void *arena_zero(struct arena *a, size_t n, size_t size) MUST_USE;

/* A copy of s, with a NUL behind it that does not count. */
str arena_dup(struct arena *a, str s);
/* The three behind one another, likewise. */
str arena_join(struct arena *a, str x, str y, str z);
/* A number in decimal, likewise. */
str arena_u64(struct arena *a, uint64_t n);
str arena_printf(struct arena *a, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* How much may still be asked for. */
size_t arena_left(const struct arena *a);

/* All that was given is gone; the first block is kept for what comes next. */
void arena_reset(struct arena *a);
void arena_release(struct arena *a);
