/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"

#include "base/spare.h"

#define BUF_CAP_MIN 64

void buf_init(struct buf *b, size_t size_max)
{
    *b = (struct buf){.size_max = size_max};
}

void buf_release(struct buf *b)
{
    spare_free(b->p, b->cap);
    *b = (struct buf){.size_max = b->size_max};
}

void buf_reset(struct buf *b)
{
    b->n = 0;
    b->full = false;
}

char *buf_room_more(struct buf *b, size_t size)
{
    size_t cap = b->cap;

    assert(b->n <= b->size_max);
    if (b->full || size > b->size_max - b->n) {
        b->full = true;
        return NULL;
    }
    if (b->p && size <= b->cap - b->n)
        return b->p + b->n;
    do
        cap = cap < BUF_CAP_MIN ? BUF_CAP_MIN : cap * 2;
    while (cap - b->n < size);
    b->p = spare_grow(b->p, b->cap, b->n, &cap);
    b->cap = cap;
    return b->p + b->n;
}

void buf_reserve(struct buf *b, size_t size)
{
    if (!b->full && size > b->cap - b->n && size <= b->size_max - b->n) {
        size_t cap = b->n + size;

        b->p = spare_grow(b->p, b->cap, b->n, &cap);
        b->cap = cap;
    }
}

void buf_wrote(struct buf *b, size_t size)
{
    assert(size <= b->cap - b->n);
    b->n += size;
}

void buf_add_u64(struct buf *b, uint64_t n)
{
    char digits[20];
    size_t at = sizeof digits;

    do {
        digits[--at] = (char)('0' + n % 10);
        n /= 10;
    } while (n > 0);
    buf_add(b, (str){digits + at, sizeof digits - at});
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

str buf_str(const struct buf *b)
{
    return b->n ? (str){b->p, b->n} : STR("");
}

bool buf_full(const struct buf *b)
{
    return b->full;
}

bool buf_ok(const struct buf *b, const char *what, struct err *e)
{
    if (!b->full)
        return true;
    return err_set(e, ERR_LIMIT, "%s: larger than %zu bytes", what, b->size_max);
}

void buf_pool_release(struct buf_pool *pool)
{
    while (pool->n > 0)
        pool->n--, spare_free(pool->spare[pool->n].p, pool->spare[pool->n].cap);
}

void buf_take(struct buf_pool *pool, struct buf *b)
{
    if (b->p || pool->n == 0)
        return;
    pool->n--;
    b->p = pool->spare[pool->n].p;
    b->cap = pool->spare[pool->n].cap;
}

void buf_give(struct buf_pool *pool, struct buf *b)
{
    if (b->p && b->cap <= BUF_SPARE_MAX && pool->n < BUF_POOL_MAX) {
        pool->spare[pool->n].p = b->p;
        pool->spare[pool->n++].cap = b->cap;
        b->p = NULL;
    }
    buf_release(b);
}
