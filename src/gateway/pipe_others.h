/* pipe_others.h - the choices of a reply besides the first, each with a pipe of its own.
 *
 * The cap holds for each of them. A reply can only be let go at a cap, for all of its choices to be
 * asked for again, as long as none of them has come to its answer: a second one would stand behind
 * it. From then on a choice that passes its cap is not let go: what it thinks beyond is dropped.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "gateway/pipe.h"

void pipe_others_feed(struct pipe *p, const struct chat_event *ev);
void pipe_others_begin(struct pipe *p);
void pipe_others_flush(struct pipe *p);
void pipe_others_continue(struct pipe *p);
void pipe_others_release(struct pipe *p);
/* Tokens of reasoning of all of them. */
int64_t pipe_others_tokens(struct pipe *p);
