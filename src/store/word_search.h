/* word_search.h - finds the blocks that may have some words, newest first.
 *
 *     word_search_begin(&s, db, &query, last_is_front, e)
 *     while (word_search_next(&s, &block, e) && block) ...       unpack it and look at its texts
 *
 * Blocks are returned in descending order of their numbers, which is the order of time. The index
 * may return blocks without the words, but never misses a block that has them. Texts that are not
 * packed yet are not indexed: the caller searches call_texts, and calls whose block is NULL,
 * itself.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "store/db.h"
#include "store/word_pages.h"
#include "store/words.h"

#define WORD_LEVELS 3 /* 1, 16 and 256 blocks */

struct word_search {
    struct db *db;
    const struct words_query *query;
    bool last_is_front;
    int64_t last, moved_to, last_moved; /* newest packed block; see store_counters */
    int64_t at;                         /* the next block to check; 0: none */
    int64_t first;                      /* of the current segment */
    struct word_blocks found;           /* of that segment */
};

/* The query is lent until the last call. */
bool word_search_begin(struct word_search *s, struct db *db, const struct words_query *query,
                       bool last_is_front, struct err *e) MUST_USE;
/* block 0: no more blocks. */
bool word_search_next(struct word_search *s, int64_t *block, struct err *e) MUST_USE;
