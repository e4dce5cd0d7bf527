/* spare.c - a stack of free pieces for each power of two and for each size halfway to the next.
 *
 * The stacks are arrays beside the pieces, not lists through them: a freed piece is not touched
 * until it is used again, when it may no longer be in the processor's cache.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/spare.h"

#define CLASSES 19               /* 64, 96, 128, 192... bytes to 32 kB */
#define CLASS_BYTES (512 * 1024) /* kept of each, at most */
#define CLASS_COUNT 128          /* pieces, likewise */

_Static_assert(SPARE_SIZE_MIN << CLASSES / 2 == SPARE_SIZE_MAX, "a class for each size");

struct stack {
    void **top;  /* where the next piece goes; those before it are free */
    void **base; /* NULL while it is not open */
    void **end;
};

/* At a fixed address, so that no call is needed to find it, not even within a library. */
static _Thread_local struct stack mine[CLASSES] __attribute__((tls_model("initial-exec")));

/* The least class whose pieces are not smaller. */
static unsigned spare_class_of(size_t size)
{
    const unsigned least = (unsigned)__builtin_ctz(SPARE_SIZE_MIN);
    unsigned power; /* of two, the largest below the size */

    if (size <= SPARE_SIZE_MIN)
        return 0;
    power = 63 - (unsigned)__builtin_clzll(size - 1);
    return 2 * (power - least) + 1 + ((size - 1) >> (power - 1) & 1);
}

static size_t spare_class_size(unsigned c)
{
    return (size_t)(c % 2 ? SPARE_SIZE_MIN * 3 / 2 : SPARE_SIZE_MIN) << c / 2;
}

static bool spare_in_classes(size_t size)
{
    return size <= SPARE_SIZE_MAX;
}

static size_t spare_class_count(unsigned c)
{
    size_t count = CLASS_BYTES / spare_class_size(c);

    return count < CLASS_COUNT ? count : CLASS_COUNT;
}

void spare_open(void)
{
    for (unsigned c = 0; c < CLASSES && !BUILD_MEMORY_CHECKED && !mine[c].base; c++) {
        mine[c].base = mine[c].top = base_alloc(spare_class_count(c) * sizeof(void *));
        mine[c].end = mine[c].base + spare_class_count(c);
    }
}

void spare_close(void)
{
    for (unsigned c = 0; c < CLASSES; c++) {
        while (mine[c].top != mine[c].base)
            free(*--mine[c].top);
        free((void *)mine[c].base);
        mine[c] = (struct stack){NULL, NULL, NULL};
    }
}

void *spare_alloc(size_t *size)
{
    struct stack *s;
    unsigned c;

    if (!spare_in_classes(*size))
        return base_alloc(*size);
    c = spare_class_of(*size);
    assert(c < CLASSES);
    *size = spare_class_size(c);
    s = &mine[c];
    return s->top == s->base ? base_alloc(*size) : *--s->top;
}

/* Frees a piece that is not kept. A separate function, so that the fast path needs no stack
 * frame. */
static NOINLINE void spare_give_up(void *p, size_t size)
{
    assert(!p || !spare_in_classes(size) || size == spare_class_size(spare_class_of(size)));
    free(p);
}

void spare_free(void *p, size_t size)
{
    unsigned c = spare_class_of(size);

    if (!p || !spare_in_classes(size) || mine[c].top == mine[c].end ||
        size != spare_class_size(c)) {
        spare_give_up(p, size);
        return;
    }
    assert(mine[c].top == mine[c].base || mine[c].top[-1] != p); /* freed twice */
    *mine[c].top++ = p;
}

void *spare_grow(void *p, size_t old_size, size_t used, size_t *size)
{
    void *q;

    assert(used <= old_size && used <= *size);
    if (!spare_in_classes(old_size) && !spare_in_classes(*size))
        return base_realloc(p, *size);
    q = spare_alloc(size);
    if (used)
        memcpy(q, p, used);
    spare_free(p, old_size);
    return q;
}
