/* redact.h - a stage of a pipe: removes the reasoning that the client may not see.
 *
 * If reasoning is hidden, no event of it comes out: no text, signature or opaque data, and no list
 * of tokens (log-probabilities) that may have some of it: beside a text that was changed, beside
 * no text, or with other tokens than those of the frame's text. Gemini signs the answer: that
 * signature is no reasoning, and a client of Gemini's dialect gets it. With `announce`, one event
 * without text stands for each block.
 *
 * Otherwise everything passes as it is.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "gateway/pipe/number.h"

struct pipe_redact {
    const struct pipe_shared *shared;
    struct pipe_number *next;
    uint32_t block;  /* 1 + the block of reasoning at hand; 0: none */
    str text;        /* of the frame at hand, if `frame_says` */
    bool reasoned;   /* some reasoning was hidden */
    bool frame_says; /* the frame at hand has text or a call for the client; the pipe clears it */
};

void pipe_redact_feed(struct pipe_redact *s, const struct chat_event *ev, enum pipe_mark mark);
/* Whether an event lists the tokens of a text, as log-probabilities do. */
bool pipe_lists_tokens(const struct chat_event *ev);
