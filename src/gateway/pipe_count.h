/* pipe_count.h - a pipe's reasoning counted in tokens, and held under its cap.
 *
 * What fits is the longest beginning none of whose own beginnings counts more than the cap: it does
 * not depend on the pieces the text came in.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "gateway/pipe.h"

/* Tokens do not go over from one block to the next. */
void pipe_count_block(struct pipe *p);
/* How much of the text, which is UTF-8, fits under the cap; so much is counted. */
size_t pipe_count_fits(struct pipe *p, str text);
