/* engine_block.h - the engine's blocks: writes and reads the texts of calls, and indexes their
 * words.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "store/texts.h"
#include "store/words.h"

#define ENGINE_REQUESTS 1024u /* sessions whose last request is cached */

struct engine;

/* Which block a call goes into: one for new calls, one for calls moved from an earlier version. */
enum engine_filled { ENGINE_NEW, ENGINE_MOVED, ENGINE_FILLED };

/* A block that is being filled. */
struct engine_filling {
    int64_t number;
    struct block block;
    struct buf calls; /* the numbers of its calls: int64_t each */
    struct words_set words;
    size_t before;        /* so many of its entries, the first, are only in call_texts: other */
    uint64_t before_size; /* daemons put them there; and their bytes */
    size_t stored;        /* number of entries in the block that are in call_texts as well */
};

/* An earlier request of a session, and how much of it every request since then has: its first
 * `front` and its last `back` bytes. */
struct engine_mark {
    int64_t call_n;
    size_t size, front, back;
    unsigned depth;
};

/* The last call of a session: the session's name, then the request, then the answer. */
struct engine_request {
    char *bytes;
    size_t size, cap, name_size, answer_size;
    int64_t call_n; /* 0: empty */
    unsigned depth; /* number of deltas to resolve it */
    struct engine_mark mark;
};

/* engine_block.c: writes and reads texts of blocks. */
void engine_blocks_init(struct engine *en);
void engine_blocks_release(struct engine *en);
/* Reads from the tables how far the open blocks are. Their texts are read when they are needed. */
bool engine_blocks_begin(struct engine *en, struct err *e) MUST_USE;
/* Puts the texts of a row into a block; the caller sets at->call_n, this sets the place. */
bool engine_block_put(struct engine *en, enum engine_filled which, struct store_call *row,
                      struct texts_place *at, struct err *e) MUST_USE;
bool engine_blocks_commit(struct engine *en, struct err *e) MUST_USE;
/* Removes the texts at these places from their blocks, and their words from the pages. */
bool engine_blocks_blank(struct engine *en, struct texts_place *places, size_t n,
                         struct err *e) MUST_USE;

/* engine_request.c: stores a request as a delta. t has the whole request; the delta is in
 * en->scratch until the next call. */
void engine_request_put(struct engine *en, const struct store_call *row, int64_t call_n,
                        struct block_texts *t);
void engine_requests_forget(struct engine *en);

/* engine_words.c: writes the words of a block to pages. */
void engine_words_add(struct words_set *words, const struct block_texts *t);
bool engine_words_write(struct engine *en, int64_t block, struct words_set *words,
                        struct err *e) MUST_USE;
/* Replaces all words of a block. */
bool engine_words_replace(struct engine *en, int64_t block, struct words_set *words,
                          struct err *e) MUST_USE;
