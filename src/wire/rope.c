/* rope.c - pieces in an arena, each twice as large as the one before, up to a size.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/rope.h"

#define PIECE_MIN 256
#define PIECE_MAX ((size_t)64 << 10)
#define ARENA_LEFT_MIN ((size_t)128 << 10) /* stays free for other users of the arena */

struct rope_piece {
    struct rope_piece *next;
    size_t n, cap;
    char bytes[];
};

static bool rope_grow(struct rope *r, struct arena *a)
{
    size_t cap = !r->last ? PIECE_MIN : r->last->cap < PIECE_MAX ? r->last->cap * 2 : PIECE_MAX;
    struct rope_piece *p;

    assert(!r->first == !r->last);
    assert(!r->last || r->last->n == r->last->cap);
    if (arena_left(a) < cap + ARENA_LEFT_MIN)
        return false;
    p = arena_alloc(a, sizeof *p + cap);
    *p = (struct rope_piece){.next = NULL, .n = 0, .cap = cap};
    LIST_APPEND(r->first, r->last, p);
    return true;
}

void rope_add(struct rope *r, struct arena *a, str s)
{
    if (r->full || s.n > ROPE_SIZE_MAX - r->n) {
        r->full = true;
        return;
    }
    while (s.n > 0) {
        size_t room = r->last ? r->last->cap - r->last->n : 0;
        size_t n = s.n < room ? s.n : room;

        if (room == 0 && !rope_grow(r, a)) {
            r->full = true;
            return;
        }
        if (n == 0)
            continue;
        memcpy(r->last->bytes + r->last->n, s.p, n);
        r->last->n += n;
        r->n += n;
        s = str_slice(s, n, s.n);
    }
    assert(r->n <= ROPE_SIZE_MAX);
}

struct rope_mark rope_end(const struct rope *r)
{
    assert(!r->first == !r->last);
    return (struct rope_mark){r->last, r->last ? r->last->n : 0};
}

void rope_copy(const struct rope *r, struct rope_mark from, struct buf *out)
{
    rope_copy_between(r, from, rope_end(r), out);
}

void rope_copy_between(const struct rope *r, struct rope_mark from, struct rope_mark to,
                       struct buf *out)
{
    const struct rope_piece *p = from.piece ? from.piece : r->first;
    size_t at = from.at;

    if (!to.piece)
        return;
    assert(to.at <= to.piece->n);
    assert(!from.piece || from.at <= from.piece->n);
    for (; p; p = p->next, at = 0) {
        size_t end = p == to.piece ? to.at : p->n;

        assert(at <= end);
        buf_add(out, (str){p->bytes + at, end - at});
        if (p == to.piece)
            return;
    }
}
