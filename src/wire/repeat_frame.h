/* repeat_frame.h - decodes a frame that differs from the one before in one text, without parsing.
 *
 * A reply streams in hundreds of frames that differ in one string. If one text was all that was new
 * in a frame, and the next frame has the same bytes before and after one JSON string, then the next
 * frame has the new text in the same place and nothing else. So the decoder does not parse it; it
 * only reports the text to the dialect (`again`).
 *
 *     if (repeat_frame_decode(d, f))     the frame was such a one, and its event is out
 *         return;
 *     repeat_frame_forget(d);
 *     ... decode the frame; repeat_frame_note_event for each event
 *     repeat_frame_learn(d, f);          the next frame may repeat this one
 *
 * A row of such events in one piece is read as one:
 *
 *     while (repeat_frame_next(d, bytes, &text, &size)) ...   collect the texts
 *     repeat_frame_decode_row(d, &f, text)                    f.raw is all of these events
 *
 * Promise: the events are those that decoding would have given, except that they have no node.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "chat/chat.h"

struct wire_decoder;
struct wire_frame;

#define REPEAT_FRAME_MAX 640 /* bytes around a text; longer frames are always decoded */

/* The first event of a frame, if it is one of text; all other members of such events are empty. */
struct repeat_event {
    enum chat_event_kind kind;
    enum chat_dialect dialect;
    bool summary;
    uint32_t choice, block;
    uint32_t before; /* where the text's string begins in the frame; 0: it is not in the frame */
    str text;
};

/* The bytes of the last frame around its one new text. */
struct repeat_frame {
    char *bytes;            /* those before the text, then those after it; first, its head */
    uint16_t room;          /* of bytes */
    uint16_t head;          /* bytes of the last frame's head; 0: it is not known */
    uint16_t before, after; /* 0: no such frame */
    bool line;              /* it was one line of an event stream and nothing else */
    unsigned events;        /* of the current frame */
    unsigned shape;         /* number of frames learnt so far */
    struct repeat_event event;
};

bool repeat_frame_decode(struct wire_decoder *d, struct wire_frame *f);
/* Whether the bytes begin with an event of an event stream that repeats the last frame and has one
 * text without escapes; its text, not empty, and its size. */
bool repeat_frame_next(const struct wire_decoder *d, str bytes, str *text, size_t *size);
/* Reports the texts of a row of such events as one event; f has their bytes in `raw`, and no
 * data. */
void repeat_frame_decode_row(struct wire_decoder *d, struct wire_frame *f, str text);
void repeat_frame_forget(struct wire_decoder *d);
/* While a frame is decoded: whether its head, the bytes at the front of its data that say nothing
 * new if they are those of the last frame, is the last frame's. */
bool repeat_frame_knows_head(struct wire_decoder *d, str head);
void repeat_frame_note_event(struct wire_decoder *d, const struct chat_event *ev);
/* The shape of the frame, or 0 if it has more than one text. */
unsigned repeat_frame_learn(struct wire_decoder *d, const struct wire_frame *f);
