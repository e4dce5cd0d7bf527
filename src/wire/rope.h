/* rope.h - bytes that grow in an arena without moving, for replies that are written again as a
 * whole.
 *
 *     struct rope_mark at = rope_end(&r);
 *     rope_add(&r, arena, text);
 *     rope_copy(&r, at, out);               all that was added since
 *
 * A rope takes at most ROPE_SIZE_MAX bytes and never the last of its arena. An addition beyond that
 * sets `full` and is ignored.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"

#define ROPE_SIZE_MAX ((size_t)8 << 20)

struct rope_piece;

struct rope {
    struct rope_piece *first, *last;
    size_t n;
    bool full;
};

struct rope_mark {
    struct rope_piece *piece; /* NULL: the start */
    size_t at;
};

void rope_add(struct rope *r, struct arena *a, str s);
struct rope_mark rope_end(const struct rope *r);
void rope_copy(const struct rope *r, struct rope_mark from, struct buf *out);
void rope_copy_between(const struct rope *r, struct rope_mark from, struct rope_mark to,
                       struct buf *out);
