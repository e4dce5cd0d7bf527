/* repeat_frame.h - a frame that is the one before with another text in it.
 *
 * A model's words come in hundreds of frames that differ in one string. If a frame's only news was
 * one text, and the next one has the same bytes before it and after it and the inside of one JSON
 * string between them, then it says that text in the same place and nothing else: no other JSON has
 * these bytes. So it is not parsed, its members are not looked up, and the dialect is only told
 * (again) what it would have kept of it.
 *
 *     if (repeat_frame_decode(d, f))        the frame was such a one, and its event is out
 *         return;
 *     repeat_frame_forget(d);
 *     ... decode it; repeat_frame_note_event for each event that goes out
 *     repeat_frame_learn(d, f);            the next one may be like it
 *
 * Promise: the events are those that decoding would have given, but that they name no node.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "chat/chat.h"

struct wire_decoder;
struct wire_frame;

#define REPEAT_FRAME_MAX                                                                           \
    640 /* bytes around a text that are remembered; longer frames are decoded */

/* How the last frame was spelled around the one text that was all its news. */
struct repeat_frame {
    char *bytes;             /* what stands before the text and, right behind, after it */
    size_t before, after;    /* 0: nothing is known */
    unsigned events;         /* of the frame at hand */
    unsigned shape;          /* how many were learnt */
    struct chat_event event; /* the first of them */
};

bool repeat_frame_decode(struct wire_decoder *d, struct wire_frame *f);
void repeat_frame_forget(struct wire_decoder *d);
void repeat_frame_note_event(struct wire_decoder *d, const struct chat_event *ev);
/* Its shape, or 0 if there is more to it than one text. */
unsigned repeat_frame_learn(struct wire_decoder *d, const struct wire_frame *f);
