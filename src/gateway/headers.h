/* headers.h - which headers and query parameters pass between a client and a provider.
 *
 *     headers_add_query(head->query, &target)               ?beta=true, without credentials
 *     headers_add_request(head, same, &lines, e)            "name: value\r\n" for each that passes
 *     n = headers_copy_reply(head, key, &arena, &fields)    those that the client may see
 *
 * Every header passes unless a row of the tables in headers.c says otherwise: provider and client
 * see each other as they would without the gateway. docs/reference/gateway.md has the list. Order
 * and repetition are kept. Names and values come from http1.h, which refuses control characters, so
 * no line can be injected.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "net/http1.h"

#define HEADERS_CONNECTION_MAX 16   /* names that a Connection header may list */
#define HEADERS_REPLY_MAX 64        /* headers of a reply that reach the client */
#define HEADERS_REPLY_SIZE_MAX 8192 /* their total size in bytes */
#define HEADERS_SECRETS_MAX 16
#define HEADERS_PARAM_MAX 128 /* bytes of a parameter's name; a longer one is dropped */

/* Appends the parameters that pass to a target, after '?' or '&'. */
void headers_add_query(str query, struct buf *target);
/* `same`: the provider speaks the client's dialect. False: Connection lists too many names. The
 * caller checks whether the buffer is full. */
bool headers_add_request(const struct http1_head *h, bool same, struct buf *lines,
                         struct err *e) MUST_USE;
/* How many fields of the reply pass; they are copied into the arena. A value that holds `key` (the
 * provider's; may be empty) does not pass. */
size_t headers_copy_reply(const struct http1_head *h, str key, struct arena *a,
                          const struct http1_field **out);

/* For requests that pass unchanged: all headers but hop-by-hop ones and those that the HTTP client
 * writes itself; credentials pass. `plain`: the reply must not be packed. */
bool headers_add_all(const struct http1_head *h, bool plain, struct buf *lines,
                     struct err *e) MUST_USE;
/* The credentials of a request: values of such headers, cookies and parameters, each without its
 * scheme or name. How many there are, at most HEADERS_SECRETS_MAX; lent by the head. */
size_t headers_find_secrets(const struct http1_head *h, str out[HEADERS_SECRETS_MAX]);
/* Whether a header of a reply that passes unchanged is for this connection only. */
bool headers_is_hop(str name);
