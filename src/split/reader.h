/* reader.h - tool calls, told as soon as their markup is whole.
 *
 *     struct split_reader r;
 *     split_reader_init(&r, 1 << 20, (struct split_call_sink){on_call, ctx});
 *     ... split_reader_run and split_reader_note from the splitter's sink ...
 *     split_reader_release(&r);
 *
 * An end that keeps the markup of the block at hand and nothing else. A block larger than the
 * ceiling gives no call; that, and markup that is not understood, shows in `unread`.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "split/split.h"

struct split_reader {
    bool unread; /* some markup gave no call */

    /* All below is the reader's own. */
    struct split_call_sink sink;
    struct buf markup;    /* of the block at hand */
    str name;             /* of the tool its header addressed; in the arena */
    struct arena scratch; /* for the block at hand; a sink may copy its calls there */
};

void split_reader_init(struct split_reader *r, size_t size_max, struct split_call_sink sink);
void split_reader_release(struct split_reader *r);

/* Each takes what the splitter's sink is given, and leaves alone what is not about tools. */
void split_reader_run(struct split_reader *r, enum split_kind kind, str run);
void split_reader_note(struct split_reader *r, const struct split_note *note);
