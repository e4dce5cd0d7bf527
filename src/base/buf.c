/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"

#include "base/ctype.h"
#include "base/spare.h"

#define BUF_CAP_MIN 64
#define BUF_CAP_SMALL 4096 /* up to here it grows in large steps: little is lost by them */

void buf_release_memory(struct buf *b)
{
    assert(b->n <= b->cap);
    spare_free(b->p - b->front, b->cap + b->front);
}

/* Moves the content to a piece of memory for `cap` bytes or more, including the room in front. */
static void buf_move_to(struct buf *b, size_t cap)
{
    size_t front = b->front, whole = front + cap;
    size_t used = b->n ? front + b->n : 0;
    char *p = b->p ? spare_grow(b->p - front, front + b->cap, used, &whole) : spare_alloc(&whole);

    assert(cap >= b->n && whole >= cap);
    b->p = p + front;
    b->cap = whole - front;
    assert(b->cap >= cap);
}

char *buf_room_more(struct buf *b, size_t size)
{
    size_t cap = b->cap < BUF_CAP_SMALL ? b->cap * 4 : b->cap * 2;

    assert(b->n <= b->size_max);
    assert(b->n <= b->cap || !b->p);
    if (b->full || size > b->size_max - b->n) {
        b->full = true;
        return NULL;
    }
    if (b->p && size <= b->cap - b->n)
        return b->p + b->n;
    if (cap < b->n + size)
        cap = b->n + size;
    if (cap < BUF_CAP_MIN)
        cap = BUF_CAP_MIN;
    buf_move_to(b, cap);
    return b->p + b->n;
}

void buf_reserve(struct buf *b, size_t size)
{
    assert(b->n <= b->cap && b->n <= b->size_max);
    if (!b->full && size > b->cap - b->n && size <= b->size_max - b->n)
        buf_move_to(b, b->n + size);
}

void buf_front(struct buf *b, uint32_t size)
{
    assert(b->n == 0 && b->front == 0);
    if (b->p && b->cap < size)
        buf_release(b);
    b->front = size;
    if (!b->p)
        return; /* it has its front when it has memory */
    b->p += size;
    b->cap -= size;
}

bool buf_put_front(struct buf *b, str s)
{
    assert(b->n <= b->cap && b->n <= b->size_max);
    if (!b->p || s.n > b->front || s.n > b->size_max - b->n)
        return false;
    b->p -= s.n;
    memcpy(b->p, s.p, s.n);
    b->front -= (uint32_t)s.n;
    b->cap += s.n;
    b->n += s.n;
    return true;
}

void buf_move(struct buf *to, struct buf *from)
{
    assert(!to->p && from->n <= to->size_max);
    assert(to != from);
    to->p = from->p;
    to->n = from->n;
    to->cap = from->cap;
    to->front = from->front;
    buf_init(from, from->size_max);
}

void buf_add_u64(struct buf *b, uint64_t n)
{
    size_t size = str_u64_size(n);
    char *p = buf_room(b, size);

    if (!p)
        return;
    str_put_u64(p, size, n);
    b->n += size;
}

void buf_add_percent(struct buf *b, str s, const char *plain)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];

        if (char_is_letter(c) || char_is_digit(c) || (c && (strchr("-._~", c) || strchr(plain, c))))
            buf_add_c(b, c);
        else
            buf_printf(b, "%%%02X", (unsigned char)c);
    }
}

void buf_printf(struct buf *b, const char *fmt, ...)
{
    char small[256], *p;
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = vsnprintf(small, sizeof small, fmt, ap);
    va_end(ap);
    assert(n >= 0);
    if ((size_t)n < sizeof small) {
        buf_add(b, (str){small, (size_t)n});
        return;
    }
    p = buf_room(b, (size_t)n + 1);
    if (!p)
        return;
    va_start(ap, fmt);
    vsnprintf(p, (size_t)n + 1, fmt, ap);
    va_end(ap);
    b->n += (size_t)n;
}

void buf_drop(struct buf *b, size_t size)
{
    assert(size <= b->n);
    if (size == 0)
        return;
    memmove(b->p, b->p + size, b->n - size);
    b->n -= size;
}

bool buf_ok(const struct buf *b, const char *what, struct err *e)
{
    if (!b->full)
        return true;
    return err_set(e, ERR_LIMIT, "%s: larger than %zu bytes", what, b->size_max);
}

void buf_pool_release(struct buf_pool *pool)
{
    assert(pool->n <= BUF_POOL_MAX);
    while (pool->n > 0)
        pool->n--, spare_free(pool->spare[pool->n].p, pool->spare[pool->n].cap);
}

void buf_take(struct buf_pool *pool, struct buf *b)
{
    if (b->p || b->front || pool->n == 0)
        return;
    assert(b->n == 0 && b->cap == 0 && pool->n <= BUF_POOL_MAX);
    pool->n--;
    b->p = pool->spare[pool->n].p;
    b->cap = pool->spare[pool->n].cap;
    assert(b->p && b->cap >= BUF_SPARE_MIN);
}

void buf_give_memory(struct buf_pool *pool, struct buf *b)
{
    size_t cap = b->cap + b->front;

    assert(b->n <= b->cap && pool->n <= BUF_POOL_MAX);
    assert(pool->n == 0 || pool->spare[pool->n - 1].p != b->p - b->front); /* twice */
    if (cap >= BUF_SPARE_MIN && cap <= BUF_SPARE_MAX && pool->n < BUF_POOL_MAX) {
        pool->spare[pool->n].p = b->p - b->front;
        pool->spare[pool->n++].cap = cap;
        b->p = NULL;
    }
    buf_release(b);
}
