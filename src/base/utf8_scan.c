/* SPDX-License-Identifier: Apache-2.0 */
#include "base/utf8_scan.h"

#include "base/utf8.h"

/* The size of the character at p; 0 if it is invalid. */
static size_t utf8_size_at(const char *p, const char *end)
{
    uint32_t code;

    return utf8_decode((str){p, (size_t)(end - p)}, &code);
}

/* The first invalid byte from p on, where a character must begin; NULL: none. */
static const char *utf8_bad_from(const char *p, const char *end)
{
    while (p < end) {
        size_t n = (unsigned char)*p < 0x80 ? 1 : utf8_size_at(p, end);

        if (n == 0)
            return p;
        p += n;
    }
    return NULL;
}

#if SIMD_HAS_16

/* The first byte of the last character before p; p itself if those bytes are ASCII or the character
 * has 4 bytes. In each case a character begins there. */
static const char *utf8_first_byte(const char *from, const char *p)
{
    const char *q = p;

    for (int i = 0; i < 3 && q > from; i++)
        if ((unsigned char)*--q >= 0xC0)
            return q;
    return p;
}

/* Past the first three bytes, so that three can be looked at before each block; or NULL. */
static const char *utf8_first_three(const char *from, const char *end)
{
    const char *p = from;

    while (p < end && p - from < 3) {
        size_t n = utf8_size_at(p, end);

        if (n == 0)
            return NULL;
        p += n;
    }
    return p;
}

/* Whether one of the 16 bytes at p contradicts the three before it: a byte must continue a
 * character exactly if one of these requires it, must be valid, and must be within the limits that
 * some first bytes set for the second. */
static bool utf8_scan_bad_16(const char *p)
{
    simd16 v = simd_load(p), one = simd_load(p - 1);
    simd16 follows = simd_xor(simd_from(v, 0x80), simd_from(v, 0xC0));
    simd16 asked =
        simd_or(simd_from(one, 0xC0),
                simd_or(simd_from(simd_load(p - 2), 0xE0), simd_from(simd_load(p - 3), 0xF0)));
    simd16 bad = simd_xor(follows, asked);
    simd16 below_90 = simd_below(v, 0x90), below_a0 = simd_below(v, 0xA0);

    bad = simd_or(bad, simd_or(simd_eq(v, 0xC0), simd_eq(v, 0xC1)));
    bad = simd_or(bad, simd_from(v, 0xF5));
    bad = simd_or(bad, simd_and(simd_eq(one, 0xE0), below_a0));
    bad = simd_or(bad, simd_and(simd_eq(one, 0xF0), below_90));
    bad = simd_or(bad, simd_andnot(simd_eq(one, 0xED), below_a0));
    bad = simd_or(bad, simd_andnot(simd_eq(one, 0xF4), below_90));
    return simd_bits(bad) != 0;
}

static const char *utf8_bad_16(const char *from, const char *end)
{
    const char *p = utf8_first_three(from, end);
    bool was_high = true;

    for (; p && end - p >= 16; p += 16) {
        bool high = simd_high(simd_load(p)) != 0;

        if ((high || was_high) && utf8_scan_bad_16(p))
            break;
        was_high = high;
    }
    return utf8_bad_from(p ? utf8_first_byte(from, p) : from, end);
}

#endif

#if SIMD_HAS_32

/* With a shuffle that looks up 16 entries there is a shorter way (Keiser and Lemire, "Validating
 * UTF-8 in less than one instruction per byte", 2021): each kind of mistake in two bytes that
 * follow each other has a bit, and is made if both nibbles of the first and the high one of the
 * second say so. */
enum mistake {
    CUT = 1,         /* a first byte, then one that does not follow */
    ASTRAY = 2,      /* ASCII, then one that follows */
    OVERLONG_2 = 4,  /* C0 or C1 */
    OVERLONG_3 = 8,  /* E0, then below A0 */
    SURROGATE = 16,  /* ED, then A0 or more */
    OUTSIDE_8 = 32,  /* F0, or F5 or more, then below 90 */
    OUTSIDE_9 = 64,  /* F4 or more, then 90 or more */
    FOLLOW_ON = 128, /* two that follow: a mistake unless it is the third byte, or the fourth */
    ANY_LOW = CUT | ASTRAY | FOLLOW_ON,
    ANY_FOLLOW = ASTRAY | OVERLONG_2 | FOLLOW_ON,
    ABOVE_F4 = ANY_LOW | OUTSIDE_8 | OUTSIDE_9,
};

