/* SPDX-License-Identifier: Apache-2.0 */
#include "base/sha256.h"

#if defined(__x86_64__) && defined(__has_include)
#if __has_include(<sys/platform/x86.h>)
#define HAVE_X86_SHA
#include <immintrin.h>
#include <sys/platform/x86.h>
#endif
#endif

/* The first 32 bits of the fractions of the cube roots of the first 64 primes. */
static const uint32_t round_key[64] = {
    0x428A2F98, 0x71374491, 0xB5C0FBCF, 0xE9B5DBA5, 0x3956C25B, 0x59F111F1, 0x923F82A4, 0xAB1C5ED5,
    0xD807AA98, 0x12835B01, 0x243185BE, 0x550C7DC3, 0x72BE5D74, 0x80DEB1FE, 0x9BDC06A7, 0xC19BF174,
    0xE49B69C1, 0xEFBE4786, 0x0FC19DC6, 0x240CA1CC, 0x2DE92C6F, 0x4A7484AA, 0x5CB0A9DC, 0x76F988DA,
    0x983E5152, 0xA831C66D, 0xB00327C8, 0xBF597FC7, 0xC6E00BF3, 0xD5A79147, 0x06CA6351, 0x14292967,
    0x27B70A85, 0x2E1B2138, 0x4D2C6DFC, 0x53380D13, 0x650A7354, 0x766A0ABB, 0x81C2C92E, 0x92722C85,
    0xA2BFE8A1, 0xA81A664B, 0xC24B8B70, 0xC76C51A3, 0xD192E819, 0xD6990624, 0xF40E3585, 0x106AA070,
    0x19A4C116, 0x1E376C08, 0x2748774C, 0x34B0BCB5, 0x391C0CB3, 0x4ED8AA4A, 0x5B9CCA4F, 0x682E6FF3,
    0x748F82EE, 0x78A5636F, 0x84C87814, 0x8CC70208, 0x90BEFFFA, 0xA4506CEB, 0xBEF9A3F7, 0xC67178F2,
};

static uint32_t sha256_rotate(uint32_t x, unsigned by)
{
    return x >> by | x << (32 - by);
}

