/* spare.c - a stack of free pieces for each power of two.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/spare.h"

#define CLASSES 10               /* 64 bytes to 32 kB */
#define CLASS_BYTES (512 * 1024) /* kept of each, at most */

#if defined(__SANITIZE_ADDRESS__)
#define WATCHED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer)
#define WATCHED 1
#endif
#endif
#ifndef WATCHED
#define WATCHED 0
#endif

_Static_assert(SPARE_SIZE_MIN << (CLASSES - 1) == SPARE_SIZE_MAX, "a class for each size");

struct piece {
    struct piece *next;
};

struct spares {
    struct piece *free[CLASSES];
    unsigned room[CLASSES]; /* for so many more; for none while it is not open */
};

/* At a place that is known when the program begins: no call is made to find it, not even where this
 * is part of a library. */
static _Thread_local struct spares mine __attribute__((tls_model("initial-exec")));

/* The power of two that is not less, counted from the least. */
static unsigned class_of(size_t size)
{
    const unsigned least = (unsigned)__builtin_ctz(SPARE_SIZE_MIN);

    return size <= SPARE_SIZE_MIN ? 0 : 64 - (unsigned)__builtin_clzll(size - 1) - least;
}

static bool in_classes(size_t size)
{
    return size <= SPARE_SIZE_MAX;
}

void spare_open(void)
{
    for (unsigned c = 0; c < CLASSES && !WATCHED; c++)
        mine.room[c] = CLASS_BYTES / SPARE_SIZE_MIN >> c;
}

void spare_close(void)
{
    for (unsigned c = 0; c < CLASSES; c++) {
        mine.room[c] = 0;
        while (mine.free[c]) {
            struct piece *p = mine.free[c];

            mine.free[c] = p->next;
            free(p);
        }
    }
}

void *spare_alloc(size_t *size)
{
    struct piece *p;
    unsigned c;

    if (!in_classes(*size))
        return base_alloc(*size);
    c = class_of(*size);
    *size = (size_t)SPARE_SIZE_MIN << c;
    p = mine.free[c];
    if (!p)
        return base_alloc(*size);
    mine.free[c] = p->next;
    mine.room[c]++;
    return p;
}

/* What is not kept. It stands alone so that what is needs no stack. */
static NOINLINE void give_up(void *p, size_t size)
{
    assert(!p || !in_classes(size) || size == (size_t)SPARE_SIZE_MIN << class_of(size));
    free(p);
}

void spare_free(void *p, size_t size)
{
    struct piece *piece = p;
    unsigned c = class_of(size);

    if (!p || !in_classes(size) || mine.room[c] == 0 || size != (size_t)SPARE_SIZE_MIN << c) {
        give_up(p, size);
        return;
    }
    piece->next = mine.free[c];
    mine.free[c] = piece;
    mine.room[c]--;
}

void *spare_grow(void *p, size_t old_size, size_t used, size_t *size)
{
    void *q;

    assert(used <= old_size && used <= *size);
    if (!in_classes(old_size) && !in_classes(*size))
        return base_realloc(p, *size);
    q = spare_alloc(size);
    if (used)
        memcpy(q, p, used);
    spare_free(p, old_size);
    return q;
}
