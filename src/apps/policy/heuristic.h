/* heuristic.h - a criterion verified without a model: think, retrieve, read, link, decide.
 *
 *     struct policy_result r;
 *     if (!policy_heuristic(doc, &c, c.criteria[i], &arena, &r, e)) ...
 *
 * think:    the question is the criterion's words.
 * retrieve: the sections that answer it (search.h).
 * read:     the sentences that have every word of the question become rules (rule/rule.h); if no
 *           sentence does, those of the sections whose titles complete it.
 * link:     each rule to the facts whose names have its words.
 * decide:   met if every rule holds, missing if one does not; uncertain, with a reason code, if a
 *           sentence that may matter was not understood, a fact is missing, does not compare, is
 *           below POLICY_FACT_FLOOR, or contradicts another.
 *
 * Reason codes: missing_policy_document_id (doc NULL), no_relevant_nodes, treestore_no_nodes,
 * treestore_missing_text, not_understood (the rationale has the sentence),
 * insufficient_policy_context (no rule is about it), missing_evidence, conformal_ambiguity (facts
 * or sections contradict each other), low_confidence (under 0.65).
 *
 * Any thread; the same input gives the same result.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "apps/policy/case.h"
#include "apps/policy/result.h"
#include "apps/policy/search.h"

#define POLICY_FACT_FLOOR 0.65

/* The result's texts are in the arena, the case or the criterion: the document may go before it.
 * False only when the index fails. doc may be NULL: uncertain, missing_policy_document_id. */
bool policy_heuristic(const struct policy_doc *doc, const struct policy_case *c, str criterion,
                      struct arena *a, struct policy_result *out, struct err *e) MUST_USE;
