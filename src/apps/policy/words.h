/* words.h - a text as words that can be compared: lower case, in the singular, numbers as numbers.
 *
 *     struct word *w;
 *     size_t n = words_of(STR("At least six weeks"), &arena, &w);    at, least, 6, week
 *
 * "Passengers", "passenger" and "passenger's" are one word; "modified" and "modify" are two. A
 * number is digits with separators and fractions, or one word ("twenty"); a date as 2024-05-15 or
 * "May 15, 2024" is the number of its day. Every other character except white space is a mark.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/arena.h"

#define WORD_SIZE_MAX 23
#define WORDS_ARENA_MAX ((size_t)1 << 30) /* of an arena for the words of one text */
#define WORDS_MAX 262144                  /* of one text; the rest of a longer one is not read */

enum word_kind { WORD_TEXT, WORD_NUMBER, WORD_MARK };

struct word {
    enum word_kind kind;
    uint32_t from, to; /* bytes of the text */
    double number;     /* of a WORD_NUMBER */
    uint8_t size;      /* of lower */
    char singular[WORD_SIZE_MAX + 1];
    char lower[WORD_SIZE_MAX + 1]; /* verbatim but in lower case; for a mark its byte */
};

size_t words_of(str text, struct arena *a, struct word **out);
/* The words of a name, such as that of a field, without marks and words without content ("of",
 * "the"). */
size_t words_of_name(str name, struct arena *a, struct word **out);
/* All of them. */
size_t words_of_full_name(str name, struct arena *a, struct word **out);
#define word_is policy_word_is /* wire has one of that name */
bool word_is(const struct word *w, const char *lower);
/* One of names separated by spaces. */
bool word_among(const struct word *w, const char *names);
/* The same word but for its number: "fee" and "fees". */
bool word_same(const struct word *a, const struct word *b);
/* Where a word is among n, or n. */
size_t word_find(const struct word *all, size_t n, const struct word *w);
/* Whether a text has the word; allocates nothing. */
bool words_text_has(str text, const struct word *w);
/* Whether it is a date, whose number is its day. */
bool word_dates(const struct word *w);
/* Whether it has no content by itself. */
bool word_stops(const struct word *w);
/* Sets its texts from the verbatim word; leaves kind, number and place alone. */
void word_set(struct word *w, str s);
