/* chars.c - which bytes may stand where, and small readers of text that need nothing else.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/simd.h"
#include "net/http1/internal.h"

/* clang-format off */
const uint8_t http1_chars[256] = {
     0,  0,  0,  0,  0,  0,  0,  0,  0, 16,  0,  0,  0,  0,  0,  0,
     0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,
    16, 29, 20, 17, 29, 29, 29, 29, 28, 28, 29, 29, 28, 29, 29, 20,
    31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 20, 28, 20, 28, 20, 20,
    20, 31, 31, 31, 31, 31, 31, 29, 29, 29, 29, 29, 29, 29, 29, 29,
    29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 20, 20, 20, 21, 29,
    21, 31, 31, 31, 31, 31, 31, 29, 29, 29, 29, 29, 29, 29, 29, 29,
    29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 20, 21, 20, 29,  0,
    16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16,
    16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16,
    16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16,
    16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16,
    16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16,
    16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16,
    16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16,
    16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16,
};
/* clang-format on */

const char *http1_text_end(const char *p, const char *end)
{
#if SIMD_HAS_16
    while (end - p >= 16) {
        simd16 v = simd_load(p);
        simd16 bad = simd_andnot(simd_below(v, 0x20), simd_eq(v, '\t'));
        uint32_t hit = simd_bits(simd_or(bad, simd_eq(v, 0x7F)));

        if (hit)
            return p + __builtin_ctz(hit);
        p += 16;
    }
#endif
    while (p < end && http1_is(*p, HTTP1_TEXT))
        p++;
    return p;
}

#if SIMD_HAS_16
/* A bit for each byte that is no letter, digit or hyphen: what nearly all names are made of. */
static uint32_t not_plain(simd16 v)
{
    simd16 upper = simd_and(simd_from(v, 'A'), simd_below(v, 'Z' + 1));
    simd16 lower = simd_and(simd_from(v, 'a'), simd_below(v, 'z' + 1));
    simd16 digit = simd_and(simd_from(v, '0'), simd_below(v, '9' + 1));

    return ~simd_bits(simd_or(simd_or(upper, lower), simd_or(digit, simd_eq(v, '-')))) & 0xFFFF;
}
#endif

const char *http1_token_end(const char *p, const char *end)
{
#if SIMD_HAS_16
    while (end - p >= 16) {
        uint32_t hit = not_plain(simd_load(p));

        if (hit == 0) {
            p += 16;
            continue;
        }
        p += __builtin_ctz(hit);
        if (!http1_is(*p, HTTP1_TOKEN))
            return p;
        p++;
    }
#endif
    while (p < end && http1_is(*p, HTTP1_TOKEN))
        p++;
    return p;
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

bool http1_same(str a, str b)
{
    if (a.n != b.n)
        return false;
    for (size_t i = 0; i < a.n; i++)
        if (a.p[i] != b.p[i] && lower(a.p[i]) != lower(b.p[i]))
            return false;
    return true;
}

bool http1_is_token(str s)
{
    return s.n > 0 && http1_token_end(s.p, s.p + s.n) == s.p + s.n;
}

bool http1_list_next(str *list, str *item)
{
    while (list->n > 0) {
        const char *comma = memchr(list->p, ',', list->n);
        size_t size = comma ? (size_t)(comma - list->p) : list->n;

        *item = str_trim(str_slice(*list, 0, size));
        *list = str_slice(*list, size + 1, list->n);
        if (item->n > 0)
            return true;
    }
    return false;
}

const char *http1_reason(int status)
{
    static const struct {
        int status;
        const char *reason;
    } known[] = {
        {100, "Continue"},
        {101, "Switching Protocols"},
        {200, "OK"},
        {201, "Created"},
        {202, "Accepted"},
        {204, "No Content"},
        {206, "Partial Content"},
        {301, "Moved Permanently"},
        {302, "Found"},
        {303, "See Other"},
        {304, "Not Modified"},
        {307, "Temporary Redirect"},
        {308, "Permanent Redirect"},
        {400, "Bad Request"},
        {401, "Unauthorized"},
        {402, "Payment Required"},
        {403, "Forbidden"},
        {404, "Not Found"},
        {405, "Method Not Allowed"},
        {406, "Not Acceptable"},
        {408, "Request Timeout"},
        {409, "Conflict"},
        {410, "Gone"},
        {411, "Length Required"},
        {412, "Precondition Failed"},
        {413, "Content Too Large"},
        {414, "URI Too Long"},
        {415, "Unsupported Media Type"},
        {416, "Range Not Satisfiable"},
        {417, "Expectation Failed"},
        {421, "Misdirected Request"},
        {422, "Unprocessable Content"},
        {424, "Failed Dependency"},
        {426, "Upgrade Required"},
        {428, "Precondition Required"},
        {429, "Too Many Requests"},
        {431, "Request Header Fields Too Large"},
        {499, "Client Closed Request"},
        {500, "Internal Server Error"},
        {501, "Not Implemented"},
        {502, "Bad Gateway"},
        {503, "Service Unavailable"},
        {504, "Gateway Timeout"},
        {505, "HTTP Version Not Supported"},
        {507, "Insufficient Storage"},
        {529, "Site Is Overloaded"},
    };

    for (size_t i = 0; i < COUNT_OF(known); i++)
        if (known[i].status == status)
            return known[i].reason;
    return "";
}
