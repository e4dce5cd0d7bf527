/* front.h - who is best where: for each key the candidates that reach its best score.
 *
 *     struct front f;
 *     front_init(&f);
 *     size_t key = front_key(&f, example, objective);
 *     front_offer(&f, key, candidate, score);
 *     front_reduce(&f, means, NULL, &r);          without the dominated
 *     front_release(&f);
 *
 * A candidate is dominated if in every set that holds it there is another that is still there. They
 * are taken out one at a time, the lowest mean first. Taking one out can only make others harder to
 * take out, so who was passed over once stays: one walk is enough.
 *
 * Sets are rows of bits, both ways: the candidates of a key and the keys of a candidate. So a new
 * candidate costs a bit a key, and a reduction a few operations for 64 keys of a candidate.
 *
 * Promises:
 *   - Keys are in the order in which they were first named, sets ascend.
 *   - After a reduction every key that had a candidate still has one.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/base.h"

#define FRONT_NONE UINT32_MAX

struct front_key {
    uint32_t example, objective; /* FRONT_NONE where the key is not of an example, an objective */
    double best;
    bool filled; /* has a set */
};

struct front {
    struct front_key *keys;
    size_t key_count, key_cap;
    size_t candidates; /* one more than the highest that was offered */
    uint64_t *sets;    /* of candidates: set_words a key */
    size_t set_words;
    uint64_t *held;              /* of keys: held_words a candidate */
    size_t held_words, held_cap; /* held_cap candidates have a row */
};

void front_init(struct front *f);
void front_release(struct front *f);

/* A new key, behind the others. */
size_t front_key_add(struct front *f, uint32_t example, uint32_t objective);

/* A score of a candidate that was not offered for this key before; candidates come ascending. A
 * higher score than the best replaces the set, an equal one joins it. */
void front_offer(struct front *f, size_t key, uint32_t candidate, double score);

bool front_has(const struct front *f, size_t key, uint32_t candidate);
size_t front_size(const struct front *f, size_t key); /* of its set */
/* The lowest of the set that is not below `from`, or FRONT_NONE. */
uint32_t front_next(const struct front *f, size_t key, uint32_t from);

/* What is left without the dominated. */
struct front_reduced {
    uint32_t *order; /* those left, in the order in which the sets, key by key, show them first */
    uint32_t *count; /* in how many sets each of them is */
    size_t n;
    uint64_t total; /* the sum of the counts */
    size_t cap;
};

void front_reduced_init(struct front_reduced *r);
void front_reduced_release(struct front_reduced *r);

/* means: one a candidate. only: a bit a candidate, the sets are cut down to these before; NULL for
 * all. */
void front_reduce(const struct front *f, const double *means, const uint64_t *only,
                  struct front_reduced *r);
