/* score.h - whether a report has the facts it should have, without a model to judge it.
 *
 * Both texts become words: lower case, punctuation gone, digits apart from letters, numbers up to
 * twelve as digits, and the ends of words off (crash, crashes, crashing). Of a fact the words that
 * say something count; "the", "of" and the like do not, nor do "mention", "suggest" and the like,
 * which tell a judge what to do.
 *
 *     share = weight of its words in the best stretch of the report / weight of its words
 *     met   = share >= SCORE_SHARE, and every word in `backticks` or with digits is in that stretch
 *
 * Words in backticks and numbers weigh 2, others 1. A stretch is 4 words for each of the fact's and
 * 20 more. A word that is denied ("not", "no", "without", up to two words before it) is not there,
 * unless the fact denies something itself: "no premature_conclusion" does not say
 * premature_conclusion. This finds what is said in the same words; it does not understand.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/arena.h"

#define SCORE_SHARE 0.7
#define SCORE_WORDS_MAX 256 /* of a fact; what is behind them does not count */

struct score_fact {
    bool met;
    double share;
    str missing; /* words that are not in the best stretch, comma separated */
};

void score_fact(str report, str fact, struct arena *a, struct score_fact *out);

/* From 0 to 1: the share of facts that are met; 1 if there are none. found, if not NULL, gets
 * whether each is. */
double score_facts(str report, const str *facts, size_t n, bool *found);
