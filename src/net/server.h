/* server.h - HTTP/1.1 as a server: strict, bounded, one exchange at a time on a connection.
 *
 *     struct server *s = server_new(loop, &options, &handler, ctx, e);
 *     server_listen(s, fd);                             a listening socket; any number
 *     ...
 *     on_request(ctx, x):
 *         server_reply(x, 200, headers, n, body);       whole; or
 *         server_head(x, 200, headers, n);              then server_write..., server_end
 *
 * The handler gets a request when its head and its whole body are there (chunked bodies joined).
 * It may answer at once or later. Requests of a pipeline wait their turn.
 *
 * Promises:
 *   - What nginx refuses is refused here, with the same or a better fitting status: see http1.h.
 *   - A client that leaves is noticed while it waits, at once: on_gone, after which x is no more.
 *   - Reading stops while an exchange is answered (but for noticing that the client left), so a
 *     connection holds at most one body and one head; ceilings are in the options.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/arena.h"
#include "net/http1.h"
#include "net/loop.h"
#include "net/tls.h"

struct server;
struct server_exchange;

struct server_options {
    size_t body_max;    /* 413 above; default 32 MiB */
    size_t head_max;    /* 431 above; default 32 KiB */
    uint64_t header_ms; /* 408 after it; default 10 s */
    uint64_t body_ms;   /* default 30 s, counted from the last byte that came */
    uint64_t idle_ms;   /* kept alive; default 60 s */
    uint64_t write_ms;  /* a client that takes nothing for so long is dropped; default 60 s */
    size_t conns_max;   /* 503 above; default 20000 */
    struct tls *tls;    /* or NULL */
};

struct server_handler {
    void (*on_request)(void *ctx, struct server_exchange *x);
    /* The client has left, or the connection broke; x is gone when this returns. Called at most
     * once, and only between on_request and the end of the reply. */
    void (*on_gone)(void *ctx, struct server_exchange *x);
    /* What was written has gone out far enough that more may come (after server_full). */
    void (*on_room)(void *ctx, struct server_exchange *x);
};

struct server *server_new(struct loop *l, const struct server_options *o,
                          const struct server_handler *h, void *ctx, struct err *e) MUST_USE;
void server_free(struct server *s); /* closes all connections at once, without on_gone */
/* Takes the listening descriptor. */
bool server_listen(struct server *s, int fd, struct err *e) MUST_USE;
/* Accepts nothing more, closes idle connections, lets exchanges end; on_idle when none is left. */
void server_drain(struct server *s, void (*on_idle)(void *ctx), void *ctx);
size_t server_count(const struct server *s); /* connections */

/* The request; lent until the reply ends or on_gone. */
const struct http1_head *server_request(const struct server_exchange *x);
str server_body(const struct server_exchange *x);
/* The peer's address as text, for the access log. */
str server_peer(const struct server_exchange *x);
bool server_peer_loopback(const struct server_exchange *x);
/* Memory that lives as long as the exchange. */
struct arena *server_arena(struct server_exchange *x);
void *server_user(const struct server_exchange *x);
void server_user_set(struct server_exchange *x, void *user);

struct server_header {
    str name, value;
};

/* A whole reply. Content-Length, Date and Connection are put in here. gzip if the client takes it,
 * the body is text and larger than 1 KiB. Ends the exchange. */
void server_reply(struct server_exchange *x, int status, const struct server_header *h, size_t n,
                  str body);
/* A reply whose length is not known: chunked (or to the end of the connection for HTTP/1.0). */
void server_head(struct server_exchange *x, int status, const struct server_header *h, size_t n);
void server_write(struct server_exchange *x, str bytes);
bool server_full(const struct server_exchange *x); /* stop until on_room */
void server_end(struct server_exchange *x);
/* The reply cannot be finished: the connection is closed so that the client sees it was cut. */
void server_abort(struct server_exchange *x);
