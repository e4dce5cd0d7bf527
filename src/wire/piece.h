/* piece.h - text that grows in an arena up to a ceiling, and is used again after piece_reset.
 *
 * It is contiguous: it moves as it grows. For what must be copied out again in parts, and moves
 * never, there is rope.h.
 *
 * It is sticky: once something did not fit, it is full and takes no more. No piece takes more than
 * half of what its arena has left, so that one text can never be the end of the process.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/arena.h"

#define PIECE_SIZE_MAX ((size_t)64 << 20)

struct piece {
    char *p;
    size_t n, cap;
    bool full;
};

void piece_add(struct piece *t, struct arena *a, str s);
/* The same with a lower ceiling. */
void piece_add_max(struct piece *t, struct arena *a, str s, size_t size_max);
void piece_reset(struct piece *t);
str piece_str(const struct piece *t);

/* Whether the arena has room for so many bytes, and for what else must still go in. */
bool piece_room(const struct arena *a, size_t size);
/* A copy in the arena; "" if there is no room. */
str piece_dup(struct arena *a, str s);
/* Zeroed, or NULL if there is no room: for what a reply may have any number of. */
void *piece_zero(struct arena *a, size_t size) MUST_USE;
