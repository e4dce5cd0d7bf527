/* front.h - the Pareto front: for each key, the candidates that reach its best score.
 *
 *     struct front f;
 *     front_init(&f);
 *     size_t key = front_key_add(&f, example, objective);
 *     front_offer(&f, key, candidate, score);
 *     front_reduce(&f, means, NULL, &r);          without the dominated
 *     front_release(&f);
 *
 * A candidate is dominated if every set that holds it has another remaining candidate. Dominated
 * candidates are removed one at a time, lowest mean first. A removal can only make others harder to
 * remove, so a candidate that was kept once stays, and one pass is enough.
 *
 * Sets are rows of bits in both directions: the candidates of a key and the keys of a candidate. So
 * a new candidate costs one bit per key, and a reduction a few operations per 64 keys.
 *
 * Promises:
 *   - Keys are in the order of their creation; sets are in ascending order.
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
    size_t candidates; /* the highest offered one, plus 1 */
    uint64_t *sets;    /* of candidates: set_words a key */
    size_t set_words;
    uint64_t *held;              /* of keys: held_words a candidate */
    size_t held_words, held_cap; /* held_cap candidates have a row */
};

void front_init(struct front *f);
void front_release(struct front *f);

/* Appends a key. */
size_t front_key_add(struct front *f, uint32_t example, uint32_t objective);

/* Adds a candidate's score, once per key; candidates come in ascending order. A score above the
 * best replaces the set; an equal one joins it. */
void front_offer(struct front *f, size_t key, uint32_t candidate, double score);

/* The lowest candidate of the key's set that is not below `from`, or FRONT_NONE. */
uint32_t front_next(const struct front *f, size_t key, uint32_t from);

/* The front without dominated candidates. */
struct front_reduced {
    uint32_t *order; /* the rest, in the order of their first appearance, key by key */
    uint32_t *count; /* in how many sets each is */
    size_t n;
    uint64_t total; /* the sum of the counts */
    size_t cap;
};

void front_reduced_init(struct front_reduced *r);
void front_reduced_release(struct front_reduced *r);

/* means: one per candidate. only: one bit per candidate, to which the sets are restricted first;
 * NULL: all. */
void front_reduce(const struct front *f, const double *means, const uint64_t *only,
                  struct front_reduced *r);
