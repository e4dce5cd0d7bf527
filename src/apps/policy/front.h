/* front.h - front matter: what a document says of itself between two lines "---" at its start.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "apps/policy/tree.h"

/* How many bytes of the text it takes, with the line that ends it; 0 if there is none. What it says
 * of title, description, version, effective_from (or effective_start) and effective_to (or
 * effective_end) goes into the tree. */
size_t policy_front(str text, struct arena *a, struct policy_tree *t);
