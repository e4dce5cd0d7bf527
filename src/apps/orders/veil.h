/* veil.h - a customer hears what is said to them, and nothing of what was thought.
 *
 *     struct veil v;
 *     veil_init(&v, (struct veil_sink){on_run, on_stray, ctx});
 *     while (next_piece(&piece))
 *         veil_feed(&v, piece);
 *     veil_finish(&v);
 *
 * The splitter of the gateway follows the format of a model and lets a tag in code or quotes stand,
 * as a reader of text would want. At a counter nobody wants one: whatever looks like a tag is taken
 * as one, wherever it stands, in any case, with any attributes or prefix. One whose name speaks of
 * thinking or of tools (<Reasoning>, <think id="1">, <x:inner_thoughts>, [THINK], &lt;think&gt; and
 * other signs for brackets, the special tokens <|...|> of chat templates) hides what is in it; of
 * any other (<answer>, <b>) only the tag itself goes.
 *
 *   - A tag inside its own kind is nested; others inside are part of the thought.
 *   - One that is never closed reaches to the end of the text.
 *   - A closer that closes nothing is dropped, and told: what came before it may have been thought.
 *   - The front of a tag that the end of the text cut is dropped.
 *
 * Promises: cutting the text elsewhere changes nothing; it allocates nothing and cannot fail; less
 * than VEIL_HOLD_MAX bytes are held back.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/arena.h"
#include "base/str.h"

#define VEIL_HOLD_MAX 192
#define VEIL_NAME_MAX 40 /* bytes of a tag's name; longer ones are text */

struct veil_sink {
    /* run is lent for the call, and never empty. */
    void (*on_run)(void *ctx, bool thought, str run);
    /* A closer was there and nothing was open; or a thought has ended. May be NULL. */
    void (*on_close)(void *ctx, bool stray);
    void *ctx;
};

struct veil {
    struct veil_sink sink;
    /* All below is its own. */
    char open[VEIL_NAME_MAX + 1]; /* the kind of tag that is open, or "" */
    unsigned depth;
    unsigned taken;              /* tags, so far */
    char tag[VEIL_NAME_MAX + 1]; /* between the name of a tag and its ">", or "" */
    bool closing, slash, equals; /* of that tag; the last letter was a "/", a "=" */
    char quote;                  /* inside an attribute's value, or NUL */
    bool header;                 /* between special tokens, where a message is named */
    char word[VEIL_NAME_MAX + 1];
    size_t word_n, held;
    char hold[VEIL_HOLD_MAX];
};

void veil_init(struct veil *v, struct veil_sink sink);
void veil_feed(struct veil *v, str piece);
void veil_finish(struct veil *v);

/* A whole text: what is said, without white space at its ends, and what the first thought in it
 * was. Both in the arena, which must have room for twice the text. */
void veil_text(str text, struct arena *a, str *said, str *thought);
