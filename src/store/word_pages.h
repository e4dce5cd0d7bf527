/* word_pages.h - the word index: which blocks have which word keys, as pages of bytes.
 *
 *     word_pages_begin(&w, 1, emit, to);                  a segment of one block
 *     word_pages_add(&w, key, &blocks, e) ...             keys ascending
 *     word_pages_finish(&w, e);
 *
 * A segment covers 1 to 256 blocks that follow one another; its pages, in the order of their first
 * keys, hold its keys and the blocks of each. Blocks are numbered from the first of the segment.
 *
 * To look up the keys from lo to hi in a segment, find the last page whose first key is <= lo (or
 * the first page, if there is none), and call word_pages_find on it and on each page after it while
 * the page's first key is <= hi.
 *
 * The bytes of a page: four of CRC-32C of all that follows, the version, the number of blocks less
 * one, then the entries. An entry is the distance from the key before (from 0 in the first one) as
 * a varint, 7 bits a byte, the lowest first. In a segment of more than one block the distance is
 * doubled, plus 1 if one block has the key; that block's number follows in a byte. If several
 * blocks have the key, a bitmap follows, lowest bit of the first byte first; a segment of more than
 * 16 blocks has a byte before it: 0, or how many block numbers follow in place of the bitmap.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/err.h"
#include "base/str.h"

#define WORD_PAGES_SIZE_MAX 8192 /* bytes of a page */
#define WORD_PAGES_BLOCKS_MAX 256
#define WORD_PAGES_MERGE_MAX 16 /* segments in one merge */

struct word_blocks {
    uint64_t bits[WORD_PAGES_BLOCKS_MAX / 64];
};

static inline void word_blocks_set(struct word_blocks *b, unsigned block)
{
    b->bits[block / 64] |= UINT64_C(1) << block % 64;
}

static inline bool word_blocks_has(const struct word_blocks *b, unsigned block)
{
    return b->bits[block / 64] >> block % 64 & 1;
}

/* Receives a full page, which is lent for the call. */
typedef bool word_pages_emit(void *to, uint64_t first_key, str page, struct err *e);

struct word_pages_writer {
    word_pages_emit *emit;
    void *to;
    unsigned blocks;
    uint64_t first_key, key; /* the first key of this page; the last key added */
    bool any;                /* a key was added */
    size_t n;                /* bytes of the page so far */
    char page[WORD_PAGES_SIZE_MAX];
};

void word_pages_begin(struct word_pages_writer *w, unsigned blocks, word_pages_emit *emit,
                      void *to);
/* Keys must ascend, up to WORDS_KEY_MAX; a key without a block is not written. False if emit
 * failed: the writer must not be used further. */
bool word_pages_add(struct word_pages_writer *w, uint64_t key, const struct word_blocks *blocks,
                    struct err *e) MUST_USE;
/* Emits the last page. A segment without keys has no pages. */
bool word_pages_finish(struct word_pages_writer *w, struct err *e) MUST_USE;

/* Writes the segment of one block: n keys, ascending. */
bool word_pages_write_block(const uint64_t *keys, size_t n, word_pages_emit *emit, void *to,
                            struct err *e) MUST_USE;

/* Whether the bytes of a page are as they were written. */
bool word_pages_check(str page, struct err *e) MUST_USE;

/* Adds the blocks of all keys from lo to hi, both included, to `out`. False if the page is damaged;
 * `out` is unchanged then. */
bool word_pages_find(str page, uint64_t lo, uint64_t hi, struct word_blocks *out,
                     struct err *e) MUST_USE;

/* The pages of a segment, in order. */
struct word_pages_source {
    const str *pages;
    size_t n;
    unsigned offset; /* its first block, counted from the first of the merged segment */
    const struct word_blocks *without; /* blocks of the source to leave out, or NULL */
};

/* Merges up to WORD_PAGES_MERGE_MAX segments into one, which `w` was begun for; finishes `w`. Takes
 * time linear in the keys. To replace the words of one block in a segment, merge the segment
 * `without` the block with the block's new one-block segment. */
bool word_pages_merge(const struct word_pages_source *sources, size_t n,
                      struct word_pages_writer *w, struct err *e) MUST_USE;
