/* conn.h - a byte stream over a socket, plain or TLS, on a loop.
 *
 * What is written is queued and goes out in one piece at the end of the loop's round (or at once,
 * when much is queued), so a head and its first event share a segment. What arrives is lent to
 * on_bytes and must be taken there; a reader that cannot take more pauses first.
 *
 * Promises:
 *   - After conn_close, and once on_error was called, no callback comes.
 *   - Idle, a connection holds no buffer: it reads into the loop's scratch, and its queue is
 *     released when empty.
 *   - TCP_NODELAY is set; SIGPIPE never comes.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/buf.h"
#include "net/loop.h"
#include "net/tls.h"

struct sockaddr;
struct conn;

struct conn_handler {
    void (*on_open)(void *ctx); /* connected, hands shaken; not for accepted plain sockets */
    void (*on_bytes)(void *ctx, str bytes);
    void (*on_room)(void *ctx); /* the queue has fallen to CONN_LOW after conn_full was true */
    void (*on_end)(void *ctx);  /* the peer has closed its side; we may still write */
    void (*on_error)(void *ctx, const struct err *e); /* it is broken; close it */
};

#define CONN_HIGH (256 * 1024) /* conn_full from here on */
#define CONN_LOW (64 * 1024)

/* Takes the descriptor. tls may be NULL. */
struct conn *conn_accept(struct loop *l, int fd, struct tls *tls, const struct conn_handler *h,
                         void *ctx, struct err *e) MUST_USE;
/* host is for SNI and verification; tls NULL means plain. */
struct conn *conn_connect(struct loop *l, const struct sockaddr *addr, unsigned addr_size,
                          struct tls *tls, str host, const struct conn_handler *h, void *ctx,
                          struct err *e) MUST_USE;
void conn_handler_set(struct conn *c, const struct conn_handler *h, void *ctx);
void conn_write(struct conn *c, str bytes);
bool conn_full(const struct conn *c);
size_t conn_queued(const struct conn *c);
void conn_flush(struct conn *c);
void conn_pause(struct conn *c); /* no on_bytes, until resumed; a peer that resets is still told */
void conn_resume(struct conn *c);
/* What is queued goes out, then our side is closed (FIN, after close_notify). */
void conn_finish(struct conn *c);
/* At once; what is queued is lost. May be called in a callback. */
void conn_close(struct conn *c);
