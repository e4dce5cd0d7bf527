/* heuristic_run.h - the verification of one criterion while it runs.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "apps/policy/heuristic.h"
#include "apps/policy/scope.h"

#define RULES_MAX 400 /* that are judged for one criterion */
#define STEPS 5

/* A rule that was held against the facts. */
struct judged {
    const struct reading *r;
    struct holding h;
};

struct run {
    const struct policy_doc *doc;
    const struct policy_case *c;
    struct arena *a;
    struct scope scope;
    struct question question;
    struct facts facts;
    struct judged *rules;
    size_t n;
    const struct reading *blocked; /* a sentence that may matter and was not understood */
    const struct reading *eased;   /* the same: it may allow what a rule forbids */
    const struct rule **define;
    size_t define_n;
    struct policy_hits hits;
    struct policy_result *out;
    struct policy_step *steps;
};

struct decision {
    enum policy_status status;
    const struct judged *by;
    const char *reason; /* "": none */
};

/* tell.c: the trace, the citation, the evidence and the rationale. */
void heuristic_step(struct run *x, const char *action, str observation);
void heuristic_tell_retrieved(struct run *x);
void heuristic_tell_read(struct run *x);
void heuristic_tell(struct run *x, const struct decision *d);
const char *heuristic_reason_words(str code);
