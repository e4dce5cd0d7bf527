/* line.h - where in its lines a text stands: at the start of one, in a code fence, in inline code.
 *
 *     struct split_line l;
 *     split_line_reset(&l, false);
 *     split_line_feed(&l, run);
 *     if (l.fence_size == 0 && split_line_at_start(&l)) ...
 *
 * Fences as CommonMark has them: up to three spaces, three or more backticks or tildes; closed by a
 * line of at least as many and nothing else. A line counts once it has ended.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/str.h"

enum split_line_state {
    SPLIT_LINE_START, /* only spaces so far, at most three */
    SPLIT_LINE_RUN,   /* in the run of fence characters that began the line */
    SPLIT_LINE_REST,  /* behind that run */
    SPLIT_LINE_TEXT,  /* a line that is no fence */
};

struct split_line {
    uint8_t state;   /* enum split_line_state */
    uint8_t spaces;  /* before the first other character */
    char mark;       /* the fence character of this line */
    char fence_mark; /* of the fence that is open */
    bool rest_blank; /* nothing but white space behind the run */
    bool rest_tick;  /* a backtick behind it: then it is inline code */
    bool count_ticks;
    bool ticks_odd;      /* if they are counted: an odd number of backticks in this line so far */
    bool reopened;       /* a line in an open fence looked like the opening of another */
    uint32_t run;        /* fence characters of this line */
    uint32_t fence_size; /* of the fence that is open, 0 if none is */
};

void split_line_reset(struct split_line *l, bool count_ticks);
void split_line_feed(struct split_line *l, str run);
bool split_line_at_start(const struct split_line *l);
/* Whether a fence is open, were the line to end here. */
bool split_line_in_fence(const struct split_line *l);
