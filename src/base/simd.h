/* simd.h - compares 16 bytes at once, where the processor can.
 *
 *     simd16 v = simd_load(p);
 *     uint32_t m = simd_bits(simd_or(simd_eq(v, '"'), simd_eq(v, '\\')));
 *     if (m)
 *         return p + __builtin_ctz(m);
 *
 * x86-64 always has SSE2 and aarch64 always has NEON (SIMD_HAS_16). Other processors use plain C,
 * one word at a time. AVX2 is detected at run time. Code with several paths takes a level as an
 * argument, so that tests can run all of them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/base.h"

enum simd_level {
    SIMD_WORD, /* plain C */
    SIMD_16,   /* SSE2 or NEON */
    SIMD_32,   /* AVX2 */
};

#if defined(__x86_64__)

#include <immintrin.h>

#define SIMD_HAS_16 1
#define SIMD_HAS_32 1
#define SIMD_AVX2 __attribute__((target("avx2,bmi")))

typedef __m128i simd16;

static inline simd16 simd_load(const char *p)
{
    return _mm_loadu_si128((const __m128i *)(const void *)p);
}

static inline void simd_store(char *p, simd16 v)
{
    _mm_storeu_si128((__m128i *)(void *)p, v);
}

static inline simd16 simd_eq(simd16 v, int c)
{
    return _mm_cmpeq_epi8(v, _mm_set1_epi8((char)c));
}

/* Bytes below c, and bytes from c on, unsigned; c > 0. */
static inline simd16 simd_below(simd16 v, int c)
{
    return _mm_cmpeq_epi8(_mm_min_epu8(v, _mm_set1_epi8((char)(c - 1))), v);
}

static inline simd16 simd_from(simd16 v, int c)
{
    return _mm_cmpeq_epi8(_mm_max_epu8(v, _mm_set1_epi8((char)c)), v);
}

/* Bytes from low to high, both ASCII. The addition makes high the largest signed value, so larger
 * bytes become negative. */
static inline simd16 simd_within(simd16 v, int low, int high)
{
    return _mm_cmpgt_epi8(_mm_add_epi8(v, _mm_set1_epi8((char)(127 - high))),
                          _mm_set1_epi8((char)(127 - high + low - 1)));
}

/* Bytes below c, and bytes that are not ASCII; c from 1 to 0x7F. */
static inline simd16 simd_beyond(simd16 v, int c)
{
    return _mm_cmplt_epi8(v, _mm_set1_epi8((char)c));
}

static inline simd16 simd_or(simd16 a, simd16 b)
{
    return _mm_or_si128(a, b);
}

static inline simd16 simd_and(simd16 a, simd16 b)
{
    return _mm_and_si128(a, b);
}

/* a and not b. */
static inline simd16 simd_andnot(simd16 a, simd16 b)
{
    return _mm_andnot_si128(b, a);
}

static inline simd16 simd_xor(simd16 a, simd16 b)
{
    return _mm_xor_si128(a, b);
}

/* One bit for each byte that matched. */
static inline uint32_t simd_bits(simd16 v)
{
    return (uint32_t)_mm_movemask_epi8(v);
}

/* One bit for each byte that is not ASCII. */
static inline uint32_t simd_high(simd16 v)
{
    return (uint32_t)_mm_movemask_epi8(v);
}

#elif defined(__aarch64__) && defined(__ARM_NEON)

#include <arm_neon.h>

#define SIMD_HAS_16 1
#define SIMD_HAS_32 0

typedef uint8x16_t simd16;

static inline simd16 simd_load(const char *p)
{
    return vld1q_u8((const uint8_t *)p);
}

static inline void simd_store(char *p, simd16 v)
{
    vst1q_u8((uint8_t *)p, v);
}

static inline simd16 simd_eq(simd16 v, int c)
{
    return vceqq_u8(v, vdupq_n_u8((uint8_t)c));
}

static inline simd16 simd_below(simd16 v, int c)
{
    return vcltq_u8(v, vdupq_n_u8((uint8_t)c));
}

static inline simd16 simd_from(simd16 v, int c)
{
    return vcgeq_u8(v, vdupq_n_u8((uint8_t)c));
}

static inline simd16 simd_within(simd16 v, int low, int high)
{
    return vandq_u8(vcgeq_u8(v, vdupq_n_u8((uint8_t)low)), vcleq_u8(v, vdupq_n_u8((uint8_t)high)));
}

static inline simd16 simd_beyond(simd16 v, int c)
{
    return vcltq_s8(vreinterpretq_s8_u8(v), vdupq_n_s8((int8_t)c));
}

static inline simd16 simd_or(simd16 a, simd16 b)
{
    return vorrq_u8(a, b);
}

static inline simd16 simd_and(simd16 a, simd16 b)
{
    return vandq_u8(a, b);
}

static inline simd16 simd_andnot(simd16 a, simd16 b)
{
    return vbicq_u8(a, b);
}

static inline simd16 simd_xor(simd16 a, simd16 b)
{
    return veorq_u8(a, b);
}

static inline uint32_t simd_bits(simd16 v)
{
    const uint8x8_t weight = {1, 2, 4, 8, 16, 32, 64, 128};
    uint32_t low = vaddv_u8(vand_u8(vget_low_u8(v), weight));
    uint32_t high = vaddv_u8(vand_u8(vget_high_u8(v), weight));

    return low | high << 8;
}

static inline uint32_t simd_high(simd16 v)
{
    return simd_bits(simd_from(v, 0x80));
}

#else

#define SIMD_HAS_16 0
#define SIMD_HAS_32 0

#endif

/* The best level of this processor. */
static inline enum simd_level simd_best(void)
{
#if SIMD_HAS_32
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi"))
        return SIMD_32;
#endif
    return SIMD_HAS_16 ? SIMD_16 : SIMD_WORD;
}
