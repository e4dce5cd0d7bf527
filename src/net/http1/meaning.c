/* meaning.c - what a head says: where to, how it is framed, whether the connection is kept.
 *
 * Whatever two readers of one head could understand differently is refused (RFC 9112, section 11):
 * a request that one of them sees in what is a body to the other is how requests are smuggled.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "net/http1/internal.h"

#define LENGTH_DIGITS_MAX 18 /* always fits in 63 bits */

/* ---- target and host ---- */

static bool http1_all_are(str s, unsigned kind)
{
    return http1_span(s.p, s.p + s.n, kind) == s.p + s.n;
}

static bool http1_is_port(str s)
{
    unsigned value = 0;

    if (s.n > 5)
        return false;
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] < '0' || s.p[i] > '9')
            return false;
        value = value * 10 + (unsigned)(s.p[i] - '0');
    }
    return value <= 65535;
}

/* "[::1]:8080": between the brackets what an address may have, no more is checked. */
static bool http1_is_bracketed(str s)
{
    size_t close = str_find(s, STR("]"));
    str inside;

    if (close == STR_NONE || close < 3)
        return false;
    inside = str_slice(s, 1, close);
    for (size_t i = 0; i < inside.n; i++)
        if (!http1_is(inside.p[i], HTTP1_HEX) && inside.p[i] != ':' && inside.p[i] != '.')
            return false;
    s = str_slice(s, close + 1, s.n);
    return s.n == 0 || (s.p[0] == ':' && http1_is_port(str_slice(s, 1, s.n)));
}

bool http1_is_host(str s)
{
    size_t n;

    if (s.n > 0 && s.p[0] == '[')
        return http1_is_bracketed(s);
    n = (size_t)(http1_span(s.p, s.p + s.n, HTTP1_HOST) - s.p);
    return n > 0 && (n == s.n || (s.p[n] == ':' && http1_is_port(str_slice(s, n + 1, s.n))));
}

static void http1_split_query(struct http1_head *h, str path)
{
    const char *mark = memchr(path.p, '?', path.n);
    size_t size = mark ? (size_t)(mark - path.p) : path.n;

    h->path = str_slice(path, 0, size);
    if (mark)
        h->query = str_slice(path, size + 1, path.n);
    if (h->path.n == 0)
        h->path = STR("/");
}

/* "http://host/path?query": how a request to a proxy looks, which a server must take too. */
static bool http1_read_absolute(struct http1_reading *r)
{
    str t = r->head->target, rest;
    size_t scheme = str_find(t, STR("://")), end = 0;

    if (scheme == STR_NONE || (!http1_same(str_slice(t, 0, scheme), STR("http")) &&
                               !http1_same(str_slice(t, 0, scheme), STR("https"))))
        return http1_bad(r, 400, "the target is not a path");
    rest = str_slice(t, scheme + 3, t.n);
    while (end < rest.n && rest.p[end] != '/' && rest.p[end] != '?')
        end++;
    r->head->host = str_slice(rest, 0, end);
    if (!http1_is_host(r->head->host))
        return http1_bad(r, 400, "the target has no proper host");
    http1_split_query(r->head, str_slice(rest, end, rest.n));
    return true;
}

bool http1_target(struct http1_reading *r)
{
    struct http1_head *h = r->head;

    if (str_eq(h->method, STR("CONNECT")))
        return http1_bad(r, 501, "CONNECT is not done here");
    if (h->target.n == 0 || !http1_all_are(h->target, HTTP1_TARGET))
        return http1_bad(r, 400, "the target has a character that may not be there");
    if (h->target.p[0] == '/') {
        http1_split_query(h, h->target);
        return true;
    }
    if (str_eq(h->target, STR("*")) && str_eq(h->method, STR("OPTIONS"))) {
        h->path = h->target;
        return true;
    }
    return http1_read_absolute(r);
}

/* ---- the fields that mean something here ---- */

