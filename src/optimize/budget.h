/* budget.h - how many metric calls a run should have, before it has any.
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

/* By the formula: 6, 12 or 18 candidates accepted, as many proposals as finding them takes for so
 * many components, and the merges that the settings allow. */
uint64_t optimize_budget_auto(const struct optimize_settings *s, enum optimize_auto size,
                              size_t component_count, size_t val_count);

/* What three proposals can cost, the seed's validation included. */
uint64_t optimize_budget_floor(const struct optimize_settings *s, size_t val_count);

struct optimize_budget_note {
    char text[200];
};

/* True: metric_calls are fewer than the floor, and the note says what that means. */
bool optimize_budget_note(const struct optimize_settings *s, size_t val_count,
                          struct optimize_budget_note *out);
