/* engine.h - records into the tables of either database.
 *
 *     struct engine *en;
 *     if (!engine_open(&options, &en, e)) ...          tables made or migrated
 *     if (!engine_place(en, &place, e)) ...            the journal is read from there
 *     if (!engine_begin(en, false, e) || !engine_put(en, type, body, e) || ...
 *         !engine_commit(en, place, e))
 *         engine_rollback(en);
 *     engine_close(en);
 *
 * engine_put collects records; engine_commit writes them with the place they reach. One query finds
 * those that are there already; after it the commit waits for no answer. The texts of calls go into
 * blocks (block.h), everything else into narrow rows.
 *
 * One thread writes (begin to commit); get and list may be called by any, at any time.
 *
 * ERR_INPUT is about a record, which will never be taken: the caller puts each record alone in a
 * batch to find it. Every other error is about the database, and the caller retries the batch.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "store/journal.h"
#include "store/store.h"

struct engine;

struct engine_options {
    str url;
    str spool; /* which journal the place is of, in a database that has seen several; or "" */
    const char *head_path; /* where the head of the audit log is kept; NULL: nowhere */
};

#define ENGINE_BATCH_MAX 1000u
#define ENGINE_BATCH_POSTGRES_MAX 200u
#define ENGINE_BATCH_SIZE_MAX ((size_t)8 << 20) /* a batch is over once it has so many bytes */

bool engine_open(const struct engine_options *o, struct engine **out, struct err *e) MUST_USE;
void engine_close(struct engine *en); /* NULL: nothing */

/* Up to where the journal was taken in; 0, 0 in a new store. */
bool engine_place(struct engine *en, struct journal_place *out, struct err *e) MUST_USE;

/* durable: once it is committed, it and all before it outlive the machine's power, so that journal
 * segments may go. */
bool engine_begin(struct engine *en, bool durable, struct err *e) MUST_USE;

/* A record as it stands in the journal; the body is copied. A call that is there already is left as
 * it is; its pieces go. At most ENGINE_BATCH_MAX in a batch. */
bool engine_put(struct engine *en, uint32_t type, str body, struct err *e) MUST_USE;
/* Whether another may follow before the commit. */
bool engine_full(const struct engine *en);
/* Calls of which there are only pieces become rows that are not complete. */
bool engine_put_orphans(struct engine *en, size_t *count, struct err *e) MUST_USE;
bool engine_commit(struct engine *en, struct journal_place place, struct err *e) MUST_USE;
void engine_rollback(struct engine *en);

/* Whether the head outside is behind the log by now: a durable commit, and engine_anchor brings it
 * up to date. */
bool engine_stale(const struct engine *en);
void engine_anchor(struct engine *en);

/* What was erased is still in the files; tidy brings it off them, if no reader is in the way. A
 * commit does so too. */
bool engine_untidy(const struct engine *en);
void engine_tidy(struct engine *en);

/* The receipt of an erasure; ERR_NOT_FOUND before it was made. */
bool engine_receipt(struct engine *en, str id, struct store_receipt *out, struct err *e) MUST_USE;

struct engine_retention {
    int64_t age_us, size_max, age_min_us; /* 0: no such rule; what is younger than the last stays */
};
/* Erases what is over, a batch at a time, in transactions of its own; more: there is more of it. */
bool engine_retain(struct engine *en, const struct engine_retention *r, bool *more,
                   struct err *e) MUST_USE;

/* Whether there are texts in the layout of an earlier version; moves some of them into blocks. */
bool engine_moving(const struct engine *en);
bool engine_move(struct engine *en, struct err *e) MUST_USE;

/* As store_secret, store_talks and store_spent. */
void engine_secret(const struct engine *en, str purpose, uint8_t out[32]);
bool engine_talks(struct engine *en, size_t n_max, bool (*fn)(void *ctx, str session, str talk),
                  void *ctx, struct err *e) MUST_USE;
bool engine_spent(struct engine *en, bool (*fn)(void *ctx, str key, double usd), void *ctx,
                  struct err *e) MUST_USE;

bool engine_get(struct engine *en, str id, struct store_row_sink sink, struct err *e) MUST_USE;
bool engine_list(struct engine *en, str before_id, size_t n_max, struct store_row_sink sink,
                 struct err *e) MUST_USE;
