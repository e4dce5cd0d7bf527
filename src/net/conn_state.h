/* conn_state.h - what the files of conn share: a connection, and what is done to it from both.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/buf.h"
#include "net/conn.h"
#include "net/tls_link.h"

struct conn {
    struct loop *loop;
    struct loop_watch watch;
    struct loop_task task, sending;
    const struct conn_handler *handler;
    void *ctx;
    struct tls_link *link; /* or NULL: plain */
    str early;       /* bytes that were read and are still to be handed on: the loop's, or held */
    struct buf held; /* them, if we were paused just then */
    int early_errno; /* why that read failed, or 0 */
    struct buf out;
    size_t out_at; /* of out, sent already */
    str lent;      /* behind it, not copied: until it was tried to send it, or more is written */
    uint64_t sent;
    struct err *fault; /* a write failed: told when nothing is left to read */
    bool connecting, shaking;
    bool readable, blocked; /* there may be bytes; the socket takes none */
    bool ended, gone;       /* epoll has said that the peer closed its side; that it broke */
    bool hangup_told, end_told;
    bool paused, was_full;
    bool greedy; /* it sends more than its turn's worth: it waits until the others were served */
    bool finishing, finished;
    bool dead, closed; /* on_error was called; conn_close was */
};

static inline bool conn_is_open(const struct conn *c)
{
    return !c->connecting && !c->shaking && !c->closed && !c->dead && !c->fault;
}

/* Always false: what a failed call to the system means, in words. */
bool conn_say_errno(int number, struct err *e);
/* Nothing more can be written. What has arrived is read first: then it is told. */
void conn_set_fault(struct conn *c, const struct err *e);
void conn_release_queue(struct conn *c);
/* What is queued goes out as far as the socket takes it, and our end behind it if it is due. */
void conn_flush_queue(struct conn *c);
/* The same as a task. */
void conn_on_send(void *ctx);
