/* defer_events.h - the events of a whole reply, kept until its decoder is through.
 *
 *     defer_events_begin(&h, &decoder);
 *     wire_whole_decode(&decoder, &frame);
 *     defer_events_end(&h, &decoder);              decoded; nothing, or little, has gone on yet
 *     ...
 *     defer_events_flush(&h);                    now all of it has
 *
 * Reading a reply and dealing with what it says are each as much code as fits the processor's cache
 * of instructions: in two steps, each done for many replies at once, they do not drive each other
 * out. Events come out as they went in, and in that order. Those whose texts may be gone by then,
 * and those behind which there is no room, go on at once, with all that is held before them.
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
