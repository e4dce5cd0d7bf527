/* tree_build.h - shared by both readers of a tree.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "apps/policy/tree.h"

/* Without nodes; every text is "". */
void policy_tree_init(struct policy_tree *t, str doc_name, struct arena *a);
/* Depth is set in every node, in pre-order; gives spans, missing ids, title paths, missing
 * summaries, pages of subtrees, and hashes. `source` is the input text. */
void policy_tree_finish(struct policy_tree *t, str source, struct arena *a);
/* Each stretch of white space is one space, and none at the ends. */
str policy_one_line(str s, struct arena *a);
/* A title in one line, and not too long. */
str policy_title(str s, struct arena *a);
/* The first words of a text: whole sentences as far as they fit, else cut after a word. */
str policy_summary(str text, struct arena *a);
