/* engine.h - writes records to the tables of either database.
 *
 *     struct engine *en;
 *     if (!engine_open(&options, &en, e)) ...          tables made or migrated
 *     if (!engine_place(en, &place, e)) ...            the journal is read from there
 *     if (!engine_begin(en, false, e) || !engine_put(en, type, body, e) || ...
 *         !engine_commit(en, place, e))
 *         engine_rollback(en);
 *     engine_close(en);
 *
 * engine_put collects records; engine_commit writes them together with the journal place they
 * reach. One query finds the records that are already stored; after that query the commit waits for
 * no answer. The texts of calls go into blocks (block.h), everything else into narrow rows.
 *
 * One thread writes (begin to commit); any thread may call get and list at any time. The engines of
 * several daemons on one PostgreSQL take turns, a transaction each; if another one wrote since, the
 * engine reads again what it knew of the tables.
 *
 * ERR_INPUT concerns one record that can never be stored: the caller puts each record alone in a
 * batch to find it. Every other error concerns the database, and the caller retries the batch.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "store/journal.h"

struct engine;

struct engine_options {
    str url;
    str spool;              /* name of the journal that the place belongs to */
    const char *head_path;  /* file for the head of the audit log; NULL: none */
    struct db_lease *lease; /* of this daemon, for PostgreSQL; or NULL */
    void (*count_interrupted)(void *ctx, struct store_call *row); /* as in store_options */
    void *ctx;
};

#define ENGINE_BATCH_MAX 1000u
#define ENGINE_BATCH_POSTGRES_MAX 200u
#define ENGINE_BATCH_SIZE_MAX ((size_t)8 << 20) /* a batch ends once it has this many bytes */

bool engine_open(const struct engine_options *o, struct engine **out, struct err *e) MUST_USE;
void engine_close(struct engine *en); /* NULL is allowed */

/* The journal place up to which records are stored; 0, 0 in a new store. */
bool engine_place(struct engine *en, struct journal_place *out, struct err *e) MUST_USE;

/* durable: after the commit, this and all earlier transactions survive a power failure, so journal
 * segments may be deleted. */
bool engine_begin(struct engine *en, bool durable, struct err *e) MUST_USE;

/* A record as the journal has it; the body is copied. A call that is already stored stays unchanged
 * and its pieces are deleted. At most ENGINE_BATCH_MAX in a batch. */
bool engine_put(struct engine *en, uint32_t type, str body, struct err *e) MUST_USE;
/* Whether the batch is full: no further put before the commit. */
bool engine_full(const struct engine *en);
/* Turns calls that only have pieces into incomplete rows. */
bool engine_put_orphans(struct engine *en, size_t *count, struct err *e) MUST_USE;
bool engine_commit(struct engine *en, struct journal_place place, struct err *e) MUST_USE;
void engine_rollback(struct engine *en);

/* Whether the head file is out of date: a durable commit and engine_anchor update it. */
bool engine_stale(const struct engine *en);
void engine_anchor(struct engine *en);

/* Whether erased data is still in the files. engine_tidy removes it if no reader blocks that; a
 * commit does so too. */
bool engine_untidy(const struct engine *en);
void engine_tidy(struct engine *en);
/* Whether a commit since the last question dropped a call that ended after its erasure: its texts
 * are still in the journal. */
bool engine_was_late(struct engine *en);

/* The receipt of an erasure; ERR_NOT_FOUND before the erasure is done. */
bool engine_receipt(struct engine *en, str id, struct store_receipt *out, struct err *e) MUST_USE;

struct engine_retention {
    int64_t age_us, size_max, age_min_us; /* 0: no such rule; anything younger than age_min_us
                                             stays */
};
/* Erases expired sessions, one batch, in its own transactions; *more: some are left. */
bool engine_retain(struct engine *en, const struct engine_retention *r, bool *more,
                   struct err *e) MUST_USE;

/* Whether texts in the layout of an earlier version exist; engine_move moves some of them into
 * blocks. */
bool engine_moving(const struct engine *en);
bool engine_move(struct engine *en, struct err *e) MUST_USE;

/* Like store_secret, store_talks and store_spent. */
void engine_secret(const struct engine *en, str purpose, uint8_t out[32]);
bool engine_talks(struct engine *en, size_t n_max, bool (*fn)(void *ctx, str session, str talk),
                  void *ctx, struct err *e) MUST_USE;
bool engine_spent(struct engine *en, bool (*fn)(void *ctx, str key, double usd), void *ctx,
                  struct err *e) MUST_USE;
