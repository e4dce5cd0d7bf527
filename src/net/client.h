/* client.h - HTTP/1.1 as a client: pools of kept connections, one pool set a loop.
 *
 *     struct client *c = client_new(loop, resolver, tls, e);
 *     struct client_call *call = client_start(c, &request, &handler, ctx);
 *     ... on_head, on_bytes..., then exactly one of on_end, on_error
 *     client_cancel(call);                      instead: closes the connection at once
 *
 * A request that failed on a kept connection before any byte of a reply came is sent once more on
 * a new one, unseen. Replies: strict framing, bodies unchunked; gzip is not asked for. Interim
 * replies (1xx) are skipped.
 *
 * Promises:
 *   - A connection is kept only if the reply was whole, the request was sent whole, nothing came
 *     behind the reply and the server did not say that it closes. The one that was used last is
 *     used first; idle ones are closed after CLIENT_IDLE_MS or when the server closes them.
 *   - No number of connections is too high; what the caller does not start does not wait.
 *   - A body goes out as the server takes it: no more than CONN_HIGH bytes of it are copied.
 *   - An error is one sentence that names the upstream: "upstream api.example.com:443: ...".
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/err.h"
#include "net/http1.h"
#include "net/loop.h"
#include "net/tls.h"

struct client;
struct client_call;
struct resolver;

/* Scheme, host, port and the path's beginning of a base URL. */
struct client_url {
    bool tls;
    str host; /* without the brackets of an IPv6 address */
    unsigned port;
    str authority; /* as the Host header has it */
    str path;      /* "" or "/v1"; never ends in a slash */
};

#define CLIENT_IDLE_MS 60000
#define CLIENT_CONNECT_MS 10000
#define CLIENT_HEAD_MAX (64 * 1024) /* bytes of a reply's head */

/* Only http and https; user info, query and fragment are refused. Texts point into `text`. */
bool client_url_parse(str text, struct client_url *out, struct err *e) MUST_USE;

/* Whether these are lines that a request may have as headers. Who sends the same with every request
 * asks once. */
bool client_lines(str s) MUST_USE;

/* All of it is lent for client_start only, but for the body. */
struct client_request {
    const struct client_url *url;
    str method;
    str target;          /* path and query, from the slash: url->path is not put before it */
    str known;           /* its first headers, which client_lines has seen; may be left out */
    str headers;         /* ready lines "name: value\r\n", without Host and Content-Length */
    str body;            /* lent until the call ends: it may be sent twice */
    size_t front;        /* bytes before it that are lent too, for the head to be written into */
    uint64_t connect_ms; /* name, connection and TLS together; 0: CLIENT_CONNECT_MS */
    /* From then, or from when the server last took some of the body, until the reply's head is
     * there: 0 for none. */
    uint64_t first_ms;
    uint64_t stall_ms; /* between two pieces of the body, unless paused: 0 for none */
};

struct client_handler {
    void (*on_head)(void *ctx, const struct http1_head *head); /* lent for the call, as is */
    void (*on_bytes)(void *ctx, str bytes);
    void (*on_end)(void *ctx); /* the reply is whole; the call is gone when this returns */
    /* ERR_TIMEOUT, ERR_UPSTREAM (not found, refused, reset, cut short, not HTTP, bad certificate),
     * ERR_INPUT (the request cannot be sent as it is), ERR_SYSTEM, ERR_LIMIT. `sent` is whether
     * the request may have reached it. The call is gone when this returns. */
    void (*on_error)(void *ctx, const struct err *e, bool sent);
    /* Behind on_bytes: there is no more for now, and the call is not over. May be NULL. */
    void (*on_rest)(void *ctx);
};

/* The resolver and the TLS context are lent; without the latter, https is an error. */
struct client *client_new(struct loop *l, struct resolver *r, struct tls *tls,
                          struct err *e) MUST_USE;
/* Calls that are under way are cancelled. Not in a callback. */
void client_free(struct client *c);
/* Never calls back before it returns. */
struct client_call *client_start(struct client *c, const struct client_request *r,
                                 const struct client_handler *h, void *ctx);
/* No callback after it, and the connection is closed when it returns. May be called in any
 * callback of the call. */
void client_cancel(struct client_call *call);
/* Back-pressure: the socket is not read. What was read already still comes: at most
 * LOOP_SCRATCH_SIZE bytes, and the end if it stood there. */
/* Whether the whole request is sent: its body is lent no longer, once a reply has begun. */
bool client_has_sent(const struct client_call *call);
void client_pause(struct client_call *call);
void client_resume(struct client_call *call);
size_t client_idle_count(const struct client *c);

/* Names to addresses on a few threads, with a short memory (30 s); shared by all loops. */
struct resolver *resolver_new(unsigned threads, struct err *e) MUST_USE;
/* After all clients that use it. Does not wait for a name that is being looked up. */
void resolver_free(struct resolver *r);
