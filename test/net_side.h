/* net_side.h - our end of a connection, for tests: the log has one letter per event.
 *
 *     int peer = side_accept(&s);                       the other end is a plain socket
 *     peer_send(peer, STR("hello"));
 *     side_run_until(&s, "b");
 *     CHECK_STR(buf_str(&s.in), "hello");
 *     side_release(&s);
 *
 * o opened, b bytes (one for consecutive events), r room, h hung up, e ended, x broke. Each stops
 * the loop.
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
    char close_at, pause_at;        /* the event at which it closes or pauses */
    size_t flood_left, queued_most; /* bytes still to write; maximum seen in the queue */
    uint64_t got;
    bool keep;   /* received bytes, in `in` */
    bool shared; /* the loop belongs to another side */
};

extern const struct conn_handler side_handler;

/* Creates a loop, or uses the loop of `other`. */
void side_init(struct side *s, struct side *other);
void side_release(struct side *s);
/* Accepts a connection; returns the other end. */
int side_accept(struct side *s);
int side_accept_on(struct side *s, struct side *other); /* other: whose loop to use, or NULL */
/* Connects to 127.0.0.1. */
void side_connect(struct side *s, struct tls *tls, const char *host, unsigned port);
void side_happened(struct side *s, char what);
/* Writes of flood_left as much as the connection accepts; continues when it has room. */
void side_flood(struct side *s);
/* Runs until so many events happened; they must be these. */
void side_run_until(struct side *s, const char *log);
/* Runs one round, with or without events. */
void side_run_once(struct side *s);
