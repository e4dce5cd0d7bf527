/* tls_sessions.h - TLS sessions kept by host, each to be resumed once.
 *
 * Within src/net only. Any thread may call. When there are too many, the oldest goes: that of the
 * same host if the host has its share, that of all otherwise.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/str.h"

#include <openssl/ssl.h>

struct tls_sessions;

struct tls_sessions *tls_sessions_new(void) MUST_USE;
void tls_sessions_free(struct tls_sessions *s);
/* Takes the session. */
void tls_sessions_add(struct tls_sessions *s, str host, SSL_SESSION *session);
/* The newest of the host, which is the caller's from here on, or NULL. */
SSL_SESSION *tls_sessions_take(struct tls_sessions *s, str host) MUST_USE;
