/* str.h - a borrowed view of bytes.
 *
 *     str s = STR("a literal");
 *     if (str_starts(s, STR("a ")))
 *         s = str_slice(s, 2, s.n);
 *     printf(STR_FMT "\n", STR_ARG(s));
 *
 * A str owns nothing and need not end in NUL. An empty one points at "", never at NULL. To keep one
 * past the call that lent it, copy it into an arena (arena_dup).
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
/* The same where a constant must stand, in a static table. */
#define STR_INIT(lit)                                                                              \
    {                                                                                              \
        "" lit, sizeof(lit) - 1                                                                    \
    }
#define STR_FMT "%.*s"
#define STR_ARG(s) (int)((s).n < INT32_MAX ? (s).n : INT32_MAX), (s).p
#define STR_NONE ((size_t)-1) /* what str_find says when there is nothing */

/* The view of a C string; NULL gives the empty one. */
/* Inline, so that the length of a literal is known when it is compiled. */
static inline str str_c(const char *z)
{
    return z ? (str){z, strlen(z)} : (str){"", 0};
}

/* Whether n bytes are the same: names are short, and a call costs more than their comparison. */
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

/* s at a place; returns the place behind it. What is short is copied by two reads and two writes
 * that meet or overlap. */
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

/* Bytes compared as unsigned; a prefix comes before what it begins. */
int str_cmp(str a, str b);

static inline bool str_starts(str s, str prefix)
{
    return s.n >= prefix.n && memcmp(s.p, prefix.p, prefix.n) == 0;
}

bool str_ends(str s, str suffix);

/* Bytes from `from` up to but not including `to`; both are cut to the length of s. */
static inline str str_slice(str s, size_t from, size_t to)
{
    if (to > s.n)
        to = s.n;
    if (from > to)
        from = to;
    return (str){s.p + from, to - from};
}

/* Where needle first stands in s, or STR_NONE. */
size_t str_find(str s, str needle);
/* The same, several times as fast where the byte needle.p[rare] seldom stands in such texts. */
size_t str_find_rare(str s, str needle, size_t rare);

/* Without the ASCII white space (space, tab, LF, VT, FF, CR) at both ends. */
str str_trim(str s);

/* How many digits a number has in decimal, and the lowest so many of them, put at a place. */
extern const uint64_t str_powers[20]; /* of ten; the first is 0, which has a digit too */
extern const char str_pairs[201];     /* "00", "01", ... */
static inline size_t str_u64_size(uint64_t n)
{
    /* So many bits times the logarithm of 2, a little less, are all digits but perhaps one. */
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

/* Eight hex digits, small ones, all at once: each half byte is moved to a byte of its own, and what
 * is above nine goes on from the letter a. Returns the place behind them. */
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

/* A decimal number of digits only, no sign, no space; false if it is not one or does not fit. */
bool str_u64(str s, uint64_t *out) MUST_USE;
