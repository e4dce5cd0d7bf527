/* judge.h - a policy's verdict as input of the scoring (apps/tune/verdict_score.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "apps/policy/result.h"
#include "apps/tune/verdict_score.h"

/* Lent by the result; lists in the arena. */
struct verdict_run judge_run(const struct policy_result *r, struct arena *a);
/* Members without a label (status "", section "") are not compared. */
struct verdict_truth judge_truth(str status, str doc, str section, struct arena *a);
