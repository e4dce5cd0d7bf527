/* assemble_reply.h - collects the events of a reply, block by block.
 *
 * Dialects with content blocks write whole bodies from the result.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "wire/internal.h"

enum assembled_kind {
    ASSEMBLED_TEXT,
    ASSEMBLED_THINK,
    ASSEMBLED_REDACTED,
    ASSEMBLED_CALL,
    ASSEMBLED_OPAQUE
};

struct assembled_block {
    struct assembled_block *next;
    enum assembled_kind kind;
    uint32_t choice, block;
    str id, name;
    struct arena_text text;  /* or the arguments, or the data, or the raw JSON */
    struct arena_text extra; /* the signature; or citations, separated by commas */
};

struct assembled_extra {
    struct assembled_extra *next;
    uint32_t choice;
    str name, json;
    struct arena_text held; /* the memory of json: some hosts repeat it with every chunk */
};

struct assembled_reply {
    struct assembled_block *first, *last;
    struct assembled_extra *extras, *last_extra;
    size_t count, extra_count;
    struct chat_usage usage;
    enum chat_stop stop;
    str stop_name, id, model;
    bool begun, stopped, refused, called, full;
};

/* Initializes a zeroed struct; assemble_event does so by itself. */
void assemble_begin(struct assembled_reply *g);
/* Whether a streamed reply also collects the event, because it is written at the end. */
bool assemble_is_meta(const struct chat_event *ev);
/* Adds one event of a reply. Signatures, opaque blocks and extras are added only if they belong to
 * the dialect; texts are copied into the arena. */
void assemble_event(struct assembled_reply *g, struct arena *a, const struct chat_event *ev,
                    enum chat_dialect dialect);
