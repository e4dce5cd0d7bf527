/* tls_sessions.h - a cache of TLS sessions by host; each is resumed once.
 *
 * Within src/net only. Any thread may call. If the cache is full, the oldest session is dropped: of
 * the same host if the host has reached its share, otherwise of all.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/str.h"

#include <openssl/ssl.h>

struct tls_sessions;

struct tls_sessions *tls_sessions_new(void) MUST_USE;
void tls_sessions_free(struct tls_sessions *s);
/* Takes ownership of the session. */
void tls_sessions_add(struct tls_sessions *s, str host, SSL_SESSION *session);
/* The newest session of the host, which the caller then owns, or NULL. */
SSL_SESSION *tls_sessions_take(struct tls_sessions *s, str host) MUST_USE;
