/* clause.h - a sentence taken apart: what it says, when, and what is exempt.
 *
 *     struct clause c[CLAUSES_MAX];
 *     size_t n = clauses_of(w, 0, count, item, c);
 *
 * "If A, B must C unless D" has the guard A, the main part "B must C" and the exception D; what it
 * does (require, forbid, permit, waive) follows from its verb. Two main parts with a verb each are
 * two clauses.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "apps/policy/bound.h"

#define CLAUSES_MAX 8

enum clause_kind {
    CLAUSE_NONE,
    CLAUSE_REQUIRE,
    CLAUSE_FORBID,
    CLAUSE_PERMIT,
    CLAUSE_WAIVE /* what is required elsewhere is not */
};

struct range {
    size_t from, to; /* words; empty: from == to */
};

struct clause {
    enum clause_kind kind;
    bool verb; /* it has one that says so, not only a number */
    struct range main, guard, except, without;
    size_t modal;   /* the word that makes its kind; main.to if there is none */
    bool only;      /* only if the guard holds */
    bool or_guard;  /* the guard is one more way: "..., or if ..." */
    bool otherwise; /* it begins with "otherwise" */
};

/* plain: words without a verb of obligation are a requirement too, as the items of a list of them
 * are. */
size_t clauses_of(const struct word *w, size_t from, size_t to, bool plain,
                  struct clause out[CLAUSES_MAX]);
static inline bool range_empty(struct range r)
{
    return r.from >= r.to;
}

bool range_has(const struct word *w, struct range r, const char *names);
