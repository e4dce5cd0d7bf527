/* passed.h - headers of a provider's reply on their way to the client.
 *
 * They follow ours in the head. The provider's id of the call is what its support asks for, so it
 * is given under the name that SDKs of the client's dialect read, whatever the provider calls it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "gateway/headers.h"
#include "net/server.h"

#define SERVE_HEADERS_MAX 16 /* of our own */
#define PASSED_ALL_MAX (SERVE_HEADERS_MAX + HEADERS_REPLY_MAX)

struct exchange;

struct exchange_passed {
    const struct http1_field *fields; /* lent until the head is sent */
    size_t n;
    str request_id; /* the provider's, lent likewise; or "" */
};

/* Once an exchange. */
void passed_set_headers(struct exchange *ex, const struct http1_field *fields, size_t n);
/* All headers of the reply; `out` has room for PASSED_ALL_MAX. Returns how many. */
size_t passed_merge_headers(const struct exchange *ex, struct server_header *out);
/* The header that SDKs of the client's dialect read a request's id from. */
str passed_id_name(const struct exchange *ex);
