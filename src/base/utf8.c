/* SPDX-License-Identifier: Apache-2.0 */
#include "base/utf8.h"

#include "base/utf8_scan.h"

#define ASCII_MASK 0x8080808080808080u
#define SCAN_MIN 64 /* bytes from which on many are looked at together */

enum look { LOOK_CHARACTER, LOOK_BAD, LOOK_SHORT };

/* Classifies the bytes at p: a character, an invalid prefix, or a prefix that the end of the input
 * cuts off. All the rules of RFC 3629 are in the lead byte and in the bounds it sets for the second
 * byte. */
static enum look utf8_look(const unsigned char *p, size_t n, size_t *size, uint32_t *code)
{
    unsigned char lead = p[0], low = 0x80, high = 0xBF;
    size_t want;
    uint32_t c;

    assert(n > 0);
    *size = 1;
    if (lead < 0x80) {
        *code = lead;
        return LOOK_CHARACTER;
    }
    if (lead < 0xC2 || lead > 0xF4)
        return LOOK_BAD;

    want = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    c = lead & (0x7Fu >> want);
    if (lead == 0xE0)
        low = 0xA0; /* below: overlong */
    else if (lead == 0xED)
        high = 0x9F; /* above: surrogates */
    else if (lead == 0xF0)
        low = 0x90; /* below: overlong */
    else if (lead == 0xF4)
        high = 0x8F; /* above: past U+10FFFF */

    for (size_t i = 1; i < want; i++) {
        if (i == n)
            return LOOK_SHORT;
        if (p[i] < low || p[i] > high)
            return LOOK_BAD;
        c = c << 6 | (p[i] & 0x3Fu);
        low = 0x80;
        high = 0xBF;
        *size = i + 1;
    }
    *code = c;
    assert_slow(*size == want && want <= n && c <= UTF8_CODE_MAX);
    return LOOK_CHARACTER;
}

static const unsigned char *utf8_bytes_of(str s)
{
    return (const unsigned char *)s.p;
}

/* Where the run of ASCII that begins at `at` ends. */
static size_t utf8_skip_ascii(str s, size_t at)
{
    uint64_t word;

    assert(at <= s.n);
    while (s.n - at >= sizeof word) {
        memcpy(&word, s.p + at, sizeof word);
        if (word & ASCII_MASK)
            break;
        at += sizeof word;
    }
    if (s.n - at < sizeof word && s.n >= sizeof word) { /* the rest, with some before it */
        memcpy(&word, s.p + s.n - sizeof word, sizeof word);
        if (!(word & ASCII_MASK))
            return s.n;
    }
    while (at < s.n && utf8_bytes_of(s)[at] < 0x80)
        at++;
    return at;
}

size_t utf8_decode(str s, uint32_t *out)
{
    size_t size;
    uint32_t code;

    if (s.n == 0 || utf8_look(utf8_bytes_of(s), s.n, &size, &code) != LOOK_CHARACTER)
        return 0;
    *out = code;
    return size;
}

size_t utf8_bad(str s)
{
    size_t size;
    uint32_t code;

    if (s.n == 0 || utf8_look(utf8_bytes_of(s), s.n, &size, &code) == LOOK_CHARACTER)
        return 0;
    return size;
}

static bool utf8_is_character(uint32_t code)
{
    return code <= UTF8_CODE_MAX && (code < 0xD800 || code > 0xDFFF);
}

size_t utf8_encode(uint32_t code, char out[UTF8_SIZE_MAX])
{
    static const unsigned char lead[] = {0, 0, 0xC0, 0xE0, 0xF0};
    size_t size = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;

    if (!utf8_is_character(code))
        return 0;
    for (size_t i = size - 1; i > 0; i--) {
        out[i] = (char)(0x80 | (code & 0x3F));
        code >>= 6;
    }
    out[0] = (char)(lead[size] | code);
    assert_slow(size <= UTF8_SIZE_MAX && (lead[size] & code) == 0);
    return size;
}

