/* client_head.c - see client_head.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "net/client_head.h"

static char *client_head_put_number(char *p, uint64_t n)
{
    size_t size = str_u64_size(n);

    str_put_u64(p, size, n);
    return p + size;
}

/* The parts of a request's head; its last lines are the length, if it has one. */
#define VERSION_AND_HOST " HTTP/1.1\r\nHost: "
#define LENGTH "Content-Length: "

static bool client_head_has_length(const struct client_request *r)
{
    return r->body.n > 0 || str_eq(r->method, STR("POST")) || str_eq(r->method, STR("PUT")) ||
           str_eq(r->method, STR("PATCH"));
}

size_t client_head_size(const struct client_request *r)
{
    size_t length = sizeof LENGTH - 1 + str_u64_size(r->body.n) + 2;

    return r->method.n + 1 + r->target.n + sizeof VERSION_AND_HOST - 1 + r->url->authority.n + 2 +
           r->known.n + r->headers.n + (client_head_has_length(r) ? length : 0) + 2;
}

char *client_head_put(char *p, const struct client_request *r)
{
    p = str_put(p, r->method);
    *p++ = ' ';
    p = str_put(p, r->target);
    p = str_put(p, STR(VERSION_AND_HOST));
    p = str_put(p, r->url->authority);
    p = str_put(p, STR("\r\n"));
    p = str_put(p, r->known);
    p = str_put(p, r->headers);
    if (client_head_has_length(r)) {
        p = str_put(p, STR(LENGTH));
        p = client_head_put_number(p, r->body.n);
        p = str_put(p, STR("\r\n"));
    }
    return str_put(p, STR("\r\n"));
}

char *client_head_put_key(char *p, const struct client_url *url)
{
    bool bracket = memchr(url->host.p, ':', url->host.n) != NULL;

    *p++ = url->tls ? 's' : 'p';
    if (bracket)
        *p++ = '[';
    p = str_put(p, url->host);
    if (bracket)
        *p++ = ']';
    *p++ = ':';
    return client_head_put_number(p, url->port);
}
