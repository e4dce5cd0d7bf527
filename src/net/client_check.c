/* client_check.c - see client_check.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "net/client_check.h"

#include "base/simd.h"

/* The first byte that is invalid in a line, or the end. */
static const char *client_check_line_end(const char *p, const char *end)
{
#if SIMD_HAS_16
    for (; end - p >= 16; p += 16) {
        simd16 v = simd_load(p);
        uint32_t hit =
            simd_bits(simd_or(simd_or(simd_eq(v, '\r'), simd_eq(v, '\n')), simd_eq(v, 0)));

        if (hit)
            return p + __builtin_ctz(hit);
    }
#endif
    while (p < end && *p != '\r' && *p != '\n' && *p)
        p++;
    return p;
}

/* Lines that end in CRLF, nowhere else a CR or LF, each beginning with a name. */
bool client_lines(str s)
{
    const char *p = s.p, *end = s.p + s.n, *q;

    for (; p < end; p = q + 2) {
        q = client_check_line_end(p, end);
        if (q == p || end - q < 2 || q[0] != '\r' || q[1] != '\n' || *p == ' ' || *p == '\t' ||
            *p == ':')
            return false;
    }
    return true;
}

bool client_check(const struct client_request *r, bool has_tls, struct err *e)
{
    if (r->url->tls && !has_tls)
        return err_input(e, "https needs TLS, which this client does not have");
    if (r->method.n == 0)
        return err_input(e, "the request has no method");
    for (size_t i = 0; i < r->method.n; i++)
        if (r->method.p[i] < 'A' || r->method.p[i] > 'Z')
            return err_input(e, "the request's method is not a word of capital letters");
    if (r->target.n == 0 || r->target.p[0] != '/')
        return err_input(e, "the request's target does not begin with a slash");
    if (!http1_is_text(r->target) || memchr(r->target.p, ' ', r->target.n) ||
        memchr(r->target.p, '\t', r->target.n))
        return err_input(e, "the request's target holds a space or a control");
    if (r->headers.n > 0 && !str_ends(r->headers, STR("\r\n")))
        return err_input(e, "the request's headers do not end in CRLF");
    if (!client_lines(r->headers))
        return err_input(e, "the request's headers are no lines of name and value");
    return true;
}
