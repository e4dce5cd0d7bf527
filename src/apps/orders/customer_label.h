/* customer_label.h - recognises reasoning that a model writes to a customer without any tag.
 *
 *   Reasoning: ...          a label at the start of a line (also Thought, Thinking, Analysis, ...;
 *                           bold, as a heading, in a list): hidden up to the end of its paragraph,
 *                           or up to a later "Answer:", "Reply:", "Response:", "Final answer:"
 *   (reasoning: ...)        in parentheses or brackets, anywhere, up to the one that closes it
 *   {"reasoning": ...}      a JSON object with a member that speaks of thinking: its member reply,
 *                           answer, message, ... is the text; without one nothing is
 *   ... Final answer: ...   where nothing was reasoning so far, all before it was
 *
 * A word like "reason" in a sentence is no label: a label is one of a list, and a colon, a dash or
 * the end of an emphasised line follows it.
 *
 * Two readers share the rules. customer_label_strip has the whole text. customer_guard is a stage
 * for a text that arrives: it passes on the text before the first of these and nothing more, so its
 * output is always a prefix of customer_label_strip's, white space at the end aside.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/buf.h"

#define CUSTOMER_LABEL_MAX 256 /* bytes that are held to recognise one */

/* Appends the customer's text to `said` and the rest to `hidden`; `opened`: the reply had reasoning
 * before. True: reasoning was recognized. */
bool customer_label_strip(str text, bool opened, struct buf *said, struct buf *hidden);

struct customer_guard {
    void (*on_run)(void *ctx, str run); /* run is lent for the call, and never empty */
    void *ctx;
    /* private */
    bool line; /* only white space since the start of the line */
    bool stopped;
    size_t held;
    char hold[CUSTOMER_LABEL_MAX];
};

void customer_guard_init(struct customer_guard *g, void (*on_run)(void *ctx, str run), void *ctx);
/* Bytes that are still held at the end of the text are not passed on. */
void customer_guard_feed(struct customer_guard *g, str piece);
