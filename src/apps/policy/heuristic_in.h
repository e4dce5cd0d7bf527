/* heuristic_in.h - the heuristic's parts: what is read, decided and told of one criterion.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "apps/policy/heuristic.h"
#include "apps/policy/scope.h"

#define RULES_MAX 400 /* clauses that are judged for one criterion */
#define STEPS 5

/* A clause that was judged, and where it stands. */
struct judged {
    const struct reading *r;
    struct clause c;
    struct verdict v;
};

struct run {
    const struct policy_doc *doc;
    const struct policy_case *c;
    struct arena *a;
    struct scope scope;
    struct scores scores;
    struct facts facts;
    struct judge judge;
    struct judged *rules;
    size_t n;
    size_t read;  /* clauses that are rules, decided or not */
    size_t unmet; /* requirements among them that no fact speaks of */
    struct policy_hits hits;
    struct policy_result *out;
    struct policy_step *steps;
};

struct decision {
    enum policy_status status;
    const struct judged *by;
    const char *reason; /* "": none */
};

/* A verdict among the rules, if it says anything. */
void heuristic_add(struct run *x, const struct reading *r, const struct clause *c,
                   const struct verdict *v);
/* Whether items are what a lead lists: values, or ways of which one is enough. */
bool heuristic_is_list(const struct reading *r, const struct clause *c);

/* What all the rules come to (decide.c). */
struct decision heuristic_decide(struct run *x);
/* How well the evidence matches, 0 to 1. */
double heuristic_span(const struct run *x, const struct decision *d);

/* What is shown (tell.c). */
void heuristic_step(struct run *x, const char *action, str observation);
void heuristic_tell_retrieved(struct run *x);
void heuristic_tell_read(struct run *x);
/* Citation, evidence and rationale; the status and its reason are in the result already. */
void heuristic_tell(struct run *x, const struct decision *d);
const char *heuristic_reason_words(str code);
