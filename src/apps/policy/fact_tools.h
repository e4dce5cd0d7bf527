/* fact_tools.h - tools that need no outside service, each from its arguments to its answer.
 *
 *     policy_xref(doc, STR("age"), &arena, &out);        {"success": true, "references": [...]}
 *
 * Each writes one JSON object with "success"; "error" describes bad arguments.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "apps/policy/case.h"
#include "apps/policy/search.h"

/* {"success": false, "error", "message"}. */
void policy_tool_refuse(struct json_out *o, const char *code, const char *message);
/* Sections that name the criterion, and where those refer to ("see section X"). */
void policy_xref(const struct policy_doc *d, str criterion_id, struct arena *a, struct json_out *o);
/* Which of the documents with that id, title or name is in force on a day (YYYY-MM-DD). */
void policy_temporal(const struct policy_doc *const *docs, size_t n, str policy_id, str as_of_date,
                     struct json_out *o);
/* {"criteria_results": [{criterion_id?, status, confidence}]}: one score for a case. */
void policy_confidence_score(const struct json *doc, const struct json_node *args, struct arena *a,
                             struct json_out *o);
/* {"findings": [{criterion_id, evidence: [{node_id?, snippet?, stance}]}]}: where support and
 * opposition meet. */
void policy_contradictions(const struct json *doc, const struct json_node *args, struct arena *a,
                           struct json_out *o);
/* Form of ICD-10-CM and CPT codes, and whether the policy lists them; either may be "". d may be
 * NULL. */
void policy_codes(const struct policy_doc *d, str icd10, str cpt, struct arena *a,
                  struct json_out *o);
/* There is no way out to it from here: {"success": false, "error": "pubmed_unavailable", ...}. */
void policy_pubmed(struct json_out *o);
/* Whether a text has the form of an ICD-10 code: a letter, a digit, a letter or digit, and after a
 * point one to four more. */
bool policy_is_icd10(str s);
