/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"

#include "base/spare.h"

#define BUF_CAP_MIN 64
#define BUF_CAP_SMALL 4096 /* up to here it grows in large steps: little is lost by them */

void buf_release_memory(struct buf *b)
{
    spare_free(b->p, b->cap);
}

char *buf_room_more(struct buf *b, size_t size)
{
    size_t cap = b->cap < BUF_CAP_SMALL ? b->cap * 4 : b->cap * 2;

    assert(b->n <= b->size_max);
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
    b->p = b->p ? spare_grow(b->p, b->cap, b->n, &cap) : spare_alloc(&cap);
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

void buf_add_u64(struct buf *b, uint64_t n)
{
    size_t size = str_u64_size(n);
    char *p = buf_room(b, size);

    if (!p)
        return;
    str_put_u64(p, size, n);
    b->n += size;
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

void buf_give_memory(struct buf_pool *pool, struct buf *b)
{
    if (b->cap <= BUF_SPARE_MAX && pool->n < BUF_POOL_MAX) {
        pool->spare[pool->n].p = b->p;
        pool->spare[pool->n++].cap = b->cap;
        b->p = NULL;
    }
    buf_release(b);
}
