/* texts.h - reads the texts of calls: from a packed block, an open block, or the table of an
 * earlier version.
 *
 *     struct texts t;
 *     texts_init(&t, db);                         db is lent, and used only inside these calls
 *     if (!texts_read(&t, &place, &arena, &row, e)) ...
 *     texts_release(&t);
 *
 * texts_read sets the texts of a row whose columns are set (row.h says which fields are texts). The
 * last blocks stay unpacked, so neighbouring calls are cheap. A call that was erased meanwhile has
 * no texts.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "store/block.h"
#include "store/db.h"
#include "store/store.h"

#define TEXTS_CACHE 4u

/* The place of a call's texts. */
struct texts_place {
    int64_t call_n;
    int64_t block; /* -1: in old_interactions */
    int64_t block_n;
};

struct texts_slot {
    int64_t block; /* 0: empty */
    uint64_t used;
    struct arena arena;
    struct block_view view;
};

struct texts_request {
    int64_t call_n;   /* 0: empty */
    unsigned depth;   /* number of deltas to resolve it */
    size_t size;      /* of the request */
    struct buf bytes; /* the request, then the answer to it */
};

struct texts {
    struct db *db;
    uint64_t uses;
    unsigned depth; /* number of deltas of the last request read */
    bool damaged;   /* after a failure: the database works, but the stored data is damaged */
    struct texts_slot slots[TEXTS_CACHE];
    /* The last requests that were assembled: the next request of a conversation builds on one. */
    struct texts_request *requests;
    size_t request_count, request_next, requests_size;
    /* While a request is assembled: the calls that it builds on, and its last two forms. The
     * caller's arena gets the result alone. */
    struct arena links, forms[2];
};

void texts_init(struct texts *t, struct db *db);
void texts_release(struct texts *t);
/* Caches many requests instead of one, for reading many conversations at once. */
void texts_keep_many(struct texts *t);

/* Sets the row's texts, in the arena. Its id and columns must be set. If some texts of a call in
 * old_interactions are damaged, it fails, and the row has the others. ERR_LIMIT: the arena has no
 * room for them. */
bool texts_read(struct texts *t, const struct texts_place *at, struct arena *a,
                struct store_call *row, struct err *e) MUST_USE;
/* The same without the request, which is expensive if it is stored as a delta. */
bool texts_read_reply(struct texts *t, const struct texts_place *at, struct arena *a,
                      struct store_call *row, struct err *e) MUST_USE;

/* The same, with the request if it has at most request_max bytes. */
bool texts_read_up_to(struct texts *t, const struct texts_place *at, size_t request_max,
                      struct arena *a, struct store_call *row, struct err *e) MUST_USE;

/* The entry of a call as stored in its block, in the arena; "" if it has none or is in no block. */
bool texts_entry(struct texts *t, const struct texts_place *at, struct arena *a, str *out,
                 struct err *e) MUST_USE;
/* A block unpacked, lent until the next call. False with ERR_NOT_FOUND: it is not packed. */
bool texts_block(struct texts *t, int64_t block, const struct block_view **out,
                 struct err *e) MUST_USE;
/* Empties the cache, so that erased texts cannot come from it. */
void texts_forget(struct texts *t);
