/* investigate.h - shared by the files of `rationale investigate`.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "apps/incidents/incident.h"

struct investigate_facts {
    str *at;
    size_t n;
};

/* Reads the alert in a file, in our format or Alertmanager's, and the facts that a good report must
 * contain: from ALERT.facts.json, or from the alert. Their texts are in the arena. */
bool investigate_alert(const char *path, struct arena *a, struct incident_alert *to,
                       struct investigate_facts *facts, struct err *e) MUST_USE;
