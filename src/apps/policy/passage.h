/* passage.h - finds the sentence of a result in the policy, and the page around it.
 *
 *     policy_passage(doc, &result, criterion, &arena, &p);
 *     if (p.node) ...                    the sentence is [p.from, p.to) of p.node->text
 *     policy_passage_json(doc, &p, &out);
 *
 * The sentence is the one that the rationale quotes, or the evidence; or else the sentence of the
 * cited section that has most words of the criterion.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "apps/policy/result.h"
#include "apps/policy/search.h"

#define POLICY_PASSAGE_MAX 16384 /* bytes of the page that are shown */

struct policy_passage {
    const struct policy_node *node; /* NULL: the section is not in the document */
    size_t from, to;                /* bytes of the node's text; equal: no sentence was found */
    uint32_t page;
};

/* Finds a quote in a text, ignoring differences in white space: bytes. */
bool policy_quote_find(str text, str quote, size_t *from, size_t *to) MUST_USE;

void policy_passage(const struct policy_doc *d, const struct policy_result *r, struct arena *a,
                    struct policy_passage *out);
/* {"document_id", "version", "section", "page", "truncated", "blocks": [{"title", "text", "start",
 * "end"}]}; start and end count characters and are null outside of the sentence. */
void policy_passage_json(const struct policy_doc *d, const struct policy_passage *p,
                         struct json_out *o);
