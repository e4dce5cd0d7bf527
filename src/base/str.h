/* str.h - a borrowed view of bytes.
 *
 *     str s = STR("a literal");
 *     if (str_starts(s, STR("a ")))
 *         s = str_slice(s, 2, s.n);
 *     printf(STR_FMT "\n", STR_ARG(s));
 *
 * A str owns nothing and need not end in NUL. An empty str points at "", never at NULL. To use a
 * str after the call that passed it, copy it into an arena (arena_dup).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/base.h"

#include <endian.h>

typedef struct str {
    const char *p;
    size_t n;
} str;

#define STR(lit) ((str){"" lit, sizeof(lit) - 1})
/* The same as a constant initializer, for static tables. */
#define STR_INIT(lit)                                                                              \
    {                                                                                              \
        "" lit, sizeof(lit) - 1                                                                    \
    }
#define STR_FMT "%.*s"
#define STR_ARG(s) (int)((s).n < INT32_MAX ? (s).n : INT32_MAX), (s).p
#define STR_NONE ((size_t)-1) /* str_find: not found */

/* The view of a C string; empty for NULL. */
/* Inline, so that the length of a literal is known when it is compiled. */
static inline str str_c(const char *z)
{
    return z ? (str){z, strlen(z)} : (str){"", 0};
}

/* Whether n bytes are equal. Names are short, and calling memcmp costs more than the comparison. */
static inline bool str_same(const char *a, const char *b, size_t n)
{
    uint64_t a8, b8, a9, b9;
    uint32_t a4, b4, a5, b5;

    if (n > 16)
        return memcmp(a, b, n) == 0;
    if (n >= 8) {
        memcpy(&a8, a, 8);
        memcpy(&b8, b, 8);
        memcpy(&a9, a + n - 8, 8);
        memcpy(&b9, b + n - 8, 8);
        return ((a8 ^ b8) | (a9 ^ b9)) == 0;
    }
    if (n >= 4) {
        memcpy(&a4, a, 4);
        memcpy(&b4, b, 4);
        memcpy(&a5, a + n - 4, 4);
        memcpy(&b5, b + n - 4, 4);
        return ((a4 ^ b4) | (a5 ^ b5)) == 0;
    }
    return n == 0 || (a[0] == b[0] && a[n / 2] == b[n / 2] && a[n - 1] == b[n - 1]);
}

/* Writes s at p and returns the address after it. Short texts are copied with two reads and two
 * writes that may overlap. */
static inline char *str_put(char *p, str s)
{
    uint64_t a8, b8;
    uint32_t a4, b4;

    if (s.n > 16) {
        memcpy(p, s.p, s.n);
    } else if (s.n >= 8) {
        memcpy(&a8, s.p, 8);
        memcpy(&b8, s.p + s.n - 8, 8);
        memcpy(p, &a8, 8);
        memcpy(p + s.n - 8, &b8, 8);
    } else if (s.n >= 4) {
        memcpy(&a4, s.p, 4);
        memcpy(&b4, s.p + s.n - 4, 4);
        memcpy(p, &a4, 4);
        memcpy(p + s.n - 4, &b4, 4);
    } else if (s.n > 0) {
        char mid = s.p[s.n / 2], last = s.p[s.n - 1];

        p[0] = s.p[0];
        p[s.n / 2] = mid;
        p[s.n - 1] = last;
    }
    return p + s.n;
}

static inline bool str_eq(str a, str b)
{
    return a.n == b.n && str_same(a.p, b.p, a.n);
}

/* Bytes compared as unsigned; a prefix sorts before longer texts. */
int str_cmp(str a, str b);
/* For qsort: two elements of a list of str, or of const char *. */
int str_order(const void *a, const void *b);
int str_order_names(const void *a, const void *b);

static inline bool str_starts(str s, str prefix)
{
    return s.n >= prefix.n && memcmp(s.p, prefix.p, prefix.n) == 0;
}

bool str_ends(str s, str suffix);
/* Whether the texts are equal, ASCII letters in either case. */
bool str_eq_nocase(str a, str b);

/* Bytes from `from` up to but not including `to`; both are limited to the length of s. */
static inline str str_slice(str s, size_t from, size_t to)
{
    if (to > s.n)
        to = s.n;
    if (from > to)
        from = to;
    return (str){s.p + from, to - from};
}

/* The position of the first needle in s, or STR_NONE. */
size_t str_find(str s, str needle);
/* The position of the last such byte in s, or STR_NONE. */
size_t str_find_last(str s, char c);
/* The same, several times faster if the byte needle.p[rare] is rare in such texts. */
size_t str_find_rare(str s, str needle, size_t rare);

/* Whether s is one of the words, which are separated by single spaces: "GET POST". */
bool str_is_one_of(str s, const char *words);
/* The same, ASCII letters in either case. */
bool str_is_one_of_nocase(str s, const char *words);
/* The place of s among such words, the first being 0, or STR_NONE. */
size_t str_place(str s, const char *words);
/* Takes the front of *rest up to the first mark, and the mark; all of it if it has no mark. */
str str_cut(str *rest, char mark);

/* A copy with a NUL after it, for free(). */
char *str_copy(str s) MUST_USE;

/* Without the ASCII white space (space, tab, LF, VT, FF, CR) at both ends. */
str str_trim(str s);
static inline bool str_is_blank(str s)
{
    return str_trim(s).n == 0;
}

/* The number of decimal digits of a number, and a function that writes its lowest digits at p. */
extern const uint64_t str_powers[20]; /* powers of ten; the first is 0, because 0 has one digit */
extern const char str_pairs[201];     /* "00", "01", ... */
static inline size_t str_u64_size(uint64_t n)
{
    /* The number of bits times slightly less than log10(2) is the number of digits, or one less. */
    size_t size = (size_t)(64 - __builtin_clzll(n | 1)) * 1233 >> 12;

    return size + (n >= str_powers[size]);
}

static inline void str_put_u64(char *p, size_t digits, uint64_t n)
{
    for (; digits > 1; n /= 100)
        memcpy(p + (digits -= 2), str_pairs + 2 * (n % 100), 2);
    if (digits)
        p[0] = (char)('0' + n % 10);
}

/* Writes eight lower-case hex digits at once: each half byte is moved to a separate byte, and
 * values above nine become letters. Returns the address after them. */
static inline char *str_put_hex(char *p, uint32_t n)
{
    const uint64_t each = 0x0101010101010101;
    uint64_t x = n;

    x = (x << 16 | x) & 0x0000FFFF0000FFFF;
    x = (x << 8 | x) & 0x00FF00FF00FF00FF;
    x = (x << 4 | x) & 0x0F0F0F0F0F0F0F0F;
    x += each * '0' + ((x + each * 6) >> 4 & each) * ('a' - '0' - 10);
    x = htobe64(x);
    memcpy(p, &x, 8);
    return p + 8;
}

/* Parses a decimal number: only digits, no sign, no space. False if s has another form or the
 * number does not fit. */
bool str_u64(str s, uint64_t *out) MUST_USE;
