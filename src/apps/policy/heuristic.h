/* heuristic.h - a criterion verified without a model: think, retrieve, read, link, decide.
 *
 *     struct policy_result r;
 *     if (!policy_heuristic(doc, &c, c.criteria[i], &arena, &r, e)) ...
 *
 * think:    the question is the criterion's words.
 * retrieve: the sections that answer it (search.h).
 * read:     every sentence of the document becomes a rule (rule/rule.h). Those that have every word
 *           of the question decide; if none does, those of the sections whose titles complete it.
 * link:     each rule to the facts whose names have its words.
 * decide:   met if every rule holds, missing if one does not, and uncertain unless all of this is
 *           true:
 *           - Every sentence, item, row and title of the document, and every line of its front
 *             matter, was understood. Unknown text may say that nothing of it holds.
 *           - No other rule of the document may be about the same ("the fee", "the student fee").
 *           - Every fact of the case is named by a rule of the document, or only identifies the
 *             case (name, id, email). Any other fact may change what another one says.
 *           - The criterion says what the rule says, or only names its topic.
 *           - The facts that the rules need exist, compare, agree, and are not below
 *             POLICY_FACT_FLOOR.
 *
 * Reason codes: missing_policy_document_id (doc NULL), no_relevant_nodes, treestore_no_nodes,
 * treestore_missing_text, not_understood (the rationale has the text that was not understood, or
 * that may change the rule), insufficient_policy_context (no rule is about it, or the rule says
 * something else), missing_evidence, conformal_ambiguity (facts or sections contradict each other,
 * or the rationale's fact may change another), low_confidence (under 0.65).
 *
 * Any thread; the same input gives the same result.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "apps/policy/result.h"
#include "apps/policy/search.h"

#define POLICY_FACT_FLOOR 0.65

/* The result's texts are in the arena, the case or the criterion: the document may go before it.
 * False only when the index fails. doc may be NULL: uncertain, missing_policy_document_id. */
bool policy_heuristic(const struct policy_doc *doc, const struct policy_case *c, str criterion,
                      struct arena *a, struct policy_result *out, struct err *e) MUST_USE;
