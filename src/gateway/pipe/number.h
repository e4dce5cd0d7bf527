/* number.h - the last stage of a pipe: gives blocks their numbers.
 *
 * Blocks go out in order, numbered from 0. Events of one kind that follow each other in one block
 * of the reply stay in one block, unless a break lies between them or one of them was split out of
 * a text. Each call, and all opaque data, is a block of its own; arguments of an earlier call get
 * that call's number. A citation belongs to the block of its text, even if that comes later.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "gateway/pipe/stage.h"

#define PIPE_MAP_FIRST 4

struct pipe_number {
    /* Stores the event and returns the copy, which gets its number. */
    struct chat_event *(*keep)(void *ctx, const struct chat_event *ev);
    void *ctx;
    struct arena *arena;
    bool from_text;            /* the current block was split out of a text */
    bool next;                 /* the next event starts a block */
    enum chat_event_kind kind; /* of the current block; CHAT_START: none yet */
    uint32_t in_block;         /* its number in the provider's reply */
    uint32_t block, blocks;    /* its number for the client, and the number of blocks so far */
    uint32_t *map;             /* number in the reply to 1 + number for the client; 0: not seen */
    size_t map_max;
    uint32_t map_first[PIPE_MAP_FIRST]; /* large enough for most replies */
};

void pipe_number_feed(struct pipe_number *s, const struct chat_event *ev, enum pipe_mark mark);
