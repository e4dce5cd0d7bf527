/* pipe_out.h - what comes out of a pipe: events in order, in blocks with numbers of their own.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "gateway/pipe.h"

/* One more event of the frame at hand, as it is. */
struct chat_event *pipe_push(struct pipe *p, const struct chat_event *ev);
/* The same with its block's number. `split` says that it was cut out of a text. */
struct chat_event *pipe_hand_on(struct pipe *p, const struct chat_event *ev, bool split);
/* Its reasoning is over the cap. */
void pipe_pass_cap(struct pipe *p);
/* What stands beside a text is of its block, that which has begun or that which will. */
void pipe_beside(struct pipe *p, const struct chat_event *ev);
