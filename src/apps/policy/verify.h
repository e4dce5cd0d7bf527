/* verify.h - all criteria of a case by one controller, and the envelope that is answered.
 *
 *     struct policy_verify_options o = {.c = &c, .doc = doc, .controller = POLICY_REACT, ...};
 *     if (!policy_verify(&o, &arena, &verdict, e)) ...      e: the log failed; to be resumed
 *     policy_envelope(&o, &verdict, &out);
 *
 * Of the model's controller each criterion is a run of its own, "RUN/N"; with samples, "RUN/N/K",
 * and the majority of them decides: where they disagree so much that the share of the majority
 * takes the confidence below 0.65, it is uncertain, conformal_ambiguity. Where the model cannot be
 * asked, the heuristic answers if that is allowed, with the code llm_fallback. A met or missing of
 * the model that the heuristic reads the other way round is uncertain, readers_disagree, with both
 * readings in the result. A model works on
 * several criteria at a time, unless somebody looks on (on_effect).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "apps/policy/metrics.h"
#include "apps/policy/react.h"

#define POLICY_SAMPLES 3 /* of self consistency */
#define POLICY_SAMPLES_MAX 9
#define POLICY_SIDE_BY_SIDE 4 /* criteria of one case that a model works on at a time */
#define POLICY_HEURISTIC_VERSION "heuristic-2"
#define POLICY_REACT_VERSION "react-1"
#define POLICY_HEURISTIC_PROMPT "heuristic@none" /* instead of a prompt's id */

struct policy_verify_options {
    enum policy_controller controller;
    enum policy_mode mode;
    bool fallback;
    unsigned samples; /* 0 and 1: one */
    /* For the model's controller; criterion and run are set for each. */
    struct policy_react_options react;
};

struct policy_how {
    enum policy_controller controller; /* that the result is of */
    bool fell_back, left;              /* left: the process ends, there is no result */
    uint64_t took_ns, model_ns;
    unsigned iterations;
};

struct policy_verdict {
    struct policy_result *results;
    struct policy_how *how; /* of each */
    size_t n;
    bool left; /* the process ends: to be resumed */
    uint64_t took_ns, model_ns;
};

bool policy_verify(const struct policy_verify_options *o, struct arena *a,
                   struct policy_verdict *out, struct err *e) MUST_USE;
/* Whether all are met. */
bool policy_all_met(const struct policy_verdict *v);

str policy_prompt_id(const struct policy_verify_options *o);
/* {"case_id", "results", "policy_version_used", "controller_version", "prompt_id",
 * "processing_time_ms", "timestamp"}. */
void policy_envelope(const struct policy_verify_options *o, const struct policy_verdict *v,
                     struct json_out *out);
