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
/* No more of the block comes, but more of the message: another block of text or something else.
 * Reasoning that is open goes on in the text that comes next. After something else that may have
 * ended it, the text is held back until a closer tells, and is the answer if none comes. */
void pipe_text_leave_block(struct pipe *p, bool for_text);
/* With "auto": the text begins with no marker, and is text from here on. */
void pipe_text_be_plain(struct pipe *p);
/* Whether the front of a text picks its format; and whether that is still to come. */
bool pipe_text_may_pick(const struct pipe_options *o);
bool pipe_text_is_picking(const struct pipe *p);
/* Another reply begins: with "auto", its front picks its format. */
void pipe_text_restart(struct pipe *p);
/* The text held back since it may be inside reasoning was reasoning; that of a second call, which
 * is to answer, is dropped. */
void pipe_text_held_is_thought(struct pipe *p);
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
