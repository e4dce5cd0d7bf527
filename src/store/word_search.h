/* word_search.h - the blocks that may have some words, newest first.
 *
 *     word_search_begin(&s, db, &query, last_is_front, e)
 *     while (word_search_next(&s, &block, e) && block) ...       unpack it and look at its texts
 *
 * Blocks come in descending order of their numbers, which is the order of time. The index may give
 * blocks that do not have the words, never leaves one out that has them. What is not packed yet has
 * no words here: the caller looks at call_texts, and at calls whose block is NULL, by itself.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/err.h"
#include "store/db.h"
#include "store/word_pages.h"
#include "store/words.h"

#define WORD_LEVELS 3 /* 1, 16 and 256 blocks */

struct word_search {
    struct db *db;
    const struct words_query *query;
    bool last_is_front;
    int64_t last, moved_to, last_moved; /* packed blocks: the newest; see store_counters */
    int64_t at;                         /* the next block to look at; 0: none */
    int64_t first;                      /* of the segment at hand */
    struct word_blocks found;           /* of that segment */
};

/* The query is lent until the end. */
bool word_search_begin(struct word_search *s, struct db *db, const struct words_query *query,
                       bool last_is_front, struct err *e) MUST_USE;
/* block 0: there are no more. */
bool word_search_next(struct word_search *s, int64_t *block, struct err *e) MUST_USE;
