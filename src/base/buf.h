/* buf.h - bytes that grow, up to a ceiling.
 *
 *     struct buf b;
 *     buf_init(&b, 1 << 20);
 *     buf_add(&b, STR("hello "));
 *     buf_printf(&b, "%d", 42);
 *     if (buf_full(&b)) ...            look once, at the end
 *     use(buf_str(&b));
 *     buf_release(&b);
 *
 * A sticky end: once something did not fit under the ceiling, the buffer is full, keeps what it has
 * and ignores the rest. It never holds half of an add.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/err.h"
#include "base/str.h"

struct buf {
    char *p;
    size_t n, cap, size_max;
    uint32_t front; /* bytes free before p: see buf_front */
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

/* Room for `size` more bytes to be written at the place returned, or NULL and full. buf_wrote says
 * how many of them were. */
char *buf_room_more(struct buf *b, size_t size) MUST_USE;
static inline char *buf_room(struct buf *b, size_t size)
{
    /* Room for nothing is asked of who gets memory for it. */
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

static inline void buf_add_c(struct buf *b, char c)
{
    char *p = buf_room(b, 1);

    if (!p)
        return;
    *p = c;
    b->n++;
}

/* So that as many more bytes fit without another allocation; no more than the ceiling allows. */
void buf_reserve(struct buf *b, size_t size);

/* For an empty buffer that something will be put before, such as a head that names the size of the
 * body: as many bytes are kept free in front. buf_put_front writes into them, or says that they are
 * too few; who does not care for them need not know of them. */
void buf_front(struct buf *b, uint32_t size);
bool buf_put_front(struct buf *b, str s) MUST_USE;
/* Memory and bytes change hands: `to`, which has no memory, has them, and `from` is empty. */
void buf_move(struct buf *to, struct buf *from);

/* Takes `size` bytes off the front. */
void buf_drop(struct buf *b, size_t size);

/* What is in it, lent until the next change. */
static inline str buf_str(const struct buf *b)
{
    return b->n ? (str){b->p, b->n} : STR("");
}

static inline bool buf_full(const struct buf *b)
{
    return b->full;
}

/* False if it is full: `what` is "larger than SIZE_MAX bytes". */
bool buf_ok(const struct buf *b, const char *what, struct err *e) MUST_USE;

/* Memory of buffers that come and go, kept for the next. One thread at a time; at most BUF_POOL_MAX
 * pieces, none that would have to grow for most of what is put into them, and none that grew beyond
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
/* Gives b, which holds no memory yet, what is spare; if nothing is, it grows as any other. */
void buf_take(struct buf_pool *pool, struct buf *b);
/* buf_release, but for who comes next. */
void buf_give_memory(struct buf_pool *pool, struct buf *b);
static inline void buf_give(struct buf_pool *pool, struct buf *b)
{
    if (b->p)
        buf_give_memory(pool, b);
    b->full = false;
}
