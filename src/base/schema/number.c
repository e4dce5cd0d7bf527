/* SPDX-License-Identifier: Apache-2.0 */
#include "base/schema/number.h"
#include "base/ctype.h"

#define EXPONENT_MAX ((int64_t)1000000000000000)

__extension__ typedef unsigned __int128 wide;

/* The exponent's value, cut at EXPONENT_MAX either way. */
static int64_t schema_number_read_exponent(const char *p, const char *end)
{
    bool negative = false;
    int64_t v = 0;

    if (p < end && (*p == '+' || *p == '-'))
        negative = *p++ == '-';
    for (; p < end && char_is_digit(*p); p++)
        if (v < EXPONENT_MAX)
            v = v * 10 + (*p - '0');
    if (v > EXPONENT_MAX)
        v = EXPONENT_MAX;
    return negative ? -v : v;
}

void schema_decimal_read(struct schema_decimal *d, str text)
{
    const char *p = text.p, *end = text.p + text.n;
    size_t seen = 0; /* digits since the first that is not 0, that one included */
    bool fraction = false;

    *d = (struct schema_decimal){.digits = ""};
    if (p < end && *p == '-') {
        d->negative = true;
        p++;
    }
    for (; p < end && (char_is_digit(*p) || *p == '.'); p++) {
        if (*p == '.') {
            fraction = true;
            continue;
        }
        if (seen == 0 && *p == '0') {
            d->top -= fraction;
            continue;
        }
        if (seen++ == 0)
            d->digits = p;
        d->top += !fraction;
        if (*p != '0')
            d->count = seen;
    }
    if (d->count == 0)
        *d = (struct schema_decimal){.digits = ""}; /* -0 is 0, and so is 0e9 */
    else if (p < end)
        d->top += schema_number_read_exponent(p + 1, end);
    assert(d->count <= text.n);
}

/* The next digit, stepping over the point. */
static int schema_next_digit(const char **p)
{
    if (**p == '.')
        (*p)++;
    return *(*p)++ - '0';
}

static int schema_compare_size(const struct schema_decimal *a, const struct schema_decimal *b)
{
    const char *pa = a->digits, *pb = b->digits;
    size_t n = a->count < b->count ? a->count : b->count;

    assert(n > 0); /* 0 has no digits, and its sign does not count */
    if (a->top != b->top)
        return a->top < b->top ? -1 : 1;
    for (size_t i = 0; i < n; i++) {
        int da = schema_next_digit(&pa), db = schema_next_digit(&pb);

        if (da != db)
            return da < db ? -1 : 1;
    }
    return (a->count > b->count) - (a->count < b->count);
}

static int schema_decimal_get_sign(const struct schema_decimal *d)
{
    return d->count == 0 ? 0 : d->negative ? -1 : 1;
}

int schema_decimal_cmp(const struct schema_decimal *a, const struct schema_decimal *b)
{
    int sa = schema_decimal_get_sign(a), sb = schema_decimal_get_sign(b);

    if (sa != sb)
        return sa < sb ? -1 : 1;
    return sa == 0 ? 0 : sa * schema_compare_size(a, b);
}

/* The power of ten of the last digit. */
static int64_t schema_number_low(const struct schema_decimal *d)
{
    return d->top - (int64_t)d->count;
}

bool schema_decimal_is_integer(const struct schema_decimal *d)
{
    return d->count == 0 || schema_number_low(d) >= 0;
}

uint64_t schema_decimal_hash(const struct schema_decimal *d)
{
    uint64_t h = 0xcbf29ce484222325u ^ (uint64_t)d->top ^ (d->negative ? 0x9e37u : 0);
    const char *p = d->digits;

    for (size_t i = 0; i < d->count; i++)
        h = (h ^ (uint64_t)schema_next_digit(&p)) * 0x100000001b3u;
    return h;
}

bool schema_decimal_count(const struct schema_decimal *d, uint64_t *out)
{
    const char *p = d->digits;
    uint64_t v = 0;

    if (d->negative || !schema_decimal_is_integer(d))
        return false;
    if (d->top > 18) {
        *out = UINT64_MAX;
        return true;
    }
    for (int64_t i = 0; d->count && i < d->top; i++)
        v = v * 10 + (i < (int64_t)d->count ? (uint64_t)schema_next_digit(&p) : 0);
    *out = v;
    return true;
}

/* The digits as one number, modulo m. */
static uint64_t schema_digits_mod(const struct schema_decimal *d, uint64_t m)
{
    const char *p = d->digits;
    uint64_t r = 0;

    assert(m > 0);
    for (size_t i = 0; i < d->count; i++)
        r = (uint64_t)(((wide)r * 10 + (unsigned)schema_next_digit(&p)) % m);
    return r;
}

/* 10^n modulo m, by squaring. */
static uint64_t schema_ten_power_mod(uint64_t n, uint64_t m)
{
    uint64_t r = 1 % m, square = 10 % m;

    assert(m > 0);
    for (; n > 0; n >>= 1) {
        if (n & 1)
            r = (uint64_t)((wide)r * square % m);
        square = (uint64_t)((wide)square * square % m);
    }
    return r;
}

/* d = D * 10^i and by = B * 10^j, D and B whole and neither ending in 0. If i < j, d / by could
 * only be whole if D had a factor of 10, so it is not. Else B must divide D * 10^(i - j). */
bool schema_decimal_divides(const struct schema_decimal *by, const struct schema_decimal *d)
{
    uint64_t b;

    assert(by->count > 0 && by->count <= SCHEMA_DIVISOR_DIGITS_MAX);
    if (d->count == 0)
        return true;
    if (schema_number_low(d) < schema_number_low(by))
        return false;
    b = schema_digits_mod(by, UINT64_MAX);
    return (wide)schema_digits_mod(d, b) *
               schema_ten_power_mod((uint64_t)(schema_number_low(d) - schema_number_low(by)), b) %
               b ==
           0;
}
