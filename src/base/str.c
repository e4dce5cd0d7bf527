/* SPDX-License-Identifier: Apache-2.0 */
#include "base/str.h"
#include "base/ctype.h"

#include <strings.h>

const uint64_t str_powers[20] = {
    0,
    10,
    100,
    1000,
    10000,
    100000,
    1000000,
    10000000,
    100000000,
    1000000000,
    10000000000,
    100000000000,
    1000000000000,
    10000000000000,
    100000000000000,
    1000000000000000,
    10000000000000000,
    100000000000000000,
    1000000000000000000,
    10000000000000000000u,
};

const char str_pairs[201] = "00010203040506070809101112131415161718192021222324"
                            "25262728293031323334353637383940414243444546474849"
                            "50515253545556575859606162636465666768697071727374"
                            "75767778798081828384858687888990919293949596979899";

int str_cmp(str a, str b)
{
    size_t n = a.n < b.n ? a.n : b.n;
    int c = memcmp(a.p, b.p, n);

    return c ? c : (a.n > b.n) - (a.n < b.n);
}

int str_order(const void *a, const void *b)
{
    return str_cmp(*(const str *)a, *(const str *)b);
}

int str_order_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

bool str_eq_nocase(str a, str b)
{
    return a.n == b.n && strncasecmp(a.p, b.p, a.n) == 0;
}

bool str_ends(str s, str suffix)
{
    return s.n >= suffix.n && memcmp(s.p + s.n - suffix.n, suffix.p, suffix.n) == 0;
}

static size_t str_place_by(str s, const char *words, bool nocase)
{
    size_t n;

    for (size_t place = 0; *words; words += n + (words[n] == ' '), place++) {
        n = strcspn(words, " ");
        assert(n > 0); /* single spaces, none at the ends */
        if (n == s.n && (nocase ? strncasecmp(words, s.p, n) == 0 : str_same(words, s.p, n)))
            return place;
    }
    return STR_NONE;
}

size_t str_place(str s, const char *words)
{
    return str_place_by(s, words, false);
}

bool str_is_one_of(str s, const char *words)
{
    return str_place(s, words) != STR_NONE;
}

bool str_is_one_of_nocase(str s, const char *words)
{
    return str_place_by(s, words, true) != STR_NONE;
}

str str_cut(str *rest, char mark)
{
    const char *hit = rest->n ? memchr(rest->p, mark, rest->n) : NULL;
    str front = hit ? (str){rest->p, (size_t)(hit - rest->p)} : *rest;

    *rest = hit ? str_slice(*rest, front.n + 1, rest->n) : STR("");
    return front;
}

char *str_copy(str s)
{
    char *p = base_alloc(s.n + 1);

    *str_put(p, s) = '\0';
    return p;
}

size_t str_find_last(str s, char c)
{
    while (s.n > 0 && s.p[s.n - 1] != c)
        s.n--;
    return s.n - 1;
}

size_t str_find(str s, str needle)
{
    const char *hit;

    if (needle.n == 0)
        return 0;
    hit = memmem(s.p, s.n, needle.p, needle.n);
    return hit ? (size_t)(hit - s.p) : STR_NONE;
}

size_t str_find_rare(str s, str needle, size_t rare)
{
    size_t at = rare;

    assert(rare < needle.n);
    while (s.n >= needle.n && at <= s.n - needle.n + rare) {
        const char *hit = memchr(s.p + at, needle.p[rare], s.n - needle.n + rare + 1 - at);

        if (!hit)
            break;
        at = (size_t)(hit - s.p);
        if (memcmp(s.p + at - rare, needle.p, needle.n) == 0)
            return at - rare;
        at++;
    }
    return STR_NONE;
}

str str_trim(str s)
{
    while (s.n > 0 && char_is_space(s.p[s.n - 1]))
        s.n--;
    while (s.n > 0 && char_is_space(s.p[0]))
        s.p++, s.n--;
    return s;
}

bool str_u64(str s, uint64_t *out)
{
    uint64_t v = 0;

    if (s.n == 0)
        return false;
    for (size_t i = 0; i < s.n; i++) {
        unsigned digit = (unsigned char)s.p[i] - (unsigned)'0';

        /* 19 digits always fit. */
        if (digit > 9 || (i >= 19 && v > (UINT64_MAX - digit) / 10))
            return false;
        v = v * 10 + digit;
    }
    *out = v;
    return true;
}
