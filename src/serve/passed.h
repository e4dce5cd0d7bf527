/* passed.h - headers of a provider's reply that the client gets.
 *
 * They follow our headers in the head. The provider's support asks for its id of the call, so the
 * client gets the id under the name that SDKs of its dialect read, whatever the provider calls it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "gateway/headers.h"
#include "net/server.h"

#define SERVE_HEADERS_MAX 16 /* our own headers */
#define PASSED_ALL_MAX (SERVE_HEADERS_MAX + HEADERS_REPLY_MAX)

struct exchange;

struct exchange_passed {
    const struct http1_field *fields; /* must stay valid until the head is sent */
    size_t n;
    str request_id; /* the provider's; valid as long; or "" */
};

/* Call it once in an exchange. */
void passed_set_headers(struct exchange *ex, const struct http1_field *fields, size_t n);
bool passed_has(const struct exchange *ex, str name);
/* Writes all headers of the reply to `out`, which has room for PASSED_ALL_MAX. Returns their
 * number. */
size_t passed_merge_headers(const struct exchange *ex, struct server_header *out);
/* The header that SDKs of the client's dialect read a request's id from. */
str passed_id_name(const struct exchange *ex);
