/* server.h - an HTTP/1.1 server: strict, limited, one exchange at a time on a connection.
 *
 *     struct server *s = server_new(loop, &options, &handler, ctx, e);
 *     server_listen(s, fd);                             a listening socket; any number
 *     ...
 *     on_request(ctx, x):
 *         server_reply(x, 200, headers, n, body);       whole; or
 *         server_head(x, 200, headers, n);              then server_write..., server_end
 *
 * The handler gets a request when its head and its whole body have arrived (chunked bodies joined,
 * gzip decompressed). It may reply at once or later. Pipelined requests wait for their turn. The
 * server itself replies to requests that it refuses earlier, with {"error": {"message": ...,
 * "type": "invalid_request_error"}}, and closes the connection so that the client can still read
 * the reply.
 *
 * Promises:
 *   - The server refuses all that nginx refuses, with the same or a more precise status: see
 *     http1.h.
 *   - If a client disconnects while it waits, on_gone is called at once, and x is freed after it. A
 *     client that closes its sending side counts as disconnected, unless the reply is immediate.
 *   - If no descriptor is left, idle connections are closed for new ones.
 *   - The handler is called from the loop only, never from within a call to server_*.
 *   - The server does not read while a reply is pending (except to notice a disconnect), so a
 *     connection holds at most one body and one head; the options have the limits.
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

/* 0 means the default. Times are accurate to about a second, or better if they are short. */
struct server_options {
    size_t body_max;    /* 413 above; default 32 MiB */
    size_t head_max;    /* 431 above; default 32 KiB */
    size_t gzip_min;    /* text replies from this size on are compressed; default 1 KiB */
    uint64_t header_ms; /* 408 after it; default 10 s */
    uint64_t body_ms;   /* 408 after it; default 30 s, from the last received byte */
    uint64_t idle_ms;   /* kept alive; default 60 s */
    uint64_t write_ms;  /* a client that reads nothing for this long is dropped; default 60 s */
    size_t conns_max;   /* 503 above; default 20000 */
    struct tls *tls;    /* or NULL */
    str packed_below;   /* bodies of paths that begin so stay packed, in any coding; "": none */
};

struct server_header {
    str name, value;
};

struct server_handler {
    void (*on_request)(void *ctx, struct server_exchange *x);
    /* The client has disconnected, or the connection broke; x is freed when this returns. Called at
     * most once, and only between on_request and the end of the reply. */
    void (*on_gone)(void *ctx, struct server_exchange *x);
    /* Enough was sent that the handler may write more (after server_full). */
    void (*on_room)(void *ctx, struct server_exchange *x);
};

struct server *server_new(struct loop *l, const struct server_options *o,
                          const struct server_handler *h, void *ctx, struct err *e) MUST_USE;
/* Closes all connections at once, without on_gone. Must not be called in a handler's callback, but
 * may be called in on_idle. */
void server_free(struct server *s);

/* A request that is refused before a handler sees it. */
struct server_refusal {
    int status;
    const char *why;
    const struct http1_head *request; /* NULL without a valid head */
    str peer;
    struct buf *body; /* the JSON of the reply, if the callback writes one */
};

#define SERVER_REFUSAL_HEADERS_MAX 8

/* Called before the reply, for logs and counters. `out` has room for SERVER_REFUSAL_HEADERS_MAX
 * headers of the reply, which must stay valid until the next call. Returns their number. Gets the
 * handler's ctx. */
void server_on_refusal(struct server *s, size_t (*fn)(void *ctx, const struct server_refusal *r,
                                                      struct server_header *out));
/* Changes the options for new requests, and TLS for new connections; head_max does not change. The
 * new TLS context must outlive the server; the old one is no longer used. */
void server_options_set(struct server *s, const struct server_options *o);
/* Takes ownership of the listening descriptor. */
bool server_listen(struct server *s, int fd, struct err *e) MUST_USE;
/* Accepts pending connections and no more, closes idle ones, lets running exchanges end and new
 * connections send one request. Calls on_idle when none is left. */
