/* facts.h - the facts of a case, ready to be compared, and the binding of nouns to facts.
 *
 * A noun binds a fact if the words of both are the same, in the same order. "The purpose of
 * imaging" is read as "imaging purpose" in both.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "apps/policy/case.h"
#include "apps/policy/rule/quantity.h"

#define NOUN_WORDS_MAX 12

/* In this order, so that "and" is the least of two, "or" the greatest, and "not" the reverse. */
enum truth { TRUTH_NO, TRUTH_UNKNOWN, TRUTH_YES };

static inline enum truth truth_not(enum truth t)
{
    assert((unsigned)t <= TRUTH_YES);
    return (enum truth)(TRUTH_YES - t);
}

static inline enum truth truth_either(enum truth a, enum truth b)
{
    return a > b ? a : b;
}

struct noun {
    const struct word *words[NOUN_WORDS_MAX];
    size_t n;
    size_t drop;  /* the first words that a name may lack: the case's own person or request */
    bool counted; /* "the number of ..." */
};

/* Adds a word at a place among the existing ones; false if there is no room. */
bool noun_insert(struct noun *n, size_t place, const struct word *w);
/* Adds a word that the sentence only implies: "age" of "must be 18 or older". */
bool noun_imply(struct noun *n, const char *text, struct arena *a);
/* Finds out which words may be dropped, and removes "number of", once all words are known. */
void noun_finish(struct noun *n);
/* Where a word is in a noun, or n. */
size_t noun_find(const struct noun *n, const struct word *w);
struct noun noun_without_person(const struct noun *n);
bool noun_has(const struct noun *n, const struct word *w);
bool noun_same(const struct noun *a, const struct noun *b);
bool noun_is_person(const struct noun *n);
/* Whether a word is one for whom a case is about: "applicant", "members". */
bool word_names_person(const struct word *w);

struct fact {
    const struct policy_field *field;
    struct noun name;        /* without its unit and "number of"; n 0: it relates several things */
    const struct unit *unit; /* in its name: employment_months */
    bool empty;              /* its value or its name has no meaning */
    bool unsure;             /* its confidence is below the floor */
};

struct facts {
    const struct fact *all;
    size_t n;
};

/* Fields without information (null, "", "unknown") become empty facts. */
void case_facts_read(struct facts *out, const struct policy_case *c, double floor, struct arena *a);
/* Whether a noun names a fact; sets *dropped if only without its person. */
bool fact_is_named(const struct fact *f, const struct noun *n, bool *dropped);
/* Whether the value means yes ("true") or no ("none"). */
enum truth fact_says(const struct fact *f);
/* The value as one quantity; false unless it is one, including its last word. */
bool fact_quantity(const struct fact *f, struct quantity *out);
