/* reader.h - reports tool calls as soon as their markup is complete.
 *
 *     struct split_reader r;
 *     split_reader_init(&r, 1 << 20, (struct split_call_sink){on_call, ctx});
 *     ... split_reader_run and split_reader_note from the splitter's sink ...
 *     split_reader_release(&r);
 *
 * It buffers only the markup of the current block. A block larger than the limit gives no call;
 * `unread` reports that, and markup that is not understood.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/buf.h"
#include "split/split.h"

struct split_reader {
    bool unread; /* some markup gave no call */

    /* All members below are private. */
    struct split_call_sink sink;
    struct buf markup;    /* of the current block */
    str name;             /* of the tool in its header; in the arena */
    struct arena scratch; /* for the current block; a sink may copy its calls there */
};

void split_reader_init(struct split_reader *r, size_t size_max, struct split_call_sink sink);
void split_reader_release(struct split_reader *r);

/* Pass what the splitter's sink gets; everything that is not about tools is ignored. */
void split_reader_run(struct split_reader *r, enum split_kind kind, str run);
void split_reader_note(struct split_reader *r, const struct split_note *note);
