/* hold.h - the events of a whole reply, kept until its decoder is through.
 *
 *     hold_begin(&h, &decoder);
 *     wire_whole_decode(&decoder, &frame);
 *     hold_end(&h, &decoder);              decoded; nothing, or little, has gone on yet
 *     ...
 *     hold_hand_on(&h);                    now all of it has
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

#define HOLD_MAX 8

struct hold {
    struct chat_sink to; /* the decoder's own */
    size_t n;
    bool counted; /* usage is in use */
    struct chat_usage usage;
    struct chat_event events[HOLD_MAX];
};

/* From here to hold_end the decoder's events come here, if its dialect says that texts of a whole
 * reply last. */
void hold_begin(struct hold *h, struct wire_decoder *d);
void hold_end(struct hold *h, struct wire_decoder *d);
/* Before the decoder reads another frame or is released. */
void hold_hand_on(struct hold *h);
