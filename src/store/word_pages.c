/* word_pages.c - writing, searching and merging pages of word keys.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "store/word_pages.h"

#include "store/crc32c.h"
#include "store/words.h"

#define WORD_PAGES_VERSION 1
#define WORD_PAGES_HEAD 6   /* checksum, version, blocks */
#define WORD_PAGES_PLAIN 16 /* blocks of a segment, up to which a bitmap has no byte before it */
#define WORD_PAGES_ENTRY_MAX (6 + 1 + WORD_PAGES_BLOCKS_MAX / 8)

static unsigned word_pages_bitmap_size(unsigned blocks)
{
    return (blocks + 7) / 8;
}

static unsigned word_blocks_count(const struct word_blocks *b)
{
    unsigned n = 0;

    for (size_t i = 0; i < COUNT_OF(b->bits); i++)
        if (b->bits[i])
            n += b->bits[i] & (b->bits[i] - 1) ? (unsigned)__builtin_popcountll(b->bits[i]) : 1;
    return n;
}

void word_pages_begin(struct word_pages_writer *w, unsigned blocks, word_pages_emit *emit, void *to)
{
    assert(blocks >= 1 && blocks <= WORD_PAGES_BLOCKS_MAX);
    w->emit = emit;
    w->to = to;
    w->blocks = blocks;
    w->first_key = w->key = 0;
    w->any = false;
    w->n = WORD_PAGES_HEAD;
}

static bool word_pages_flush(struct word_pages_writer *w, struct err *e)
{
    uint32_t crc;
    bool ok;

    assert(w->n > WORD_PAGES_HEAD && w->n <= WORD_PAGES_SIZE_MAX);
    w->page[4] = WORD_PAGES_VERSION;
    w->page[5] = (char)(w->blocks - 1);
    crc = htole32(crc32c(0, (str){w->page + 4, w->n - 4}));
    memcpy(w->page, &crc, sizeof crc);
    ok = w->emit(w->to, w->first_key, (str){w->page, w->n}, e);
    w->n = WORD_PAGES_HEAD;
    w->key = 0;
    return ok;
}

static char *word_pages_put_varint(char *p, uint64_t n)
{
    for (; n >= 0x80; n >>= 7)
        *p++ = (char)(n | 0x80);
    *p++ = (char)n;
    return p;
}

/* The numbers of the blocks, ascending. */
static char *word_pages_put_list(char *p, const struct word_blocks *b)
{
    for (size_t i = 0; i < COUNT_OF(b->bits); i++)
        for (uint64_t bits = b->bits[i]; bits; bits &= bits - 1)
            *p++ = (char)(64 * i + (unsigned)__builtin_ctzll(bits));
    return p;
}

static char *word_pages_put_blocks(char *p, const struct word_blocks *b, unsigned blocks,
                                   unsigned count)
{
    unsigned size = word_pages_bitmap_size(blocks);
    struct word_blocks le;

    assert(count > 0 && count <= blocks);
    if (count == 1)
        return word_pages_put_list(p, b);
    if (blocks > WORD_PAGES_PLAIN) {
        *p++ = (char)(count < size ? count : 0);
        if (count < size)
            return word_pages_put_list(p, b);
    }
    for (size_t i = 0; i < COUNT_OF(b->bits); i++)
        le.bits[i] = htole64(b->bits[i]);
    memcpy(p, &le, size);
    return p + size;
}

bool word_pages_add(struct word_pages_writer *w, uint64_t key, const struct word_blocks *blocks,
                    struct err *e)
{
    unsigned count = word_blocks_count(blocks);
    uint64_t distance;
    char *p;

    assert(key <= WORDS_KEY_MAX && (!w->any || key > w->key || w->n == WORD_PAGES_HEAD));
    if (count == 0)
        return true;
    if (w->n + WORD_PAGES_ENTRY_MAX > WORD_PAGES_SIZE_MAX && !word_pages_flush(w, e))
        return false;
    if (w->n == WORD_PAGES_HEAD)
        w->first_key = key;
    distance = key - w->key;
    p = w->page + w->n;
    if (w->blocks == 1) {
        p = word_pages_put_varint(p, distance);
    } else {
        p = word_pages_put_varint(p, distance << 1 | (count == 1));
        p = word_pages_put_blocks(p, blocks, w->blocks, count);
    }
    w->n = (size_t)(p - w->page);
    assert(w->n <= WORD_PAGES_SIZE_MAX);
    w->key = key;
    w->any = true;
    return true;
}

bool word_pages_finish(struct word_pages_writer *w, struct err *e)
{
    return w->n == WORD_PAGES_HEAD || word_pages_flush(w, e);
}

bool word_pages_write_block(const uint64_t *keys, size_t n, word_pages_emit *emit, void *to,
                            struct err *e)
{
    const struct word_blocks first = {{1}};
    struct word_pages_writer w;

    word_pages_begin(&w, 1, emit, to);
    for (size_t i = 0; i < n; i++)
        if (!word_pages_add(&w, keys[i], &first, e))
            return false;
    return word_pages_finish(&w, e);
}

