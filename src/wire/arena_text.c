/* arena_text.c - text that grows in an arena.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/arena_text.h"

#define ARENA_TEXT_MIN 64
#define ROOM_SPARE ((size_t)64 << 10)

bool arena_text_room(const struct arena *a, size_t size)
{
    return arena_fits(a, size, ROOM_SPARE);
}

str arena_text_dup(struct arena *a, str s)
{
    return s.n && arena_text_room(a, s.n + 1) ? arena_dup(a, s) : STR("");
}

void *arena_text_zero(struct arena *a, size_t size)
{
    return arena_text_room(a, size) ? arena_zero(a, 1, size) : NULL;
}

static bool arena_text_grow(struct arena_text *t, struct arena *a, size_t need)
{
    size_t cap = t->cap ? t->cap : ARENA_TEXT_MIN;
    char *p;

    assert(t->n <= t->cap && need > t->cap);
    while (cap < need)
        cap *= 2;
    if (cap > arena_left(a) / 2 || cap > UINT32_MAX)
        return false;
    p = arena_alloc(a, cap);
    if (t->n)
        memcpy(p, t->p, t->n);
    t->p = p;
    t->cap = (uint32_t)cap;
    return true;
}

void arena_text_add_max(struct arena_text *t, struct arena *a, str s, size_t size_max)
{
    if (t->full || s.n == 0)
        return;
    if (t->n > size_max || s.n > size_max - t->n ||
        (t->cap - t->n < s.n && !arena_text_grow(t, a, t->n + s.n))) {
        t->full = true;
        return;
    }
    memcpy(t->p + t->n, s.p, s.n);
    t->n += s.n;
    assert(t->n <= t->cap);
}

void arena_text_add(struct arena_text *t, struct arena *a, str s)
{
    arena_text_add_max(t, a, s, ARENA_TEXT_MAX);
}

void arena_text_reset(struct arena_text *t)
{
    t->n = 0;
    t->full = false;
}

str arena_text_str(const struct arena_text *t)
{
    assert(t->n <= t->cap);
    return t->n ? (str){t->p, t->n} : STR("");
}
