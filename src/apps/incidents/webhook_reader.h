/* webhook_reader.h - shared by the readers of webhooks.
 *
 *   webhook.c   recognises the sender; Alertmanager and Grafana
 *   pager.c     PagerDuty and Opsgenie
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "apps/incidents/webhook.h"

#define WEBHOOK_GROUP_MEMBERS 4

/* A member of a group, cleaned; each alert of the group gets a copy of it. */
struct webhook_group_member {
    str value;    /* "": the group has none, or its text is too large to be copied for each alert */
    unsigned cut; /* values that were too long */
};

struct webhook_reader {
    const struct json *doc;
    const struct json_node *root;
    struct arena *arena;
    struct alert_faults *faults;
    int64_t now_us;
    struct webhook *out;
    /* Of Alertmanager and Grafana. */
    const struct json_node *status; /* of the group, or NULL */
    struct webhook_group_member group[WEBHOOK_GROUP_MEMBERS];
};

/* A text member without control characters; "" if it is missing or no text. */
str webhook_text(const struct webhook_reader *r, const struct json_node *map, const char *name);
/* The first of the members (the list ends with NULL) that has a text. */
str webhook_text_of(const struct webhook_reader *r, const struct json_node *map,
                    const char *const *names, const char *otherwise);
/* A date-time of RFC 3339 in microseconds; 0 if it is missing, null or the year 1. A fault names
 * `field`. */
int64_t webhook_time(const struct webhook_reader *r, const struct json_node *map, const char *name,
                     const char *field);
/* The start of the firing; 0: unknown. A start that is more than a day ahead counts as unknown: a
 * report with the start of a known firing or an earlier one is a repeat (queue_attach.c), so all
 * later firings would be repeats. */
void webhook_set_start(const struct webhook_reader *r, struct alert *out, int64_t us);
/* The id by which the sender knows the alert; a fault if it is no text or too long. */
str webhook_id(const struct webhook_reader *r, const struct json_node *map, const char *name,
               const char *field);
/* A member that must be an object; NULL after a fault. */
const struct json_node *webhook_object(const struct webhook_reader *r, const struct json_node *map,
                                       const char *name, const char *field);
/* Members of an object, cleaned, into the data of an alert. */
void webhook_add_members(const struct webhook_reader *r, const struct json_node *v,
                         struct json_out *o, struct alert *out);

/* pager.c */
void webhook_read_pagerduty(struct webhook_reader *r);
void webhook_read_opsgenie(struct webhook_reader *r);
