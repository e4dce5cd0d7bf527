/* gather.h - a reply gathered block by block: what the dialects with content blocks write a whole
 * body from.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "wire/internal.h"

enum gather_kind { GATHER_TEXT, GATHER_THINK, GATHER_REDACTED, GATHER_CALL, GATHER_OPAQUE };

struct gather_block {
    struct gather_block *next;
    enum gather_kind kind;
    uint32_t choice, block;
    str id, name;
    struct piece text;  /* or the arguments, or the data, or the raw JSON */
    struct piece extra; /* the signature; citations, with commas between them */
};

struct gather_extra {
    struct gather_extra *next;
    str name, json;
    struct piece held; /* what json is of: some say it again with every chunk */
};

struct gather {
    struct gather_block *first, *last;
    struct gather_extra *extras, *last_extra;
    size_t count, extra_count;
    struct chat_usage usage;
    enum chat_stop stop;
    str stop_name, id, model;
    bool begun, stopped, refused, called, full;
};

/* Makes one of all zeroes ready; gather_event does so by itself. */
void gather_begin(struct gather *g);
/* What a streamed reply gathers too, because it is said at its end. */
bool gather_is_meta(const struct chat_event *ev);
/* Takes one event of a reply. Signatures, opaque blocks and extras are taken if they are of the
 * dialect; texts are copied into the arena. */
void gather_event(struct gather *g, struct arena *a, const struct chat_event *ev,
                  enum chat_dialect dialect);
