/* customer_filter.h - a customer gets the answer of a reply, and nothing of its reasoning.
 *
 *     struct customer_filter v;
 *     customer_filter_init(&v, (struct customer_filter_sink){on_run, on_close, ctx});
 *     while (next_piece(&piece))
 *         customer_filter_feed(&v, piece);
 *     customer_filter_finish(&v);
 *
 * The gateway's splitter follows the format of a model and leaves a tag in code or quotes alone, as
 * a reader of text would want. Here everything that looks like a tag is one, at any place, in any
 * case, with any attributes or prefix. A tag whose name speaks of thinking or of tools
 * (<Reasoning>, <think id="1">, <x:inner_thoughts>, [THINK], &lt;think&gt; and other signs for
 * brackets, the special tokens <|...|> of chat templates) hides its content, and so does an HTML
 * comment; of any other tag (<answer>, <b>) only the tag itself is dropped.
 *
 *   - A tag inside its own kind is nested; others inside are part of the thought.
 *   - A thought that is never closed reaches to the end of the text. In a whole text, a closer of
 *     another name (<reasoning>...</thinking>) then closes it.
 *   - A closer that closes nothing is dropped and reported: the text before it may be reasoning.
 *   - The front of a tag that the end of the text cut is dropped.
 *
 * customer_filter_text also recognises reasoning without tags: see customer_label.h.
 *
 * Promises: cutting the text elsewhere changes nothing; it allocates nothing and cannot fail; less
 * than CUSTOMER_TAG_MAX bytes are held back.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/arena.h"

#define CUSTOMER_TAG_MAX 192
#define CUSTOMER_TAG_NAME_MAX 40 /* bytes of a tag's name; longer ones are text */

struct customer_filter_sink {
    /* run is lent for the call, and never empty. */
    void (*on_run)(void *ctx, bool thought, str run);
    /* A closer was there and nothing was open; or a thought has ended. May be NULL. */
    void (*on_close)(void *ctx, bool stray);
    void *ctx;
};

struct customer_filter {
    struct customer_filter_sink sink;
    /* private */
    char open[CUSTOMER_TAG_NAME_MAX + 1]; /* the kind of tag that is open, or "" */
    unsigned depth, others; /* openers inside: of its own kind, of others that speak of thinking */
    unsigned taken;         /* tags, so far */
    char tag[CUSTOMER_TAG_NAME_MAX + 1]; /* between the name of a tag and its ">", or "" */
    bool closing, slash, equals;         /* of that tag; the last letter was a "/", a "=" */
    char quote;                          /* inside an attribute's value, or NUL */
    bool any_closer;                     /* set by the caller: closers of other names close */
    bool mismatched;                     /* the last closer was one of another name */
    bool header;                         /* between special tokens, where a message is named */
    char word[CUSTOMER_TAG_NAME_MAX + 1];
    size_t word_n, held;
    char hold[CUSTOMER_TAG_MAX];
};

void customer_filter_init(struct customer_filter *v, struct customer_filter_sink sink);
void customer_filter_feed(struct customer_filter *v, str piece);
void customer_filter_finish(struct customer_filter *v);

/* A whole text: the customer's part, without white space at its ends, and the first thought in
 * it. Both in the arena, which must have room for twice the text. `tags` leaves labels alone. */
void customer_filter_tags(str text, struct arena *a, str *said, str *thought);
void customer_filter_text(str text, struct arena *a, str *said, str *thought);
