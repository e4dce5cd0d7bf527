/* budget.h - how many metric calls a run needs, computed before it starts.
 *
 * A proposal costs the parent's minibatch, the child's, and the validation of a child that did
 * better; a merge costs five examples and a validation. So a run of T proposals of which A are
 * accepted, and K merges, costs V + 2bT + AV + K(5 + V).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "optimize/optimize.h"

enum optimize_auto { OPTIMIZE_LIGHT, OPTIMIZE_MEDIUM, OPTIMIZE_HEAVY };

/* By the formula, for 6, 12 or 18 accepted candidates, the proposals that this number of components
 * needs, and the merges that the settings allow. */
uint64_t optimize_budget_auto(const struct optimize_settings *s, enum optimize_auto size,
                              size_t component_count, size_t val_count);

/* The cost of three proposals and of the seed's validation. */
uint64_t optimize_budget_floor(const struct optimize_settings *s, size_t val_count);

struct optimize_budget_note {
    char text[200];
};

/* True: metric_calls is below the floor; the note says so. */
bool optimize_budget_note(const struct optimize_settings *s, size_t val_count,
                          struct optimize_budget_note *out);
