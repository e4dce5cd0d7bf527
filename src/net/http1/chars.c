/* chars.c - which bytes are valid where, and small parsers that need nothing else.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
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

const char *http1_span(const char *p, const char *end, unsigned kind)
{
    while (p < end && http1_is(*p, kind))
        p++;
    return p;
}

/* Up to eight bytes as a number; if there are fewer, it may contain some twice. */
static inline uint64_t http1_chars_word_of(const char *p, size_t n)
{
    uint64_t whole;
    uint32_t front, back;

    if (n >= 8) {
        memcpy(&whole, p, 8);
        return whole;
    }
    if (n >= 4) {
        memcpy(&front, p, 4);
        memcpy(&back, p + n - 4, 4);
        return front | (uint64_t)back << 32;
    }
    if (n == 0)
        return 0;
    return (uint64_t)(unsigned char)p[0] | (uint64_t)(unsigned char)p[n / 2] << 8 |
           (uint64_t)(unsigned char)p[n - 1] << 16;
}

/* Words may differ only in the case bit, and only in letters: one sum carries into a byte's top bit
 * for bytes from `a`, the other for bytes after `z`. */
static inline bool http1_same_word(uint64_t x, uint64_t y)
{
    const uint64_t each = 0x0101010101010101, bits_of_case = each * 0x20, top = each * 0x80;
    uint64_t differ = x ^ y, low = (x | bits_of_case) & ~top;
    uint64_t from_a = low + each * (0x80 - 'a'), past_z = low + each * (0x80 - 'z' - 1);

    return (differ & ~bits_of_case) == 0 && ((differ << 2) & ~(from_a & ~past_z & ~x & top)) == 0;
}

bool http1_same_size(const char *a, const char *b, size_t n)
{
    for (; n > 8; a += 8, b += 8, n -= 8)
        if (!http1_same_word(http1_chars_word_of(a, 8), http1_chars_word_of(b, 8)))
            return false;
    return http1_same_word(http1_chars_word_of(a, n), http1_chars_word_of(b, n));
}

str http1_bare_host(str host)
{
    size_t colon = host.n;

    if (host.n && host.p[0] == '[')
        return str_slice(host, 1, str_find(host, STR("]")));
    while (colon > 0 && host.p[colon - 1] != ':')
        colon--;
    return colon ? str_slice(host, 0, colon - 1) : host;
}

bool http1_is_token(str s)
{
    return s.n > 0 && http1_token_end(s.p, s.p + s.n) == s.p + s.n;
}

bool http1_is_text(str s)
{
    return http1_text_end(s.p, s.p + s.n) == s.p + s.n;
}

bool http1_list_next(str *list, str *item)
{
    while (list->n > 0) {
        *item = str_trim(str_cut(list, ','));
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
