/* internal.h - what the files of tokens share: the splitter and the merger behind the counting.
 *
 *     pretoken.c   text -> pieces, by the vocabulary's pattern
 *     bpe.c        piece -> tokens, by the ranks
 *     counter.c    both, on text that arrives
 *     tokens.c     both, on text that is there
 *
 * All text here is valid UTF-8; the way to it is tokens_utf8.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "tokens/layout.h"
#include "tokens/tokens.h"

/* How many bytes the piece has that begins at p, of n bytes that are there, at least one. `over`
 * says that nothing follows them; if something may, and the end depends on it, the answer is 0. */
typedef size_t tokens_split(const uint8_t *p, size_t n, bool over);

struct tokens_vocab {
    const char *name;
    const struct tokens_table *table;
    tokens_split *split;
    bool
        cased; /* the pattern tells upper from lower letters, and takes a contraction to its word */
};

tokens_split tokens_split_o200k, tokens_split_cl100k;

/* What the character at p is, and how many bytes it has. */
enum tokens_class tokens_class_at(const uint8_t *p, size_t *size);

/* The bytes of a contraction at p: 0 if there is none, 1 if there may be one once more is there. */
size_t tokens_contraction(const uint8_t *p, size_t n);

/* How much of p is valid UTF-8 from its start. What follows, if anything, is not: `bad` says how
 * many bytes of it one U+FFFD stands for, and `cut` that it may yet become a character. */
size_t tokens_utf8(const uint8_t *p, size_t n, size_t *bad, bool *cut);

#define TOKENS_REPLACEMENT "\xEF\xBF\xBD"

/* How many tokens a piece has; any size. */
size_t tokens_piece_count(const struct tokens_table *t, const uint8_t *p, size_t n);
/* Its ids into out, which has room for n; returns how many. */
size_t tokens_piece_ids(const struct tokens_table *t, const uint8_t *p, size_t n, uint32_t *out);

size_t tokens_count_valid(const struct tokens_vocab *v, const uint8_t *p, size_t n);

void tokens_window_reset(struct tokens_window *w);
void tokens_window_push(const struct tokens_table *t, struct tokens_window *w, uint8_t byte);
/* The tokens of all that was pushed, or of all but the last `back` bytes of it, at most 4. */
size_t tokens_window_count(const struct tokens_window *w, size_t back);
