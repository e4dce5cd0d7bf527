/* front_matter.h - front matter: metadata of a document between two lines "---" at its start.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "apps/policy/tree.h"

/* The bytes of the front matter, including the line that ends it; 0 if the text has none. Its
 * title, description, version, effective_from (or effective_start) and effective_to (or
 * effective_end) go into the tree. */
size_t policy_front_matter(str text, struct arena *a, struct policy_tree *t);
