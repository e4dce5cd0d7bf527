/* arena.h - memory that is released all at once.
 *
 *     struct arena a;
 *     arena_init(&a, 1 << 20);
 *     str kept = arena_dup(&a, lent);
 *     arena_release(&a);
 *
 * Each request or run has one arena. It grows in blocks up to the limit given to arena_init. Asking
 * for more is a bug, because input is bounded where it enters, and aborts the process.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/str.h"

struct arena_block;
struct buf;

struct arena {
    char *at, *end;            /* the free part of the newest block */
    struct arena_block *block; /* the newest, linked to older ones */
    size_t size;               /* of all blocks */
    size_t size_max;
};

void arena_init(struct arena *a, size_t size_max);
/* For an empty arena: makes the first block this large, if the limit allows it. */
void arena_reserve(struct arena *a, size_t size);

/* For an empty arena: uses the caller's memory first, such as a stack buffer that is usually large
 * enough. The memory must outlive all allocations from it; arena_reset reuses it. */
static inline void arena_lend(struct arena *a, max_align_t *room, size_t size)
{
    assert(!a->block);
    a->at = (char *)room;
    a->end = a->at + size;
}

/* Aligned for any type, not zeroed. size may be 0. */
void *arena_alloc_more(struct arena *a, size_t size) MUST_USE;
static inline void *arena_alloc(struct arena *a, size_t size)
{
    const size_t unit = _Alignof(max_align_t);
    char *p = a->at;

    /* A size of 0 wraps to the largest value and takes the slow path, as an arena without a block
     * does. */
    if (size - 1 >= (size_t)(a->end - p))
        return arena_alloc_more(a, size);
    a->at = p + (size + unit - 1) / unit * unit;
    return p;
}

/* The same for n elements of a size, zeroed. */
void *arena_zero(struct arena *a, size_t n, size_t size) MUST_USE;

/* Makes room for one more element, zeroed, in a list of n elements that has room for *max. Returns
 * the list, or a larger copy and its *max. An empty list is NULL, its *max 0. */
void *arena_grow(struct arena *a, void *list, size_t n, size_t *max, size_t size) MUST_USE;

/* A copy of s, followed by a NUL that its size does not count. */
str arena_dup(struct arena *a, str s);
/* The concatenation of the three, followed by a NUL. */
str arena_join(struct arena *a, str x, str y, str z);
/* The content of a buffer, which is released, followed by a NUL. */
str arena_move_buf(struct arena *a, struct buf *b);
/* A number in decimal, followed by a NUL. */
str arena_u64(struct arena *a, uint64_t n);
str arena_printf(struct arena *a, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Whether `size` bytes fit at once and small ones of `more` after; or any of size / 2 in sum. */
bool arena_fits(const struct arena *a, size_t size, size_t more);

/* How many bytes may still be allocated: in two pieces, so half of it is sure to be in one. */
static inline size_t arena_left(const struct arena *a)
{
    assert(a->at <= a->end && a->size <= a->size_max);
    return a->size_max - a->size + (size_t)(a->end - a->at);
}

/* Frees all allocations; the first block is kept for the next ones. */
void arena_reset(struct arena *a);
void arena_release(struct arena *a);
