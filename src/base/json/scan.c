/* The inner loops: find the end of a string, and check its UTF-8.
 *
 * A long string is scanned in blocks of 64 bytes, each reduced to four words with one bit for each
 * byte: quotes, backslashes, control characters, bytes that are not ASCII. A few operations on
 * these words then classify the block without a branch for each escape, because escapes are too
 * frequent and too irregular to be predicted.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/json/internal.h"

#define BLOCK 64

static bool json_scan_ends_run(char c)
{
    return c == '"' || c == '\\' || (unsigned char)c < 0x20;
}

static const char *scan_words(const char *p, const char *end, bool *high)
{
    for (; end - p >= 8; p += 8) {
        uint64_t w, stop;

        memcpy(&w, p, sizeof w);
        stop = json_zeros(w ^ JSON_EACH * '"') | json_zeros(w ^ JSON_EACH * '\\') |
               ((w - JSON_EACH * 0x20) & ~w & JSON_EACH * 0x80);
        if (stop && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__) { /* the lowest bit is right */
            *high |= (w & JSON_EACH * 0x80 & (stop - 1) & ~stop) != 0;
            return p + __builtin_ctzll(stop) / 8;
        }
        if (stop)
            break;
        *high |= (w & JSON_EACH * 0x80) != 0;
    }
    for (; p < end && !json_scan_ends_run(*p); p++)
        *high |= (unsigned char)*p >= 0x80;
    return p;
}

#if SIMD_HAS_16
static const char *scan_16(const char *p, const char *end, bool *high)
{
    const char *from = p;
    uint32_t seen = 0;

    for (; end - p >= 16; p += 16) {
        simd16 v = simd_load(p);
        uint32_t stop = json_ends_run(v), h = simd_high(v);

        if (stop) {
            *high |= (seen | (h & (stop - 1) & ~stop)) != 0;
            return p + __builtin_ctz(stop);
        }
        seen |= h;
    }
    *high |= seen != 0;
    /* The rest, together with some bytes before it. */
    if (end - p > 0 && p > from && !json_ends_plain(simd_load(end - 16)))
        return end;
    return scan_words(p, end, high);
}
#endif

const char *json_scan(const char *p, const char *end, enum simd_level level, bool *high)
{
    if (json_plain_few((str){p, (size_t)(end - p)}))
        return end;
#if SIMD_HAS_16
    if (level >= SIMD_16)
        return scan_16(p, end, high);
#endif
    (void)level;
    return scan_words(p, end, high);
}

/* ---- strings by blocks ---- */

#if SIMD_HAS_16

struct block {
    uint64_t quote, back, control, high;
    uint64_t escaped; /* bytes after a backslash that is not itself escaped */
    uint64_t odd;     /* those of them that do not make a simple escape */
};

/* before: the byte before the block is a backslash that escapes its first; the same for the next
 * block is returned. */
static inline uint64_t json_find_escaped(struct block *b, uint64_t before)
{
    uint64_t start = b->back & ~before;
    uint64_t rest;

    b->escaped = start << 1 | before;
    if (!(start & start << 1))
        return start >> 63;
    b->escaped = before;
    for (rest = start; rest; rest &= ~(start | start << 1)) {
        start = rest & (0 - rest);
        b->escaped |= start << 1;
    }
    return start >> 63;
}

/* The first thing in the block that is not plain text or a simple escape, or NULL. */
static inline const char *json_scan_settle(const struct block *b, const char *p, struct json_run *r)
{
    uint64_t stop = (b->quote & ~b->escaped) | b->control | b->odd;
    uint64_t first = stop & (0 - stop);
    uint64_t before = first - 1; /* all of the block if there is nothing to stop at */

    r->high |= b->high & before;
    r->escaped |= b->back & before;
    if (!stop)
        return NULL;
    p += __builtin_ctzll(stop);
    return b->odd & first ? p - 1 : p;
}

static inline uint64_t json_not_simple(const char *p, uint64_t escaped)
{
    uint64_t odd = 0;

    for (uint64_t rest = escaped; rest; rest &= rest - 1)
        if (!json_escapes[(unsigned char)p[__builtin_ctzll(rest)]])
            odd |= rest & (0 - rest);
    return odd;
}

