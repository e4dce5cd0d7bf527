/* arena_text.h - a text that grows in an arena, up to a limit.
 *
 * It is contiguous, so it moves when it grows; arena_text_reset empties it for reuse. For a text
 * whose parts must stay in place, use rope.h.
 *
 * If an addition does not fit, the text sets `full` and ignores all further additions. A text takes
 * at most half of the memory that its arena has left, so one text cannot exhaust the arena.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/arena.h"

#define ARENA_TEXT_MAX ((size_t)64 << 20)

struct arena_text {
    char *p;
    size_t n;
    uint32_t cap;
    bool full;
};

void arena_text_add(struct arena_text *t, struct arena *a, str s);
/* The same with a lower limit. */
void arena_text_add_max(struct arena_text *t, struct arena *a, str s, size_t size_max);
void arena_text_reset(struct arena_text *t);
str arena_text_str(const struct arena_text *t);

/* Whether the arena has room for `size` bytes, besides the memory that is still needed
 * otherwise. */
bool arena_text_room(const struct arena *a, size_t size);
/* A copy in the arena; "" if the arena is full. */
str arena_text_dup(struct arena *a, str s);
/* Zeroed memory, or NULL if the arena is full: for things that a reply may have any number of. */
void *arena_text_zero(struct arena *a, size_t size) MUST_USE;