static const uint8_t first_high[16] = {
    ASTRAY,
    ASTRAY,
    ASTRAY,
    ASTRAY,
    ASTRAY,
    ASTRAY,
    ASTRAY,
    ASTRAY,
    FOLLOW_ON,
    FOLLOW_ON,
    FOLLOW_ON,
    FOLLOW_ON,
    CUT | OVERLONG_2,
    CUT,
    CUT | OVERLONG_3 | SURROGATE,
    CUT | OUTSIDE_8 | OUTSIDE_9,
};

static const uint8_t first_low[16] = {
    ANY_LOW | OVERLONG_2 | OVERLONG_3 | OUTSIDE_8,
    ANY_LOW | OVERLONG_2,
    ANY_LOW,
    ANY_LOW,
    ANY_LOW | OUTSIDE_9,
    ABOVE_F4,
    ABOVE_F4,
    ABOVE_F4,
    ABOVE_F4,
    ABOVE_F4,
    ABOVE_F4,
    ABOVE_F4,
    ABOVE_F4,
    ABOVE_F4 | SURROGATE,
    ABOVE_F4,
    ABOVE_F4,
};

static const uint8_t second_high[16] = {
    CUT,
    CUT,
    CUT,
    CUT,
    CUT,
    CUT,
    CUT,
    CUT,
    ANY_FOLLOW | OVERLONG_3 | OUTSIDE_8,
    ANY_FOLLOW | OVERLONG_3 | OUTSIDE_9,
    ANY_FOLLOW | SURROGATE | OUTSIDE_9,
    ANY_FOLLOW | SURROGATE | OUTSIDE_9,
    CUT,
    CUT,
    CUT,
    CUT,
};

SIMD_AVX2 static inline __m256i load_32(const char *p)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)p);
}

SIMD_AVX2 static inline __m256i look_up(const uint8_t table[16], __m256i nibbles)
{
    __m128i t = _mm_loadu_si128((const __m128i *)(const void *)table);

    return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(t), nibbles);
}

/* The same as utf8_scan_bad_16 for 32 bytes. */
SIMD_AVX2 static inline bool bad_32(const char *p)
{
    const __m256i low = _mm256_set1_epi8(0xF), top = _mm256_set1_epi8((char)0x80);
    __m256i v = load_32(p), one = load_32(p - 1);
    __m256i by_first =
        _mm256_and_si256(look_up(first_high, _mm256_and_si256(_mm256_srli_epi16(one, 4), low)),
                         look_up(first_low, _mm256_and_si256(one, low)));
    __m256i by_second = look_up(second_high, _mm256_and_si256(_mm256_srli_epi16(v, 4), low));
    /* The top bit stays where the byte two before is E0 or more, or the one three before F0. */
    __m256i third = _mm256_subs_epu8(load_32(p - 2), _mm256_set1_epi8(0xE0 - 0x80));
    __m256i fourth = _mm256_subs_epu8(load_32(p - 3), _mm256_set1_epi8(0xF0 - 0x80));
    __m256i asked = _mm256_and_si256(_mm256_or_si256(third, fourth), top);
    __m256i bad = _mm256_xor_si256(_mm256_and_si256(by_first, by_second), asked);

    return !_mm256_testz_si256(bad, bad);
}

SIMD_AVX2 static inline bool ascii_64(const char *p)
{
    return !_mm256_movemask_epi8(_mm256_or_si256(load_32(p), load_32(p + 32)));
}

/* Past what is ASCII, 64 bytes at a time; the last ones are looked at with some before them. */
SIMD_AVX2 static inline const char *skip_64(const char *p, const char *end)
{
    if (end - p < 64)
        return p;
    while (end - p >= 64 && ascii_64(p))
        p += 64;
    return end - p < 64 && ascii_64(end - 64) ? end : p;
}

SIMD_AVX2 static const char *utf8_bad_32(const char *from, const char *end)
{
    const char *p = skip_64(from, end);

    if (p == end)
        return NULL;
    if (p == from)
        p = utf8_first_three(from, end);
    for (; p && end - p >= 32; p += 32)
        if (bad_32(p))
            break;
    return utf8_bad_from(p ? utf8_first_byte(from, p) : from, end);
}

#endif

const char *utf8_scan(const char *p, const char *end, enum simd_level level)
{
    assert(p && end);
#if SIMD_HAS_32
    if (level >= SIMD_32)
        return utf8_bad_32(p, end);
#endif
#if SIMD_HAS_16
    if (level >= SIMD_16)
        return utf8_bad_16(p, end);
#endif
    (void)level;
    return utf8_bad_from(p, end);
}
