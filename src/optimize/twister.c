/* MT19937, and the draws of CPython's random module from its words.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "optimize/twister.h"

#include <math.h>

#define SHIFT 397
#define UPPER 0x80000000u
#define LOWER 0x7FFFFFFFu
#define TWIST 0x9908B0DFu

/* ---- the seed ---- */

/* seed = seed * 10 + digit; false if it outgrows its words. */
static bool twister_push_digit(struct twister_seed *s, uint32_t digit)
{
    uint64_t carry = digit;

    for (size_t i = 0; i < s->n; i++) {
        carry += (uint64_t)s->word[i] * 10;
        s->word[i] = (uint32_t)carry;
        carry >>= 32;
    }
    if (carry == 0)
        return true;
    if (s->n == TWISTER_SEED_WORDS_MAX)
        return false;
    s->word[s->n++] = (uint32_t)carry;
    return true;
}

bool twister_seed_read(str decimal, struct twister_seed *out, struct err *e)
{
    struct twister_seed s = {.n = 1};
    size_t from = decimal.n > 0 && decimal.p[0] == '-';

    if (decimal.n == from)
        return err_input(e, "a seed is a whole number");
    if (decimal.n - from > TWISTER_SEED_DIGITS_MAX)
        return err_set(e, ERR_LIMIT, "a seed has at most %d digits", TWISTER_SEED_DIGITS_MAX);
    for (size_t i = from; i < decimal.n; i++) {
        if (decimal.p[i] < '0' || decimal.p[i] > '9')
            return err_input(e, "a seed is a whole number");
        if (!twister_push_digit(&s, (uint32_t)(decimal.p[i] - '0')))
            return err_set(e, ERR_LIMIT, "the seed is too large");
    }
    *out = s;
    return true;
}

static void twister_init_word(struct twister *t, uint32_t seed)
{
    t->word[0] = seed;
    for (uint32_t i = 1; i < TWISTER_WORDS; i++)
        t->word[i] = 1812433253u * (t->word[i - 1] ^ t->word[i - 1] >> 30) + i;
    t->at = TWISTER_WORDS;
}

/* The next place to stir; past the last it is the second, which follows the first's copy. */
static size_t twister_next_place(uint32_t *word, size_t i)
{
    if (++i < TWISTER_WORDS)
        return i;
    word[0] = word[TWISTER_WORDS - 1];
    return 1;
}

void twister_init(struct twister *t, const uint32_t *key, size_t n)
{
    uint32_t *w = t->word;
    size_t i = 1, j = 0;

    assert(n > 0);
    twister_init_word(t, 19650218u);
    for (size_t k = n > TWISTER_WORDS ? n : TWISTER_WORDS; k > 0; k--) {
        w[i] = (w[i] ^ (w[i - 1] ^ w[i - 1] >> 30) * 1664525u) + key[j] + (uint32_t)j;
        i = twister_next_place(w, i);
        j = j + 1 < n ? j + 1 : 0;
    }
    for (size_t k = TWISTER_WORDS - 1; k > 0; k--) {
        w[i] = (w[i] ^ (w[i - 1] ^ w[i - 1] >> 30) * 1566083941u) - (uint32_t)i;
        i = twister_next_place(w, i);
    }
    w[0] = UPPER;
}

/* ---- words ---- */

static void optimize_twister_refill(struct twister *t)
{
    for (size_t i = 0; i < TWISTER_WORDS; i++) {
        uint32_t y = (t->word[i] & UPPER) | (t->word[(i + 1) % TWISTER_WORDS] & LOWER);

        t->word[i] = t->word[(i + SHIFT) % TWISTER_WORDS] ^ y >> 1 ^ (y & 1 ? TWIST : 0);
    }
    t->at = 0;
}

uint32_t twister_u32(struct twister *t)
{
    uint32_t y;

    if (t->at >= TWISTER_WORDS)
        optimize_twister_refill(t);
    y = t->word[t->at++];
    y ^= y >> 11;
    y ^= y << 7 & 0x9D2C5680u;
    y ^= y << 15 & 0xEFC60000u;
    return y ^ y >> 18;
}

uint64_t twister_bits(struct twister *t, unsigned k)
{
    uint64_t low;

    assert(k > 0 && k <= 64);
    if (k <= 32)
        return twister_u32(t) >> (32 - k);
    low = twister_u32(t);
    return low | (uint64_t)(twister_u32(t) >> (64 - k)) << 32;
}

double twister_random(struct twister *t)
{
    uint32_t a = twister_u32(t) >> 5, b = twister_u32(t) >> 6;

    return (a * 67108864.0 + b) * (1.0 / 9007199254740992.0);
}

/* ---- draws ---- */

uint64_t twister_below(struct twister *t, uint64_t n)
{
    unsigned k = 0;
    uint64_t x;

    assert(n > 0);
    while (k < 64 && n >> k)
        k++;
    do
        x = twister_bits(t, k);
    while (x >= n);
    return x;
}

void twister_shuffle(struct twister *t, uint32_t *x, size_t n)
{
    for (size_t i = n; i-- > 1;) {
        size_t j = (size_t)twister_below(t, i + 1);
        uint32_t held = x[i];

        x[i] = x[j];
        x[j] = held;
    }
}

/* Up to this many a copied list is drawn from; beyond it, places drawn before are drawn again. The
 * draws differ, so the border is Python's own. */
static size_t twister_pool_max(size_t k)
{
    size_t size = 21, power = 1;

    if (k > 5) {
        while (power < 3 * k)
            power *= 4;
        size += power;
    }
    return size;
}

static bool optimize_twister_taken(const uint32_t *out, size_t n, uint32_t place)
{
    for (size_t i = 0; i < n; i++)
        if (out[i] == place)
            return true;
    return false;
}

void twister_sample(struct twister *t, size_t n, size_t k, uint32_t *out)
{
    uint32_t *pool = NULL;

    assert(k <= n && n <= UINT32_MAX);
    if (n <= twister_pool_max(k)) {
        pool = base_alloc(n * sizeof *pool + 1);
        for (size_t i = 0; i < n; i++)
            pool[i] = (uint32_t)i;
    }
    for (size_t i = 0; i < k; i++) {
        size_t j = (size_t)twister_below(t, pool ? n - i : n);

        while (!pool && optimize_twister_taken(out, i, (uint32_t)j))
            j = (size_t)twister_below(t, n);
        out[i] = pool ? pool[j] : (uint32_t)j;
        if (pool)
            pool[j] = pool[n - i - 1];
    }
    free(pool);
}

size_t twister_weighted(struct twister *t, const double *weights, size_t n)
{
    double total = 0, sum = 0, x;

    assert(n > 0);
    for (size_t i = 0; i < n; i++)
        total += weights[i];
    if (!(total > 0) || !isfinite(total))
        return (size_t)twister_below(t, n);
    x = twister_random(t) * total;
    for (size_t i = 0; i + 1 < n; i++) {
        sum += weights[i];
        if (sum > x)
            return i;
    }
    return n - 1;
}

void twister_choices(struct twister *t, size_t n, size_t k, uint32_t *out)
{
    for (size_t i = 0; i < k; i++)
        out[i] = (uint32_t)(twister_random(t) * (double)n);
}
