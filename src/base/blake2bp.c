/* SPDX-License-Identifier: Apache-2.0 */
#include "base/blake2bp.h"

#define LEAVES 4
#define BLOCK 128u
#define WORDS 8 /* of a state; a block has twice as many */

/* A word of each leaf. */
typedef uint64_t blake2bp_words __attribute__((vector_size(8 * LEAVES)));

static const uint64_t blake2bp_start[WORDS] = {
    0x6A09E667F3BCC908,
    0xBB67AE8584CAA73B,
    0x3C6EF372FE94F82B,
    0xA54FF53A5F1D36F1,
    0x510E527FADE682D1,
    0x9B05688C2B3E6C1F,
    0x1F83D9ABFB41BD6B,
    0x5BE0CD19137E2179,
};

/* Which words of the block each round uses. */
static const uint8_t blake2bp_order[10][2 * WORDS] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
    {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
    {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4},
    {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
    {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13},
    {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
    {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11},
    {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
    {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5},
    {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0},
};

/* One step of the leaves: a block of each. A leaf that is not live does not change. */
struct blake2bp_step {
    const char *block[LEAVES];
    blake2bp_words size; /* bytes of the leaf, this block included */
    blake2bp_words last; /* all bits set: this is the last block of the leaf, */
    blake2bp_words end;  /* and the leaf is the last of its level */
    blake2bp_words live;
};

#define TURN(x, by) ((x) >> (by) | (x) << (64 - (by)))

/* By whole bytes: one instruction with AVX2, where GCC writes three for shifts. Clang needs no
 * help. */
#if defined(__GNUC__) && !defined(__clang__)
typedef uint8_t blake2bp_bytes __attribute__((vector_size(8 * LEAVES)));
#define TURNED_WORD(at, n)                                                                         \
    (at) + (n) % 8, (at) + ((n) + 1) % 8, (at) + ((n) + 2) % 8, (at) + ((n) + 3) % 8,              \
        (at) + ((n) + 4) % 8, (at) + ((n) + 5) % 8, (at) + ((n) + 6) % 8, (at) + ((n) + 7) % 8
#define TURNED(n)                                                                                  \
    (blake2bp_bytes)                                                                               \
    {                                                                                              \
        TURNED_WORD(0, n), TURNED_WORD(8, n), TURNED_WORD(16, n), TURNED_WORD(24, n)               \
    }
#define TURN_BYTES(x, n)                                                                           \
    (shuffles ? (blake2bp_words)__builtin_shuffle((blake2bp_bytes)(x), TURNED(n))                  \
              : TURN(x, 8 * (n)))
#else
#define TURN_BYTES(x, n) TURN(x, 8 * (n))
#endif

#define MIX(a, b, c, d, x, y)                                                                      \
    do {                                                                                           \
        v[a] += v[b] + m[x];                                                                       \
        v[d] = TURN_BYTES(v[d] ^ v[a], 4);                                                         \
        v[c] += v[d];                                                                              \
        v[b] = TURN_BYTES(v[b] ^ v[c], 3);                                                         \
        v[a] += v[b] + m[y];                                                                       \
        v[d] = TURN_BYTES(v[d] ^ v[a], 2);                                                         \
        v[c] += v[d];                                                                              \
        v[b] = TURN(v[b] ^ v[c], 63);                                                              \
    } while (0)

#define AT(r, i) blake2bp_order[r][i]

#define ROUND(r)                                                                                   \
    do {                                                                                           \
        MIX(0, 4, 8, 12, AT(r, 0), AT(r, 1));                                                      \
        MIX(1, 5, 9, 13, AT(r, 2), AT(r, 3));                                                      \
        MIX(2, 6, 10, 14, AT(r, 4), AT(r, 5));                                                     \
        MIX(3, 7, 11, 15, AT(r, 6), AT(r, 7));                                                     \
        MIX(0, 5, 10, 15, AT(r, 8), AT(r, 9));                                                     \
        MIX(1, 6, 11, 12, AT(r, 10), AT(r, 11));                                                   \
        MIX(2, 7, 8, 13, AT(r, 12), AT(r, 13));                                                    \
        MIX(3, 4, 9, 14, AT(r, 14), AT(r, 15));                                                    \
    } while (0)

/* Written without a loop, so that the compiler knows which words each step uses. */
#define ROUNDS()                                                                                   \
    do {                                                                                           \
        ROUND(0);                                                                                  \
        ROUND(1);                                                                                  \
        ROUND(2);                                                                                  \
        ROUND(3);                                                                                  \
        ROUND(4);                                                                                  \
        ROUND(5);                                                                                  \
        ROUND(6);                                                                                  \
        ROUND(7);                                                                                  \
        ROUND(8);                                                                                  \
        ROUND(9);                                                                                  \
        ROUND(0);                                                                                  \
        ROUND(1);                                                                                  \
    } while (0)

/* Clang needs minutes for rounds that are written out in a build with sanitizers. */
#if BUILD_FEATURE(address_sanitizer) || BUILD_FEATURE(undefined_behavior_sanitizer)
#define SMALL_ALWAYS 1
#else
#define SMALL_ALWAYS 0
#endif
#ifdef __x86_64__
#define SMALL_PLAIN 1 /* for processors without AVX2: not worth 30 kB */
#else
#define SMALL_PLAIN SMALL_ALWAYS
#endif

static inline uint64_t blake2bp_word(const char *p)
{
    uint64_t word;

    memcpy(&word, p, sizeof word);
    return le64toh(word);
}

static inline __attribute__((always_inline)) void
blake2bp_compress_inline(blake2bp_words h[WORDS], const struct blake2bp_step *s, bool small,
                         bool shuffles)
{
    blake2bp_words m[2 * WORDS], v[2 * WORDS];

    (void)shuffles;
    for (size_t i = 0; i < COUNT_OF(m); i++)
        m[i] = (blake2bp_words){blake2bp_word(s->block[0] + 8 * i),
                                blake2bp_word(s->block[1] + 8 * i),
                                blake2bp_word(s->block[2] + 8 * i),
                                blake2bp_word(s->block[3] + 8 * i)};
    for (size_t i = 0; i < WORDS; i++) {
        v[i] = h[i];
        v[i + WORDS] = (blake2bp_words){0} + blake2bp_start[i];
    }
    v[12] ^= s->size;
    v[14] ^= s->last;
    v[15] ^= s->last & s->end;
    if (small)
        for (size_t r = 0; r < 12; r++)
            ROUND(r % 10);
    else
        ROUNDS();
    for (size_t i = 0; i < WORDS; i++)
        h[i] ^= (v[i] ^ v[i + WORDS]) & s->live;
}

typedef void blake2bp_compress_fn(blake2bp_words h[WORDS], const struct blake2bp_step *s);

static void blake2bp_compress_plain(blake2bp_words h[WORDS], const struct blake2bp_step *s)
{
    blake2bp_compress_inline(h, s, SMALL_PLAIN, false);
}

#ifdef __x86_64__
__attribute__((target("avx2"))) static void blake2bp_compress_avx2(blake2bp_words h[WORDS],
                                                                   const struct blake2bp_step *s)
{
    blake2bp_compress_inline(h, s, SMALL_ALWAYS, true);
}

/* With registers for all words, and an instruction that rotates. */
__attribute__((target("avx512f,avx512vl"))) static void
blake2bp_compress_avx512(blake2bp_words h[WORDS], const struct blake2bp_step *s)
{
    blake2bp_compress_inline(h, s, SMALL_ALWAYS, false);
}
#endif

/* The leaves, or the root in the place of the first leaf. */
static void blake2bp_begin(blake2bp_words h[WORDS], bool root)
{
    const uint64_t fanout = LEAVES, depth = 2;

    for (size_t i = 0; i < WORDS; i++)
        h[i] = (blake2bp_words){0} + blake2bp_start[i];
    h[0] ^= (uint64_t)BLAKE2BP_SIZE | fanout << 16 | depth << 24;
    if (!root)
        h[1] ^= (blake2bp_words){0, 1, 2, 3};
    h[2] ^= (uint64_t)root | (uint64_t)BLAKE2BP_SIZE << 8;
}

static void blake2bp_leaf_out(const blake2bp_words h[WORDS], size_t leaf, char out[BLAKE2BP_SIZE])
{
    for (size_t i = 0; i < WORDS; i++) {
        uint64_t word = htole64(h[i][leaf]);

        memcpy(out + 8 * i, &word, sizeof word);
    }
}

/* Step n of the leaves, which take part of it, or their last block. */
static void blake2bp_step_near_end(str bytes, size_t n, char padded[LEAVES][BLOCK],
                                   struct blake2bp_step *s)
{
    for (size_t i = 0; i < LEAVES; i++) {
        size_t at = (n * LEAVES + i) * BLOCK;
        size_t size = at >= bytes.n ? 0 : bytes.n - at < BLOCK ? bytes.n - at : BLOCK;

        memset(padded[i], 0, BLOCK);
        if (size > 0)
            memcpy(padded[i], bytes.p + at, size);
        s->block[i] = padded[i];
        s->size[i] = n * BLOCK + size;
        s->live[i] = size > 0 || n == 0 ? UINT64_MAX : 0;
        s->last[i] = at + LEAVES * BLOCK >= bytes.n ? UINT64_MAX : 0;
        assert(size == BLOCK || s->last[i]); /* only the last block of a leaf is short */
    }
}

static void blake2bp_digest(str bytes, blake2bp_compress_fn *compress, uint8_t out[BLAKE2BP_SIZE])
{
    const size_t stripe = (size_t)LEAVES * BLOCK;
    struct blake2bp_step s = {.live = ~(blake2bp_words){0}, .end = {0, 0, 0, UINT64_MAX}};
    char padded[LEAVES][BLOCK], digests[LEAVES * BLAKE2BP_SIZE];
    blake2bp_words h[WORDS];
    size_t n = 0;

    blake2bp_begin(h, false);
    for (; bytes.n > stripe && (n + 2) * stripe <= bytes.n - 1; n++) {
        for (size_t i = 0; i < LEAVES; i++)
            s.block[i] = bytes.p + n * stripe + i * BLOCK;
        s.size += BLOCK;
        compress(h, &s);
    }
    do {
        blake2bp_step_near_end(bytes, n, padded, &s);
        compress(h, &s);
    } while (++n * stripe < bytes.n);
    for (size_t i = 0; i < LEAVES; i++)
        blake2bp_leaf_out(h, i, digests + i * BLAKE2BP_SIZE);
    blake2bp_begin(h, true);
    s = (struct blake2bp_step){.live = ~(blake2bp_words){0}, .end = ~(blake2bp_words){0}};
    for (size_t at = 0; at < sizeof digests; at += BLOCK) {
        for (size_t i = 0; i < LEAVES; i++)
            s.block[i] = digests + at;
        s.size += BLOCK;
        s.last = (blake2bp_words){0} - (at + BLOCK == sizeof digests);
        compress(h, &s);
    }
    blake2bp_leaf_out(h, 0, digests);
    memcpy(out, digests, BLAKE2BP_SIZE);
}

void blake2bp_of_plain(str bytes, uint8_t out[BLAKE2BP_SIZE])
{
    blake2bp_digest(bytes, blake2bp_compress_plain, out);
}

void blake2bp_of(str bytes, uint8_t out[BLAKE2BP_SIZE])
{
    blake2bp_compress_fn *compress = blake2bp_compress_plain;

#ifdef __x86_64__
    if (__builtin_cpu_supports("avx512vl"))
        compress = blake2bp_compress_avx512;
    else if (__builtin_cpu_supports("avx2"))
        compress = blake2bp_compress_avx2;
#endif
    blake2bp_digest(bytes, compress, out);
}
