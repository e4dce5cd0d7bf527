/* shadow.h - runs the model's controller on the heuristic's cases, in the background.
 *
 *     struct policy_shadow *s = policy_shadow_new(&options);
 *     policy_shadow_post(s, &job);              copies; false if the queue is full: it is dropped
 *     policy_shadow_free(s);
 *
 * One thread of its own, one case at a time, from a queue with a limit. Where the status differs or
 * the confidence by more than POLICY_SHADOW_DELTA, it is logged, counted and kept.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "apps/policy/service.h"

#define POLICY_SHADOW_DELTA 0.05

struct policy_shadow;

/* A case and its answer. */
struct policy_shadow_job {
    str body; /* the case as it came */
    str run, model;
    struct policy_docs *docs;     /* held until it is done; or NULL */
    const struct policy_doc *doc; /* which of them; or NULL */
    const struct policy_verdict *served;
    bool candidate;
};

struct policy_shadow *policy_shadow_new(struct policy_service *s);
void policy_shadow_free(struct policy_shadow *s); /* NULL: nothing; waiting jobs are dropped */
bool policy_shadow_post(struct policy_shadow *s, const struct policy_shadow_job *job);
