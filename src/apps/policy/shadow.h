/* shadow.h - runs the model's controller on the heuristic's cases, in the background.
 *
 *     policy_shadow_init(service);
 *     policy_shadow_post(service, &job);        copies; false if the queue is full: it is dropped
 *     job_queue_release(&service->shadow);      drops waiting jobs
 *
 * One thread of its own, one case at a time, from a queue with a limit. Where the status differs or
 * the confidence by more than POLICY_SHADOW_DELTA, it is logged, counted and kept.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "apps/policy/service.h"

#define POLICY_SHADOW_DELTA 0.05

/* A case and its answer. */
struct policy_shadow_job {
    str body; /* the case, unchanged */
    str run, model;
    struct policy_docs *docs;     /* held until it is done; or NULL */
    const struct policy_doc *doc; /* which of them; or NULL */
    const struct policy_verdict *served;
    bool candidate;
};

void policy_shadow_init(struct policy_service *s);
bool policy_shadow_post(struct policy_service *s, const struct policy_shadow_job *job);