size_t utf8_valid_size(str s)
{
    size_t at, size;
    uint32_t code;

    if (s.n >= SCAN_MIN) {
        const char *bad = utf8_scan(s.p, s.p + s.n, simd_best());

        return bad ? (size_t)(bad - s.p) : s.n;
    }
    at = utf8_skip_ascii(s, 0);

    while (at < s.n) {
        if (utf8_look(utf8_bytes_of(s) + at, s.n - at, &size, &code) != LOOK_CHARACTER)
            return at;
        at += size;
        if (at < s.n && utf8_bytes_of(s)[at] < 0x80)
            at = utf8_skip_ascii(s, at);
    }
    assert(at == s.n);
    return at;
}

bool utf8_valid(str s)
{
    return utf8_valid_size(s) == s.n;
}

/* Where a count of characters ends, and how many of them there were. */
static size_t utf8_walk(str s, size_t count_max, size_t *count)
{
    size_t at = 0, n = 0, size;
    uint32_t code;

    while (at < s.n && n < count_max) {
        if (utf8_bytes_of(s)[at] < 0x80) {
            size_t left = count_max - n < s.n - at ? count_max - n : s.n - at;
            size_t end = utf8_skip_ascii((str){s.p, at + left}, at);

            n += end - at;
            at = end;
        } else {
            utf8_look(utf8_bytes_of(s) + at, s.n - at, &size, &code);
            at += size;
            n++;
        }
    }
    assert(at <= s.n);
    assert(n <= at && n <= count_max);
    *count = n;
    return at;
}

size_t utf8_count(str s)
{
    size_t count;

    utf8_walk(s, SIZE_MAX, &count);
    return count;
}

str utf8_cut_count(str s, size_t count_max)
{
    size_t count;

    return str_slice(s, 0, utf8_walk(s, count_max, &count));
}

str utf8_cut_size(str s, size_t size_max)
{
    if (s.n <= size_max)
        return s;
    s.n = size_max;
    s.n -= utf8_tail(s);
    return s;
}

size_t utf8_tail(str s)
{
    size_t size;
    uint32_t code;

    for (size_t n = 1; n < UTF8_SIZE_MAX && n <= s.n; n++) {
        const unsigned char *p = utf8_bytes_of(s) + s.n - n;

        if ((*p & 0xC0) == 0x80)
            continue;
        return utf8_look(p, n, &size, &code) == LOOK_SHORT ? n : 0;
    }
    return 0;
}

bool utf8_copy(struct buf *out, str s)
{
    bool whole = true;

    while (s.n > 0) {
        size_t good = utf8_valid_size(s);

        buf_add(out, str_slice(s, 0, good));
        s = str_slice(s, good, s.n);
        if (s.n == 0)
            break;
        assert(utf8_bad(s) > 0); /* else the loop would not end */
        buf_add(out, STR("\xEF\xBF\xBD"));
        s = str_slice(s, utf8_bad(s), s.n);
        whole = false;
    }
    return whole;
}

str utf8_storable(str s, struct arena *a)
{
    struct buf b;

    if (utf8_valid(s) && (s.n == 0 || !memchr(s.p, '\0', s.n)))
        return s;
    buf_init(&b, 4 * s.n + 16);
    (void)utf8_copy(&b, s);
    for (size_t at = 0; at < b.n; at++)
        if (b.p[at] == '\0')
            b.p[at] = ' ';
    return arena_move_buf(a, &b);
}

bool utf8_is_control(uint32_t code)
{
    return code < 0x20 || (code >= 0x7F && code < 0xA0) || code == 0x2028 || code == 0x2029 ||
           (code >= 0x202A && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069) ||
           code == 0x200E || code == 0x200F || code == 0x061C;
}

static bool utf8_is_blank(uint32_t c)
{
    return c == ' ' || (c >= '\t' && c <= '\r') || (c >= 0x1C && c <= 0x1F) || c == 0x85 ||
           c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 ||
           c == 0x202F || c == 0x205F || c == 0x3000;
}

str utf8_trim(str s)
{
    uint32_t code;
    size_t size;

    while ((size = utf8_decode(s, &code)) > 0 && utf8_is_blank(code))
        s = str_slice(s, size, s.n);
    while (s.n > 0) {
        size = 1;
        while (size < UTF8_SIZE_MAX && size < s.n && (s.p[s.n - size] & 0xC0) == 0x80)
            size++;
        if (utf8_decode(str_slice(s, s.n - size, s.n), &code) != size || !utf8_is_blank(code))
            break;
        assert(size <= s.n);
        s.n -= size;
    }
    return s;
}
