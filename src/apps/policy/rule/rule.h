/* rule.h - a sentence of a policy as a rule, and the rule held against the facts of a case.
 *
 *     struct rule rule;
 *     if (!rule_read(words, n, &arena, &rule)) ...         not understood
 *     struct holding h = rule_hold(&rule, &facts);         h.truth: yes, no or unknown
 *
 * The reader knows a closed set of forms (forms.c lists them). It understands a sentence only if
 * one of the forms accounts for every word of it; there are no partial readings. A rule says yes or
 * no only if every fact that it needs is bound: the words of the fact's name are the words of the
 * rule's noun, and its unit compares.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "apps/policy/rule/facts.h"

#define RULE_VALUES_MAX 32

/* Words of a list's element, as in "spinal stenosis". */
struct phrase {
    const struct word *w;
    size_t n;
};

/* Whether nothing strikes it out, leaves it in doubt or points to a note: "red?", "!red". */
bool phrase_is_plain(const struct word *w, size_t n);

struct bound {
    bool is, open; /* whether there is one; whether it is excluded */
    struct quantity q;
};

struct limit {
    struct bound low, high;
    bool bare;     /* a number without a comparison: low and high are that number */
    bool age;      /* the words speak of an age: "older", "years of age" */
    bool date;     /* they speak of a date: "before" */
    bool relative; /* a multiple of another fact, or days from another date */
    struct noun other;
};

/* The quantity of a limit, or the lower one of two. */
static inline const struct quantity *limit_quantity(const struct limit *l)
{
    return l->low.is ? &l->low.q : &l->high.q;
}

enum test_kind {
    TEST_PRESENT, /* there is such a thing */
    TEST_LIMIT,   /* the fact compares with a limit */
    TEST_IS       /* the fact is one of the values */
};

struct test {
    enum test_kind kind;
    bool not_;
    bool row; /* of TEST_IS: the value is in a row of a table */
    struct noun noun;
    struct limit limit;
    struct phrase values[RULE_VALUES_MAX];
    size_t value_n;
};

enum rule_kind {
    RULE_REQUIRE, /* main must hold, if `when` does, unless `unless` does */
    RULE_ROW,     /* of a table: the row applies only if `when` holds */
    RULE_DEFINE,  /* the things that main's noun means */
    RULE_ALL,     /* leads to items, each a rule of its own */
    RULE_NOTE     /* it cannot be violated by a fact */
};

struct rule {
    enum rule_kind kind;
    struct test main, when, unless; /* a noun without words: the rule has no such test */
    bool wants_items;               /* its values are the items below it */
    struct noun purpose;            /* "a loan" of "are not eligible for a loan"; n 0: none */
    const struct word *person;      /* the person it is about: "applicant"; NULL: not stated */
};

/* False: no form accounts for the whole sentence. Marks that only decorate are passed over. */
bool rule_read(const struct word *w, size_t n, struct arena *a, struct rule *out);
/* A row of a table below its header; both without the outer bars. */
bool rule_read_row(const struct phrase *head, const struct phrase *row, struct arena *a,
                   struct rule *out);
/* An item below a sentence that wants items: one more value. False: it is not a value. */
bool rule_add_item(struct rule *lead, const struct word *w, size_t n, struct arena *a);

enum doubt { DOUBT_NONE, DOUBT_NO_FACT, DOUBT_UNIT, DOUBT_UNSURE, DOUBT_CONFLICT };

#define HOLDING_FACTS_MAX 8

struct holding {
    const struct facts *facts;
    enum truth truth;
    enum doubt doubt; /* why it is unknown */
    bool applies;     /* false: its condition does not hold */
    const struct fact *used[HOLDING_FACTS_MAX];
    size_t used_n;
    bool dropped; /* a fact without the person's name was taken for that person's */
};

/* The noun with one of its values: "application signed" of "the application must be signed". */
struct noun noun_with_value(const struct test *t, size_t value);
/* Which fact it is: the one of the noun, of the noun with one of its values, or another one; sets
 * *dropped if only without the person. */
enum test_fact { TEST_OTHER, TEST_NOUN, TEST_VALUE };
enum test_fact test_names(const struct test *t, const struct fact *f, bool *dropped);
struct holding rule_hold(const struct rule *r, const struct facts *f);
