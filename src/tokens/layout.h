/* layout.h - the layout of a vocabulary in the binary and, once it is used, in memory.
 *
 * tools/vocab/pack checks and packs the ranks at build time; unpack.c creates these tables on first
 * use of a vocabulary.
 *
 *     shorts   tokens of up to 8 bytes, which are their own keys, and their ids: a hash of buckets
 *              of a cache line each
 *     words    the longer tokens, and what found its bucket full, which is rare: an open hash of
 *              32-bit slots, the id and 14 bits of the hash
 *     maybe    a filter that most of what is no token does not pass: it is small, they are large
 *     twos     byte, byte -> the id of the two
 *     info     id -> where its bytes are, how many, and the two ids it is merged from
 *     ends     hash of three bytes -> which lengths the tokens have that end so: a filter
 *     bytes    the bytes of all tokens, in the order of their ids, and 8 bytes of nothing
 *     single   byte -> id of the token of that one byte, always under TOKENS_SINGLE
 *
 * The packer has checked, for every token of two bytes or more, that merging its own bytes yields
 * it and that both halves rank before it. Then it is always merged from that one pair, whatever
 * surrounds it (see bpe.c), so the result of merging two neighbours depends only on their bytes.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/base.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the tables are little-endian");

#define TOKENS_ID_BITS 18
#define TOKENS_NONE ((1U << TOKENS_ID_BITS) - 1) /* not an id of any token */
#define TOKENS_EMPTY UINT32_MAX                  /* a slot without an entry */
#define TOKENS_SINGLE 256                        /* ids below it are exactly the single bytes */
#define TOKENS_SIZE_MAX 128                      /* bytes of the longest token */
#define TOKENS_ENDS_BITS 14
#define TOKENS_POINT_BITS 7 /* code points in a block of classes: 128 */

/* Classes of code points for the split patterns. */
enum tokens_class {
    TOKENS_OTHER,   /* none of the others: punctuation, symbols, controls, unassigned */
    TOKENS_SPACE,   /* \s except CR and LF */
    TOKENS_NEWLINE, /* CR and LF */
    TOKENS_NUMBER,  /* \p{N} */
    TOKENS_MARK,    /* \p{M} */
    TOKENS_LETTER,  /* \p{Lm} \p{Lo} */
    TOKENS_UPPER,   /* \p{Lu} \p{Lt} */
    TOKENS_LOWER,   /* \p{Ll} */
};

#define TOKENS_BUCKET 5

struct tokens_bucket {
    uint64_t word[TOKENS_BUCKET]; /* of tokens_word, or UINT64_MAX */
    uint32_t id[TOKENS_BUCKET];
    uint32_t unused;
};

_Static_assert(sizeof(struct tokens_bucket) == 64, "a bucket is a cache line");

struct tokens_table {
    const struct tokens_bucket *shorts;
    const uint64_t *maybe, *info, *ends;
    const uint32_t *words, *twos;
    const uint8_t *bytes, *single;
    uint32_t count; /* ids are 0 .. count - 1 */
    unsigned bits;  /* words has 1 << bits slots; shorts and maybe have a quarter of that */
    struct tokens_memo *memo;
};

/* A vocabulary in the binary: zlib of the left and of the right id that each token is merged from,
 * which is two thirds of what its bytes take. The ids have three bytes each: first come the lowest
 * bytes of all left ids, last the highest of all right ids. A token of one byte has that byte for
 * its left id. */
#define TOKENS_PLANES 6
struct tokens_packed {
    const uint8_t *packed;
    size_t packed_size, bytes_size;
    uint32_t count;
};

/* Written by the packer. */
extern const struct tokens_packed tokens_packed_o200k, tokens_packed_cl100k;
extern const uint8_t tokens_class_blocks[]; /* by code point >> TOKENS_POINT_BITS */
extern const uint8_t tokens_class_kinds[];  /* by block, then the remaining bits */

/* info: bytes from 43, length less one from 36, left from 18, right from 0. */
static inline uint64_t tokens_info(uint32_t at, uint32_t size, uint32_t left, uint32_t right)
{
    return (uint64_t)at << 43 | (uint64_t)(size - 1) << 36 | (uint64_t)left << 18 | right;
}

static inline uint32_t tokens_info_at(uint64_t info)
{
    return (uint32_t)(info >> 43);
}

