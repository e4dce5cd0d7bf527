/* tls.h - OpenSSL contexts: one for all upstream calls, one for our listener.
 *
 * Clients that trust the system's CA bundle share one context, created on first use. Upstream
 * certificates and their names are always verified; sessions are cached by host and resumed. TLS
 * 1.2 and later only, and HTTP/1.1 inside it.
 *
 * Promises:
 *   - Any number of loops may share one.
 *   - A session is resumed once, and only with its own host; at most TLS_SESSIONS_MAX sessions are
 *     cached.
 *   - Errors of OpenSSL become a sentence that names the host: "the certificate of example.com has
 *     expired".
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/err.h"
#include "base/str.h"

#define TLS_SESSIONS_MAX 256
#define TLS_SESSIONS_HOST_MAX 32 /* of one host */

struct tls;

/* ca_file NULL: the system's certificate authorities. */
struct tls *tls_client_new(const char *ca_file, struct err *e) MUST_USE;
/* Creates the context with the system's certificate authorities, unless it exists; this takes some
 * milliseconds. Any thread: the resolver's thread calls it before the first lookup, so that no loop
 * has to. */
void tls_load_authorities(void);
/* Both in PEM; the certificate file also has the intermediate certificates, if any. */
struct tls *tls_server_new(const char *cert_file, const char *key_file, struct err *e) MUST_USE;
/* Whether clients would accept the dates of the file's first certificate now. True for a file
 * without one: tls_server_new reports that. */
bool tls_is_current(const char *cert_file, struct err *e) MUST_USE;
/* Its connections stay valid. */
void tls_free(struct tls *t);
