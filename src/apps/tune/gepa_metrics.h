/* gepa_metrics.h - runs of the optimizer on /metrics (names with gepa_).
 *
 *     struct gepa_metrics *m = gepa_metrics_new(gateway->metrics);
 *     gepa_metrics_refresh(m, kept);          now and then, on a thread that may wait
 *     gepa_metrics_free(m);
 *
 * The numbers come from the store, so runs of the command count too, and a restart loses none.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "apps/tune/tune.h"

#define GEPA_RUNS_MAX 10000 /* the newest that are counted */

struct gepa_metrics;

struct gepa_metrics *gepa_metrics_new(struct metrics *page); /* lent; NULL: no page */
void gepa_metrics_free(struct gepa_metrics *m);              /* NULL: nothing */
/* Keeps the last numbers if the store cannot be read. */
void gepa_metrics_refresh(struct gepa_metrics *m, struct tune_kept *kept);
