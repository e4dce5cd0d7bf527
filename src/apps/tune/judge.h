/* judge.h - a policy's verdict as the metrics see it (optimize/metrics.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "apps/policy/result.h"
#include "optimize/metrics.h"

/* Lent by the result; lists in the arena. */
struct metrics_run judge_run(const struct policy_result *r, struct arena *a);
/* What is not labelled (status "", section "") is not compared. */
struct metrics_truth judge_truth(str status, str doc, str section, struct arena *a);
