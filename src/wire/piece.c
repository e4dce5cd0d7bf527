/* piece.c - text that grows in an arena.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/piece.h"

#define PIECE_MIN 64
#define ROOM_SPARE ((size_t)64 << 10)

bool piece_room(const struct arena *a, size_t size)
{
    size_t left = arena_left(a);

    return left > ROOM_SPARE && left - ROOM_SPARE > size;
}

str piece_dup(struct arena *a, str s)
{
    return s.n && piece_room(a, s.n + 1) ? arena_dup(a, s) : STR("");
}

void *piece_zero(struct arena *a, size_t size)
{
    return piece_room(a, size) ? arena_zero(a, 1, size) : NULL;
}

static bool grow(struct piece *t, struct arena *a, size_t need)
{
    size_t cap = t->cap ? t->cap : PIECE_MIN;
    char *p;

    while (cap < need)
        cap *= 2;
    if (cap > arena_left(a) / 2)
        return false;
    p = arena_alloc(a, cap);
    if (t->n)
        memcpy(p, t->p, t->n);
    t->p = p;
    t->cap = cap;
    return true;
}

void piece_add_max(struct piece *t, struct arena *a, str s, size_t size_max)
{
    if (t->full || s.n == 0)
        return;
    if (t->n > size_max || s.n > size_max - t->n ||
        (t->cap - t->n < s.n && !grow(t, a, t->n + s.n))) {
        t->full = true;
        return;
    }
    memcpy(t->p + t->n, s.p, s.n);
    t->n += s.n;
    assert(t->n <= t->cap);
}

void piece_add(struct piece *t, struct arena *a, str s)
{
    piece_add_max(t, a, s, PIECE_SIZE_MAX);
}

void piece_reset(struct piece *t)
{
    t->n = 0;
    t->full = false;
}

str piece_str(const struct piece *t)
{
    return t->n ? (str){t->p, t->n} : STR("");
}
