/* tokens.h - counts the tokens of a text by the vocabularies o200k_base and cl100k_base.
 *
 * Whole:
 *
 *     const struct tokens_vocab *v = tokens_vocab_find(STR("o200k_base"));
 *     size_t n = tokens_count(v, text);
 *
 * While the text arrives, in pieces of any size:
 *
 *     struct tokens_counter c;
 *     struct tokens_windows w;
 *     tokens_counter_init(&c, v, &w);
 *     while (next_piece(&piece)) {
 *         tokens_counter_feed(&c, piece);
 *         if (tokens_counter_count(&c) > budget) ...
 *     }
 *
 * What is counted:
 *   - The text is split by the vocabulary's pattern and each piece is merged by rank, as OpenAI's
 *     models do it. The ids are those of the npm package gpt-tokenizer
 *     (docs/reference/tokens.md).
 *   - Bytes that are not UTF-8 count as the replacement character U+FFFD, once for each maximal
 *     invalid part, as in a browser. A byte order mark is text.
 *   - Text that looks like a control token ("<|endoftext|>") is ordinary text.
 *
 * Promises:
 *   - At any time, a counter returns exactly the result of tokens_count for the text so far. Other
 *     piece boundaries give the same result, even inside a character.
 *   - Time is linear in the size of the text, whatever it contains. tokens_counter_count takes
 *     bounded time, so it may be called after every byte.
 *   - Counting does no I/O and cannot fail. A counter has a fixed size, however long a word is. It
 *     allocates only its windows, once, if it was given an arena instead of them.
 *   - Any thread may call all functions. The first use of a vocabulary unpacks its tables, which
 *     takes tens of milliseconds; tokens_vocab_warm does this on a new thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"

struct tokens_vocab;

/* NULL if the name is unknown. */
const struct tokens_vocab *tokens_vocab_find(str name);
/* The vocabularies, from index 0; NULL after the last. */
const struct tokens_vocab *tokens_vocab_at(size_t index);
str tokens_vocab_name(const struct tokens_vocab *v);
/* Unpacks the tables on a thread, unless it is done; for a loop that will count soon. */
void tokens_vocab_warm(const struct tokens_vocab *v);

size_t tokens_count(const struct tokens_vocab *v, str text);

/* A list of ids that grows up to a limit; like a buf, it is marked full once an id did not fit. */
struct tokens_list {
    uint32_t *ids;
    size_t n, cap, count_max;
    bool full;
};

void tokens_list_init(struct tokens_list *l, size_t count_max);
void tokens_list_release(struct tokens_list *l);

/* Appends the ids of the text to the list. */
void tokens_encode(const struct tokens_vocab *v, str text, struct tokens_list *out);

/* Appends the bytes of the ids. False: an id is not in the vocabulary, or out is full. */
bool tokens_decode(const struct tokens_vocab *v, const uint32_t *ids, size_t n, struct buf *out,
                   struct err *e) MUST_USE;

/* Private members of the counter; use the functions. */

#define TOKENS_AHEAD_MAX 128  /* text buffered until more arrives or the count is read */
#define TOKENS_HELD_MAX 64    /* undecided text that is buffered */
#define TOKENS_WINDOW_MAX 256 /* last bytes kept of a very long piece */

/* The end of a piece that is too long to buffer: its last bytes and, for each of its last prefixes,
 * the last token and the number of tokens. See bpe.c. */
struct tokens_window {
    size_t base;  /* tokens of the prefix at index 0 */
    size_t moved; /* bytes that have left the window */
    uint32_t n;   /* bytes in the window */
    uint32_t last[TOKENS_WINDOW_MAX + 1];
    uint16_t more[TOKENS_WINDOW_MAX + 1]; /* tokens beyond base */
    uint8_t text[TOKENS_WINDOW_MAX];
};

struct tokens_windows {
    struct tokens_window whole; /* the very long piece */
    struct tokens_window rest;  /* the text after the mark, as a separate piece */
};

struct tokens_counter {
    const struct tokens_vocab *vocab;
    struct tokens_windows *windows; /* only used and set in a run; NULL: not allocated yet */
    struct arena *arena;            /* for the windows; set by the caller in that case */
    size_t done;                    /* tokens of the pieces whose ends are certain */
    size_t seen;                    /* the last result of the count */
    size_t marked;                  /* in a run, tokens of `whole` up to where it may have to be
                                       cut */
    bool fresh;                     /* seen is still the count */
    bool trusted; /* set by the caller after the init: all pieces are UTF-8 with whole characters */
    uint8_t run;  /* enum of counter.c: the kind of the current very long piece, if any */
    uint8_t part_n; /* bytes of an incomplete character */
    uint8_t held_n; /* bytes of text since the last certain end */
    uint8_t part[4];
    uint16_t ahead_n; /* bytes not processed yet */
    uint8_t held[TOKENS_HELD_MAX];
    uint8_t ahead[TOKENS_AHEAD_MAX];
};

/* The windows must outlive the counter. They are ten times as large as the rest, and few texts need
 * them: a caller with many counters passes NULL, and an arena in c->arena. */
void tokens_counter_init(struct tokens_counter *c, const struct tokens_vocab *v,
                         struct tokens_windows *windows);
void tokens_counter_feed(struct tokens_counter *c, str piece);
/* The number of tokens of the text so far. */
size_t tokens_counter_count(struct tokens_counter *c);
/* An upper bound however the text continues: this number plus one for each further byte, if the
 * text is UTF-8. It exceeds the count, because later text may change how the last word is
 * divided. */
size_t tokens_counter_most(struct tokens_counter *c);
/* A lower bound however the text continues. It is below the count, because the last word may become
 * a single token. */
size_t tokens_counter_least(struct tokens_counter *c);
