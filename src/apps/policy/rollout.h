/* rollout.h - which controller answers a case: the switches in force, and what they decide.
 *
 *     struct policy_rollout *r = policy_rollout_new();
 *     policy_rollout_now(r, config, &switches);
 *     policy_decide(&switches, salt, case_id, NULL, &plan);
 *
 * The first switch that is on decides: shadow (the heuristic answers, the model's controller runs
 * off the request's path and is compared), then the model for all, then the model for a share of
 * the cases, else the heuristic.
 *
 * A share is sticky: a case has a number from 0 to 1 by a digest of the salt and its id, and is in
 * if that is below the ratio. So it is always in or always out, on every machine, and a ratio that
 * grows keeps those that were in.
 *
 * What an operator sets holds at once, for all calls that begin from then on, until the
 * configuration is loaded again or the process ends: whatever was said last counts.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "apps/policy/metrics.h"
#include "base/json.h"
#include "gateway/config.h"

struct policy_switches {
    bool use_llm, shadow, fallback; /* react_use_llm_controller, ... */
    double ab_ratio, prompt_ab_ratio;
};

struct policy_rollout;

struct policy_rollout *policy_rollout_new(void);
void policy_rollout_free(struct policy_rollout *r); /* NULL: nothing */
/* overridden, if not NULL: whether an operator's word is in force. */
void policy_rollout_now(struct policy_rollout *r, struct config *c, struct policy_switches *out,
                        bool *overridden);
/* The members that are there, and no others: ERR_INPUT says which is wrong. */
bool policy_rollout_set(struct policy_rollout *r, struct config *c, const struct json *doc,
                        struct err *e) MUST_USE;
void policy_switches_json(const struct policy_switches *s, struct json_out *o); /* members only */

struct policy_plan {
    enum policy_controller controller;
    enum policy_mode mode;
    bool assigned;  /* by the A/B test */
    bool candidate; /* the approved prompt that is tried against the active one */
};
/* asked: "heuristic" or "react" by name; NULL, "" or "auto": by the switches. */
void policy_decide(const struct policy_switches *s, str salt, str case_id, str asked,
                   struct policy_plan *out);
/* From 0 to below 1; `what` tells one test from another. */
double policy_share(str salt, const char *what, str case_id);
