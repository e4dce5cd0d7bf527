/* defer_events.h - collects the events of a whole reply until its decoder is done.
 *
 *     defer_events_begin(&h, &decoder);
 *     wire_whole_decode(&decoder, &frame);
 *     defer_events_end(&h, &decoder);      decoded; no event, or few, has gone on yet
 *     ...
 *     defer_events_flush(&h);              now all of them have
 *
 * Decoding and processing a reply each fill the processor's instruction cache. In two steps, each
 * done for many replies in a row, they do not evict each other. Events leave in the order in which
 * they came. An event whose text may not last, or for which there is no room, is passed on at once,
 * after all events collected before it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "wire/wire.h"

#define DEFERRED_EVENTS_MAX 8

struct deferred_events {
    struct chat_sink to; /* the decoder's own */
    size_t n;
    bool counted; /* usage is in use */
    struct chat_usage usage;
    struct chat_event events[DEFERRED_EVENTS_MAX];
};

/* Until defer_events_end, h collects the decoder's events, if the dialect has whole_lasts. */
void defer_events_begin(struct deferred_events *h, struct wire_decoder *d);
void defer_events_end(struct deferred_events *h, struct wire_decoder *d);
/* Before the decoder reads another frame or is released. */
void defer_events_flush(struct deferred_events *h);
