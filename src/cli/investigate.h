/* investigate.h - what the files of `rationale investigate` share.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "apps/incidents/incident.h"

struct investigate_facts {
    str *at;
    size_t n;
};

/* The alert in a file, ours or Alertmanager's, and the facts that a good report has: those of
 * ALERT.facts.json, or of the alert. Their texts are in the arena. */
bool investigate_alert(const char *path, struct arena *a, struct incident_alert *to,
                       struct investigate_facts *facts, struct err *e) MUST_USE;
