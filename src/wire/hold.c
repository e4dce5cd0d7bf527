/* hold.c - events between two steps.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/hold.h"

/* What consists of pieces of the frame, or of what the decoder keeps. */
static bool lasts(const struct hold *h, const struct chat_event *ev)
{
    const unsigned kinds = 1u << CHAT_START | 1u << CHAT_TEXT | 1u << CHAT_REASONING |
                           1u << CHAT_SIGNATURE | 1u << CHAT_EXTRA | 1u << CHAT_USAGE |
                           1u << CHAT_STOP | 1u << CHAT_END;

    return kinds >> ev->kind & 1 && !(ev->kind == CHAT_USAGE && h->counted);
}

static void on_event(void *ctx, const struct chat_event *ev)
{
    struct hold *h = ctx;
    struct chat_event *held;

    if (h->n == HOLD_MAX || !lasts(h, ev)) {
        hold_hand_on(h);
        h->to.on_event(h->to.ctx, ev);
        return;
    }
    held = &h->events[h->n++];
    *held = *ev;
    if (ev->kind == CHAT_USAGE) {
        h->usage = *ev->usage;
        held->usage = &h->usage;
        h->counted = true;
    }
}

void hold_begin(struct hold *h, struct wire_decoder *d)
{
    h->to = d->sink;
    h->n = 0;
    h->counted = false;
    if (d->wire->whole_lasts)
        d->sink = (struct chat_sink){on_event, h};
}

void hold_end(struct hold *h, struct wire_decoder *d)
{
    d->sink = h->to;
}

void hold_hand_on(struct hold *h)
{
    for (size_t i = 0; i < h->n; i++)
        h->to.on_event(h->to.ctx, &h->events[i]);
    h->n = 0;
    h->counted = false;
}
