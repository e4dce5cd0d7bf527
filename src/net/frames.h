/* frames.h - a byte stream cut into frames: server-sent events, lines of JSON, or one whole body.
 *
 *     struct frames f;
 *     frames_init(&f, FRAMES_SSE, 16 << 20, (struct frames_sink){on_frame, ctx});
 *     while (next_piece(&piece))
 *         frames_feed(&f, piece);
 *     frames_finish(&f);
 *
 * SSE is read as the WHATWG text has it: lines end in LF, CR or CRLF, a BOM at the very start is
 * dropped, the lines of `data` are joined by LF, one space behind the colon is dropped, unknown
 * fields are ignored. Two departures, so that nothing is lost: an event that the end of the stream
 * cuts off is handed on if it has data, and a block without data (comments, `retry`) is handed on
 * with `data` empty and `raw` as it came.
 *
 * Lines (NDJSON) end in LF or CRLF; empty ones are skipped; the last needs no end.
 *
 * Promises:
 *   - Cutting the bytes elsewhere changes no frame; all raws, joined, are the input (but for the
 *     BOM, and for white space between lines).
 *   - Only the frame at hand is held, and nothing if it arrived in one piece. A frame larger than
 *     the ceiling ends it: `full` is set, and nothing more comes out.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/buf.h"
#include "base/str.h"

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
    struct buf held; /* of a frame that is not whole yet */
    struct buf data; /* lines joined */
    size_t seen;     /* bytes of held known to hold no end */
    bool begun;      /* past the BOM */
    bool cr;         /* the last frame ended in a CR: an LF right behind it belongs to it */
};

void frames_init(struct frames *f, enum frames_kind kind, size_t size_max, struct frames_sink sink);
void frames_feed(struct frames *f, str piece);
void frames_finish(struct frames *f);
void frames_release(struct frames *f);
