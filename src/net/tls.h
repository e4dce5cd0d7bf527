/* tls.h - OpenSSL contexts: one for all upstream calls, one for our own listener.
 *
 * The CA bundle is loaded once a process. Upstream certificates are always verified, name and all;
 * sessions are kept by host and resumed. TLS 1.2 and later only.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/err.h"
#include "base/str.h"

struct tls;

/* ca_file NULL: the system's. */
struct tls *tls_client_new(const char *ca_file, struct err *e) MUST_USE;
struct tls *tls_server_new(const char *cert_file, const char *key_file, struct err *e) MUST_USE;
void tls_free(struct tls *t);
