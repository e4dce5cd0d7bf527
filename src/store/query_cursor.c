/* query_cursor.c - where a list was left, as an opaque text.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/utf8.h"
#include "store/query_build.h"

#define CURSOR_MAX 4096

str cursor_make(struct arena *a, str sort, str value, str id)
{
    static const char digits[] = "0123456789abcdef";
    str plain = arena_printf(
        a, STR_FMT "|" STR_FMT "|" STR_FMT, STR_ARG(sort), STR_ARG(value), STR_ARG(id));
    char *hex = arena_alloc(a, plain.n * 2 + 1);

    assert(!memchr(sort.p, '|', sort.n));
    for (size_t i = 0; i < plain.n; i++) {
        hex[2 * i] = digits[(unsigned char)plain.p[i] >> 4];
        hex[2 * i + 1] = digits[plain.p[i] & 15];
    }
    return (str){hex, plain.n * 2};
}

static int cursor_hex_value(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool cursor_bad(struct err *e)
{
    return err_input(e, "cursor: it is not a cursor of this list");
}

bool cursor_read(struct arena *a, str cursor, str sort, str *value, str *id, struct err *e)
{
    char *plain;
    size_t one, two;
    str text;

    if (cursor.n % 2 || cursor.n > CURSOR_MAX)
        return cursor_bad(e);
    plain = arena_alloc(a, cursor.n / 2 + 1);
    for (size_t i = 0; i < cursor.n; i += 2) {
        int high = cursor_hex_value(cursor.p[i]), low = cursor_hex_value(cursor.p[i + 1]);

        if (high < 0 || low < 0)
            return cursor_bad(e);
        plain[i / 2] = (char)(high << 4 | low);
    }
    text = (str){plain, cursor.n / 2};
    if (!utf8_valid(text) || memchr(plain, '\0', text.n)) /* no database would take it */
        return cursor_bad(e);
    one = str_find(text, STR("|"));
    two = one == STR_NONE ? one : str_find(str_slice(text, one + 1, text.n), STR("|"));
    if (two == STR_NONE)
        return cursor_bad(e);
    if (!str_eq(str_slice(text, 0, one), sort))
        return err_input(e, "cursor: it belongs to a list in another order");
    assert(one + two + 2 <= text.n);
    *value = arena_dup(a, str_slice(text, one + 1, one + 1 + two));
    *id = str_slice(text, one + two + 2, text.n);
    return true;
}

str cursor_make_pair(struct arena *a, str sort, int64_t x, int64_t y)
{
    return cursor_make(
        a, sort, arena_printf(a, "%lld", (long long)x), arena_printf(a, "%lld", (long long)y));
}

bool cursor_read_pair(struct arena *a, str cursor, str sort, int64_t *x, int64_t *y, struct err *e)
{
    str value, id;

    return cursor_read(a, cursor, sort, &value, &id, e) &&
           ((cursor_i64(value, x) && cursor_i64(id, y)) || cursor_bad(e));
}

bool cursor_i64(str text, int64_t *out)
{
    bool minus = text.n > 0 && text.p[0] == '-';
    uint64_t n;

    if (!str_u64(minus ? str_slice(text, 1, text.n) : text, &n) || n > INT64_MAX)
        return false;
    *out = minus ? -(int64_t)n : (int64_t)n;
    return true;
}
