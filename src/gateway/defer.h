/* defer.h - frames that wait while the front of a text may still be an opening marker.
 *
 * With the format "auto", "[" may become "[THINK]" or a JSON array. Until the text decides, its
 * frames wait, and so do all frames after them. Then the pipe gets them one by one, so a reply that
 * begins with no marker reaches its client in the frames that its provider sent.
 *
 *     for each event of a frame, as the decoder emits it:
 *         if (d || defer_starts(&pipe, &event))
 *             defer_add_event(d ? d : (d = defer_new(&pipe, &decoder)), &event);
 *         else
 *             pipe_feed(&pipe, &event);
 *     after the frame:
 *         if (d && defer_add_frame(d, &frame))       all texts have decided
 *             while (defer_next(d, &frame)) {         this calls pipe_begin
 *                 defer_feed(d, sink_to_the_pipe);
 *                 ... use pipe.events and frame
 *             }
 *
 * If a text begins with no marker, defer_next reports that to the pipe. In all other cases the pipe
 * splits the text as if nothing had waited. This includes a text that has not decided after
 * DEFER_FRAMES_MAX frames or DEFER_SIZE_MAX bytes, which other choices of the reply can use up.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "gateway/pipe/pipe.h"
#include "wire/wire.h"

#define DEFER_FRAMES_MAX 64
#define DEFER_SIZE_MAX ((size_t)64 << 10) /* bytes of frames; the last one may be larger */

struct defer;

/* Whether the event's text is the front of its choice's text and may be the front of a marker. */
bool defer_starts(struct pipe *p, const struct chat_event *ev);
/* Takes the events that the pipe holds for the current frame. Both are lent until defer_free. */
struct defer *defer_new(struct pipe *p, struct wire_decoder *decoder);
void defer_free(struct defer *d); /* NULL is allowed */
/* Copies the event. */
void defer_add_event(struct defer *d, const struct chat_event *ev);
/* Adds a copy of the frame of the events so far, after wire_decode. True: no frame has to wait any
 * longer. */
bool defer_add_frame(struct defer *d, const struct wire_frame *f);
/* No more frames come: each text decides with the bytes it has. */
void defer_end(struct defer *d);
/* The next frame as wire_decode left it, lent until defer_free; its doc until the next call. */
bool defer_next(struct defer *d, struct wire_frame *f);
/* Emits the events of that frame. Events that the pipe had before defer_new go straight back to
 * it. */
void defer_feed(struct defer *d, struct chat_sink to);
