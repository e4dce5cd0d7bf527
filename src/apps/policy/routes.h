/* routes.h - the routes of policy that have a file of their own, and shared helpers.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "apps/policy/service.h"
#include "apps/policy/version.h"

/* {"detail": {"error", "message", "field"}}: the path at the front of a sentence is the field. */
void policy_fail_field(struct app_reply *r, const struct err *e);

/* The document that a request names, in its version; want.today is set here. */
bool policy_asked_doc(struct policy_service *s, const struct policy_docs *docs,
                      struct policy_want want, const struct policy_doc **out,
                      struct err *e) MUST_USE;

/* /api/v1/policy/rollout (rollout_routes.c) */
void policy_rollout_get(void *app, const struct app_request *q, struct app_reply *r);
void policy_rollout_post(void *app, const struct app_request *q, struct app_reply *r);
void policy_rollout_delete(void *app, const struct app_request *q, struct app_reply *r);

/* /api/v1/policy/review, /labels (review_routes.c) */
void policy_review_list(void *app, const struct app_request *q, struct app_reply *r);
void policy_review_item(void *app, const struct app_request *q, struct app_reply *r);
void policy_review_post(void *app, const struct app_request *q, struct app_reply *r);
void policy_labels_get(void *app, const struct app_request *q, struct app_reply *r);

/* /api/v1/policy/reverify (reverify_routes.c) */
void policy_reverify_list(void *app, const struct app_request *q, struct app_reply *r);
void policy_reverify_get(void *app, const struct app_request *q, struct app_reply *r);
void policy_reverify_post(void *app, const struct app_request *q, struct app_reply *r);
void policy_reverify_delete(void *app, const struct app_request *q, struct app_reply *r);

/* /api/v1/policy/extract, /proposals (extract_routes.c) */
void policy_extract_post(void *app, const struct app_request *q, struct app_reply *r);
void policy_proposals_get(void *app, const struct app_request *q, struct app_reply *r);
void policy_proposals_post(void *app, const struct app_request *q, struct app_reply *r);
void policy_proposals_case(void *app, const struct app_request *q, struct app_reply *r);

/* Shared by all routes. */
str policy_who(const struct app_request *q);
void policy_audit(struct policy_service *s, const struct app_request *q, const char *action,
                  str subject, str detail);
/* The text without secrets; in the arena if it had any. */
str policy_masked(struct policy_service *s, str text, struct arena *a);
/* A parameter that has one of the words, which are separated by spaces, or is absent; false after
 * answering 422. */
bool policy_choice_of(const struct app_request *q, const char *name, const char *words, str *out,
                      struct app_reply *r);
/* The query's limit; false after answering 422. */
bool policy_limit_of(const struct app_request *q, int64_t otherwise, int64_t *out,
                     struct app_reply *r);
