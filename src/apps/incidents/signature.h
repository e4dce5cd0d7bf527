/* signature.h - checks whether a webhook was signed with a shared secret.
 *
 * PagerDuty sends X-PagerDuty-Signature, "v1=" and the HMAC-SHA256 of the body in hex, once for
 * each secret it knows, separated by commas. Grafana sends X-Grafana-Alerting-Signature, the hex
 * alone. Which environment variable has the secret is configured (incidents.pagerduty_secret_env,
 * incidents.grafana_secret_env); without one, a signature is not asked for.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "apps/incidents/alert.h"
#include "gateway/config_apps.h"

/* given: the header's value, or "". */
bool signature_check(const struct config_incidents *c, enum alert_source source, str given,
                     str body, struct err *e) MUST_USE;
