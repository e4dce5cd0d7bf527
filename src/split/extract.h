/* extract.h - extracts the reasoning of a complete text for the record.
 *
 *     struct split_extract x;
 *     split_extract(text, &arena, &x);
 *     if (x.has_reasoning)
 *         keep(x.raw_reasoning, x.summary);
 *     if (!x.unclosed)
 *         show(x.final_response);
 *
 * For any model that was asked by prompt to mark its reasoning: <thinking>, <reasoning>,
 * <analysis>, <think>, anywhere in the text; and for a text that begins with the opening marker of
 * another format. Several blocks are joined by a newline, a nested block belongs to the outer one,
 * and a tag in quotes or code is text. A block that is never closed extends to the end of the text
 * and is never the answer: `unclosed` is set, and final_response is the text before the block,
 * often empty.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/arena.h"

#define SPLIT_SUMMARY_CHARACTERS 200

/* All texts are in the arena, or spans of the text. */
struct split_extract {
    bool has_reasoning;
    bool unclosed;      /* the text ended inside reasoning: no answer */
    str raw_reasoning;  /* trimmed */
    str summary;        /* its first 200 characters, and "..." if it has more */
    str final_response; /* the rest, trimmed; the whole text if it has no block */
};

/* The arena must have room for twice the text. */
void split_extract(str text, struct arena *a, struct split_extract *out);
/* The summary of a reasoning text: its first characters; in the arena if truncated. */
str split_summary(str reasoning, struct arena *a);
