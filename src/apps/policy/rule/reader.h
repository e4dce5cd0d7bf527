/* reader.h - a place in a sentence, and the small parts that the forms of rules are made of.
 *
 * Every function either reads the part that it is named for and moves on, or returns false; then
 * the sentence does not have this form, and the position is undefined.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "apps/policy/rule/rule.h"

struct reader {
    const struct word *w;
    size_t at, to;
    struct arena *arena;
    const struct word *person; /* the first one named */
    bool mixed;                /* two different persons are named */
};

static inline bool reader_done(const struct reader *r)
{
    return r->at == r->to;
}

/* Words separated by spaces, one after the other, with alternatives: "no/not less than". Takes all
 * or nothing. */
bool reader_take(struct reader *r, const char *words);
/* A noun with its attributes: "the applicant's annual income". */
bool reader_noun(struct reader *r, struct noun *out);
/* "at least 18 years of age", "between 4 and 10", "65 or older", "no more than the rent". A bare
 * number is a limit too. */
bool reader_limit(struct reader *r, struct limit *out);
/* One value: words up to a separator. */
bool reader_value(struct reader *r, struct test *t);
/* "one of a, b or c", "a or b", "a". */
bool reader_values(struct reader *r, struct test *t, bool *wants_items);
