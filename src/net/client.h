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

/* Only http and https; user info, query and fragment are refused. Texts point into `text`. */
bool client_url_parse(str text, struct client_url *out, struct err *e) MUST_USE;

struct client_request {
    const struct client_url *url; /* lent until the call ends */
    str method;
    str target;          /* path and query, from the slash: url->path is not put before it */
    str headers;         /* ready lines "name: value\r\n", without Host and Content-Length */
    str body;            /* lent until the call ends: it may be sent twice */
    uint64_t connect_ms; /* 0: 10 s */
    uint64_t first_ms;   /* until the reply's head: 0 for none */
    uint64_t stall_ms;   /* between two pieces of the body: 0 for none */
};

struct client_handler {
    void (*on_head)(void *ctx, const struct http1_head *head);
    void (*on_bytes)(void *ctx, str bytes);
    void (*on_end)(void *ctx); /* the reply is whole; the call is gone when this returns */
    /* ERR_TIMEOUT, ERR_UPSTREAM (refused, reset, cut short, not HTTP, bad certificate). `sent` is
     * whether the request may have reached it. The call is gone when this returns. */
    void (*on_error)(void *ctx, const struct err *e, bool sent);
};

struct client *client_new(struct loop *l, struct resolver *r, struct tls *tls,
                          struct err *e) MUST_USE;
void client_free(struct client *c);
/* Never calls back before it returns. */
struct client_call *client_start(struct client *c, const struct client_request *r,
                                 const struct client_handler *h, void *ctx);
void client_cancel(struct client_call *call); /* no callback after it; may be called in one */
void client_pause(struct client_call *call);  /* back-pressure: the socket is not read */
void client_resume(struct client_call *call);
size_t client_idle_count(const struct client *c);

/* Names to addresses on a few threads, with a short memory (30 s); shared by all loops. */
struct resolver *resolver_new(unsigned threads, struct err *e) MUST_USE;
void resolver_free(struct resolver *r);
