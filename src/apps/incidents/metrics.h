/* metrics.h - counts of alerts, the queue, stages and tools, as /metrics shows them.
 *
 *     struct incident_metrics *m = incident_metrics_new(gateway->metrics, clock);
 *     incident_metrics_alerts(m, &intake);
 *     incident_metrics_free(m);
 *
 * Any thread; a scrape waits for no other lock than that of the counts. All functions accept NULL
 * for m. docs/reference/metrics.md has the names.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "apps/incidents/queue.h"

/* Both are lent; page NULL: nothing is shown. */
struct incident_metrics *incident_metrics_new(struct metrics *page, const struct clock *clock);
void incident_metrics_free(struct incident_metrics *m);

/* The state of the queue, after each change of it. */
void incident_metrics_queue(struct incident_metrics *m, const struct queue_counts *c);
/* The alerts of a request that was accepted; none in an event that was ignored. */
void incident_metrics_alerts(struct incident_metrics *m, const struct queue_intake *in);
/* A request that was refused: `reason` is the error's code. */
void incident_metrics_refused(struct incident_metrics *m, const char *reason);
/* An incident that has ended: completed, error, cancelled or resolved. */
void incident_metrics_ended(struct incident_metrics *m, str outcome);
/* A tool's call that has ended; other effects are ignored. */
void incident_metrics_effect(struct incident_metrics *m, const struct agent_effect *f);
/* The stages of an investigation that has ended, by the runs of their agents. */
void incident_metrics_stages(struct incident_metrics *m, struct agent_log *log, str run,
                             str session);
