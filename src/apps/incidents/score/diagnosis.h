/* diagnosis.h - whether the statements of an analysis name the expected cause and object.
 *
 *     struct diagnosis d;
 *     diagnosis_read(&claims, &expected, &arena, &d);
 *
 * See score.h for the rules.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "apps/incidents/score.h"
#include "apps/incidents/score/claims.h"

struct diagnosis {
    enum score_verdict verdict;
    str missing;          /* as in struct score_result */
    size_t missing_count; /* points and names that are stated nowhere */
};

/* Whether the clause states something; with `names`, whether it can name the object. */
bool claim_counts(const struct claim *c, bool names);

void diagnosis_read(const struct claims *c, const struct score_expected *x, struct arena *a,
                    struct diagnosis *out);
