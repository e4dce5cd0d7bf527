/* Every function of utf8.h, compared with the simplest correct implementation.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/utf8.h"

#define INPUT_MAX 512 /* each cut is tried */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The size of the character at p, by its bits; 0: no character. */
static size_t plain_decode(const uint8_t *p, size_t n, uint32_t *code)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t size = n == 0                  ? 0
                  : (p[0] & 0x80) == 0    ? 1
                  : (p[0] & 0xE0) == 0xC0 ? 2
                  : (p[0] & 0xF0) == 0xE0 ? 3
                  : (p[0] & 0xF8) == 0xF0 ? 4
                                          : 0;

    if (size == 0 || size > n)
        return 0;
    *code = size == 1 ? p[0] : p[0] & (0x3Fu >> (size - 1));
    for (size_t i = 1; i < size; i++) {
        if ((p[i] & 0xC0) != 0x80)
            return 0;
        *code = *code * 64 + (p[i] & 0x3F);
    }
    if (*code < least[size] || *code > 0x10FFFF || (*code >= 0xD800 && *code <= 0xDFFF))
        return 0;
    return size;
}

/* Whether bytes are an incomplete character. It is enough to try the least and the greatest
 * bytes that could follow. */
static bool begins_character(const uint8_t *p, size_t n)
{
    static const int fill[] = {0x80, 0xBF};
    uint8_t whole[4];
    uint32_t code;

    if (n == 0 || n > 3)
        return false;
    for (size_t i = 0; i < COUNT_OF(fill); i++) {
        memset(whole, fill[i], sizeof whole);
        memcpy(whole, p, n);
        if (plain_decode(whole, 4, &code) > n)
            return true;
    }
    return false;
}

static size_t plain_bad(const uint8_t *p, size_t n)
{
    size_t size = 1;

    while (size < n && begins_character(p, size + 1))
        size++;
    return size;
}

static size_t plain_tail(str s)
{
    for (size_t n = 3; n > 0; n--)
        if (n <= s.n && begins_character((const uint8_t *)s.p + s.n - n, n))
            return n;
    return 0;
}

static void check_pieces(str s, str whole)
{
    for (size_t cut = 0; cut <= s.n; cut++) {
        str front = str_slice(s, 0, cut), first = utf8_cut_size(s, cut);
        struct buf out;

        assert(utf8_tail(front) == plain_tail(front));
        assert(first.n <= cut && cut - first.n < 4 && (cut < s.n || first.n == s.n));
        first = str_slice(s, 0, cut - utf8_tail(front));
        buf_init(&out, 3 * INPUT_MAX);
        (void)utf8_copy(&out, first);
        (void)utf8_copy(&out, str_slice(s, first.n, s.n));
        assert(str_eq(buf_str(&out), whole));
        buf_release(&out);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    str s = {(const char *)data, size < INPUT_MAX ? size : INPUT_MAX};
    size_t count = 0, good = STR_NONE;
    struct buf want, got;

    buf_init(&want, 3 * INPUT_MAX);
    buf_init(&got, 3 * INPUT_MAX);
    for (size_t at = 0, n; at < s.n; at += n, count++) {
        str rest = str_slice(s, at, s.n);
        uint32_t code = 0, seen = 0;
        char out[UTF8_SIZE_MAX];

        assert(str_eq(utf8_cut_count(s, count), str_slice(s, 0, at)));
        n = plain_decode(data + at, s.n - at, &code);
        assert(utf8_decode(rest, &seen) == n && seen == (n ? code : 0));
        if (n > 0) {
            assert(utf8_bad(rest) == 0);
            assert(utf8_encode(code, out) == n && memcmp(out, rest.p, n) == 0);
            buf_add(&want, str_slice(rest, 0, n));
        } else {
            good = good == STR_NONE ? at : good;
            n = plain_bad(data + at, s.n - at);
            assert(utf8_bad(rest) == n);
            buf_add(&want, STR("\xEF\xBF\xBD"));
        }
    }
    assert(utf8_count(s) == count);
    assert(utf8_valid_size(s) == (good == STR_NONE ? s.n : good));
    assert(utf8_copy(&got, s) == (good == STR_NONE));
    assert(str_eq(buf_str(&got), buf_str(&want)) && utf8_valid(buf_str(&got)));
    check_pieces(s, buf_str(&want));
    buf_release(&got);
    buf_release(&want);
    return 0;
}
