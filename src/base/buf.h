/* buf.h - a byte buffer that grows up to a limit.
 *
 *     struct buf b;
 *     buf_init(&b, 1 << 20);
 *     buf_add(&b, STR("hello "));
 *     buf_printf(&b, "%d", 42);
 *     if (buf_full(&b)) ...            look once, at the end
 *     use(buf_str(&b));
 *     buf_release(&b);
 *
 * A sticky end: if an addition does not fit, the buffer is marked full, keeps its content and
 * ignores all later additions. An addition is never stored in part.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/err.h"
#include "base/str.h"

struct buf {
    char *p;
    size_t n, cap, size_max;
    uint32_t front; /* free bytes before p: see buf_front */
    bool full;
};

static inline void buf_init(struct buf *b, size_t size_max)
{
    *b = (struct buf){.size_max = size_max};
}

void buf_release_memory(struct buf *b);
static inline void buf_release(struct buf *b)
{
    if (b->p)
        buf_release_memory(b);
    buf_init(b, b->size_max);
}

/* Empty again and not full; the memory is kept. */
static inline void buf_reset(struct buf *b)
{
    b->n = 0;
    b->full = false;
}

/* In decimal. */
void buf_add_u64(struct buf *b, uint64_t n);
void buf_printf(struct buf *b, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Space for `size` more bytes, which the caller writes at the returned address; NULL marks the
 * buffer full. Then call buf_wrote with the number of bytes written. */
char *buf_room_more(struct buf *b, size_t size) MUST_USE;
static inline char *buf_room(struct buf *b, size_t size)
{
    /* A size of 0 takes the slow path, which allocates. */
    if (size - 1 < b->cap - b->n && size <= b->size_max - b->n && !b->full)
        return b->p + b->n;
    return buf_room_more(b, size);
}

static inline void buf_wrote(struct buf *b, size_t size)
{
    assert(size <= b->cap - b->n);
    b->n += size;
}

static inline void buf_add(struct buf *b, str s)
{
    char *p = s.n ? buf_room(b, s.n) : NULL;

    if (!p)
        return;
    memcpy(p, s.p, s.n);
    b->n += s.n;
}

/* Replaces the content. */
static inline void buf_set(struct buf *b, str s)
{
    buf_reset(b);
    buf_add(b, s);
}

/* For a URL: bytes as %XX, except letters, digits, "-._~" and those of `plain`. */
void buf_add_percent(struct buf *b, str s, const char *plain);

static inline void buf_add_c(struct buf *b, char c)
{
    char *p = buf_room(b, 1);

    if (!p)
        return;
    *p = c;
    b->n++;
}

/* Makes space for as many more bytes without another allocation, within the limit. */
void buf_reserve(struct buf *b, size_t size);

/* Reserves bytes before the content of an empty buffer, for something written last, such as a head
 * with the size of the body. buf_put_front writes into them, or returns false if they are too few.
 * Other code need not know of them. */
void buf_front(struct buf *b, uint32_t size);
bool buf_put_front(struct buf *b, str s) MUST_USE;
/* Moves memory and bytes into `to`, which must have no memory; `from` is then empty. */
void buf_move(struct buf *to, struct buf *from);

/* Removes `size` bytes from the front. */
void buf_drop(struct buf *b, size_t size);

/* The content, valid until the next change. */
static inline str buf_str(const struct buf *b)
{
    return b->n ? (str){b->p, b->n} : STR("");
}

static inline bool buf_full(const struct buf *b)
{
    return b->full;
}

/* False if it is full: the error is "`what` is larger than SIZE_MAX bytes". */
bool buf_ok(const struct buf *b, const char *what, struct err *e) MUST_USE;

/* Keeps the memory of released buffers for reuse. One thread at a time. At most BUF_POOL_MAX
 * pieces, none so small that most uses would have to grow it, and none larger than
 * BUF_SPARE_MAX. */
#define BUF_POOL_MAX 64
#define BUF_SPARE_MIN 2048
#define BUF_SPARE_MAX 32768

struct buf_pool {
    size_t n;
    struct {
        char *p;
        size_t cap;
    } spare[BUF_POOL_MAX];
};

void buf_pool_release(struct buf_pool *pool);
/* Gives spare memory to b, which must have none; without spare memory b grows as usual. */
void buf_take(struct buf_pool *pool, struct buf *b);
/* Like buf_release, but keeps the memory for reuse. */
void buf_give_memory(struct buf_pool *pool, struct buf *b);
static inline void buf_give(struct buf_pool *pool, struct buf *b)
{
    if (b->p)
        buf_give_memory(pool, b);
    b->full = false;
}
