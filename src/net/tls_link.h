/* tls_link.h - one TLS connection on a non-blocking socket: the part of OpenSSL that conn.c uses.
 *
 *     k = tls_link_new(tls, fd, host, e)
 *     while (tls_link_shake(k, e) == TLS_AGAIN) wait for the socket
 *     switch (tls_link_read(k, bytes, size, &n, e)) ...
 *     tls_link_end(k); tls_link_free(k)
 *
 * Within src/net only; other code uses conn.h. The caller keeps the descriptor. No SIGPIPE is
 * raised.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "net/tls.h"

struct tls_link;

enum tls_result {
    TLS_DONE,
    TLS_AGAIN,  /* the socket has no more bytes, or accepts none, for now */
    TLS_END,    /* the peer has ended its side properly */
    TLS_FAILED, /* e has the reason */
};

/* host is for the client side: the name in the handshake and in the verification. */
struct tls_link *tls_link_new(struct tls *t, int fd, str host, struct err *e) MUST_USE;
void tls_link_free(struct tls_link *k);
/* Offers no protocol by ALPN, which is HTTP/1.1 else: some mail servers refuse it. Before the
 * handshake. */
void tls_link_no_alpn(struct tls_link *k);
enum tls_result tls_link_shake(struct tls_link *k, struct err *e) MUST_USE;
/* Reads the available bytes that fit. With n > 0 the result is DONE (there may be more) or
 * AGAIN. */
enum tls_result tls_link_read(struct tls_link *k, char *bytes, size_t size, size_t *n,
                              struct err *e) MUST_USE;
/* DONE: all bytes were accepted. AGAIN: n were; the next call must continue with the same bytes,
 * which may be followed by more. */
enum tls_result tls_link_write(struct tls_link *k, str bytes, size_t *n, struct err *e) MUST_USE;
/* Sends close_notify if the socket accepts it now. */
void tls_link_end(struct tls_link *k);
bool tls_link_resumed(const struct tls_link *k);
