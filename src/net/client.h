/* client.h - an HTTP/1.1 client with pools of kept connections; each loop has one client.
 *
 *     struct client *c = client_new(loop, resolver, tls);
 *     struct client_call *call = client_start(c, &request, &handler, ctx);
 *     ... on_head, on_bytes..., then exactly one of on_end and on_error
 *     client_cancel(call);                      instead: closes the connection at once
 *
 * If a request fails on a kept connection before any byte of a reply arrived, the client retries it
 * once on a new connection, unless it must not be repeated (`once`). Replies: strict framing,
 * bodies unchunked; the client does not ask for gzip. Interim replies (1xx) are skipped.
 *
 * Promises:
 *   - A connection is kept only if the reply was complete, the whole request was sent, nothing
 *     followed the reply and the server did not announce that it closes. The most recently used one
 *     is reused first; idle ones are closed after CLIENT_IDLE_MS or when the server closes them.
 *   - The number of connections has no limit, and calls never queue.
 *   - A body is sent as fast as the server reads it; at most CONN_HIGH bytes of it are copied.
 *   - An error is one sentence that names the upstream: "upstream api.example.com:443: ...".
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "net/http1.h"
#include "net/loop.h"
#include "net/tls.h"

struct client;
struct conn;
struct client_call;
struct resolver;

/* Scheme, host, port and path prefix of a base URL. */
struct client_url {
    bool tls;
    str host; /* without the brackets of an IPv6 address */
    unsigned port;
    str authority; /* for the Host header */
    str path;      /* "" or "/v1"; never ends in a slash */
};

#define CLIENT_IDLE_MS 60000
#define CLIENT_CONNECT_MS 10000
#define CLIENT_HEAD_MAX (64 * 1024) /* bytes of a reply's head */

/* Only http and https; user info, query and fragment are refused. Texts point into `text`. */
bool client_url_parse(str text, struct client_url *out, struct err *e) MUST_USE;

/* Whether these lines are valid as headers of a request. A caller that sends the same lines with
 * every request checks them once. */
bool client_lines(str s) MUST_USE;

/* Everything needs to be valid only during client_start, except for the body. */
struct client_request {
    const struct client_url *url;
    str method;
    str target;          /* path and query, from the slash; url->path is not prepended */
    str known;           /* its first headers, already checked by client_lines; optional */
    str headers;         /* ready lines "name: value\r\n", without Host and Content-Length */
    str body;            /* must stay valid until the call ends: it may be sent twice */
    size_t front;        /* writable bytes before the body, for the head */
    bool once;           /* not retried if the server may have received some of it */
    uint64_t connect_ms; /* name, connection and TLS together; 0: CLIENT_CONNECT_MS */
    /* From then, or from when the server last accepted bytes of the body, until the reply's head;
     * 0: no limit. */
    uint64_t first_ms;
    uint64_t stall_ms; /* between two pieces of the body, unless paused; 0: no limit */
    /* Gets the connection if the server switches protocols (101), and the bytes that came after
     * the head; the call is gone when this returns. NULL: that is an error. */
    void (*on_upgrade)(void *ctx, const struct http1_head *head, struct conn *c, str rest);
};

struct client_handler {
    void (*on_head)(void *ctx, const struct http1_head *head); /* valid during the call, like the
                                                                  bytes */
    void (*on_bytes)(void *ctx, str bytes);
    void (*on_end)(void *ctx); /* the reply is complete; the call is freed when this returns */
    /* ERR_TIMEOUT, ERR_UPSTREAM (not found, refused, reset, cut short, not HTTP, bad certificate),
     * ERR_INPUT (the request cannot be sent as it is), ERR_SYSTEM, ERR_LIMIT. `sent`: the request
     * may have reached the server. The call is freed when this returns. */
    void (*on_error)(void *ctx, const struct err *e, bool sent);
    /* After on_bytes: no more bytes for now, and the call is not over. May be NULL. */
    void (*on_rest)(void *ctx);
};

/* The resolver and the TLS context must outlive the client; without TLS, https is an error. */
struct client *client_new(struct loop *l, struct resolver *r, struct tls *tls);
/* Cancels running calls. Must not be called in a callback. */
void client_free(struct client *c);
/* Never calls back before it returns. */
struct client_call *client_start(struct client *c, const struct client_request *r,
                                 const struct client_handler *h, void *ctx);
/* Closes the connection; no callback follows. May be called in any callback of the call. */
void client_cancel(struct client_call *call);
/* Back-pressure: stops reading the socket. Bytes that were already read still arrive: at most
 * LOOP_SCRATCH_SIZE, and the end if it was among them. */
/* Whether the whole request was sent. Once a reply has also begun, the body is no longer needed. */
bool client_has_sent(const struct client_call *call);
void client_pause(struct client_call *call);
void client_resume(struct client_call *call);
size_t client_idle_count(const struct client *c);

/* Resolves names on a few threads and caches them for 30 s; shared by all loops. */
struct resolver *resolver_new(unsigned threads, struct err *e) MUST_USE;
/* Call it after freeing all clients that use it. Does not wait for a running lookup. */
void resolver_free(struct resolver *r);