static uint32_t sha256_word_at(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static void sha256_expand_block(uint32_t w[64], const uint8_t *block)
{
    for (size_t t = 0; t < 16; t++)
        w[t] = sha256_word_at(block + 4 * t);
    for (size_t t = 16; t < 64; t++) {
        uint32_t x = w[t - 15], y = w[t - 2];

        w[t] = w[t - 16] + (sha256_rotate(x, 7) ^ sha256_rotate(x, 18) ^ x >> 3) + w[t - 7] +
               (sha256_rotate(y, 17) ^ sha256_rotate(y, 19) ^ y >> 10);
    }
}

/* Round t of a block. Instead of moving the eight words, each round renames them; if t is a
 * constant, that costs nothing. This round writes d and h. */
static inline void sha256_one_round(uint32_t v[8], unsigned t, uint32_t key)
{
    uint32_t a = v[-t & 7], b = v[(1 - t) & 7], c = v[(2 - t) & 7];
    uint32_t e = v[(4 - t) & 7], f = v[(5 - t) & 7], g = v[(6 - t) & 7];
    uint32_t *d = &v[(3 - t) & 7], *h = &v[(7 - t) & 7];

    *h += (sha256_rotate(e, 6) ^ sha256_rotate(e, 11) ^ sha256_rotate(e, 25)) +
          (g ^ (e & (f ^ g))) + key;
    *d += *h;
    *h += (sha256_rotate(a, 2) ^ sha256_rotate(a, 13) ^ sha256_rotate(a, 22)) +
          ((a & b) | (c & (a | b)));
}

static void sha256_compress_plain(uint32_t state[8], const uint8_t *blocks, size_t count)
{
    uint32_t w[64], v[8];

    for (; count > 0; count--, blocks += SHA256_BLOCK_SIZE) {
        sha256_expand_block(w, blocks);
        memcpy(v, state, sizeof v);
        for (size_t t = 0; t < 64; t += 8) {
            sha256_one_round(v, 0, round_key[t] + w[t]);
            sha256_one_round(v, 1, round_key[t + 1] + w[t + 1]);
            sha256_one_round(v, 2, round_key[t + 2] + w[t + 2]);
            sha256_one_round(v, 3, round_key[t + 3] + w[t + 3]);
            sha256_one_round(v, 4, round_key[t + 4] + w[t + 4]);
            sha256_one_round(v, 5, round_key[t + 5] + w[t + 5]);
            sha256_one_round(v, 6, round_key[t + 6] + w[t + 6]);
            sha256_one_round(v, 7, round_key[t + 7] + w[t + 7]);
        }
        for (size_t i = 0; i < 8; i++)
            state[i] += v[i];
    }
}

#ifdef HAVE_X86_SHA
/* The processor expects the words as (a b e f) and (c d g h), highest first. One instruction does
 * two rounds, and computes four words of the schedule from the previous four. */
__attribute__((target("sha,ssse3,sse4.1"))) static void
compress_x86(uint32_t state[8], const uint8_t *blocks, size_t count)
{
    const __m128i swap = _mm_set_epi64x(0x0C0D0E0F08090A0B, 0x0405060700010203);
    uint32_t *s = state, abef[4], cdgh[4];

    for (; count > 0; count--, blocks += SHA256_BLOCK_SIZE) {
        __m128i x = _mm_set_epi32((int)s[0], (int)s[1], (int)s[4], (int)s[5]);
        __m128i y = _mm_set_epi32((int)s[2], (int)s[3], (int)s[6], (int)s[7]);
        __m128i w[4];

        for (size_t i = 0; i < 16; i++) {
            __m128i *now = &w[i & 3], last = w[(i + 3) & 3], sum;

            if (i < 4) {
                sum = _mm_loadu_si128((const __m128i *)(const void *)(blocks + 16 * i));
                *now = _mm_shuffle_epi8(sum, swap);
            } else {
                sum = _mm_sha256msg1_epu32(*now, w[(i + 1) & 3]);
                sum = _mm_add_epi32(sum, _mm_alignr_epi8(last, w[(i + 2) & 3], 4));
                *now = _mm_sha256msg2_epu32(sum, last);
            }
            sum = _mm_loadu_si128((const __m128i *)(const void *)(round_key + 4 * i));
            sum = _mm_add_epi32(sum, *now);
            y = _mm_sha256rnds2_epu32(y, x, sum);
            x = _mm_sha256rnds2_epu32(x, y, _mm_srli_si128(sum, 8));
        }
        _mm_storeu_si128((__m128i *)(void *)abef, x);
        _mm_storeu_si128((__m128i *)(void *)cdgh, y);
        for (size_t i = 0; i < 2; i++) {
            s[i] += abef[3 - i];
            s[i + 2] += cdgh[3 - i];
            s[i + 4] += abef[1 - i];
            s[i + 6] += cdgh[1 - i];
        }
    }
}
#endif

void sha256_init_plain(struct sha256 *h)
{
    /* The first 32 bits of the fractions of the square roots of the first 8 primes. */
    static const uint32_t start[8] = {
        0x6A09E667,
        0xBB67AE85,
        0x3C6EF372,
        0xA54FF53A,
        0x510E527F,
        0x9B05688C,
        0x1F83D9AB,
        0x5BE0CD19,
    };

    memcpy(h->state, start, sizeof start);
    h->size = 0;
    h->compress = sha256_compress_plain;
}

void sha256_init(struct sha256 *h)
{
    sha256_init_plain(h);
#ifdef HAVE_X86_SHA
    if (CPU_FEATURE_ACTIVE(SHA) && CPU_FEATURE_ACTIVE(SSE4_1) && CPU_FEATURE_ACTIVE(SSSE3))
        h->compress = compress_x86;
#endif
}

void sha256_feed(struct sha256 *h, str piece)
{
    size_t held = h->size % SHA256_BLOCK_SIZE, whole;

    h->size += piece.n;
    if (held > 0) {
        str front = str_slice(piece, 0, SHA256_BLOCK_SIZE - held);

        memcpy(h->block + held, front.p, front.n);
        piece = str_slice(piece, front.n, piece.n);
        assert(held + front.n <= SHA256_BLOCK_SIZE);
        if (held + front.n < SHA256_BLOCK_SIZE)
            return;
        h->compress(h->state, h->block, 1);
    }
    whole = piece.n / SHA256_BLOCK_SIZE;
    h->compress(h->state, (const uint8_t *)piece.p, whole);
    piece = str_slice(piece, whole * SHA256_BLOCK_SIZE, piece.n);
    memcpy(h->block, piece.p, piece.n);
    assert(h->size % SHA256_BLOCK_SIZE == piece.n);
}

void sha256_finish(struct sha256 *h, uint8_t out[SHA256_SIZE])
{
    static const char padding[SHA256_BLOCK_SIZE] = {'\x80'};
    uint64_t bits = h->size * 8;
    char size[8];

    for (size_t i = 0; i < sizeof size; i++)
        size[i] = (char)(bits >> (56 - 8 * i));
    sha256_feed(h, (str){padding, 1 + (119 - h->size % SHA256_BLOCK_SIZE) % SHA256_BLOCK_SIZE});
    sha256_feed(h, (str){size, sizeof size});
    assert(h->size % SHA256_BLOCK_SIZE == 0);
    for (size_t i = 0; i < COUNT_OF(h->state); i++) {
        uint32_t word = htobe32(h->state[i]);

        memcpy(out + i * sizeof word, &word, sizeof word);
    }
}

void sha256_of(str text, uint8_t out[SHA256_SIZE])
{
    struct sha256 h;

    sha256_init(&h);
    sha256_feed(&h, text);
    sha256_finish(&h, out);
}

str sha256_hex(const uint8_t digest[SHA256_SIZE], char out[SHA256_HEX_SIZE])
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < SHA256_SIZE; i++) {
        out[2 * i] = digits[digest[i] >> 4];
        out[2 * i + 1] = digits[digest[i] & 15];
    }
    out[SHA256_HEX_SIZE - 1] = '\0';
    return (str){out, SHA256_HEX_SIZE - 1};
}

