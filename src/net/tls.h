/* tls.h - OpenSSL contexts: one for all upstream calls, one for our own listener.
 *
 * Clients that trust the system's CA bundle share one context, made when it is first needed.
 * Upstream certificates are always verified, name and all; sessions are kept by host and resumed.
 * TLS 1.2 and later only, and HTTP/1.1 inside it.
 *
 * Promises:
 *   - Any number of loops may share one.
 *   - A session is resumed once, and only with the host it was made with; at most
 *     TLS_SESSIONS_MAX of them are kept.
 *   - What OpenSSL says is put into a sentence that names the host: "the certificate of example.com
 *     has expired".
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/err.h"
#include "base/str.h"

#define TLS_SESSIONS_MAX 256
#define TLS_SESSIONS_HOST_MAX 32 /* of one host */

struct tls;

/* ca_file NULL: the system's. */
struct tls *tls_client_new(const char *ca_file, struct err *e) MUST_USE;
/* Makes the context with the system's certificate authorities, unless there is one; it takes some
 * milliseconds.
 * Any thread: the resolver's does so before it looks up the first name, so that no loop has to. */
void tls_load_authorities(void);
/* Both in PEM; the certificate is followed by those it was signed with, if any. */
struct tls *tls_server_new(const char *cert_file, const char *key_file, struct err *e) MUST_USE;
/* Connections that were made with it may live on. */
void tls_free(struct tls *t);
