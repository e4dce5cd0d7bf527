/* webhook.h - alerts that monitoring systems send: Alertmanager, Grafana, PagerDuty, Opsgenie.
 *
 *     if (webhook_source(&doc) && !webhook_read(&doc, now_us, &arena, &hook, &faults)) ...   422
 *
 * A body is recognised by its members; each sender has a row in webhook.c.
 *
 *   Alertmanager, version 4    "alerts"; a group of alerts (groupKey)
 *   Grafana, unified alerting  the same with "orgId"; version "1"
 *   PagerDuty, V3 webhooks     "event"; one incident
 *   Opsgenie                   "action" and "alert"; one alert
 *
 * The type, severity, environment and runbook of an alert come from its labels, annotations or
 * details; its data is all that was sent about it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "apps/incidents/alert.h"

#define WEBHOOK_ALERTS_MAX 1000

struct webhook {
    enum alert_source source;
    char group[SHA256_HEX_SIZE]; /* the digest of the group's key; "": the alerts are no group */
    struct alert *alerts;        /* resolved ones too */
    size_t n;
    str ignored; /* an event that says nothing about firing, such as an acknowledgement; or "" */
};

/* ALERT_API: the body is no webhook. */
enum alert_source webhook_source(const struct json *doc);
/* False: faults has the reason for each invalid alert. *out is in the arena. now_us 0: for an alert
 * from a file, which may have started at any time. */
bool webhook_read(const struct json *doc, int64_t now_us, struct arena *a, struct webhook *out,
                  struct alert_faults *faults) MUST_USE;
/* The first alert that fires, or NULL. */
const struct alert *webhook_first_firing(const struct webhook *w);