/* A hash that has eaten one block: the key, padded with zeros, each byte changed by `mask`. */
static void sha256_feed_key(struct sha256 *h, const uint8_t key[SHA256_BLOCK_SIZE], uint8_t mask)
{
    char block[SHA256_BLOCK_SIZE];

    for (size_t i = 0; i < sizeof block; i++)
        block[i] = (char)(key[i] ^ mask);
    sha256_init(h);
    sha256_feed(h, (str){block, sizeof block});
    explicit_bzero(block, sizeof block);
}

void sha256_mac_init(struct sha256_mac *m, str key)
{
    uint8_t block[SHA256_BLOCK_SIZE] = {0};

    if (key.n > sizeof block)
        sha256_of(key, block);
    else
        memcpy(block, key.p, key.n);
    sha256_feed_key(&m->inner, block, 0x36);
    sha256_feed_key(&m->outer, block, 0x5C);
    explicit_bzero(block, sizeof block);
}

void sha256_mac_feed(struct sha256_mac *m, str piece)
{
    sha256_feed(&m->inner, piece);
}

void sha256_mac_finish(struct sha256_mac *m, uint8_t out[SHA256_SIZE])
{
    uint8_t inner[SHA256_SIZE];

    sha256_finish(&m->inner, inner);
    sha256_feed(&m->outer, (str){(const char *)inner, sizeof inner});
    sha256_finish(&m->outer, out);
    explicit_bzero(inner, sizeof inner);
    explicit_bzero(m, sizeof *m);
}

bool mem_equal_ct(const void *a, const void *b, size_t size)
{
    const unsigned char *x = a, *y = b;
    uint64_t differ = 0, p, q;
    size_t i = 0;

    for (; size - i >= sizeof p; i += sizeof p) {
        memcpy(&p, x + i, sizeof p);
        memcpy(&q, y + i, sizeof q);
        differ |= p ^ q;
        __asm__("" : "+r"(differ)); /* keeps the compiler from returning early */
    }
    for (; i < size; i++) {
        differ |= (uint64_t)(x[i] ^ y[i]);
        __asm__("" : "+r"(differ));
    }
    return differ == 0;
}
