/* service_state.h - the service as its files see it: service.c opening and sharing, review.c one
 * case, shadow.c the background comparison.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <pthread.h>

#include "apps/policy/docs.h"
#include "apps/policy/reverify.h"
#include "apps/policy/shadow.h"

#define SERVICE_ARENA_MAX ((size_t)1 << 30)

struct resumed {
    struct resumed *next;
    struct arena arena;
    str run, input;
};

struct policy_service {
    struct app_host host;
    struct registry *registry;
    struct policy_keep *keep;
    struct policy_rollout *rollout;
    struct policy_metrics *metrics;
    struct policy_shadow *shadow;
    struct policy_reverify *reverify;

    pthread_mutex_t lock; /* of what follows */
    struct policy_docs *docs;
    struct config *refused; /* its documents could not be loaded: the ones before stay */
    pthread_cond_t work;
    struct resumed *first, *last;
    pthread_t thread; /* resumes them, one after another */
    bool started, stop;
};

/* Controller, prompt and model of a case; for a resumed run, those stored at its start. */
struct decision {
    struct policy_plan plan;
    struct policy_switches switches;
    struct prompt prompt;
    str model, key;               /* key: the owner */
    str today, version, as_of;    /* the day it started; the request's values, which override the
                                * case's */
    struct policy_names criteria; /* confirmed for the policy; for a case that names no criteria */
    unsigned samples;
};

/* review.c */
bool review_again(struct policy_service *s, const struct resumed *r, struct err *e) MUST_USE;
/* The prompt by its id: in the registry, or what is compiled in. */
bool review_prompt(struct policy_service *s, str id, struct arena *a, struct prompt *out,
                   struct err *e) MUST_USE;
struct policy_react_options review_react(struct policy_service *s, struct setup *setup);
