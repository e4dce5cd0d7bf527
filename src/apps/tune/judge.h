/* judge.h - a policy's verdict as the metrics see it (apps/tune/verdict_score.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "apps/policy/result.h"
#include "apps/tune/verdict_score.h"

/* Lent by the result; lists in the arena. */
struct verdict_run judge_run(const struct policy_result *r, struct arena *a);
/* What is not labelled (status "", section "") is not compared. */
struct verdict_truth judge_truth(str status, str doc, str section, struct arena *a);
