/* server.h - HTTP/1.1 as a server: strict, bounded, one exchange at a time on a connection.
 *
 *     struct server *s = server_new(loop, &options, &handler, ctx, e);
 *     server_listen(s, fd);                             a listening socket; any number
 *     ...
 *     on_request(ctx, x):
 *         server_reply(x, 200, headers, n, body);       whole; or
 *         server_head(x, 200, headers, n);              then server_write..., server_end
 *
 * The handler gets a request when its head and its whole body are there (chunked bodies joined,
 * gzip unpacked). It may answer at once or later. Requests of a pipeline wait their turn. What is
 * refused before that is answered here, with {"error": {"message": ..., "type":
 * "invalid_request_error"}}, and the connection is closed so that the client can still read it.
 *
 * Promises:
 *   - What nginx refuses is refused here, with the same or a better fitting status: see http1.h.
 *   - A client that leaves is noticed while it waits, at once: on_gone, after which x is no more.
 *     One that closes its sending side has left, but for what can be answered at once.
 *   - Where no descriptor is left, those who rest make room for those who come.
 *   - The handler is called from the loop only, never from within a call to server_*.
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

/* What is 0 has its default. Times are kept to a second or so, sooner if they are short. */
struct server_options {
    size_t body_max;    /* 413 above; default 32 MiB */
    size_t head_max;    /* 431 above; default 32 KiB */
    size_t gzip_min;    /* replies of text from this size on are packed; default 1 KiB */
    uint64_t header_ms; /* 408 after it; default 10 s */
    uint64_t body_ms;   /* 408 too; default 30 s, counted from the last byte that came */
    uint64_t idle_ms;   /* kept alive; default 60 s */
    uint64_t write_ms;  /* a client that takes nothing for so long is dropped; default 60 s */
    size_t conns_max;   /* 503 above; default 20000 */
    struct tls *tls;    /* or NULL */
};

struct server_header {
    str name, value;
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
/* Closes all connections at once, without on_gone. Not in a handler's callback, but in on_idle. */
void server_free(struct server *s);

/* What is refused before a handler sees it. */
struct server_refusal {
    int status;
    const char *why;
    const struct http1_head *request; /* NULL if there was no proper head */
    str peer;
    struct buf *body; /* what is answered, in JSON, if something is put there */
};

#define SERVER_REFUSAL_HEADERS_MAX 8

/* Told before it is answered, for logs and counts; `out` has room for SERVER_REFUSAL_HEADERS_MAX
 * headers to put on the answer, lent until the next call. Returns how many. The handler's ctx. */
void server_on_refusal(struct server *s, size_t (*fn)(void *ctx, const struct server_refusal *r,
                                                      struct server_header *out));
/* Others from now on: for requests that begin, TLS for connections that come. Only head_max stays.
 * The TLS context is lent as before; the old one is not looked at any more. */
void server_options_set(struct server *s, const struct server_options *o);
/* Takes the listening descriptor. */
bool server_listen(struct server *s, int fd, struct err *e) MUST_USE;
/* Accepts what has come so far and nothing more, closes idle connections, lets exchanges end and
 * new connections ask once; on_idle when none is left. */
void server_drain(struct server *s, void (*on_idle)(void *ctx), void *ctx);
/* A drain has taken long enough: closes all connections; on_gone tells who is at work on one. */
void server_cut(struct server *s);
size_t server_count(const struct server *s); /* connections; any thread may ask */

/* The request; lent until the reply ends or on_gone. Only so many fields as it has are there: it
 * may be looked at, not copied as a struct. */
const struct http1_head *server_request(const struct server_exchange *x);
str server_body(const struct server_exchange *x);
/* It is not needed any more: a long reply begins. */
void server_body_drop(struct server_exchange *x);
/* The peer's address as text, for the access log. */
str server_peer(const struct server_exchange *x);
bool server_peer_loopback(const struct server_exchange *x);
/* Memory that lives as long as the exchange. */
struct arena *server_arena(struct server_exchange *x);
void *server_user(const struct server_exchange *x);
void server_user_set(struct server_exchange *x, void *user);

/* A whole reply. Content-Length, Date and Connection are put in here, and those and their like
 * among the headers given are left out; control characters in values become spaces. gzip if the
 * client takes it, the body is text and large enough. Ends the exchange. */
void server_reply(struct server_exchange *x, int status, const struct server_header *h, size_t n,
                  str body);
/* The same with all that is in a buffer. If it has SERVER_HEAD_SIZE bytes free in front (buf_front)
 * it need not be copied: it may be empty when this returns. */
#define SERVER_HEAD_SIZE 512 /* that most heads fit into */
void server_reply_buf(struct server_exchange *x, int status, const struct server_header *h,
                      size_t n, struct buf *body);
/* A reply whose length is not known: chunked (or to the end of the connection for HTTP/1.0). */
void server_head(struct server_exchange *x, int status, const struct server_header *h, size_t n);
void server_write(struct server_exchange *x, str bytes); /* one chunk; goes out with the round */
/* What was written leaves now, not at the end of the loop's round. */
void server_flush(struct server_exchange *x);
bool server_full(const struct server_exchange *x); /* stop until on_room */
void server_end(struct server_exchange *x);
/* The same for one who may be slow to take it: a drain does not wait for that. */
void server_leave(struct server_exchange *x);
size_t server_queued(const struct server_exchange *x); /* bytes the client has not taken */
/* The reply cannot be finished: the connection is closed so that the client sees it was cut. */
void server_abort(struct server_exchange *x);

/* A WebSocket in the place of the reply. */
struct server_ws;

struct server_ws_handler {
    size_t message_max; /* 1009 above; default 1 MiB */
    void (*on_message)(void *ctx, struct server_ws *w, bool text, str data);
    /* Over, with the code the client gave, or ours, or 1006; w is gone when this returns. Not after
     * server_ws_close. */
    void (*on_close)(void *ctx, struct server_ws *w, int code);
    void (*on_room)(void *ctx, struct server_ws *w); /* may be NULL */
};

/* The exchange ends here. NULL if the request was no proper handshake: it was answered so. The
 * handler is lent. Pings are answered, and sent to a client that is silent for long. */
struct server_ws *server_upgrade(struct server_exchange *x, const struct server_ws_handler *h,
                                 void *ctx);
/* The same with headers of the answer's own, such as the protocol that was chosen. */
struct server_ws *server_upgrade_with(struct server_exchange *x,
                                      const struct server_header *headers, size_t n,
                                      const struct server_ws_handler *h, void *ctx);
void server_ws_send(struct server_ws *w, bool text, str data);
/* Frames that were encoded once (ws_encode) for many. */
void server_ws_send_frames(struct server_ws *w, str frames);
bool server_ws_full(const struct server_ws *w);
size_t server_ws_queued(const struct server_ws *w);
void server_ws_flush(struct server_ws *w);
void server_ws_close(struct server_ws *w, int code, str reason);