static inline uint32_t tokens_info_size(uint64_t info)
{
    return (uint32_t)(info >> 36 & 127) + 1;
}

static inline uint32_t tokens_info_left(uint64_t info)
{
    return (uint32_t)(info >> 18) & TOKENS_NONE;
}

static inline uint32_t tokens_info_right(uint64_t info)
{
    return (uint32_t)info & TOKENS_NONE;
}

static inline uint64_t tokens_load8(const uint8_t *p)
{
    uint64_t v;

    memcpy(&v, p, sizeof v);
    return v;
}

/* One to eight bytes as a number. Fewer than eight have 0xF8 plus their number in the top byte,
 * which never occurs in UTF-8, so different texts have different numbers. `room` is the number of
 * readable bytes. */
static inline uint64_t tokens_word(const uint8_t *p, size_t size, size_t room)
{
    uint64_t word = 0;

    if (room >= 8)
        word = tokens_load8(p) & UINT64_MAX >> (64 - 8 * size);
    else
        memcpy(&word, p, size);
    return word | (0xF8 + (uint64_t)size) << 56; /* shifted out if size is 8 */
}

/* The slot comes from the top bits, the mark from the 14 bits below them. Buckets of short words
 * need only half of the mixing. */
static inline uint64_t tokens_mix(uint64_t word)
{
    return word * 0x9E3779B97F4A7C15U;
}

static inline uint64_t tokens_hash_short(uint64_t word)
{
    uint64_t h = tokens_mix(word);

    return (h ^ h >> 32) * 0xD6E8FEB86659FD93U;
}

/* For more than eight bytes. Constant time: it hashes both ends, the middle and the size, and the
 * bytes are compared afterwards anyway. */
static inline uint64_t tokens_hash_long(const uint8_t *p, size_t size)
{
    uint64_t h = tokens_load8(p) + (tokens_load8(p + size - 8) ^ size) * 0xA0761D6478BD642FU;

    if (size > 16)
        h ^= tokens_load8(p + size / 2 - 4) * 0xE7037ED1A0B428DBU;
    return tokens_hash_short(h ^ h >> 31);
}

static inline uint64_t tokens_hash(const uint8_t *p, size_t size)
{
    return size <= 8 ? tokens_hash_short(tokens_word(p, size, size)) : tokens_hash_long(p, size);
}

static inline uint32_t tokens_slot(uint64_t hash, uint32_t id)
{
    return (uint32_t)(hash >> 30 & 0x3FFF) << TOKENS_ID_BITS | id;
}

static inline size_t tokens_word_at(uint64_t hash, unsigned bits)
{
    return (size_t)(hash >> (64 - bits));
}

/* The offset of a word's bucket in shorts, in bytes; the mask is the same for all words. */
static inline uint64_t tokens_short_mask(unsigned bits)
{
    return (((uint64_t)1 << (bits - 2)) - 1) * sizeof(struct tokens_bucket);
}

static inline size_t tokens_short_at(uint64_t word, uint64_t mask)
{
    return (size_t)(tokens_mix(word) >> 41 & mask);
}

static inline const struct tokens_bucket *tokens_bucket_at(const struct tokens_bucket *shorts,
                                                           size_t at)
{
    return (const struct tokens_bucket *)(const void *)((const char *)shorts + at);
}

/* The filter has words of 64 bits; each entry sets two bits of one word. */
static inline size_t tokens_maybe_at(uint64_t hash, unsigned bits)
{
    return (size_t)(hash >> (64 - bits + 2));
}

static inline uint64_t tokens_maybe_bits(uint64_t hash)
{
    return (uint64_t)1 << (hash >> 18 & 63) | (uint64_t)1 << (hash >> 24 & 63);
}

/* The filter word for tokens that end in these three bytes. */
static inline uint32_t tokens_ends_at(const uint8_t *last3)
{
    uint32_t v = (uint32_t)last3[0] << 16 | (uint32_t)last3[1] << 8 | last3[2];

    return v * 0x9E3779B1U >> (32 - TOKENS_ENDS_BITS);
}

/* Bit n means length n, bit 63 all lengths from 63 on. */
static inline uint64_t tokens_ends_bit(size_t size)
{
    return (uint64_t)1 << (size < 63 ? size : 63);
}
