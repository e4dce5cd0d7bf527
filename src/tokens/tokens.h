/* tokens.h - how many tokens a text has, by the vocabularies o200k_base and cl100k_base.
 *
 * Whole:
 *
 *     const struct tokens_vocab *v = tokens_vocab_find(STR("o200k_base"));
 *     size_t n = tokens_count(v, text);
 *
 * While the text is still arriving, in whatever pieces the network cuts:
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
 *     models do it. The ids are those of the npm package gpt-tokenizer (see docs/tokens.md).
 *   - Bytes that are not UTF-8 count as the replacement character U+FFFD, once for each maximal
 *     part that cannot be read, as in a browser. A byte order mark is text.
 *   - Text that looks like a control token ("<|endoftext|>") is text, and counted as such.
 *
 * Promises:
 *   - A counter says at any time exactly what tokens_count says of all that was fed so far. Cutting
 *     the text elsewhere changes nothing, not even inside a character.
 *   - Time is linear in the size of the text, whatever stands in it. tokens_counter_count takes
 *     bounded time too, so asking after every byte is fine.
 *   - Counting does no I/O and cannot fail. A counter has a fixed size however long a word is; it
 *     allocates its windows if it was given an arena in their place, once, and nothing else.
 *   - All of it may be called from any thread. The first use of a vocabulary unpacks its tables,
 *     which takes tens of milliseconds; tokens_vocab_warm does so on a thread of its own.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

struct tokens_vocab;

/* NULL if there is none of that name. */
const struct tokens_vocab *tokens_vocab_find(str name);
/* The vocabularies in turn, from index 0; NULL behind the last. */
const struct tokens_vocab *tokens_vocab_at(size_t index);
str tokens_vocab_name(const struct tokens_vocab *v);
/* Unpacks the tables on a thread, if nobody did; for a loop that will count soon. */
void tokens_vocab_warm(const struct tokens_vocab *v);
/* Ids are less than this. */
uint32_t tokens_vocab_size(const struct tokens_vocab *v);

size_t tokens_count(const struct tokens_vocab *v, str text);

/* Ids that grow up to a ceiling; like a buf, it is full once some did not fit, and remembers. */
struct tokens_list {
    uint32_t *ids;
    size_t n, cap, count_max;
    bool full;
};

void tokens_list_init(struct tokens_list *l, size_t count_max);
void tokens_list_release(struct tokens_list *l);

/* The ids of the text, behind those that the list has. */
void tokens_encode(const struct tokens_vocab *v, str text, struct tokens_list *out);

/* The bytes of the ids. False: an id is not one of the vocabulary, or out is full. */
bool tokens_decode(const struct tokens_vocab *v, const uint32_t *ids, size_t n, struct buf *out,
                   struct err *e) MUST_USE;

/* What follows is the counter's own; use the functions. */

#define TOKENS_AHEAD_MAX 256  /* text that is not looked at before there is more, or a question */
#define TOKENS_HELD_MAX 64    /* undecided text that is kept as text */
#define TOKENS_WINDOW_MAX 256 /* bytes of an endless piece that are looked back on */

/* The end of a piece too long to keep: its last bytes, and for each of its last prefixes what its
 * last token is and how many it has. See bpe.c. */
struct tokens_window {
    size_t base;  /* tokens of the prefix at index 0 */
    size_t moved; /* bytes that have left the window */
    uint32_t n;   /* bytes in the window */
    uint32_t last[TOKENS_WINDOW_MAX + 1];
    uint16_t more[TOKENS_WINDOW_MAX + 1]; /* tokens beyond base */
    uint8_t text[TOKENS_WINDOW_MAX];
};

struct tokens_windows {
    struct tokens_window whole; /* the endless piece */
    struct tokens_window rest;  /* what is behind the mark, as a piece of its own */
};

struct tokens_counter {
    const struct tokens_vocab *vocab;
    struct tokens_windows *windows; /* only used, and only set, in a run; NULL: not made yet */
    struct arena *arena;            /* that they are made in, the caller's to set then */
    size_t done;                    /* tokens of the pieces whose ends are decided */
    size_t seen;                    /* what the count last was */
    size_t marked;                  /* in a run, tokens of `whole` where it may have to be cut */
    bool fresh;                     /* seen still is the count */
    bool trusted; /* the caller's to set behind the init: all pieces are UTF-8, no character cut */
    uint8_t run;  /* enum of counter.c: what kind of endless piece we are in, if any */
    uint8_t part_n; /* bytes of a character cut short */
    uint8_t held_n; /* bytes of text since the last decided end */
    uint8_t part[4];
    uint16_t ahead_n; /* bytes that were not looked at yet */
    uint8_t held[TOKENS_HELD_MAX];
    uint8_t ahead[TOKENS_AHEAD_MAX];
};

/* The windows are lent. They are ten times as large as the rest, and few texts need them: whoever
 * has many counters gives NULL, and an arena in c->arena. */
void tokens_counter_init(struct tokens_counter *c, const struct tokens_vocab *v,
                         struct tokens_windows *windows);
void tokens_counter_feed(struct tokens_counter *c, str piece);
/* The tokens of all that was fed, as if it were all. */
size_t tokens_counter_count(struct tokens_counter *c);
/* However the text goes on, so many tokens and one for each byte more are not exceeded, if it is
 * UTF-8. More than the count, since what comes may divide the last word anew. */
size_t tokens_counter_most(struct tokens_counter *c);
/* However the text goes on, there are no fewer. Less than the count, since the last word may yet
 * become one that is a token. */
size_t tokens_counter_least(struct tokens_counter *c);
