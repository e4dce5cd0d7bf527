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

#define PIPE_MAP_FIRST 8

struct pipe_number {
    /* Keeps the event; the copy that it returns gets its number. */
    struct chat_event *(*keep)(void *ctx, const struct chat_event *ev);
    void *ctx;
    struct arena *arena;
    bool from_text;            /* the block at hand was split out of a text */
    bool next;                 /* the next event begins a block */
    enum chat_event_kind kind; /* of the block at hand; CHAT_START: none yet */
    uint32_t in_block;         /* its number in the reply */
    uint32_t block, blocks;    /* its number going out, and how many there are */
    uint32_t *map;             /* by number in the reply: 1 + number going out, 0: not seen */
    size_t map_max;
    uint32_t map_first[PIPE_MAP_FIRST]; /* the map of most replies */
};

void pipe_number_feed(struct pipe_number *s, const struct chat_event *ev, enum pipe_mark mark);
