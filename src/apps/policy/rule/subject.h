/* subject.h - what a rule is about, and whether two rules may be about the same.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "apps/policy/rule/rule.h"

#define NOUNS_MAX (6 * RULE_TESTS_MAX + 2)
#define SUBJECT_WORDS_MAX 32
/* General topics, which are no persons. */
#define TOPICS                                                                                     \
    "clinical medical financial formal request application admission joining approval document "   \
    "documents documentation paper papers evidence proof fee fees cost costs charge charges "      \
    "price prices payment payments money finance finances amount amounts age income date dates "   \
    "deadline deadlines duration period size weight quantity number enrolment enrollment "         \
    "membership health safety security hygiene equipment conduct behaviour behavior identity "     \
    "identification qualification qualifications experience insurance luggage baggage facility "   \
    "procedure examination diagnosis treatment notice obligations duties"

/* The words that say what a test is about, without its person; of "must be employed" its value. */
struct subject {
    const struct word *w[SUBJECT_WORDS_MAX];
    size_t n;
    const char *also;
};

struct subject subject_of(const struct test *t);
/* Whether b has all words of a. */
bool subject_within(const struct subject *a, const struct subject *b);
/* Whether two rules may be about the same: "the fee" and "the student fee", but not the annual and
 * the monthly income. */
bool rules_meet(const struct rule *a, const struct rule *b);

/* The nouns of a rule; subject: only those that it is about. */
size_t rule_nouns(const struct rule *r, bool subject, const struct noun *out[NOUNS_MAX]);
bool noun_names(const struct noun *n, const struct word *w);
/* Whether one of a rule's nouns, or its person, is the word. */
bool rule_names(const struct rule *r, const struct word *w);
/* Whether all tests of a rule ask that something be so, none that it not be so. */
bool rule_is_positive(const struct rule *r);
bool rule_is_of_age(const struct rule *r);
