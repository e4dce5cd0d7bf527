/* status.h - an alert and its state as JSON.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "apps/incidents/alert_table.h"
#include "apps/incidents/incident.h"

/* ProcessingStatus: alert_id, status, progress, current_step, current_agent, assigned_mcp_servers,
 * result, error, timestamp. servers may be NULL. */
void status_write(struct json_out *o, const struct alert_table_row *row,
                  const char *const *servers);
/* Its members, except result and timestamp. */
void status_brief(struct json_out *o, const struct alert_table_row *row,
                  const char *const *servers);
/* The engine's input from a row; its texts are the row's. */
struct incident_alert status_alert(const struct alert_table_row *row);
/* An incident as lists show it: members of an object. */
void status_members(struct json_out *o, const struct alert_table_row *row);
/* The member "alerts": each with its state and how often it was reported. */
void status_alerts(struct json_out *o, struct alert_table *alert_table, str incident,
                   struct arena *a);
