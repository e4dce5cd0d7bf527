/* subject.h - what a rule is about, and whether two rules may be about the same.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "apps/policy/rule/rule.h"

/* General topics, which are no persons. */
#define TOPICS                                                                                     \
    "clinical medical financial formal request application admission joining approval document "   \
    "documents documentation paper papers evidence proof fee fees cost costs charge charges "      \
    "price prices payment payments money finance finances amount amounts age income date dates "   \
    "deadline deadlines duration period size weight quantity number enrolment enrollment "         \
    "membership health safety security hygiene equipment conduct behaviour behavior identity "     \
    "identification qualification qualifications experience insurance luggage baggage facility "   \
    "procedure examination diagnosis treatment notice obligations duties"

/* Whether two rules may be about the same: "the fee" and "the student fee", but not the annual and
 * the monthly income. */
bool rules_meet(const struct rule *a, const struct rule *b);
/* Whether both name a person, and not the same. */
bool rules_differ_in_person(const struct rule *a, const struct rule *b);
/* Whether one of a rule's nouns, or its person, is the word; subject: only what it is about. */
bool rule_names(const struct rule *r, const struct word *w, bool subject);
/* Whether all tests of a rule ask that something be so, none that it not be so. */
bool rule_is_positive(const struct rule *r);
bool rule_is_of_age(const struct rule *r);