/* Reads the entries of a page. */
struct word_pages_reader {
    const unsigned char *p, *end;
    unsigned blocks;
    uint64_t key;
    const unsigned char *postings; /* of the entry */
    unsigned listed;               /* numbers in it; 0 if it is a bitmap */
    bool started, bad;
};

static bool word_pages_open(struct word_pages_reader *r, str page, struct err *e)
{
    uint32_t crc;

    if (page.n <= WORD_PAGES_HEAD || page.n > WORD_PAGES_SIZE_MAX)
        return err_set(e, ERR_SYSTEM, "a page of the word index has %zu bytes", page.n);
    memcpy(&crc, page.p, sizeof crc);
    if (le32toh(crc) != crc32c(0, str_slice(page, 4, page.n)))
        return err_set(e, ERR_SYSTEM, "a page of the word index has a wrong checksum");
    if (page.p[4] != WORD_PAGES_VERSION)
        return err_set(e,
                       ERR_SYSTEM,
                       "a page of the word index has version %d, which this program does not know",
                       page.p[4]);
    *r = (struct word_pages_reader){
        .p = (const unsigned char *)page.p + WORD_PAGES_HEAD,
        .end = (const unsigned char *)page.p + page.n,
        .blocks = (unsigned char)page.p[5] + 1u,
    };
    return true;
}

bool word_pages_check(str page, struct err *e)
{
    struct word_pages_reader r;

    return word_pages_open(&r, page, e);
}

static bool word_pages_damaged(struct word_pages_reader *r)
{
    r->bad = true;
    return false;
}

/* word_pages_take_varint with one load, if eight bytes are left. */
static inline bool word_pages_take_varint_fast(struct word_pages_reader *r, uint64_t *out)
{
    uint64_t n, last;

    assert_slow(r->end - r->p >= 8);
    memcpy(&n, r->p, sizeof n);
    n = le64toh(n);
    last = ~n & UINT64_C(0x0000808080808080); /* the bytes that may be the last one */
    if (last == 0)
        return false;
    n &= last ^ (last - 1);
    n = (n & UINT64_C(0x007F007F007F007F)) | (n & UINT64_C(0x7F007F007F007F00)) >> 1;
    n = (n & UINT64_C(0x00003FFF00003FFF)) | (n & UINT64_C(0x3FFF00003FFF0000)) >> 2;
    *out = (n & UINT64_C(0x0FFFFFFF)) | (n & UINT64_C(0x0FFFFFFF00000000)) >> 4;
    r->p += __builtin_ctzll(last) / 8 + 1;
    return true;
}

static bool word_pages_take_varint(struct word_pages_reader *r, uint64_t *out)
{
    uint64_t n = 0;

    if (r->end - r->p >= 8)
        return word_pages_take_varint_fast(r, out);

    for (unsigned shift = 0; shift < 42; shift += 7) {
        unsigned c;

        if (r->p == r->end)
            return false;
        c = *r->p++;
        n |= (uint64_t)(c & 0x7F) << shift;
        if (c < 0x80) {
            *out = n;
            return true;
        }
    }
    return false;
}

/* Finds where the blocks of the entry are, and goes past them. */
static bool word_pages_take_postings(struct word_pages_reader *r, bool one)
{
    size_t size = word_pages_bitmap_size(r->blocks);

    assert(r->blocks > 1);
    r->listed = one;
    if (!one && r->blocks > WORD_PAGES_PLAIN) {
        if (r->p == r->end)
            return false;
        r->listed = *r->p++;
    }
    if (r->listed)
        size = r->listed;
    if ((size_t)(r->end - r->p) < size)
        return false;
    r->postings = r->p;
    r->p += size;
    return true;
}

/* The next entry; false at the end, and if the page is damaged (`bad`). */
static bool word_pages_next(struct word_pages_reader *r)
{
    uint64_t n;
    bool one = false;

    assert(r->p <= r->end);
    if (r->p == r->end)
        return false;
    if (!word_pages_take_varint(r, &n))
        return word_pages_damaged(r);
    if (r->blocks > 1) {
        one = n & 1;
        n >>= 1;
    }
    if ((n == 0 && r->started) || n > WORDS_KEY_MAX - r->key)
        return word_pages_damaged(r);
    r->started = true;
    r->key += n;
    if (r->blocks > 1 && !word_pages_take_postings(r, one))
        return word_pages_damaged(r);
    return true;
}

/* Adds the blocks of the entry. */
static bool word_pages_get_blocks(struct word_pages_reader *r, struct word_blocks *out)
{
    struct word_blocks b = {{0}};

    if (r->blocks == 1) {
        out->bits[0] |= 1;
        return true;
    }
    if (r->listed) {
        for (unsigned i = 0; i < r->listed; i++) {
            if (r->postings[i] >= r->blocks)
                return word_pages_damaged(r);
            word_blocks_set(out, r->postings[i]);
        }
        return true;
    }
    memcpy(&b, r->postings, word_pages_bitmap_size(r->blocks));
    for (size_t i = 0; i < COUNT_OF(b.bits); i++) {
        unsigned below = r->blocks > 64 * i ? r->blocks - 64 * (unsigned)i : 0;

        b.bits[i] = le64toh(b.bits[i]);
        if (below < 64 && b.bits[i] >> below)
            return word_pages_damaged(r);
        out->bits[i] |= b.bits[i];
    }
    return true;
}

