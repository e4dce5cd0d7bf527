/* ingest.h - the threads that move records from the journal to the tables.
 *
 *     if (!ingest_start(&options, &t, e)) ...
 *     ingest_stop(t);                           after journal_stop, and not before
 *
 * One transaction stores a batch of records and the journal place that it reaches. So each record
 * is in the tables once, wherever the process is interrupted. A batch that fails is retried from
 * the last stored place, with growing pauses, while the journal grows. If one record is at fault,
 * the records of the batch are stored one by one and that record is dropped.
 *
 * Two threads take turns: one at the lowest priority, and one at normal priority while the tables
 * lag by a lot or somebody waits for them. Between batches they run retention, and move the texts
 * of earlier versions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "store/engine.h"
#include "store/lock.h"

struct ingest;

struct ingest_options {
    struct journal *journal;
    const char *dir; /* folder of the journal */
    struct engine *engine;
    struct journal_place place; /* where to continue */
    struct log *log;
    struct engine_retention retention;
    uint64_t retention_every_ms;
    bool replicated;               /* tickets wait for the commit */
    const struct store_lock *lock; /* of the database, checked with that of the journal */
    struct store_file files[2];    /* the database of SQLite, and its WAL */
};

/* All options are lent until take_stop. */
bool ingest_start(const struct ingest_options *o, struct ingest **out, struct err *e) MUST_USE;
void ingest_stop(struct ingest *t);

struct ingest_counts {
    uint64_t taken, taken_old; /* stored records: of this process, of earlier ones */
    uint64_t errors;
};

/* Whether the last batch was stored; if not, *why. The counts only grow. */
bool ingest_health(struct ingest *t, struct err *why, struct ingest_counts *out);
/* Whether the last batch was not stored because the disk of the tables is full. */
bool ingest_is_full(struct ingest *t, struct err *why);
