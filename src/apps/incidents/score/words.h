/* words.h - the words of a report or of an expected statement, reduced so that they compare equal.
 *
 *     bool code = false;
 *     while (score_word_next(&rest, &code, &w))
 *         score_word_reduce(&w);
 *
 * A word is lower case, without punctuation, with digits apart from letters. Reducing it writes
 * numbers up to twelve as digits and removes the endings of verbs and plurals (crash, crashes,
 * crashing).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/str.h"

#define SCORE_WORD_MAX 48 /* bytes of a word that count */

struct score_word {
    char text[SCORE_WORD_MAX];
    uint8_t n;
    bool code;      /* in backticks */
    bool digits;    /* a number */
    bool paused;    /* after a comma, a colon or a bracket */
    bool denied;    /* after "not", "no", "without" and the like (score_words_read) */
    uint32_t place; /* among all words of the text */
};

/* False at the end of the text. `code` is whether the text so far ended inside backticks. */
bool score_word_next(str *rest, bool *code, struct score_word *w);
void score_word_reduce(struct score_word *w);
bool score_word_eq(const struct score_word *a, const struct score_word *b);

/* Before score_word_reduce: a word without content, such as "the" or "of"; a word that denies
 * the next ones; a word that makes a statement of its neighbours, such as "is", "because" or
 * "filled". */
bool score_word_is_empty(const struct score_word *w);
bool score_word_denies(const struct score_word *w);
bool score_word_connects(const struct score_word *w);

enum score_words_kind {
    SCORE_WORDS_STATED,   /* of a report */
    SCORE_WORDS_EXPECTED, /* without words that tell a judge what to do, such as "mention" */
    SCORE_WORDS_ALL,      /* those without content too */
};

struct score_words {
    struct score_word *at;
    size_t n, max;
    uint32_t place; /* of the next word */
};

/* Appends the reduced words of the text, each with whether it is denied. A denial covers the next
 * two words, up to a comma, a preposition, "because" or "and"; denials themselves are left out. */
void score_words_read(str text, enum score_words_kind kind, struct score_words *out);
