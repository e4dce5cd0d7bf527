/* tls_link.h - one TLS connection on a non-blocking socket: what conn.c asks of OpenSSL.
 *
 *     k = tls_link_new(tls, fd, host, e)
 *     while (tls_link_shake(k, e) == TLS_AGAIN) wait for the socket
 *     switch (tls_link_read(k, bytes, size, &n, e)) ...
 *     tls_link_end(k); tls_link_free(k)
 *
 * Within src/net only: others speak through conn.h. The descriptor stays the caller's. Nothing here
 * raises SIGPIPE.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "net/tls.h"

struct tls_link;

enum tls_result {
    TLS_DONE,
    TLS_AGAIN,  /* the socket has no more, or takes no more, for now */
    TLS_END,    /* the peer has ended its side, properly */
    TLS_FAILED, /* and e says why */
};

/* The host is for the client side: its name in the handshake and in what is verified. */
struct tls_link *tls_link_new(struct tls *t, int fd, str host, struct err *e) MUST_USE;
void tls_link_free(struct tls_link *k);
enum tls_result tls_link_shake(struct tls_link *k, struct err *e) MUST_USE;
/* As many bytes as fit and are there. With n > 0 it is DONE (there may be more) or AGAIN. */
enum tls_result tls_link_read(struct tls_link *k, char *bytes, size_t size, size_t *n,
                              struct err *e) MUST_USE;
/* DONE: all were taken. AGAIN: n were; the same bytes must come again from there, and may have more
 * behind them. */
enum tls_result tls_link_write(struct tls_link *k, str bytes, size_t *n, struct err *e) MUST_USE;
/* Says that nothing more will come; as far as the socket takes it. */
void tls_link_end(struct tls_link *k);
bool tls_link_resumed(const struct tls_link *k);
