/* net_side.h - our end of a connection, for tests: each thing that happens to it is a letter.
 *
 *     int peer = side_accept(&s);                       the other end is a plain socket
 *     peer_send(peer, STR("hello"));
 *     side_run_until(&s, "b");
 *     CHECK_STR(buf_str(&s.in), "hello");
 *     side_release(&s);
 *
 * o opened, b bytes (in a row: one), r room, h hung up, e ended, x broke. Each stops the loop.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/buf.h"
#include "net/conn.h"

struct side {
    struct loop *loop;
    struct conn *conn;
    struct buf in, log;
    struct err err;
    char close_at, pause_at;        /* the letter at which it does so */
    size_t flood_left, queued_most; /* still to write; seen in the queue */
    uint64_t got;
    bool keep;   /* what came, in `in` */
    bool shared; /* the loop is another's */
};

extern const struct conn_handler side_handler;

/* With a loop of its own, or on the loop of another. */
void side_init(struct side *s, struct side *other);
void side_release(struct side *s);
/* A side that has accepted; what is returned is the other end. */
int side_accept(struct side *s);
int side_accept_on(struct side *s, struct side *other); /* on the loop of another, or NULL */
/* A side that connects to 127.0.0.1. */
void side_connect(struct side *s, struct tls *tls, const char *host, unsigned port);
void side_happened(struct side *s, char what);
/* Writes of flood_left as much as the connection wants; again when there is room. */
void side_flood(struct side *s);
/* Until so many things happened; they must be these. */
void side_run_until(struct side *s, const char *log);
/* A round in which nothing has to happen. */
void side_run_once(struct side *s);
