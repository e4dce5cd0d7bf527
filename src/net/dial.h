/* dial.h - from a host and a port to an open connection.
 *
 * Within src/net only. The name is resolved, its addresses are tried one after the other until one
 * takes the connection, then hands are shaken, all of it under one time limit. An address that does
 * not answer gets no more than half of what is left while there are others.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "net/conn.h"
#include "net/resolve.h"

struct dial;

struct dial_to {
    struct loop *loop;
    struct resolver *resolver;
    struct tls *tls; /* or NULL: plain */
    str host;        /* lent until the end, as is the handler */
    unsigned port;
    uint64_t timeout_ms;
};

/* Calls back once, not before it returns: with an open connection, which is the callee's and needs
 * another handler, or with NULL and why. The dial is gone when that returns. */
struct dial *dial_start(const struct dial_to *to,
                        void (*on_done)(void *ctx, struct conn *c, const struct err *e),
                        void *ctx) MUST_USE;
void dial_cancel(struct dial *d);
