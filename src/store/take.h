/* take.h - the threads that move records from the journal to the tables.
 *
 *     if (!take_start(&options, &t, e)) ...
 *     take_stop(t);                             after journal_stop, and not before
 *
 * One transaction stores a batch of records and the journal place that it reaches. So each record
 * is in the tables once, wherever the process is interrupted. A batch that fails is retried from
 * the last stored place, with growing pauses, while the journal grows. If one record is at fault,
 * the records of the batch are stored one by one and that record is dropped.
 *
 * Two threads take turns: one at the lowest priority, and one at normal priority while the tables
 * lag by a lot. Between batches they run retention, and move the texts of earlier versions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "store/engine.h"

struct take;

struct take_options {
    struct journal *journal;
    const char *dir; /* folder of the journal */
    struct engine *engine;
    struct journal_place place; /* where to continue */
    struct log *log;
    struct engine_retention retention;
    uint64_t retention_every_ms;
};

/* All options are lent until take_stop. */
bool take_start(const struct take_options *o, struct take **out, struct err *e) MUST_USE;
void take_stop(struct take *t);

struct take_counts {
    uint64_t taken, taken_old; /* stored records: of this process, of earlier ones */
    uint64_t errors;
};

/* Whether the last batch was stored; if not, *why. The counts only grow. */
bool take_health(struct take *t, struct err *why, struct take_counts *out);
