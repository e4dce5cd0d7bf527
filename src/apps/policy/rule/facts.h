/* facts.h - the facts of a case, ready to be compared, and the binding of words to facts.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "apps/policy/case.h"
#include "apps/policy/rule/quantity.h"

#define NOUN_WORDS_MAX 12
#define FACTS_MAX 4096
#define BOUND_MAX 8

/* The subject of a test. A fact is bound if the words of its name are these words: all of them,
 * or all but those that may be dropped. */
struct noun {
    const struct word *words[NOUN_WORDS_MAX];
    size_t n;
    uint32_t drop;    /* bit i: words[i] names the case's own person or request */
    uint32_t neutral; /* bit i: words[i] may be in the name or not: "provided" */
    const char *also; /* one more word that the name must have: "age", "date"; NULL: none */
    size_t values;    /* the last words, which are a value: "signed" of "application signed" */
};

struct fact {
    const struct policy_field *field;
    const struct word *name; /* without its unit and "number of" */
    size_t name_n;
    const struct unit *unit; /* in its name: employment_months */
    bool empty;              /* its value says nothing, or its name is about the past */
    bool unsure;             /* its confidence is below the floor */
    bool counted;            /* its name says that it is a number of things */
    size_t of;               /* where "of" is in its name: "purpose of imaging" has 1; or 0 */
};

struct facts {
    const struct fact *all;
    size_t n;
    struct arena *arena;
};

/* Fields without information (null, "", "unknown") become empty facts. */
void case_facts_read(struct facts *out, const struct policy_case *c, double floor, struct arena *a);
/* The facts that a noun binds, at most BOUND_MAX; *dropped: without the person's name. */
size_t facts_bind(const struct facts *f, const struct noun *n, const struct fact *out[BOUND_MAX],
                  bool *dropped);
/* Whether a noun names a fact, with or without its person. */
bool fact_is_named(const struct fact *f, const struct noun *n);
/* The same word but for its number: "fee" and "fees". */
bool noun_word_same(const struct word *a, const struct word *b);
bool word_is_plural(const struct word *w);

enum said { SAID_YES, SAID_NO, SAID_ELSE }; /* by a value: yes, true; no, false, none; else */
enum said fact_says(const struct fact *f);
/* The value as one quantity; false if it is not one, to the last word. */
bool fact_quantity(const struct fact *f, struct arena *a, struct quantity *out);
