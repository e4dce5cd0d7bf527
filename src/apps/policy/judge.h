/* judge.h - a clause held against the facts of a case.
 *
 *     struct judge j = {.facts = &facts, .arena = &arena};
 *     struct verdict v;
 *     judge_clause(&j, &line, &clause, &v);
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "apps/policy/clause.h"
#include "apps/policy/fact.h"
#include "apps/policy/search.h"
#include "apps/policy/sentence.h"

#define USED_MAX 8

enum truth { TRUTH_NO, TRUTH_YES, TRUTH_UNKNOWN };

enum finding {
    FOUND_NOTHING,   /* it says nothing about this case */
    FOUND_HOLDS,     /* what it requires holds, or what it forbids does not */
    FOUND_BROKEN,    /* the other way round */
    FOUND_OPEN,      /* a fact is missing */
    FOUND_PERMITS,   /* it permits this case */
    FOUND_REFUSES,   /* its condition for permitting it does not hold */
    FOUND_ASKS,      /* it may permit it, but a fact is missing */
    FOUND_WAIVES,    /* what is required elsewhere is not */
    FOUND_DISAGREES, /* two facts for one rule, one for, one against */
};

struct used {
    const struct fact *facts[USED_MAX];
    size_t n;
    double quality; /* how surely they were linked, the least of them */
};

struct verdict {
    enum finding found;
    bool weak;   /* no fact decided it */
    bool waived; /* by its own exception */
    struct used used;
    str why; /* in words */
};

/* A sentence with what stands around it. */
struct reading {
    const struct policy_node *node;
    uint32_t node_at, sentence_at;
    const struct policy_sentence *sentence;
    str text;
    const struct word *w;
    size_t n;
    const struct reading *lead;  /* for an item; NULL: none */
    const struct reading *items; /* for a sentence that leads to some: the first of them */
    size_t item_n;
    const struct reading *label;  /* the first sentence of its block, or itself */
    const struct clause *clauses; /* what it says, as an item of a list if it is one */
    size_t clause_n;
    const struct clause *alone; /* the same, as a sentence that stands alone */
    size_t alone_n;
};

struct judge {
    const struct facts *facts;
    struct arena *arena;
    const struct reading *all; /* of the document, for lists that say what counts */
    size_t all_n;
};

/* A condition: atoms joined by and, or. */
enum truth judge_condition(const struct judge *j, const struct word *w, struct range r,
                           struct used *used);
void judge_clause(const struct judge *j, const struct reading *r, const struct clause *c,
                  struct verdict *out);
/* A sentence that leads to items, with them. */
void judge_group(const struct judge *j, const struct reading *lead, const struct clause *c,
                 struct verdict *out);

/* A row of a table, whose lead is the table's header. */
void judge_row(const struct judge *j, const struct reading *row, struct verdict *out);

/* Two facts against each other. */
struct relation {
    bool shaped;  /* the words compare two things, of which at least one is a fact */
    bool negated; /* by the comparison itself: "not exceed" */
    enum truth t;
    const struct fact *left, *right; /* either may be NULL */
};
/* all: where the first may be named; r: where they are compared. */
void judge_relation(const struct judge *j, const struct word *w, struct range all, struct range r,
                    struct used *used, struct relation *out);

/* Of the parts: */
void used_add(struct used *u, const struct fact *f, double quality);
/* A value in a list of elements: the words of [r), or whole items. */
enum truth judge_member(const struct fact *f, const struct word *w, struct range r,
                        struct arena *a);
/* Whether what is meant by a text is one of those the document lists for that name. */
bool judge_counts(const struct judge *j, const struct fact *f);
enum truth judge_require(const struct judge *j, const struct reading *r, const struct clause *c,
                         struct used *used, bool *disagree, str *why);