static bool http1_see_host(struct http1_reading *r, str value)
{
    if (!r->head->is_request)
        return true;
    if (r->host)
        return http1_bad(r, 400, "there is more than one Host");
    r->host = true;
    if (!http1_is_host(value))
        return http1_bad(r, 400, "Host is not a host");
    if (r->head->host.n == 0)
        r->head->host = value;
    return true;
}

static bool http1_see_length(struct http1_reading *r, str value)
{
    if (r->length)
        return http1_bad(r, 400, "there is more than one Content-Length");
    r->length = true;
    if (value.n > LENGTH_DIGITS_MAX || !str_u64(value, &r->head->content_length))
        return http1_bad(r, 400, "Content-Length is not a number");
    return true;
}

static bool http1_see_encoding(struct http1_reading *r, str value)
{
    if (r->chunked)
        return http1_bad(r, 400, "there is more than one Transfer-Encoding");
    r->chunked = true;
    if (!http1_same(value, STR("chunked")))
        return http1_bad(r, 501, "Transfer-Encoding may only be chunked");
    return true;
}

static bool http1_see_connection(struct http1_reading *r, str value)
{
    str option;

    while (http1_list_next(&value, &option)) {
        r->close |= http1_same(option, STR("close"));
        r->keep |= http1_same(option, STR("keep-alive"));
        r->upgrade_option |= http1_same(option, STR("upgrade"));
    }
    return true;
}

static bool http1_see_upgrade(struct http1_reading *r, str value)
{
    r->upgrade_field |= value.n > 0;
    return true;
}

static bool http1_see_expect(struct http1_reading *r, str value)
{
    if (!r->head->is_request)
        return true;
    if (!http1_same(value, STR("100-continue")))
        return http1_bad(r, 417, "Expect may only be 100-continue");
    r->head->expect_continue = r->head->minor > 0;
    return true;
}

bool http1_field_read(struct http1_reading *r, const struct http1_field *f)
{
    /* No two have the same size, so the size is the index. */
    static const struct {
        str name;
        bool (*see)(struct http1_reading *, str);
    } known[] = {
        [4] = {STR_INIT("host"), http1_see_host},
        [6] = {STR_INIT("expect"), http1_see_expect},
        [7] = {STR_INIT("upgrade"), http1_see_upgrade},
        [10] = {STR_INIT("connection"), http1_see_connection},
        [14] = {STR_INIT("content-length"), http1_see_length},
        [17] = {STR_INIT("transfer-encoding"), http1_see_encoding},
    };
    size_t n = f->name.n;

    if (n >= COUNT_OF(known) || !known[n].see || !http1_same(f->name, known[n].name))
        return true;
    return known[n].see(r, f->value);
}

/* ---- all of them together ---- */

static bool http1_read_framing(struct http1_reading *r)
{
    struct http1_head *h = r->head;

    assert(h->minor == 0 || h->minor == 1);
    if (r->chunked && r->length)
        return http1_bad(r, 400, "there are both Content-Length and Transfer-Encoding");
    if (r->chunked && h->minor == 0)
        return http1_bad(r, 400, "HTTP/1.0 has no Transfer-Encoding");
    h->framing = r->chunked ? HTTP1_CHUNKED : r->length ? HTTP1_LENGTH : HTTP1_NONE;
    h->keep_alive = !r->close && (h->minor > 0 || r->keep);
    h->upgrade = r->upgrade_option && r->upgrade_field;
    return true;
}

bool http1_request_done(struct http1_reading *r)
{
    assert(r->head->is_request);
    if (!r->host && r->head->minor > 0)
        return http1_bad(r, 400, "there is no Host");
    return http1_read_framing(r);
}

bool http1_reply_done(struct http1_reading *r, bool no_body)
{
    struct http1_head *h = r->head;

    assert(!h->is_request && h->status >= 100 && h->status <= 999);
    if (!http1_read_framing(r))
        return false;
    if (no_body || h->status < 200 || h->status == 204 || h->status == 304)
        h->framing = HTTP1_NONE;
    else if (h->framing == HTTP1_NONE)
        h->framing = HTTP1_TO_CLOSE;
    if (h->framing == HTTP1_TO_CLOSE)
        h->keep_alive = false;
    return true;
}
