/* line.h - tracks the position in lines: at the start of one, in a code fence, in inline code.
 *
 *     struct split_line l;
 *     split_line_reset(&l, false);
 *     split_line_feed(&l, run);
 *     if (l.fence_size == 0 && split_line_at_start(&l)) ...
 *
 * Fences follow CommonMark: up to three spaces, then three or more backticks or tildes; closed by a
 * line of at least as many and nothing else. A line counts once it has ended.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/str.h"

enum split_line_state {
    SPLIT_LINE_START, /* only spaces so far, at most three */
    SPLIT_LINE_RUN,   /* in the run of fence characters that began the line */
    SPLIT_LINE_REST,  /* after that run */
    SPLIT_LINE_TEXT,  /* a line that is no fence */
};

struct split_line {
    uint8_t state;   /* enum split_line_state */
    uint8_t spaces;  /* before the first other character */
    char mark;       /* the fence character of this line */
    char fence_mark; /* of the open fence */
    bool rest_blank; /* only white space after the run */
    bool rest_tick;  /* a backtick after it: then it is inline code */
    bool count_ticks;
    bool ticks_odd;      /* if counted: an odd number of backticks in this line so far */
    bool reopened;       /* a line in an open fence looked like the start of another */
    uint32_t run;        /* fence characters of this line */
    uint32_t fence_size; /* of the open fence; 0: none is open */
};

void split_line_reset(struct split_line *l, bool count_ticks);
void split_line_feed(struct split_line *l, str run);
bool split_line_at_start(const struct split_line *l);
/* Whether a fence would be open if the line ended here. */
bool split_line_in_fence(const struct split_line *l);