void server_drain(struct server *s, void (*on_idle)(void *ctx), void *ctx);
/* Ends a drain: closes all connections and calls on_gone for running exchanges. */
void server_cut(struct server *s);
size_t server_count(const struct server *s); /* connections; any thread may call it */

/* The request, valid until the reply ends or on_gone. Its array has only the present fields, so the
 * struct must not be copied. */
const struct http1_head *server_request(struct server_exchange *x);
/* Frees the parsed request before a long pause of the reply, whose head is sent. The next
 * server_request parses it again, and spans of its texts stay valid. */
void server_request_drop(struct server_exchange *x);
str server_body(const struct server_exchange *x);
/* The peer's address as text, for the access log; lent until the next server_peer. */
str server_peer(const struct server_exchange *x);
/* The peer's address: IPv6, or a mapped IPv4 address; all zero for a Unix socket. */
const unsigned char *server_peer_address(const struct server_exchange *x);
/* Whether the peer is on this machine: a loopback address, a Unix socket, or an address that is the
 * one it has connected to. */
bool server_peer_near(const struct server_exchange *x);
/* Memory that lives as long as the exchange. */
struct arena *server_arena(struct server_exchange *x);
void *server_user(const struct server_exchange *x);
void server_user_set(struct server_exchange *x, void *user);

/* A whole reply. The server adds Content-Length, Date and Connection, and drops these and similar
 * headers from the given ones; control characters in values become spaces. It uses gzip if the
 * client accepts it and the body is text and large enough. Ends the exchange. */
void server_reply(struct server_exchange *x, int status, const struct server_header *h, size_t n,
                  str body);
/* The same with the content of a buffer. If it has SERVER_HEAD_SIZE free bytes in front
 * (buf_front), it is not copied and may be empty when this returns. */
#define SERVER_HEAD_SIZE 512 /* large enough for most heads */
void server_reply_buf(struct server_exchange *x, int status, const struct server_header *h,
                      size_t n, struct buf *body);
/* A reply of unknown length: chunked (for HTTP/1.0, until the connection closes). */
void server_head(struct server_exchange *x, int status, const struct server_header *h, size_t n);
void server_write(struct server_exchange *x, str bytes); /* one chunk; sent at the end of the
                                                            round */
/* Sends now instead of at the end of the loop's round. */
void server_flush(struct server_exchange *x);
bool server_full(const struct server_exchange *x); /* stop until on_room */
void server_end(struct server_exchange *x);
/* The same for a client that may read slowly: a drain does not wait for it. */
void server_leave(struct server_exchange *x);
size_t server_queued(const struct server_exchange *x); /* bytes the client has not read */
/* The reply cannot be finished: closes the connection so that the client sees that the reply is
 * incomplete. */
void server_abort(struct server_exchange *x);

/* A WebSocket instead of the reply. */
struct server_ws;

struct server_ws_handler {
    size_t message_max; /* 1009 above; default 1 MiB */
    void (*on_message)(void *ctx, struct server_ws *w, bool text, str data);
    /* The socket is closed, with the client's code, ours, or 1006; w is freed when this returns.
     * Not called after server_ws_close. */
    void (*on_close)(void *ctx, struct server_ws *w, int code);
    void (*on_room)(void *ctx, struct server_ws *w); /* may be NULL */
};

/* Ends the exchange. NULL if the request was not a valid handshake; then the error reply is already
 * sent. The headers are added to the reply, such as the chosen protocol. The handler must outlive
 * the socket. The server answers pings, and pings a client that is silent for long. */
struct server_ws *server_upgrade(struct server_exchange *x, const struct server_header *headers,
                                 size_t n, const struct server_ws_handler *h, void *ctx);
void server_ws_send(struct server_ws *w, bool text, str data);
/* Sends frames that were encoded once (ws_encode) for many sockets. */
void server_ws_send_frames(struct server_ws *w, str frames);
bool server_ws_full(const struct server_ws *w);
size_t server_ws_queued(const struct server_ws *w);
void server_ws_flush(struct server_ws *w);
/* No messages until the resume, but for those that have been read already. */
void server_ws_pause(struct server_ws *w);
void server_ws_resume(struct server_ws *w);
void server_ws_close(struct server_ws *w, int code, str reason);
