/* conn.h - a byte stream over a socket, plain or TLS, on a loop.
 *
 *     c = conn_accept(loop, fd, NULL, &handler, ctx, e)   or conn_connect
 *     conn_write(c, head); conn_write(c, body);           one segment
 *     conn_finish(c);                                     and later, always: conn_close(c)
 *
 * Written bytes are queued and sent together at the end of the loop's round (or at once if many are
 * queued), so a head and its first event share a segment. Received bytes are valid only during
 * on_bytes, which must consume them; a reader that cannot take more must pause first, and then gets
 * no more.
 *
 * Promises:
 *   - Callbacks come from the loop only, never from within a call to conn_*. No callback follows
 *     conn_close or on_error; after on_error the owner must call conn_close.
 *   - If the peer resets, on_error is called at once; if it closes, on_end or, while paused,
 *     on_hangup. Bytes that arrived before are delivered first, unless the connection is paused.
 *   - A failed write is reported only after the received bytes are delivered, because a server may
 *     have answered before it stopped reading.
 *   - An idle connection has no buffer: it reads into the loop's scratch, and its queue is freed
 *     when empty.
 *   - A peer that sends without pause cannot delay other connections.
 *   - TCP_NODELAY is set; no SIGPIPE is raised.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "net/loop.h"
#include "net/tls.h"

struct sockaddr;
struct conn;

struct conn_handler {
    /* Connected, and the handshake is done; not for accepted plain sockets. May be NULL. */
    void (*on_open)(void *ctx);
    void (*on_bytes)(void *ctx, str bytes);
    /* The queue has shrunk to CONN_LOW after conn_full was true. May be NULL. */
    void (*on_room)(void *ctx);
    /* While paused: the peer has closed its side; some of its bytes may be unread. Called once;
     * on_end follows after a resume. May be NULL. */
    void (*on_hangup)(void *ctx);
    void (*on_end)(void *ctx); /* the peer has closed its side; we may still write */
    /* The connection is broken: ERR_UPSTREAM or ERR_LIMIT. No other callback follows. */
    void (*on_error)(void *ctx, const struct err *e);
};

#define CONN_HIGH (64 * 1024) /* conn_full from here on */
#define CONN_LOW (16 * 1024)
#define CONN_UNSENT (64 * 1024) /* limit of the system's send buffer of an accepted socket */
#define CONN_QUEUE_MAX ((size_t)64 * 1024 * 1024) /* more is an error */

/* Takes ownership of the descriptor, also on failure; it must be non-blocking. tls may be NULL. */
struct conn *conn_accept(struct loop *l, int fd, struct tls *tls, const struct conn_handler *h,
                         void *ctx, struct err *e) MUST_USE;
struct conn_target {
    const struct sockaddr *addr;
    unsigned addr_size;
    struct tls *tls; /* NULL: plain */
    str host;        /* for SNI and verification */
};

struct conn *conn_connect(struct loop *l, const struct conn_target *to,
                          const struct conn_handler *h, void *ctx, struct err *e) MUST_USE;
/* The handler must stay valid until conn_close or the next conn_handler_set. */
void conn_handler_set(struct conn *c, const struct conn_handler *h, void *ctx);
/* Copies the bytes, or passes them to the system. Allowed before on_open. */
void conn_write(struct conn *c, str bytes);
/* The same for up to three texts, sent as one. */
void conn_write_parts(struct conn *c, const str *parts, size_t n);
/* The same without a copy, for bytes that stay valid until they are sent or the connection is
 * closed. */
void conn_write_lent(struct conn *c, str bytes);
/* The same for the content of a buffer; takes its memory if that avoids a copy. */
void conn_write_buf(struct conn *c, struct buf *b);
bool conn_full(const struct conn *c); /* wait for on_room before writing more */
size_t conn_queued(const struct conn *c);
uint64_t conn_sent(const struct conn *c); /* bytes passed to the system so far */
void conn_flush(struct conn *c);
void conn_pause(struct conn *c);
void conn_resume(struct conn *c);
/* Sends the queue, then closes our side (FIN, after close_notify). */
void conn_finish(struct conn *c);
/* Closes at once and drops the queue. May be called in a callback. NULL is allowed. */
void conn_close(struct conn *c);
/* Whether the peer has accepted the connection, perhaps before the handshake. */
bool conn_reached(const struct conn *c);
/* Whether TLS resumed an earlier session. */
bool conn_resumed(const struct conn *c);
