/* fact.h - the facts of a case as the reader of sentences sees them, and how they meet words.
 *
 *     struct facts fs;
 *     facts_of(&fs, c, doc_words, &arena);
 *     if (fact_named(&fs.all[i], w, from, to, false)) ...      every word of its name is there
 *     if (fact_valued(&fs.all[i], w, from, to)) ...            its value is there as a phrase
 *     if (fact_contrasts(&fs.all[i], w, from, to)) ...         another value of its kind is
 *
 * That "business" and "economy" are values of one kind is read off the document: they stand in the
 * same places ("business flights", "economy flights"; "business passenger", "economy passenger").
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "apps/policy/case.h"
#include "apps/policy/words.h"

#define FACT_NAME_MAX 12   /* words of a name that count */
#define FACT_VALUE_MAX 6   /* words of a value that is looked for as a phrase */
#define FACT_OTHERS_MAX 12 /* other values of its kind */
#define FACTS_MAX 4096     /* different facts that are looked at */

struct fact {
    const struct policy_field *field;
    const struct word *name; /* without words that say nothing */
    size_t name_n;
    uint32_t loose;           /* bits: those of its name that may be missing */
    const struct word *value; /* of a text: as a phrase; n 0: none or too long */
    size_t value_n;
    bool is_bool, yes; /* true, "yes", ... */
    bool is_number;    /* or a text that is one, with its unit: "6 weeks" */
    double number;
    const char *unit;    /* of its value or its name: "week"; NULL: none */
    bool none;           /* "none", "absent", an empty list */
    bool absent;         /* "missing", "not provided": none, if it is a thing */
    bool conflict;       /* another field of that name says something else */
    bool unsure;         /* below the floor */
    struct word *others; /* that stand where its value stands; of a text */
    size_t other_n;
    struct word *before; /* that make another value of it: "basic" economy */
    size_t before_n;
};

struct facts {
    struct fact *all;
    size_t n;
};

/* doc: the words of the document, for what stands where values stand. Fields whose value says
 * nothing (null, "", "unknown") are left out. */
void facts_of(struct facts *out, const struct policy_case *c, double floor, const struct word *doc,
              size_t doc_n, struct arena *a);

/* Every word of its name in [from, to). A unit in the name may be another there; "older" and
 * "younger" speak of age. loose: words such as "number" and "since" may be missing. */
bool fact_named(const struct fact *f, const struct word *w, size_t from, size_t to, bool loose);
/* All but "status" or "state" of its name: "Enrollment must be active". */
bool fact_stated(const struct fact *f, const struct word *w, size_t from, size_t to);
/* How far its name is from a place: words between, less if it stands behind. */
double fact_distance(const struct fact *f, const struct word *w, size_t from, size_t to, size_t at);
bool fact_valued(const struct fact *f, const struct word *w, size_t from, size_t to);
bool fact_contrasts(const struct fact *f, const struct word *w, size_t from, size_t to);
/* Whether there is something: true, a number other than 0, a text that does not say "none". */
bool fact_present(const struct fact *f);

/* Whether they speak of somebody's age, whatever they call it: "older", "children under 12". */
bool words_tell_age(const struct word *w, size_t from, size_t to);
