/* reader.h - a place in a sentence, and the small parts that the forms of rules are made of.
 *
 * Every function either takes what it names and moves on, or leaves the place alone and says false.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "apps/policy/rule/rule.h"

struct reader {
    const struct word *w;
    size_t at, to;
    const struct word *person; /* the first one named */
    bool mixed;                /* two different persons are named */
};

static inline bool reader_done(const struct reader *r)
{
    return r->at == r->to;
}

/* Words separated by spaces, one after the other. */
bool reader_take(struct reader *r, const char *words);
/* One of words separated by spaces. */
bool reader_take_one(struct reader *r, const char *words);
bool reader_sees(const struct reader *r, const char *words);

/* A noun with its attributes: "the applicant's annual income". */
bool reader_noun(struct reader *r, struct noun *out);
/* One word of another noun is added; false if there is no room. */
bool noun_add(struct noun *n, const struct word *w);
bool noun_join(struct noun *n, const struct noun *more);
/* Takes "minimum" or "maximum" out of a noun: -1, 1, or 0 if it has none. */
int noun_take_bound(struct noun *n);
/* Lets the words of a noun that name the request itself be dropped: "each reservation has ...". */
void noun_drop_request(struct noun *n);
bool noun_is_person(const struct noun *n);
bool noun_is_category(const struct noun *n);

/* "at least 18 years of age", "between 4 and 10", "65 or older", "no more than the rent". A bare
 * number is a limit too. */
bool reader_limit(struct reader *r, struct limit *out);
/* Whether a comparison begins here. */
bool reader_sees_limit(const struct reader *r);
/* Values up to the end: "one of a, b or c", "a or b", "a". */
bool reader_values(struct reader *r, struct test *t, bool *wants_items);
/* Up to the end, a condition: tests joined by "and" or by "or". */
bool reader_condition(struct reader *r, struct tests *out);
/* "exceed 40", "exceed the property value": the limit of what exceeds it. */
bool reader_exceeds(struct reader *r, struct limit *out);
/* One value: words up to a separator. */
bool reader_value(struct reader *r, struct test *t);
/* Makes a limit on a person one on the person's age; false if it is on something else. */
bool test_fits(struct test *t);
/* "Guests must be over 21" may be about their age or about their number. */
bool test_is_ambiguous(const struct test *t);
/* "is at least 5", "is present", "has a waiver", after its noun. */
bool reader_state(struct reader *r, const struct noun *noun, struct test *t);

/* One main clause, up to the end (forms.c): its tests are added to out->main. */
bool form_read(struct reader *r, struct rule *out);
/* "each NOUN", "all NOUN". */
bool form_subject(struct reader *r, struct noun *out);
/* "NOUN is allowed", up to the end: the clause before "if" and "only if". */
bool form_read_allowed(struct reader *r, struct noun *out);
