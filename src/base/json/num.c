/* Numbers are kept as text, so their value is worked out here, exactly, from the decimal digits.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/json/internal.h"

#include <float.h>
#include <locale.h>
#include <math.h>

#define EXPONENT_MAX ((int64_t)1 << 40) /* larger than JSON_SIZE_MAX digits can compensate */

/* digits * 10^exponent; the digits have no zero at either end, and there are none if the value is
 * 0. They may contain a point. */
struct decimal {
    str digits;
    size_t n; /* of them, without the point */
    int64_t exponent;
    bool negative;
};

static int64_t json_num_read_exponent(str s)
{
    bool negative = s.p[0] == '-';
    int64_t v = 0;

    for (size_t i = s.p[0] == '-' || s.p[0] == '+'; i < s.n; i++)
        if (v < EXPONENT_MAX)
            v = v * 10 + (s.p[i] - '0');
    return negative ? -v : v;
}

/* s is a number of the grammar. */
static struct decimal json_decimal_of(str s)
{
    struct decimal d = {.digits = STR(""), .negative = s.p[0] == '-'};
    size_t from = d.negative, to, point;

    for (to = from; to < s.n && s.p[to] != 'e' && s.p[to] != 'E'; to++)
        ;
    if (to < s.n)
        d.exponent = json_num_read_exponent(str_slice(s, to + 1, s.n));
    s = str_slice(s, from, to);
    for (point = 0; point < s.n && s.p[point] != '.'; point++)
        ;
    for (from = 0; from < s.n && (s.p[from] == '0' || s.p[from] == '.'); from++)
        ;
    for (to = s.n; to > from && (s.p[to - 1] == '0' || s.p[to - 1] == '.'); to--)
        ;
    if (from == to)
        return (struct decimal){.digits = STR("")};
    d.digits = str_slice(s, from, to);
    d.n = to - from - (from < point && point < to);
    d.exponent += to <= point ? (int64_t)(point - to) : -(int64_t)(to - point - 1);
    assert(d.n > 0 && d.n <= d.digits.n);
    return d;
}

/* The digits of d as one number, if there are at most 19. */
static uint64_t json_digits_value(struct decimal d)
{
    uint64_t v = 0;

    assert(d.n <= 19);
    for (size_t i = 0; i < d.digits.n; i++)
        if (d.digits.p[i] != '.')
            v = v * 10 + (uint64_t)(d.digits.p[i] - '0');
    return v;
}

/* The value of digits with an optional sign, few enough not to overflow. */
static int64_t json_plain_value(str s)
{
    bool negative = s.p[0] == '-';
    int64_t n = 0;

    assert(s.n > negative && s.n <= 18u + negative);
    for (size_t i = negative; i < s.n; i++)
        n = n * 10 + (s.p[i] - '0');
    return negative ? -n : n;
}

/* The value of a number with a fraction, an exponent, or many digits. */
static NOINLINE bool json_decimal_i64(str s, int64_t *out)
{
    struct decimal d = json_decimal_of(s);
    uint64_t u;

    if (d.exponent < 0 || d.exponent > 19 || d.n + (size_t)d.exponent > 19)
        return false;
    u = json_digits_value(d);
    for (int64_t i = 0; i < d.exponent; i++)
        u *= 10; /* 19 digits always fit */
    if (u > (uint64_t)INT64_MAX + d.negative)
        return false;
    *out = d.negative ? (int64_t)(0 - u) : (int64_t)u;
    return true;
}

bool json_i64(const struct json *doc, const struct json_node *v, int64_t *out)
{
    if (!v || v->kind != JSON_NUMBER)
        return false;
    assert((size_t)v->at + v->size <= doc->src.n);
    if (v->escaped || v->size > 18)
        return json_decimal_i64((str){doc->src.p + v->at, v->size}, out);
    *out = json_plain_value((str){doc->src.p + v->at, v->size});
    return true;
}

/* strtod and printf as the C locale has them: the caller's may have a comma for a point. */
static double json_to_double(const char *z)
{
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    double v;

    if (c == (locale_t)0)
        base_die("no C locale");
    v = strtod_l(z, NULL, c);
    freelocale(c);
    return v;
}

/* Few digits and a small exponent: both are exact as doubles, so one operation rounds rightly. Not
 * so where the machine computes with more than a double has. */
static const double tens[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                              1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                              1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/* A fast path for a few digits with a point among them. */
static bool json_short_double(str s, double *out)
{
    size_t point = 0; /* never the first byte */
    int64_t v = 0;

    if (FLT_EVAL_METHOD != 0 || s.n > 16)
        return false;
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] >= '0' && s.p[i] <= '9')
            v = v * 10 + (s.p[i] - '0');
        else if (s.p[i] == '.')
            point = i;
        else
            return false;
    if (!point)
        return false;
    assert(point < s.n && s.n - 1 - point < COUNT_OF(tens));
    *out = (double)v / tens[s.n - 1 - point];
    return true;
}

static bool json_quick_double(struct decimal d, double *out)
{
    double v;

    if (FLT_EVAL_METHOD != 0 || d.n == 0 || d.n > 15 || d.exponent < -22 || d.exponent > 22)
        return false;
    v = (double)json_digits_value(d);
    v = d.exponent < 0 ? v / tens[-d.exponent] : v * tens[d.exponent];
    *out = d.negative ? -v : v;
    return true;
}

bool json_double(const struct json *doc, const struct json_node *v, double *out)
{
    str raw;
    char *z;

    if (!v || v->kind != JSON_NUMBER)
        return false;
    raw = json_raw(doc, v);
    if (!v->escaped && raw.n <= 15 && raw.p[0] != '-') { /* exact as a double */
        *out = (double)json_plain_value(raw);
        return true;
    }
    if (json_short_double(raw, out) || json_quick_double(json_decimal_of(raw), out))
        return true;
    if (raw.p + raw.n < doc->src.p + doc->src.n) {
        *out = json_to_double(raw.p); /* the next byte of the source ends the number */
        return true;
    }
    z = str_copy(raw);
    *out = json_to_double(z);
    free(z);
    return true;
}

bool json_number_equal(str a, str b)
{
    struct decimal x, y;
    size_t j = 0;

    if (str_eq(a, b))
        return true;
    x = json_decimal_of(a);
    y = json_decimal_of(b);
    if (x.n != y.n || x.exponent != y.exponent || x.negative != y.negative)
        return false;
    for (size_t i = 0; i < x.digits.n; i++) {
        if (x.digits.p[i] == '.')
            continue;
        assert(j < y.digits.n);
        if (y.digits.p[j] == '.')
            j++;
        if (x.digits.p[i] != y.digits.p[j++])
            return false;
    }
    return true;
}

struct json_double_text json_double_text(double v)
{
    int digits = fabs(v) < DBL_MIN ? 1 : 15; /* 15 always survive, but for subnormal numbers */
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0), old;
    struct json_double_text out;
    int n;

    assert(isfinite(v));
    if (c == (locale_t)0)
        base_die("no C locale");
    old = uselocale(c);
    do
        n = snprintf(out.text, sizeof out.text, "%.*g", digits++, v);
    while (digits <= 17 && strtod(out.text, NULL) != v);
    uselocale(old);
    freelocale(c);
    assert(n > 0 && (size_t)n < sizeof out.text);
    out.n = (size_t)n;
    return out;
}
