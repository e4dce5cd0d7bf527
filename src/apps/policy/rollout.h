/* rollout.h - which controller answers a case: the switches in force, and their decision.
 *
 *     if (!policy_rollout_open(keep, clock, &r, e)) ...
 *     policy_rollout_now(r, config, &switches, NULL);
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
 * The configuration is the base; an operator's switches override it. They apply at once to all new
 * calls, and because they are stored, also after a restart, and within a second on all daemons that
 * share the store. They end when an operator removes them, or when the configured switches change:
 * the latest change counts.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "apps/policy/metrics.h"
#include "apps/policy/result_table.h"
#include "gateway/config.h"

#define ROLLOUT_WHO_SIZE 128

struct policy_switches {
    bool use_llm, shadow, fallback; /* react_use_llm_controller, ... */
    double ab_ratio, prompt_ab_ratio;
};

struct policy_rollout;

/* Whose word is in force. */
struct policy_origin {
    bool operator_;             /* not the configuration's */
    char who[ROLLOUT_WHO_SIZE]; /* of an operator */
    int64_t set_us;
    struct policy_switches configured; /* the configured switches it overrides */
};

/* keep is lent, and may be NULL. */
bool policy_rollout_open(struct policy_table *keep, const struct clock *clock,
                         struct policy_rollout **out, struct err *e) MUST_USE;
void policy_rollout_free(struct policy_rollout *r); /* NULL: nothing */
/* Reads the switches that were set at another daemon of the store. */
void policy_rollout_refresh(struct policy_rollout *r);
/* origin may be NULL. */
void policy_rollout_now(struct policy_rollout *r, const struct config *c,
                        struct policy_switches *out, struct policy_origin *origin);
/* Accepts only known members: ERR_INPUT names the wrong one. null restores the switch of the
 * configuration. Any other error: nothing was stored or changed. */
bool policy_rollout_set(struct policy_rollout *r, const struct config *c, const struct json *doc,
                        str who, struct err *e) MUST_USE;
/* All of them. */
bool policy_rollout_clear(struct policy_rollout *r, const struct config *c, str who,
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
/* From 0 to below 1; `what` distinguishes one test from another. */
double policy_share(str salt, const char *what, str case_id);
