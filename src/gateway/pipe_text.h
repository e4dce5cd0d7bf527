/* pipe_text.h - the text of a reply: split into reasoning, answer and tool calls.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "gateway/pipe.h"

/* An event of text. */
void pipe_text_feed(struct pipe *p, const struct chat_event *ev);
/* No more of the text at hand comes: the pipe emits the bytes that the splitter held back. */
void pipe_text_stop(struct pipe *p);
/* The provider gave reasoning in a field of its own: with "auto", text is text from here on. */
void pipe_text_native(struct pipe *p);
/* Whether the front of a text picks its format; and whether that is still to come. */
bool pipe_text_may_pick(const struct pipe_options *o);
bool pipe_text_is_picking(const struct pipe *p);
/* Another reply begins: with "auto", its front picks its format. */
void pipe_text_restart(struct pipe *p);
/* The text held back of a second call that may begin inside reasoning was reasoning. */
void pipe_text_drop_held(struct pipe *p);

/* pipe.c: reasoning and answer of a reply; `split` says that the event was cut out of a text. */
void pipe_emit_reasoning(struct pipe *p, const struct chat_event *ev, bool split);
void pipe_emit_answer(struct pipe *p, const struct chat_event *ev, bool split);
/* No more of the reasoning at hand comes. */
void pipe_end_thought(struct pipe *p);
/* Whether the reply was let go at its cap before this. */
bool pipe_is_late(struct pipe *p);

static inline bool pipe_is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f';
}
