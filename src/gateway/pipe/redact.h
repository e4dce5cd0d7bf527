/* redact.h - a stage of a pipe: removes the reasoning that the client may not see.
 *
 * If reasoning is hidden, the stage emits no event of it: no text, signature or opaque data, and no
 * list of tokens (log-probabilities) that may contain some of it: one beside a changed text, beside
 * no text, or with other tokens than those of the frame's text. Gemini signs the answer: that
 * signature is not reasoning, and a client of Gemini's dialect gets it. With `announce`, one event
 * without text represents each block.
 *
 * Otherwise everything passes unchanged.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "gateway/pipe/number.h"

struct pipe_redact {
    const struct pipe_shared *shared;
    struct pipe_number *next;
    uint32_t block;  /* 1 + the current block of reasoning; 0: none */
    bool reasoned;   /* some reasoning was hidden */
    bool frame_says; /* the current frame has text or a call for the client; the pipe clears it */
    str text;        /* of the current frame, if `frame_says` */
    struct arena_text joined; /* has that text, if it came in several events */
};

void pipe_redact_feed(struct pipe_redact *s, const struct chat_event *ev, enum pipe_mark mark);
/* Whether an event lists the tokens of a text, as log-probabilities do. */
bool pipe_lists_tokens(const struct chat_event *ev);
