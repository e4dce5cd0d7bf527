/* ws.h - WebSocket (RFC 6455): handshake, parsing and writing of frames. Stages, no I/O.
 *
 *     ws_init(&w, WS_FROM_CLIENT, 1 << 20, (struct ws_sink){on_message, ctx});
 *     ws_feed(&w, piece); ...
 *     if (w.fault)              a close code: send it, and hang up
 *
 *     ws_encode(&out, WS_TEXT, payload);       a server's frame: once for all who get it
 *
 * Fragments are joined, and texts are checked for UTF-8 as they arrive. Control frames are
 * delivered in their place, also between fragments. Extensions are not supported.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/buf.h"
#include "net/http1.h"

#define WS_KEY_SIZE 29 /* "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" and a NUL */
#define WS_CONTROL_MAX 125

enum ws_op { WS_MORE = 0, WS_TEXT = 1, WS_BINARY = 2, WS_CLOSE = 8, WS_PING = 9, WS_PONG = 10 };
enum ws_side { WS_FROM_CLIENT, WS_FROM_SERVER }; /* the sender of the frames; clients mask theirs */

struct ws_sink {
    /* A whole message, or a control frame; valid during the call. Nothing follows WS_CLOSE. */
    void (*on_message)(void *ctx, enum ws_op op, str payload);
    void *ctx;
};

struct ws {
    int fault; /* 0, or the code to close with: 1002, 1007, 1009 */

    /* Private members: */
    enum ws_side side;
    struct ws_sink sink;
    bool closed;
    bool fin;
    enum ws_op op;         /* of the current frame */
    enum ws_op message_op; /* of the current message, or WS_MORE */
    unsigned char head[14];
    size_t head_size; /* bytes of it so far */
    bool in_payload;
    uint64_t left; /* of the frame's payload */
    uint64_t at;   /* in the payload, for the mask */
    struct buf message;
    size_t checked; /* of the message, known to be UTF-8 */
    size_t control_size;
    char control[WS_CONTROL_MAX];
};

void ws_init(struct ws *w, enum ws_side side, size_t message_max, struct ws_sink sink);
void ws_feed(struct ws *w, str piece);
void ws_release(struct ws *w);

/* The code in a close frame's payload; 1005 without one. */
int ws_close_code(str payload);

void ws_encode(struct buf *out, enum ws_op op, str payload);
void ws_encode_masked(struct buf *out, enum ws_op op, str payload, const unsigned char mask[4]);
void ws_encode_close(struct buf *out, int code, str reason);

/* The value of Sec-WebSocket-Accept, if the request is a valid handshake; otherwise a fault with
 * status 400, or 426 for another version. */
bool ws_handshake(const struct http1_head *h, char accept[WS_KEY_SIZE],
                  struct http1_fault *fault) MUST_USE;