static bool word_pages_set_damaged(struct err *e)
{
    return err_set(e, ERR_SYSTEM, "a page of the word index is damaged");
}

bool word_pages_find(str page, uint64_t lo, uint64_t hi, struct word_blocks *out, struct err *e)
{
    struct word_blocks found = {{0}};
    struct word_pages_reader r = {0};

    if (!word_pages_open(&r, page, e))
        return false;
    while (word_pages_next(&r) && r.key <= hi)
        if (r.key >= lo && !word_pages_get_blocks(&r, &found))
            break;
    if (r.bad)
        return word_pages_set_damaged(e);
    for (size_t i = 0; i < COUNT_OF(found.bits); i++)
        out->bits[i] |= found.bits[i];
    return true;
}

/* One segment of a merge. */
struct word_pages_cursor {
    struct word_pages_reader r;
    const struct word_pages_source *from;
    size_t page;
};

#define WORD_PAGES_NO_KEY UINT64_MAX

/* The key of the next entry, or WORD_PAGES_NO_KEY at the end of the segment. */
static bool word_pages_advance(struct word_pages_cursor *c, uint64_t *key, struct err *e)
{
    uint64_t before = *key;

    assert(c->page <= c->from->n);
    while (!word_pages_next(&c->r)) {
        if (c->r.bad)
            return word_pages_set_damaged(e);
        if (c->page == c->from->n) {
            *key = WORD_PAGES_NO_KEY;
            return true;
        }
        if (!word_pages_open(&c->r, c->from->pages[c->page++], e))
            return false;
    }
    if (before != WORD_PAGES_NO_KEY && c->r.key <= before)
        return err_set(e, ERR_SYSTEM, "the pages of the word index are out of order");
    *key = c->r.key;
    return true;
}

/* Adds the blocks of the cursor's entry, moved by the offset of its segment. */
static bool word_pages_collect(struct word_pages_cursor *c, unsigned blocks,
                               struct word_blocks *out, struct err *e)
{
    struct word_blocks own = {{0}};

    if (c->from->offset + c->r.blocks > blocks)
        return err_set(e, ERR_SYSTEM, "a page of the word index covers too many blocks");
    if (!word_pages_get_blocks(&c->r, &own))
        return word_pages_set_damaged(e);
    for (size_t i = 0; i < COUNT_OF(own.bits); i++) {
        uint64_t bits = own.bits[i];

        if (c->from->without)
            bits &= ~c->from->without->bits[i];
        for (; bits; bits &= bits - 1)
            word_blocks_set(out,
                            c->from->offset + 64 * (unsigned)i + (unsigned)__builtin_ctzll(bits));
    }
    return true;
}

/* The cursors at the lowest key, a bit each; without branches, which would be mispredicted. */
static unsigned word_pages_lowest(const uint64_t keys[WORD_PAGES_MERGE_MAX], uint64_t *key)
{
    uint64_t low = WORD_PAGES_NO_KEY;
    unsigned same = 0;

    for (unsigned i = 0; i < WORD_PAGES_MERGE_MAX; i++)
        low = keys[i] < low ? keys[i] : low;
    for (unsigned i = 0; i < WORD_PAGES_MERGE_MAX; i++)
        same |= (unsigned)(keys[i] == low) << i;
    *key = low;
    return same;
}

bool word_pages_merge(const struct word_pages_source *sources, size_t n,
                      struct word_pages_writer *w, struct err *e)
{
    struct word_pages_cursor cursors[WORD_PAGES_MERGE_MAX];
    uint64_t keys[WORD_PAGES_MERGE_MAX], key;

    assert(n <= WORD_PAGES_MERGE_MAX);
    for (size_t i = 0; i < WORD_PAGES_MERGE_MAX; i++)
        keys[i] = WORD_PAGES_NO_KEY;
    for (size_t i = 0; i < n; i++) {
        cursors[i] = (struct word_pages_cursor){.from = &sources[i]};
        if (!word_pages_advance(&cursors[i], &keys[i], e))
            return false;
    }
    for (;;) {
        struct word_blocks blocks = {{0}};
        unsigned same = word_pages_lowest(keys, &key);

        if (key == WORD_PAGES_NO_KEY)
            return word_pages_finish(w, e);
        for (; same; same &= same - 1) {
            unsigned i = (unsigned)__builtin_ctz(same);

            if (!word_pages_collect(&cursors[i], w->blocks, &blocks, e) ||
                !word_pages_advance(&cursors[i], &keys[i], e))
                return false;
        }
        if (!word_pages_add(w, key, &blocks, e))
            return false;
    }
}
