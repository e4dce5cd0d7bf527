/* conn.h - a byte stream over a socket, plain or TLS, on a loop.
 *
 *     c = conn_accept(loop, fd, NULL, &handler, ctx, e)   or conn_connect
 *     conn_write(c, head); conn_write(c, body);           one segment
 *     conn_finish(c);                                     and later, always: conn_close(c)
 *
 * What is written is queued and goes out in one piece when the work of the loop's round is done (or
 * at once, when much is queued), so a head and its first event share a segment. What arrives is
 * lent to on_bytes and must be taken there; a reader that cannot take more pauses first, and gets
 * nothing more from then on.
 *
 * Promises:
 *   - Callbacks come from the loop only, never from within a call to conn_*. After conn_close none
 *     comes, nor after on_error: it is up to the owner to close then.
 *   - A peer that resets is told at once by on_error, one that closes by on_end or, while paused,
 *     by on_hangup. Bytes that came before it are handed on first, unless we are paused.
 *   - A write that fails is told when the bytes that have arrived are handed on: a server may have
 *     answered before it stopped listening.
 *   - Idle, a connection holds no buffer: it reads into the loop's scratch, and its queue is
 *     released when empty.
 *   - A peer that sends without end gets its turn only: others are not kept waiting.
 *   - TCP_NODELAY is set; SIGPIPE never comes.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "net/loop.h"
#include "net/tls.h"

struct sockaddr;
struct conn;

struct conn_handler {
    /* Connected, hands shaken; not for accepted plain sockets. May be NULL. */
    void (*on_open)(void *ctx);
    void (*on_bytes)(void *ctx, str bytes);
    /* The queue has fallen to CONN_LOW after conn_full was true. May be NULL. */
    void (*on_room)(void *ctx);
    /* While paused: the peer has closed its side, though bytes of it may be unread. Comes once;
     * on_end follows if we resume. May be NULL. */
    void (*on_hangup)(void *ctx);
    void (*on_end)(void *ctx); /* the peer has closed its side; we may still write */
    /* It is broken, and ERR_UPSTREAM or ERR_LIMIT; nothing else comes. */
    void (*on_error)(void *ctx, const struct err *e);
};

#define CONN_HIGH (64 * 1024) /* conn_full from here on */
#define CONN_LOW (16 * 1024)
#define CONN_UNSENT (64 * 1024) /* in the system's buffer of an accepted socket, about */
#define CONN_QUEUE_MAX ((size_t)64 * 1024 * 1024) /* more is an error */

/* Takes the descriptor, which must be non-blocking, also if it fails. tls may be NULL. */
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
/* The handler is lent until the close or the next one. */
void conn_handler_set(struct conn *c, const struct conn_handler *h, void *ctx);
/* Copied, or taken by the system. May come before on_open. */
void conn_write(struct conn *c, str bytes);
/* The same for up to three texts as if they were one. */
void conn_write_parts(struct conn *c, const str *parts, size_t n);
/* The same for bytes that stay where they are until the connection is closed or they were sent:
 * they need not be copied then. */
void conn_write_lent(struct conn *c, str bytes);
/* The same for all that is in a buffer, whose memory is taken where that spares the copy. */
void conn_write_buf(struct conn *c, struct buf *b);
bool conn_full(const struct conn *c); /* better to wait for on_room */
size_t conn_queued(const struct conn *c);
uint64_t conn_sent(const struct conn *c); /* of what was written, the system has taken so much */
void conn_flush(struct conn *c);
void conn_pause(struct conn *c);
void conn_resume(struct conn *c);
/* What is queued goes out, then our side is closed (FIN, after close_notify). */
void conn_finish(struct conn *c);
/* At once; what is queued is lost. May be called in a callback. NULL is fine. */
void conn_close(struct conn *c);
/* Whether the peer has taken the connection, though hands may not be shaken yet. */
bool conn_reached(const struct conn *c);
/* Whether TLS took up an earlier session. */
bool conn_resumed(const struct conn *c);
