/* dial.h - opens a connection to a host and a port.
 *
 * Within src/net only. Resolves the name, tries its addresses one after the other until one
 * accepts, and performs the TLS handshake, all within one time limit. While other addresses remain,
 * an address gets at most half of the remaining time.
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
    str host;        /* must stay valid until the end, like the handler */
    unsigned port;
    uint64_t timeout_ms;
};

/* Calls back once, never before it returns: with an open connection, which the callee owns and must
 * give another handler, or with NULL and an error. The dial is freed when the callback returns. */
struct dial *dial_start(const struct dial_to *to,
                        void (*on_done)(void *ctx, struct conn *c, const struct err *e),
                        void *ctx) MUST_USE;
void dial_cancel(struct dial *d);
