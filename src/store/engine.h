/* engine.h - what takes the rows out of the journal: one file an engine, one table of functions.
 *
 *     struct engine *en;
 *     if (!ops->open(path, &en, e)) ...                tables made or migrated
 *     if (!ops->place(en, &place, e)) ...              where to go on
 *     if (!ops->begin(en, false, e) || !ops->put_call(en, &row, e) || !ops->commit(en, place, e))
 *         ops->rollback(en);
 *     ops->close(en);
 *
 * One thread writes (begin to commit); get and list may be called by any, at any time.
 *
 * An error with the code ERR_INPUT from a put is about the row alone: it will never be taken, and
 * the transaction goes on without it. Any other is about the engine, and the batch is tried again.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "store/journal.h"
#include "store/store.h"

struct engine; /* each engine's own */

struct engine_ops {
    const char *scheme; /* of the URL */
    bool (*open)(const char *path, struct engine **out, struct err *e);
    void (*close)(struct engine *en);

    /* Up to where the journal was taken in; 0, 0 in a new store. */
    bool (*place)(struct engine *en, struct journal_place *out, struct err *e);

    /* durable: once it is committed, it and all before it outlive the machine's power, so that
     * journal segments may go. */
    bool (*begin)(struct engine *en, bool durable, struct err *e);
    /* A call that is there already is left as it is; its pieces go. */
    bool (*put_call)(struct engine *en, const struct store_call *row, struct err *e);
    bool (*put_piece)(struct engine *en, const struct store_piece *piece, struct err *e);
    /* Calls of which there are only pieces become rows that are not complete. */
    bool (*put_orphans)(struct engine *en, size_t *count, struct err *e);
    bool (*commit)(struct engine *en, struct journal_place place, struct err *e);
    void (*rollback)(struct engine *en);

    bool (*get)(struct engine *en, str id, struct store_row_sink sink, struct err *e);
    bool (*list)(struct engine *en, str before_id, size_t n_max, struct store_row_sink sink,
                 struct err *e);
};

/* The piece that holds, as row_call_put writes it, what was known when the call began. */
#define ENGINE_BEGIN_KIND STR("begin")

extern const struct engine_ops engine_sqlite;
