/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/pipe_out.h"

#define EVENTS_MAX 100000

/* More room for events; false: there are too many of them. */
static bool events_grow(struct pipe *p)
{
    size_t more = 2 * p->events_max;
    struct chat_event *grown;

    if (more > EVENTS_MAX)
        more = EVENTS_MAX;
    if (p->count == more)
        return false;
    grown = arena_alloc(&p->frame, more * sizeof *grown);
    memcpy(grown, p->events, p->count * sizeof *grown);
    p->events = grown;
    p->events_max = more;
    return true;
}

struct chat_event *pipe_push(struct pipe *p, const struct chat_event *ev)
{
    if (p->count == p->events_max && !events_grow(p)) {
        p->touched = true;
        return &p->events[p->count - 1]; /* the decoder's ceiling on blocks comes first */
    }
    p->events[p->count] = *ev;
    return &p->events[p->count++];
}

/* Events of one kind that follow each other in one block of the reply stay in one block. */
static int class_of(enum chat_event_kind kind)
{
    return kind == CHAT_SIGNATURE ? CHAT_REASONING : kind == CHAT_ARGUMENTS ? CHAT_CALL : (int)kind;
}

static uint32_t *block_slot(struct pipe *p, uint32_t in_block)
{
    if (in_block < PIPE_MAP_FIRST)
        return &p->map_first[in_block];
    if (in_block >= p->map_max) {
        size_t more = p->map_max ? p->map_max : 2 * (size_t)PIPE_MAP_FIRST;
        uint32_t *grown;

        while (more <= in_block)
            more *= 2;
        grown = arena_zero(p->arena, more, sizeof *grown);
        if (p->map_max)
            memcpy(grown, p->map, p->map_max * sizeof *grown);
        p->map = grown;
        p->map_max = more;
    }
    return &p->map[in_block];
}

struct chat_event *pipe_hand_on(struct pipe *p, const struct chat_event *ev, bool split)
{
    struct chat_event *out = pipe_push(p, ev);
    int class = class_of(ev->kind);
    uint32_t *slot;

    if (ev->choice != 0)
        return out;
    slot = block_slot(p, ev->block);
    if (class == CHAT_CALL && ev->kind == CHAT_ARGUMENTS && *slot && !split) {
        out->block = *slot - 1; /* calls may be told in turns */
        return out;
    }
    if (p->last != class || p->in_block != ev->block || p->from_split != split || p->boundary ||
        ev->kind == CHAT_CALL || ev->kind == CHAT_REDACTED || ev->kind == CHAT_OPAQUE)
        p->block = p->blocks++;
    p->boundary = false;
    p->last = class;
    p->in_block = ev->block;
    p->from_split = split;
    *slot = p->block + 1;
    out->block = p->block;
    return out;
}

void pipe_beside(struct pipe *p, const struct chat_event *ev)
{
    uint32_t *slot = block_slot(p, ev->block);
    struct chat_event *out = pipe_push(p, ev);

    if (ev->choice != 0)
        return;
    if (!*slot) {
        p->block = p->blocks++;
        p->last = CHAT_TEXT;
        p->in_block = ev->block;
        p->from_split = false;
        p->boundary = false;
        *slot = p->block + 1;
    }
    out->block = *slot - 1;
}
