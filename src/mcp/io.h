/* io.h - one thread for the input and output of all MCP clients, and blocking calls on top of it.
 *
 *     struct mcp_io *io = mcp_io_new(NULL, e);
 *     struct mcp_fetch *f = mcp_fetch_start(io, &request, e);
 *     while (mcp_fetch_next(f, deadline_ns, NULL, &event, e) && event.what != MCP_FETCH_END) ...
 *     mcp_fetch_free(f);                                closes the connection if it is not over
 *
 * Whoever calls is a thread with plain sequential code; the loop behind it is nobody's business.
 * A fetch is one request and its reply: the head, then frames (the events of a stream, or one whole
 * body), then the end.
 *
 * Promises:
 *   - Any thread may start a fetch; one fetch belongs to one thread at a time.
 *   - A reply is never held beyond MCP_FETCH_MAX bytes: more is ERR_LIMIT.
 *   - Waiting ends at the deadline, or soon after *cancel becomes true: ERR_TIMEOUT, ERR_CANCELLED.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"

#define MCP_FETCH_MAX ((size_t)32 << 20)
#define MCP_EVENT_ID_MAX 1024 /* a longer id of an event is as good as none */

struct mcp_io;
struct mcp_fetch;
struct loop;

/* ca_file NULL: the system's certificates. */
struct mcp_io *mcp_io_new(const char *ca_file, struct err *e) MUST_USE;
/* After all that use it. */
void mcp_io_free(struct mcp_io *io);

/* Runs it on the loop's thread and waits for it to return. Not from that thread. */
void mcp_io_do(struct mcp_io *io, void (*fn)(void *ctx), void *ctx);
struct loop *mcp_io_loop(struct mcp_io *io);
/* Runs it on a thread of its own, behind what was handed over before. Any thread. */
void mcp_io_later(struct mcp_io *io, void (*fn)(void *ctx), void *ctx);

/* All of it is copied. */
struct mcp_fetch_request {
    str method;
    str url;     /* with its query */
    str headers; /* ready lines, without Host and Content-Length */
    str body;
};

enum mcp_fetch_what { MCP_FETCH_HEAD, MCP_FETCH_FRAME, MCP_FETCH_END };

/* Of the head, lent until the free: status and headers, empty if they are not there. Of a frame,
 * lent until the next call: data, and what a stream says of itself. */
struct mcp_fetch_event {
    enum mcp_fetch_what what;
    int status;
    bool stream; /* frames are events */
    str content_type, session, challenge, location;
    str data, id;
    int64_t retry_ms; /* -1: not said */
};

/* ERR_INPUT if the URL is none. */
struct mcp_fetch *mcp_fetch_start(struct mcp_io *io, const struct mcp_fetch_request *r,
                                  struct err *e) MUST_USE;
bool mcp_fetch_next(struct mcp_fetch *f, uint64_t deadline_ns, const _Atomic bool *cancel,
                    struct mcp_fetch_event *out, struct err *e) MUST_USE;
void mcp_fetch_free(struct mcp_fetch *f);
/* From another thread than the one that waits for it: that one gets ERR_CANCELLED. */
void mcp_fetch_interrupt(struct mcp_fetch *f);

/* A whole exchange: the status and the body. location may be NULL. In the arena. */
struct mcp_fetched {
    int status;
    str body, location;
};
bool mcp_fetch_whole(struct mcp_io *io, const struct mcp_fetch_request *r, uint64_t deadline_ns,
                     struct arena *a, struct mcp_fetched *out, struct err *e) MUST_USE;
