/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"

#include "base/buf.h"
#include "base/spare.h"

/* Many arenas hold next to nothing while a stream is open, so the first two blocks are small. With
 * its head, each block has a size that spare.h keeps. */
#define ARENA_BLOCK_MIN (512 - sizeof(struct arena_block))

#define UNIT _Alignof(max_align_t)
#define LIST_FIRST 4 /* elements of a list that begins to grow */

struct arena_block {
    struct arena_block *older;
    size_t size;  /* of bytes */
    size_t whole; /* bytes of all blocks */
    max_align_t bytes[];
};

void arena_init(struct arena *a, size_t size_max)
{
    *a = (struct arena){.size_max = size_max};
}

/* Makes the newest block current; all of it is free. The bytes at its end that do not fill a unit
 * are never used. */
static void arena_use_block(struct arena *a)
{
    a->at = a->block ? (char *)a->block->bytes : NULL;
    a->end = a->block ? a->at + a->block->size / UNIT * UNIT : NULL;
}

/* With room for `need`. Each block is about a quarter of all before it, and rather less than more:
 * a large arena is few of them, and a small one that needs a little more is not twice as large; but
 * never past the ceiling. */
static struct arena_block *arena_add_block(struct arena *a, size_t need)
{
    size_t size = ARENA_BLOCK_MIN;
    size_t left = a->size_max - a->size, whole;
    struct arena_block *b;

    assert(a->size <= a->size_max);
    if (need > left)
        base_die("arena: %zu bytes asked for, %zu left of %zu", need, left, a->size_max);
    if (a->size / 4 > size + sizeof *b)
        size = ((size_t)1 << (63 - __builtin_clzll(a->size / 4))) - sizeof *b;
    if (size > left)
        size = left;
    if (size < need)
        size = need;
    whole = sizeof *b + size;
    b = spare_alloc(&whole);
    size = whole - sizeof *b < left ? whole - sizeof *b : left;
    b->whole = whole;
    b->older = a->block;
    b->size = size;
    a->block = b;
    a->size += size;
    assert(b->size >= need && a->size <= a->size_max);
    return b;
}

void arena_reserve(struct arena *a, size_t size)
{
    if (a->block)
        return;
    arena_add_block(a, size < a->size_max ? size : a->size_max);
    arena_use_block(a);
}

void *arena_alloc_more(struct arena *a, size_t size)
{
    size_t need, left = (size_t)(a->end - a->at);
    struct arena_block *b;
    char *p = a->at;

    if (size > a->size_max)
        base_die("arena: %zu bytes asked for, the ceiling is %zu", size, a->size_max);
    need = (size + UNIT - 1) / UNIT * UNIT;
    if (a->block && left >= need) {
        a->at += need;
        return p;
    }
    b = arena_add_block(a, need);
    p = (char *)b->bytes;
    /* Small allocations continue in the block with more free space: this one or the previous
     * one. */
    if (b->size / UNIT * UNIT - need >= left) {
        arena_use_block(a);
        a->at += need;
    }
    assert(a->at <= a->end && a->size <= a->size_max);
    return p;
}

bool arena_fits(const struct arena *a, size_t size, size_t more)
{
    size_t here = (size_t)(a->end - a->at), rest = a->size_max - a->size;

    assert(a->at <= a->end && a->size <= a->size_max);
    if (size > a->size_max)
        return false;
    size = (size + UNIT - 1) / UNIT * UNIT;
    if (size <= here)
        return here - size + rest >= more;
    /* The larger one of the two remains in use. So an allocation that needs a new block leaves less
     * than its own size unused, and several take less than twice their sum. */
    return size <= rest && (rest - size >= more || here >= more);
}

void *arena_zero(struct arena *a, size_t n, size_t size)
{
    void *p;

    if (size && n > a->size_max / size)
        base_die(
            "arena: %zu things of %zu bytes asked for, the ceiling is %zu", n, size, a->size_max);
    p = arena_alloc(a, n * size);
    memset(p, 0, n * size);
    return p;
}

void *arena_grow(struct arena *a, void *list, size_t n, size_t *max, size_t size)
{
    void *grown;

    if (n < *max)
        return list;
    *max = *max ? 2 * *max : LIST_FIRST;
    grown = arena_zero(a, *max, size);
    if (n)
        memcpy(grown, list, n * size);
    return grown;
}

str arena_dup(struct arena *a, str s)
{
    char *p = arena_alloc(a, s.n + 1);

    *str_put(p, s) = '\0';
    return (str){p, s.n};
}

str arena_move_buf(struct arena *a, struct buf *b)
{
    str text = arena_dup(a, buf_str(b));

    buf_release(b);
    return text;
}

str arena_join(struct arena *a, str x, str y, str z)
{
    char *p = arena_alloc(a, x.n + y.n + z.n + 1);

    *str_put(str_put(str_put(p, x), y), z) = '\0';
    return (str){p, x.n + y.n + z.n};
}

str arena_u64(struct arena *a, uint64_t n)
{
    size_t size = str_u64_size(n);
    char *p = arena_alloc(a, size + 1);

    str_put_u64(p, size, n);
    p[size] = '\0';
    return (str){p, size};
}

str arena_printf(struct arena *a, const char *fmt, ...)
{
    char small[256], *p;
    va_list ap, again;
    int n;

    assert(fmt);
    va_start(ap, fmt);
    va_copy(again, ap);
    n = vsnprintf(small, sizeof small, fmt, ap);
    va_end(ap);
    assert(n >= 0);
    p = arena_alloc(a, (size_t)n + 1);
    if ((size_t)n < sizeof small)
        memcpy(p, small, (size_t)n + 1);
    else
        vsnprintf(p, (size_t)n + 1, fmt, again);
    va_end(again);
    return (str){p, (size_t)n};
}

/* Frees from the newest down to, but not including, `until`. */
static void arena_free_blocks(struct arena *a, const struct arena_block *until)
{
    while (a->block != until) {
        struct arena_block *older = a->block->older;

        assert(a->size >= a->block->size);
        a->size -= a->block->size;
        spare_free(a->block, a->block->whole);
        a->block = older;
    }
    arena_use_block(a);
}

void arena_reset(struct arena *a)
{
    const struct arena_block *first = a->block;

    while (first && first->older)
        first = first->older;
    arena_free_blocks(a, first);
}

void arena_release(struct arena *a)
{
    arena_free_blocks(a, NULL);
    assert(a->size == 0);
}
