/* frames.h - cuts a byte stream into frames: server-sent events, lines of JSON, or one whole body.
 *
 *     struct frames f;
 *     frames_init(&f, FRAMES_SSE, 16 << 20, (struct frames_sink){on_frame, ctx});
 *     while (next_piece(&piece))
 *         frames_feed(&f, piece);
 *     frames_finish(&f);
 *
 * A BOM at the very start is no part of the first frame: a stream delivers it alone, with empty
 * `data` and its bytes in `raw`, and a whole body drops it.
 *
 * SSE follows the WHATWG standard: lines end in LF, CR or CRLF, the lines of `data` are joined by
 * LF, one space after the colon is dropped, unknown fields are ignored. Two exceptions, so that
 * nothing is lost: an event that the end of the stream cuts off is delivered if it has data, and a
 * block without data (comments, `retry`) is delivered with empty `data` and its bytes in `raw`.
 *
 * An event ends after its empty line. If that line ends in CR, the next byte decides, because it
 * may be the LF of a CRLF; only in a stream whose lines end in CR alone is the event delivered at
 * once.
 *
 * Lines (NDJSON) end in LF or CRLF; the last needs no end. A line of white space is delivered with
 * empty `data`. A whole body is one frame, at the end; an empty body is none.
 *
 * Promises:
 *   - Frames do not depend on how the bytes are cut; all joined raws are the input (of a
 *     whole body: without the BOM).
 *   - Only the current frame is buffered, and not even that if it arrived in one piece (a whole
 *     body: if it is lent). A frame larger than the limit ends the stream: `full` is set, and no
 *     more frames are delivered.
 *   - The time is linear, however the bytes are cut.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "net/loop.h"

enum frames_kind { FRAMES_SSE, FRAMES_LINES, FRAMES_WHOLE };

struct frames_frame {
    str name; /* the event's type, or "" */
    str data;
    str raw;
};

struct frames_sink {
    /* Valid during the call. */
    void (*on_frame)(void *ctx, const struct frames_frame *frame);
    void *ctx;
};

struct frames {
    struct frames_sink sink;
    enum frames_kind kind;
    bool full;

    /* Private members: */
    bool line_begun; /* the current line has bytes */
    uint8_t bom;     /* bytes of a BOM seen at the start; 3 once past it */
    bool cr;         /* the last byte was a CR that ended a line: an LF belongs to it */
    bool cr_ends;    /* and that line was empty */
    bool cr_alone;   /* the last line ended in a CR and no LF */
    size_t (*on_row)(void *ctx, str bytes); /* or NULL */
    struct loop *lender;
    struct loop_early *early; /* keeps the lent bytes valid */
    str lent;                 /* a whole body, or its beginning, not copied; then held is empty */
    struct buf held;          /* the bytes of an incomplete frame; its limit is that of a frame */
    struct buf *data;         /* lines joined; NULL: no event had several */
};

void frames_init(struct frames *f, enum frames_kind kind, size_t size_max, struct frames_sink sink);
void frames_feed(struct frames *f, str piece);
void frames_finish(struct frames *f);
/* Of an event stream: before a frame is read, on_row gets the bytes of the piece from it on, and
 * the sink's ctx. It takes as many whole events as it can read by itself; their size, or 0. */
void frames_offer_rows(struct frames *f, size_t (*on_row)(void *ctx, str bytes));
/* The pieces come from that loop's connections, so a whole body in one piece need not be copied. */
void frames_lend(struct frames *f, struct loop *lender);
/* For a whole body, instead of frames_finish: returns all of it, valid until frames_release. */
str frames_whole(struct frames *f);
void frames_release(struct frames *f);
