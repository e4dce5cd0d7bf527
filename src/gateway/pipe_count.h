/* pipe_count.h - a pipe's reasoning counted in tokens, and held under its cap.
 *
 * What fits is the longest beginning that counts no more than the cap. A word that is too much as
 * far as it came may be no more than fits once it is whole, so its last letters wait for more,
 * until it is certain. What fits does not depend on the pieces the text came in.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "gateway/pipe.h"

/* Tokens do not go over from one block to the next. */
void pipe_count_block(struct pipe *p);
/* How much of the text, which is UTF-8, fits under the cap; so much is counted. `over`: the rest
 * does not, however it goes on; else the rest waits. */
size_t pipe_count_fits(struct pipe *p, str text, bool *over);
/* Reasoning that comes beyond the cap is counted apart. */
void pipe_count_dropped(struct pipe *p, str text);
/* What waited, and this behind it; and what waits from now on. */
str pipe_count_join(struct pipe *p, str text);
void pipe_count_wait(struct pipe *p, str rest);
