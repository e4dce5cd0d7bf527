/* twister.h - random numbers as Python's random.Random draws them, from the same seed.
 *
 *     struct twister t;
 *     twister_init(&t, (const uint32_t[]){7}, 1);
 *     size_t place = twister_below(&t, n);
 *
 * MT19937 (Matsumoto and Nishimura), seeded by key as CPython seeds it from a whole number, and the
 * draws that CPython 3.11 makes from its words. So a run here and a run of the Python
 * implementation can be compared draw by draw.
 *
 * Promises:
 *   - The same seed gives the same draws on every machine.
 *   - Not for secrets: enough outputs reveal all later ones. One thread at a time.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/err.h"
#include "base/str.h"

#define TWISTER_WORDS 624
#define TWISTER_SEED_WORDS_MAX 64 /* a seed of more than 2,048 bits is refused */
#define TWISTER_SEED_DIGITS_MAX 600

struct twister {
    uint32_t word[TWISTER_WORDS];
    size_t at; /* of the next word; TWISTER_WORDS when all are used */
};

/* A seed as Python takes it: its size without the sign, in 32-bit words, the lowest first. */
struct twister_seed {
    uint32_t word[TWISTER_SEED_WORDS_MAX];
    size_t n; /* at least 1 */
};

/* From decimal digits, with a minus before them or not. */
bool twister_seed_read(str decimal, struct twister_seed *out, struct err *e) MUST_USE;

void twister_init(struct twister *t, const uint32_t *key, size_t n);

uint32_t twister_u32(struct twister *t);
/* k bits, 1 to 64: getrandbits. */
uint64_t twister_bits(struct twister *t, unsigned k);
/* 0 <= x < 1, with 53 bits. */
double twister_random(struct twister *t);
/* Below n, which is not 0: choice takes this for its place, randint(0, m) is below(m + 1). */
uint64_t twister_below(struct twister *t, uint64_t n);

void twister_shuffle(struct twister *t, uint32_t *x, size_t n);
/* k different places below n in the order drawn; k is at most n. */
void twister_sample(struct twister *t, size_t n, size_t k, uint32_t *out);
/* One place by weights that are not negative. If all are 0, every place is as likely as any
 * other: Python raises an error there, but an optimisation whose seed scores 0 must continue. */
size_t twister_weighted(struct twister *t, const double *weights, size_t n);
/* k places below n, each drawn from all: choices without weights. */
void twister_choices(struct twister *t, size_t n, size_t k, uint32_t *out);
