/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/pipe/number.h"

static uint32_t *pipe_number_slot(struct pipe_number *s, uint32_t in_block)
{
    if (in_block < PIPE_MAP_FIRST)
        return &s->map_first[in_block];
    if (in_block >= s->map_max) {
        size_t more = s->map_max ? s->map_max : 2 * (size_t)PIPE_MAP_FIRST;
        uint32_t *grown;

        while (more <= in_block)
            more *= 2;
        grown = arena_zero(s->arena, more, sizeof *grown);
        if (s->map_max)
            memcpy(grown, s->map, s->map_max * sizeof *grown);
        s->map = grown;
        s->map_max = more;
    }
    assert(s->map && in_block < s->map_max);
    return &s->map[in_block];
}

void pipe_number_feed(struct pipe_number *s, const struct chat_event *ev, enum pipe_mark mark)
{
    enum chat_event_kind kind = ev->kind == CHAT_SIGNATURE   ? CHAT_REASONING
                                : ev->kind == CHAT_ARGUMENTS ? CHAT_CALL
                                                             : ev->kind;
    bool from_text = mark == PIPE_FROM_TEXT;
    struct chat_event *out;
    uint32_t *slot;

    assert(mark != PIPE_BEYOND_CAP);
    s->next = s->next || mark == PIPE_BREAK;
    if (mark == PIPE_BREAK)
        return;
    assert(s->blocks == 0 || s->block < s->blocks);
    out = s->keep(s->ctx, ev);
    assert(out && out->kind == ev->kind);
    if (!pipe_is_content(ev))
        return;
    out->block = s->block;
    if (!s->next && s->kind == kind && s->in_block == ev->block && s->from_text == from_text &&
        ev->kind != CHAT_CALL && ev->kind != CHAT_REDACTED && ev->kind != CHAT_OPAQUE)
        return;
    slot = pipe_number_slot(s, ev->block);
    assert(*slot <= s->blocks);
    if (*slot && (pipe_is_beside(ev) || (ev->kind == CHAT_ARGUMENTS && !from_text))) {
        out->block = *slot - 1; /* providers may send the arguments of several calls in turns */
        return;
    }
    assert(s->blocks < UINT32_MAX);
    s->next = false;
    s->kind = pipe_is_beside(ev) ? CHAT_TEXT : kind;
    s->in_block = ev->block;
    s->from_text = from_text;
    out->block = s->block = s->blocks++;
    *slot = s->block + 1;
}
