/* routes.h - the routes of policy that have a file of their own, and what all of them use.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "apps/policy/service.h"

/* {"detail": {"error", "message", "field"}}: the path at the front of a sentence is the field. */
void policy_fail_field(struct app_reply *r, const struct err *e);
/* Both answer if it is not so. The documents are held. */
bool policy_operator_only(const struct app_request *q, struct app_reply *r);
bool policy_configured(struct policy_service *s, struct policy_docs **docs, struct app_reply *r);
void policy_reply_end(struct json_out *o, struct app_reply *r);

/* /api/v1/policy/rollout (rollout_routes.c) */
void policy_rollout_get(void *app, const struct app_request *q, struct app_reply *r);
void policy_rollout_post(void *app, const struct app_request *q, struct app_reply *r);
void policy_rollout_delete(void *app, const struct app_request *q, struct app_reply *r);
