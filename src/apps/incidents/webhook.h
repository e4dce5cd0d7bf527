/* webhook.h - what Alertmanager sends: a group of alerts, each of them one of ours.
 *
 * https://prometheus.io/docs/alerting/latest/configuration/#webhook_config, version 4. The type is
 * the label alertname, the severity the label of that name, the runbook the annotation runbook_url;
 * the data is all that is said of the alert. An alert is the same as another if its labels are:
 * annotations tell how it is just now.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "apps/incidents/alert.h"

#define WEBHOOK_ALERTS_MAX 1000

/* Whether a body is meant as one; else it is an alert in our own form. */
bool webhook_is(const struct json *doc);
/* False: faults say why, of each alert that is wrong. Resolved ones are in the list too. */
bool webhook_read(const struct json *doc, int64_t now_us, struct arena *a, struct alert **out,
                  size_t *n, struct alert_faults *faults) MUST_USE;
