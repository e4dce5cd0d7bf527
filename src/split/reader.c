/* SPDX-License-Identifier: Apache-2.0 */
#include "split/reader.h"

#define NAME_SIZE_MAX 1024 /* a header is shorter */
#define COPY_FACTOR 4      /* most bytes of a copy of all calls for each byte of markup */

void split_reader_init(struct split_reader *r, size_t size_max, struct split_call_sink sink)
{
    *r = (struct split_reader){.sink = sink, .name = STR("")};
    buf_init(&r->markup, size_max);
    arena_init(&r->scratch,
               SPLIT_CALLS_ARENA_MAX(size_max) + COPY_FACTOR * size_max + NAME_SIZE_MAX);
}

void split_reader_release(struct split_reader *r)
{
    buf_release(&r->markup);
    arena_release(&r->scratch);
}

void split_reader_run(struct split_reader *r, enum split_kind kind, str run)
{
    if (kind == SPLIT_TOOL)
        buf_add(&r->markup, run);
}

void split_reader_note(struct split_reader *r, const struct split_note *note)
{
    if (note->kind != SPLIT_TOOL)
        return;
    if (note->what == SPLIT_BEGIN) {
        arena_reset(&r->scratch);
        buf_reset(&r->markup);
        r->name = arena_dup(&r->scratch, note->name);
    }
    if (note->what == SPLIT_END && note->calls != SPLIT_CALLS_NONE) {
        str markup = buf_str(&r->markup);

        if (buf_full(&r->markup) ||
            !split_calls(note->calls, r->name, markup, &r->scratch, r->sink))
            r->unread = true;
    }
}
