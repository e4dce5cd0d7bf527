/* extract.h - the reasoning of a whole text, as a record keeps it.
 *
 *     struct split_extract x;
 *     split_extract(text, &arena, &x);
 *     if (x.has_reasoning)
 *         keep(x.raw_reasoning, x.summary);
 *     if (!x.unclosed)
 *         show(x.final_response);
 *
 * For any model that was asked by prompt to wrap its thoughts: <thinking>, <reasoning>, <analysis>,
 * <think>, anywhere in the text; and for a text that begins with the opening marker of another
 * format. Several blocks are joined by a newline, a block inside a block belongs to it, and a tag
 * in quotes or code is text. A block that is never closed reaches to the end of the text and is
 * never the answer: `unclosed` is set, and final_response is the text before the block, often
 * empty.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/arena.h"
#include "base/str.h"

#define SPLIT_SUMMARY_CHARACTERS 200

/* All in the arena, or spans of the text. */
struct split_extract {
    bool has_reasoning;
    bool unclosed;      /* the text ended inside reasoning: the model gave no answer */
    str raw_reasoning;  /* without white space at its ends */
    str summary;        /* its first 200 characters, and "..." if it has more */
    str final_response; /* the rest, without white space at its ends; all of it if there is no block
                         */
};

/* The arena must have room for twice the text. */
void split_extract(str text, struct arena *a, struct split_extract *out);
/* What the summary of such a reasoning is: its first characters; cut, in the arena. */
str split_summary(str reasoning, struct arena *a);
