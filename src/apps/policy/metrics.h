/* metrics.h - the metrics of verifications on /metrics (names with react_).
 *
 *     struct policy_metrics *m = policy_metrics_new(gateway->metrics);
 *     policy_metrics_done(m, &seen);
 *     policy_metrics_free(m);
 *
 * Any thread. No proxied call uses this, so a lock is fast enough.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "apps/policy/result.h"
#include "gateway/metrics.h"

enum policy_controller { POLICY_HEURISTIC, POLICY_REACT, POLICY_CONTROLLERS };
/* Why a controller answers: the switch that decided, or a request that named it. */
enum policy_mode {
    POLICY_MODE_SHADOW,
    POLICY_MODE_LLM,
    POLICY_MODE_AB,
    POLICY_MODE_HEURISTIC,
    POLICY_MODE_ASKED,
    POLICY_MODES
};

const char *policy_controller_name(enum policy_controller c);
const char *policy_mode_name(enum policy_mode m);

struct policy_metrics;

struct policy_metrics *policy_metrics_new(struct metrics *page); /* lent; NULL: no page */
void policy_metrics_free(struct policy_metrics *m);

/* One criterion that was evaluated. */
struct policy_seen {
    enum policy_controller controller;
    enum policy_mode mode;
    enum policy_status status;
    double confidence;
    uint64_t took_ns;
    unsigned iterations; /* of the model; 0: none */
};
void policy_metrics_done(struct policy_metrics *m, const struct policy_seen *s);
void policy_metrics_tool(struct policy_metrics *m, int place, bool ok); /* -1: no such tool */
void policy_metrics_tool_took(struct policy_metrics *m, int place, uint64_t took_ns);
void policy_metrics_fallback(struct policy_metrics *m, str reason);
void policy_metrics_assigned(struct policy_metrics *m, enum policy_controller bucket);
void policy_metrics_shadow(struct policy_metrics *m, bool differs);
void policy_metrics_shadow_dropped(struct policy_metrics *m);

/* For the view of the rollout. */
struct policy_counts {
    uint64_t evaluations[POLICY_CONTROLLERS][POLICY_MODES][3];
    uint64_t assigned[POLICY_CONTROLLERS];
    uint64_t fallbacks;
    uint64_t compared, differed, dropped; /* of the shadow */
};
void policy_metrics_counts(struct policy_metrics *m, struct policy_counts *out);
