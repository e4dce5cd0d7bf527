/* heuristic_run.h - the verification of one criterion while it runs.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "apps/policy/heuristic.h"
#include "apps/policy/scope.h"

#define RULES_MAX 400 /* that are judged for one criterion */

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
    struct phrase question;
    struct phrase asked; /* all words of the criterion */
    struct facts facts;
    struct judged *rules;
    size_t n;
    const struct reading *blocked; /* a sentence that may matter and was not understood */
    const struct reading *other;   /* a rule of the criterion that asks for something else */
    struct policy_hits hits;
    struct policy_result *out;
};

/* The criterion is uncertain because of this sentence, unless another came first. */
void heuristic_block(struct run *x, const struct reading *r);

/* closed_world.c: */
/* Whether rules about the same do not agree: they may be for different cases. */
bool heuristic_disagrees(const struct run *x);
/* Blocks the criterion if something in the document is not understood, or may change its rules. */
void heuristic_close_document(struct run *x);
/* A fact that neither a rule of the document names nor only identifies; NULL: none. */
const struct fact *heuristic_foreign_fact(const struct run *x);
/* Whether the criterion says the same as a rule, or only names its topic. */
bool heuristic_asks_for(const struct run *x, const struct reading *r);
