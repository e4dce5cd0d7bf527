/* defer_events.c - events between two steps.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/defer_events.h"

/* Whether the texts of an event point into the frame or into memory of the decoder. */
static bool defer_events_lasts(const struct deferred_events *h, const struct chat_event *ev)
{
    const unsigned kinds = 1u << CHAT_START | 1u << CHAT_TEXT | 1u << CHAT_REASONING |
                           1u << CHAT_SIGNATURE | 1u << CHAT_EXTRA | 1u << CHAT_USAGE |
                           1u << CHAT_STOP | 1u << CHAT_END;

    return kinds >> ev->kind & 1 && !(ev->kind == CHAT_USAGE && h->counted);
}

static void defer_events_on_event(void *ctx, const struct chat_event *ev)
{
    struct deferred_events *h = ctx;
    struct chat_event *held;

    if (h->n == DEFERRED_EVENTS_MAX || !defer_events_lasts(h, ev)) {
        defer_events_flush(h);
        h->to.on_event(h->to.ctx, ev);
        return;
    }
    assert(h->n < DEFERRED_EVENTS_MAX);
    held = &h->events[h->n++];
    *held = *ev;
    if (ev->kind == CHAT_USAGE) {
        h->usage = *ev->usage;
        held->usage = &h->usage;
        h->counted = true;
    }
}

void defer_events_begin(struct deferred_events *h, struct wire_decoder *d)
{
    assert(d->sink.on_event != defer_events_on_event);
    h->to = d->sink;
    h->n = 0;
    h->counted = false;
    if (d->wire->whole_lasts)
        d->sink = (struct chat_sink){defer_events_on_event, h};
}

void defer_events_end(struct deferred_events *h, struct wire_decoder *d)
{
    assert(h->n <= DEFERRED_EVENTS_MAX);
    d->sink = h->to;
}

void defer_events_flush(struct deferred_events *h)
{
    assert(h->n <= DEFERRED_EVENTS_MAX);
    for (size_t i = 0; i < h->n; i++)
        h->to.on_event(h->to.ctx, &h->events[i]);
    h->n = 0;
    h->counted = false;
}
