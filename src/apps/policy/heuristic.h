/* heuristic.h - a criterion verified without a model: think, retrieve, read, link, decide.
 *
 *     struct policy_result r;
 *     if (!policy_heuristic(doc, &c, c.criteria[i], &arena, &r, e)) ...
 *
 * think:    the question is the criterion's words, the hint, and the names of the facts.
 * retrieve: the nodes that answer it (search.h).
 * read:     their sentences into rules: bounds, lists, permissions, exceptions (rules.h).
 * link:     each fact to the sentences that hold every word of its name.
 * decide:   met if every linked rule holds, missing if one does not and no exception applies;
 *           uncertain, with a reason code, if facts contradict each other, are below
 *           POLICY_FACT_FLOOR, are not there, or the policy does not say.
 *
 * Reason codes: missing_policy_document_id (doc NULL), no_relevant_nodes, treestore_missing_text,
 * insufficient_policy_context (nothing in the sections is a rule about it), missing_evidence (no
 * fact for a rule), conflicting_evidence, low_confidence_field, conformal_ambiguity (sentences of
 * equal standing disagree), low_confidence (under 0.65).
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
