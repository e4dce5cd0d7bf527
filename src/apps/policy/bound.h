/* bound.h - numbers in a sentence that bound something: at least, at most, N or older, between.
 *
 *     struct bound b[BOUNDS_MAX];
 *     size_t n = bounds_of(w, from, to, b);
 *     if (bound_holds(&b[0], 42, "day")) ...
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "apps/policy/words.h"

#define BOUNDS_MAX 16

struct bound {
    double low, high;    /* infinite where there is none */
    bool over, under;    /* the low, the high itself is outside */
    bool bare;           /* only a number stands there: what it means depends on the verb */
    bool condition;      /* "within", "before", "after": when, not how much */
    bool each;           /* "for each", "per": of one of something */
    size_t from, at, to; /* words: the comparison, the number, what is behind it */
    const char *unit;    /* or NULL */
};

/* Those in [from, to), in order. */
size_t bounds_of(const struct word *w, size_t from, size_t to, struct bound out[BOUNDS_MAX]);
/* A number with its unit, or NULL: then it is taken to be the bound's. */
bool bound_holds(const struct bound *b, double number, const char *unit);
/* A comparison that begins at w[at], whatever is behind it: how many words, or 0. It holds if what
 * is left of it less what is right of it is within *b. date: "before", "on or after" compare. */
size_t bound_relation(const struct word *w, size_t at, size_t to, bool date, struct bound *b);
/* In words: "at least 18", "from 2 to 5". */
void bound_say(const struct bound *b, char out[80]);
