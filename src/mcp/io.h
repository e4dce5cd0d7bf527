/* io.h - one thread for the input and output of all MCP clients, and blocking calls on top of it.
 *
 *     struct mcp_io *io = mcp_io_new(NULL, e);
 *     struct mcp_fetch *f = mcp_fetch_start(io, &request, e);
 *     while (mcp_fetch_next(f, deadline_ns, NULL, &event, e) && event.what != MCP_FETCH_END) ...
 *     mcp_fetch_free(f);                                closes the connection if it is not over
 *
 * Callers are threads with plain sequential code and need not know the loop. A fetch is one request
 * and its reply: the head, then frames (the events of a stream, or one whole body), then the end.
 *
 * Promises:
 *   - Any thread may start a fetch; one fetch belongs to one thread at a time.
 *   - At most MCP_FETCH_MAX bytes of a reply are buffered: more is ERR_LIMIT.
 *   - Waiting ends at the deadline, or soon after *cancel becomes true: ERR_TIMEOUT, ERR_CANCELLED.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"

#define MCP_FETCH_MAX ((size_t)32 << 20)
#define MCP_EVENT_ID_MAX 1024 /* a longer id of an event is ignored */

struct mcp_io;
struct mcp_fetch;
struct loop;

/* ca_file NULL: the system's certificates. */
struct mcp_io *mcp_io_new(const char *ca_file, struct err *e) MUST_USE;
/* Call it after everything that uses it is freed. */
void mcp_io_free(struct mcp_io *io);

/* Runs fn on the loop's thread and waits for it. Not from that thread. */
void mcp_io_do(struct mcp_io *io, void (*fn)(void *ctx), void *ctx);
struct loop *mcp_io_loop(struct mcp_io *io);
/* Runs fn on a separate thread, after earlier ones. Any thread. */
void mcp_io_later(struct mcp_io *io, void (*fn)(void *ctx), void *ctx);

/* The limits of a wait for several fetches. */
struct mcp_patience {
    uint64_t deadline_ns;
    const _Atomic bool *cancel; /* or NULL */
};

/* All members are copied. */
struct mcp_fetch_request {
    str method;
    str url;     /* with its query */
    str headers; /* ready lines, without Host and Content-Length */
    str body;
    bool once; /* it may have effects: not sent again if the server may have received it */
    /* Of mcp_fetch_whole: */
    const _Atomic bool *cancel; /* ends it early; or NULL */
    size_t keep_max;            /* a larger body is dropped; 0: the limit is the arena */
};

enum mcp_fetch_what { MCP_FETCH_HEAD, MCP_FETCH_FRAME, MCP_FETCH_END };

/* A head has status and headers (empty if absent), valid until mcp_fetch_free. A frame has data and
 * the fields of the event, valid until the next call. */
struct mcp_fetch_event {
    enum mcp_fetch_what what;
    int status;
    bool stream; /* frames are events */
    str content_type, session, challenge, location;
    str data, id;
    int64_t retry_ms; /* -1: not given */
    int64_t after_ms; /* of the head: Retry-After, or -1 */
};

/* ERR_INPUT if the URL is invalid. */
struct mcp_fetch *mcp_fetch_start(struct mcp_io *io, const struct mcp_fetch_request *r,
                                  struct err *e) MUST_USE;
bool mcp_fetch_next(struct mcp_fetch *f, uint64_t deadline_ns, const _Atomic bool *cancel,
                    struct mcp_fetch_event *out, struct err *e) MUST_USE;
void mcp_fetch_free(struct mcp_fetch *f);
/* From another thread: the waiting thread gets ERR_CANCELLED. */
void mcp_fetch_interrupt(struct mcp_fetch *f);

/* A whole exchange: the status and the body. In the arena. */
struct mcp_fetched {
    int status;
    str body, location;
    int64_t after_ms; /* Retry-After, or -1 */
};
bool mcp_fetch_whole(struct mcp_io *io, const struct mcp_fetch_request *r, uint64_t deadline_ns,
                     struct arena *a, struct mcp_fetched *out, struct err *e) MUST_USE;
