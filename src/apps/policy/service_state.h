/* service_state.h - the service as its files see it: service.c opening and sharing, review.c one
 * case, shadow.c the background comparison.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "apps/job_queue.h"
#include "apps/policy/docs.h"
#include "apps/policy/reverify.h"
#include "apps/policy/shadow.h"

#define SERVICE_ARENA_MAX ((size_t)1 << 30)

/* A run to resume. */
struct resumed {
    struct job_link link;
    struct arena arena;
    str run, input;
};

struct policy_service {
    struct app_host host;
    struct registry *registry;
    struct policy_table *keep;
    struct policy_rollout *rollout;
    struct policy_metrics *metrics;
    struct job_queue shadow; /* shadow.h */
    struct policy_reverify *reverify;

    pthread_mutex_t lock;     /* protects the members below */
    struct policy_docs *docs; /* of the configuration in force for policies; never NULL */
    struct config *refused;   /* its documents could not be loaded: the ones before stay */
    bool loading;             /* a thread loads the documents of a newer one, without the lock */

    struct job_queue resumed;
};

/* Controller, prompt and model of a case; for a resumed run, those stored at its start. */
struct decision {
    struct policy_plan plan;
    struct policy_switches switches;
    struct prompt prompt;
    str model, key;                  /* key: the owner */
    str today;                       /* the day it started */
    str version, as_of, document_id; /* the request's values, which override the case's */
    struct policy_names criteria; /* confirmed for the policy; for a case that names no criteria */
    unsigned samples;
    bool masked; /* secrets of the body were masked before */
};

/* review.c */
bool review_again(struct policy_service *s, const struct resumed *r, struct err *e) MUST_USE;
/* The prompt by its id: from the registry, or the built-in one. */
bool review_prompt(struct policy_service *s, str id, struct arena *a, struct prompt *out,
                   struct err *e) MUST_USE;
/* p: of the configuration in force for policies. */
struct policy_react_options review_react(struct policy_service *s, struct setup *setup,
                                         const struct config_policy *p);
