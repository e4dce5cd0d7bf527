/* stream.h - one connection for plain sequential code: a thread that may wait.
 *
 *     struct stream *s = stream_open(host, port, &until, e);
 *     stream_start_tls(s, tls, e)                        at once, or after STARTTLS
 *     stream_write(s, STR("EHLO me\r\n"), e)
 *     stream_read(s, bytes, sizeof bytes, &n, e)         n 0: the peer has closed its side
 *     stream_free(s);
 *
 * For protocols other than HTTP: no ALPN is offered. Never on a loop's thread: name resolution,
 * connecting, reading and writing all block.
 *
 * Promises:
 *   - Every wait ends at the deadline, or soon after *cancel becomes true: ERR_TIMEOUT,
 *     ERR_CANCELLED.
 *   - Certificates are verified as tls.h says.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "net/tls.h"

#include <stdatomic.h>

struct stream;

struct stream_until {
    uint64_t deadline_ns;
    const _Atomic bool *cancel; /* or NULL */
};

/* `until` is lent until the free. */
struct stream *stream_open(str host, unsigned port, const struct stream_until *until,
                           struct err *e) MUST_USE;
bool stream_start_tls(struct stream *s, struct tls *tls, struct err *e) MUST_USE;
bool stream_write(struct stream *s, str bytes, struct err *e) MUST_USE;
bool stream_read(struct stream *s, char *bytes, size_t size, size_t *n, struct err *e) MUST_USE;
void stream_free(struct stream *s); /* NULL is allowed */
