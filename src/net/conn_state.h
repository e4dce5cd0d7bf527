/* conn_state.h - shared by the files of conn: a connection and its internal functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "net/conn.h"
#include "net/tls_link.h"

/* CONNECTING --the peer accepted--> SHAKING (TLS only) --> OPEN
 *      any of these --on_error was called--> DEAD     any --conn_close--> CLOSED (frees itself) */
enum conn_life { CONN_CONNECTING, CONN_SHAKING, CONN_OPEN, CONN_DEAD, CONN_CLOSED };

/* Our side: open, to be closed after the queue, closed. */
enum conn_out_state { CONN_OUT_OPEN, CONN_OUT_FINISHING, CONN_OUT_FINISHED };

struct conn {
    struct loop *loop;
    struct loop_watch watch;
    struct loop_task task, sending;
    const struct conn_handler *handler;
    void *ctx;
    struct tls_link *link; /* or NULL: plain */
    str early;             /* bytes read but not delivered yet: in the loop's memory or in held */
    char *held;            /* a copy of them, if the connection was paused at that time, */
    uint32_t held_cap;     /* in memory of this size; or NULL */
    int early_errno;       /* the errno of that read, or 0 */
    struct buf out;
    size_t out_at; /* bytes of out already sent */
    str lent;      /* bytes after out, not copied yet: until the first attempt to send them, or the
                      next write */
    uint64_t sent;
    struct err *fault;       /* a write failed; reported when nothing is left to read */
    uint8_t life, out_state; /* enum conn_life, enum conn_out_state */
    bool reached;            /* the peer accepted the connection */
    bool readable, blocked;  /* there may be bytes to read; the socket accepts none */
    bool ended, gone;        /* epoll reported that the peer closed its side; that the connection
                               broke */
    bool hangup_reported, end_reported;
    bool paused, was_full;
    bool greedy; /* it sent more than its share of a round: others are served first */
};

static inline bool conn_is_open(const struct conn *c)
{
    return c->life == CONN_OPEN && !c->fault;
}

/* Sets the error text of a failed system call; returns false. */
bool conn_err_from_errno(int number, struct err *e);
/* Writing has failed. The error is reported after the received bytes are read. */
void conn_set_fault(struct conn *c, const struct err *e);
void conn_release_queue(struct conn *c);
/* Sends as much of the queue as the socket accepts, and then closes our side if requested. */
void conn_flush_queue(struct conn *c);
/* The same as a task. */
void conn_on_send(void *ctx);
