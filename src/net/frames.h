/* frames.h - a byte stream cut into frames: server-sent events, lines of JSON, or one whole body.
 *
 *     struct frames f;
 *     frames_init(&f, FRAMES_SSE, 16 << 20, (struct frames_sink){on_frame, ctx});
 *     while (next_piece(&piece))
 *         frames_feed(&f, piece);
 *     frames_finish(&f);
 *
 * A BOM at the very start is dropped.
 *
 * SSE is read as the WHATWG text has it: lines end in LF, CR or CRLF, the lines of `data` are
 * joined by LF, one space behind the colon is dropped, unknown fields are ignored. Two departures,
 * so that nothing is lost: an event that the end of the stream cuts off is handed on if it has
 * data, and a block without data (comments, `retry`) is handed on with `data` empty and `raw` as
 * it came.
 *
 * An event ends behind its empty line. Where that ends in CR, the next byte must be seen, as it may
 * be the LF of a CRLF; only a stream that ends its lines in CR alone is not made to wait.
 *
 * Lines (NDJSON) end in LF or CRLF; the last needs no end. A line of white space is handed on with
 * `data` empty. A whole body is one frame, at the end; an empty one is none.
 *
 * Promises:
 *   - Cutting the bytes elsewhere changes no frame; all raws, joined, are the input but for the
 *     BOM.
 *   - Only the frame at hand is held, and nothing if it arrived in one piece (a whole body: if it
 *     is lent). A frame larger than
 *     the ceiling ends it: `full` is set, and nothing more comes out.
 *   - Each byte is looked at a fixed number of times, however it is cut.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/buf.h"
#include "base/str.h"
#include "net/loop.h"

enum frames_kind { FRAMES_SSE, FRAMES_LINES, FRAMES_WHOLE };

struct frames_frame {
    str name; /* the event's type, or "" */
    str data;
    str raw;
};

struct frames_sink {
    /* Lent for the call. */
    void (*on_frame)(void *ctx, const struct frames_frame *frame);
    void *ctx;
};

struct frames {
    enum frames_kind kind;
    struct frames_sink sink;
    bool full;

    /* All below is its own. */
    size_t size_max;
    struct loop *lender;
    struct loop_early *early; /* what holds the bytes that are lent */
    str lent;                 /* a whole body, or its beginning: held is empty then */
    struct buf held;          /* of a frame that is not whole yet */
    struct buf data;          /* lines joined */
    uint8_t bom;              /* bytes of a BOM seen at the start; 3 once past it */
    bool line_begun;          /* the line at hand has bytes */
    bool cr;                  /* the last byte was a CR that ended a line: an LF belongs to it */
    bool cr_ends;             /* and that line was empty */
    bool cr_alone;            /* the last line ended in a CR and no LF */
};

void frames_init(struct frames *f, enum frames_kind kind, size_t size_max, struct frames_sink sink);
void frames_feed(struct frames *f, str piece);
void frames_finish(struct frames *f);
/* The pieces come from that loop's connections: a whole body that is one need not be copied. */
void frames_lend(struct frames *f, struct loop *lender);
/* For a whole body, in place of frames_finish: all of it, which lies there until the release. */
str frames_whole(struct frames *f);
void frames_release(struct frames *f);