static const char *json_run_16(const char *p, const char *end, struct json_run *r)
{
    uint64_t before = 0;

    for (; end - p >= BLOCK; p += BLOCK) {
        struct block b = {0};
        const char *stop;

        for (int i = 0; i < BLOCK; i += 16) {
            simd16 v = simd_load(p + i);

            b.quote |= (uint64_t)simd_bits(simd_eq(v, '"')) << i;
            b.back |= (uint64_t)simd_bits(simd_eq(v, '\\')) << i;
            b.control |= (uint64_t)simd_bits(simd_below(v, 0x20)) << i;
            b.high |= (uint64_t)simd_high(v) << i;
        }
        if (b.back | before) {
            before = json_find_escaped(&b, before);
            b.odd = json_not_simple(p, b.escaped);
        }
        stop = json_scan_settle(&b, p, r);
        if (stop)
            return stop;
    }
    return p - before;
}

#endif

#if SIMD_HAS_32

SIMD_AVX2 static inline uint64_t bits_32(__m256i low, __m256i high)
{
    return (uint32_t)_mm256_movemask_epi8(low) | (uint64_t)(uint32_t)_mm256_movemask_epi8(high)
                                                     << 32;
}

SIMD_AVX2 static inline __m256i is_control(__m256i v)
{
    return _mm256_cmpeq_epi8(_mm256_min_epu8(v, _mm256_set1_epi8(0x1F)), v);
}

SIMD_AVX2 static inline __m256i is_char(__m256i v, char c)
{
    return _mm256_cmpeq_epi8(v, _mm256_set1_epi8(c));
}

/* Zero where the byte is none of "\/bfnrt. A bit for each high nibble that has any: 2 is 1, 5 is 2,
 * 6 is 4, 7 is 8; and for each low nibble the bits of the high ones it goes with. */
SIMD_AVX2 static inline __m256i is_escape(__m256i v)
{
    const __m256i by_low = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, 0, 1 | 4 | 8, 0, 8, 0, 4, 0, 0, 0, 0, 0, 2, 0, 4, 1));
    const __m256i by_high =
        _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 0, 1, 0, 0, 2, 4, 8, 0, 0, 0, 0, 0, 0, 0, 0));
    const __m256i nibble = _mm256_set1_epi8(0xF);
    __m256i low = _mm256_shuffle_epi8(by_low, _mm256_and_si256(v, nibble));
    __m256i high = _mm256_and_si256(_mm256_srli_epi16(v, 4), nibble);

    return _mm256_and_si256(low, _mm256_shuffle_epi8(by_high, high));
}

/* Bytes that are not plain ASCII text: below a space, or above what a signed byte can hold. */
SIMD_AVX2 static inline __m256i is_odd(__m256i v)
{
    return _mm256_or_si256(_mm256_or_si256(is_char(v, '"'), is_char(v, '\\')),
                           _mm256_cmpgt_epi8(_mm256_set1_epi8(0x20), v));
}

SIMD_AVX2 static const char *run_32(const char *p, const char *end, struct json_run *r)
{
    const __m256i zero = _mm256_setzero_si256();
    uint64_t before = 0;
    bool plain = true; /* the block before was, so this one may be */

    for (; end - p >= BLOCK; p += BLOCK) {
        __m256i v = _mm256_loadu_si256((const __m256i *)(const void *)p);
        __m256i w = _mm256_loadu_si256((const __m256i *)(const void *)(p + 32));
        struct block b;
        const char *stop;

        if (plain && !_mm256_movemask_epi8(_mm256_or_si256(is_odd(v), is_odd(w))))
            continue;
        b = (struct block){
            .quote = bits_32(is_char(v, '"'), is_char(w, '"')),
            .back = bits_32(is_char(v, '\\'), is_char(w, '\\')),
            .control = bits_32(is_control(v), is_control(w)),
            .high = bits_32(v, w),
        };
        plain = !(b.back | b.high);
        if (b.back | before) {
            before = json_find_escaped(&b, before);
            b.odd = b.escaped & bits_32(_mm256_cmpeq_epi8(is_escape(v), zero),
                                        _mm256_cmpeq_epi8(is_escape(w), zero));
        }
        stop = json_scan_settle(&b, p, r);
        if (stop)
            return stop;
    }
    return p - before;
}

#endif

const char *json_run(const char *p, const char *end, enum simd_level level, struct json_run *r)
{
#if SIMD_HAS_32
    if (level >= SIMD_32)
        return run_32(p, end, r);
#endif
#if SIMD_HAS_16
    if (level >= SIMD_16)
        return json_run_16(p, end, r);
#endif
    (void)level, (void)end, (void)r;
    return p;
}
