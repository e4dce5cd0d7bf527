/* repr.c - see repr.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "chat/repr.h"

#include <math.h>

#include "base/map.h"
#include "base/utf8.h"

#define TEXT_MAX ((size_t)64 << 20)
#define DIGITS_MAX 17
#define POINT_MIN (-3) /* places before the point from which on, and up to which, no exponent */
#define POINT_MAX 16

static void repr_put_char(struct buf *out, uint32_t code, str bytes, char quote)
{
    static const struct {
        uint32_t code;
        const char *as;
    } short_forms[] = {{'\\', "\\\\"}, {'\n', "\\n"}, {'\r', "\\r"}, {'\t', "\\t"}};
    char hex[16];

    for (size_t i = 0; i < COUNT_OF(short_forms); i++)
        if (short_forms[i].code == code) {
            buf_add(out, str_c(short_forms[i].as));
            return;
        }
    if (code == (unsigned char)quote) {
        buf_add_c(out, '\\');
        buf_add_c(out, quote);
        return;
    }
    if (repr_printable(code)) {
        buf_add(out, bytes);
        return;
    }
    (void)snprintf(hex,
                   sizeof hex,
                   code < 0x100     ? "\\x%02x"
                   : code < 0x10000 ? "\\u%04x"
                                    : "\\U%08x",
                   (unsigned)code);
    buf_add(out, str_c(hex));
}

void repr_text(struct buf *out, str text)
{
    bool single = memchr(text.p ? text.p : "", '\'', text.n) != NULL;
    bool twice = memchr(text.p ? text.p : "", '"', text.n) != NULL;
    char quote = single && !twice ? '"' : '\'';
    uint32_t code;
    size_t size;

    buf_add_c(out, quote);
    for (size_t at = 0; at < text.n; at += size) {
        str rest = str_slice(text, at, text.n);

        size = utf8_decode(rest, &code);
        if (size) {
            repr_put_char(out, code, str_slice(rest, 0, size), quote);
        } else {
            size = utf8_bad(rest);
            buf_add(out, STR("\xEF\xBF\xBD"));
        }
    }
    buf_add_c(out, quote);
}

/* The fewest digits that read back as the same number, and the position of the point. */
static size_t repr_find_shortest_digits(double d, char digits[DIGITS_MAX + 1], int *point)
{
    char text[40];

    assert(isfinite(d) && d >= 0);
    for (int n = 1; n <= DIGITS_MAX; n++) {
        size_t count = 0;
        char *exponent;

        (void)snprintf(text, sizeof text, "%.*e", n - 1, d);
        if (strtod(text, NULL) != d && n < DIGITS_MAX)
            continue;
        exponent = strchr(text, 'e');
        for (const char *p = text; p < exponent; p++)
            if (*p >= '0' && *p <= '9')
                digits[count++] = *p;
        while (count > 1 && digits[count - 1] == '0')
            count--;
        *point = (int)strtol(exponent + 1, NULL, 10) + 1;
        return count;
    }
    return 0;
}

static void repr_put_plain(struct buf *out, str digits, int point)
{
    assert(digits.n > 0 && point <= POINT_MAX);
    if (point <= 0) {
        buf_add(out, STR("0."));
        for (int i = point; i < 0; i++)
            buf_add_c(out, '0');
        buf_add(out, digits);
        return;
    }
    for (int i = 0; i < point; i++)
        buf_add_c(out, (size_t)i < digits.n ? digits.p[i] : '0');
    buf_add_c(out, '.');
    if ((size_t)point < digits.n)
        buf_add(out, str_slice(digits, (size_t)point, digits.n));
    else
        buf_add_c(out, '0');
}

void repr_double(struct buf *out, double d)
{
    char digits[DIGITS_MAX + 1];
    int point = 0;
    str s;

    if (isnan(d)) {
        buf_add(out, STR("nan"));
        return;
    }
    if (signbit(d))
        buf_add_c(out, '-');
    d = fabs(d);
    if (isinf(d)) {
        buf_add(out, STR("inf"));
        return;
    }
    s = (str){digits, repr_find_shortest_digits(d, digits, &point)};
    if (d == 0)
        point = 1;
    if (point >= POINT_MIN && point <= POINT_MAX) {
        repr_put_plain(out, s, point);
        return;
    }
    buf_add(out, str_slice(s, 0, 1));
    if (s.n > 1) {
        buf_add_c(out, '.');
        buf_add(out, str_slice(s, 1, s.n));
    }
    buf_printf(out, "e%c%02d", point - 1 < 0 ? '-' : '+', abs(point - 1));
}

static void repr_put_number(struct buf *out, const struct json *doc, const struct json_node *v)
{
    str raw = json_raw(doc, v);
    double d;

    assert(v->kind == JSON_NUMBER);
    for (size_t i = 0; i < raw.n; i++)
        if (raw.p[i] == '.' || raw.p[i] == 'e' || raw.p[i] == 'E') {
            if (json_double(doc, v, &d))
                repr_double(out, d);
            return;
        }
    buf_add(out, str_eq(raw, STR("-0")) ? STR("0") : raw);
}

static void repr_put_string(struct buf *out, const struct json *doc, const struct json_node *v)
{
    struct arena a;
    str text;

    assert(v->kind == JSON_STRING);
    arena_init(&a, TEXT_MAX);
    if (json_text(doc, v, &a, &text))
        repr_text(out, text);
    arena_release(&a);
}

/* A map behaves like a dict: a repeated key keeps its first position and its last value. */
static void repr_put_members(struct buf *out, const struct json *doc, const struct json_node *v,
                             bool arguments)
{
    struct arena a;
    struct map members;
    struct err e;
    str key;

    assert(v->kind == JSON_OBJECT);
    arena_init(&a, TEXT_MAX);
    map_init(&members, NULL, MAP_COUNT_MAX);
    JSON_FOREACH(k, doc, v)
        if (!json_text(doc, k, &a, &key) ||
            !map_set(&members, key, MAP_U64((uint64_t)(json_value(k) - v)), &e))
            break; /* no document has so many */
    for (struct map_entry *i = map_next(&members, NULL); i; i = map_next(&members, i)) {
        if (i != map_next(&members, NULL))
            buf_add(out, STR(", "));
        if (arguments)
            buf_add(out, i->key);
        else
            repr_text(out, i->key);
        buf_add(out, arguments ? STR("=") : STR(": "));
        repr_json(out, doc, v + i->value.u64);
    }
    map_release(&members);
    arena_release(&a);
}

void repr_arguments(struct buf *out, const struct json *doc, const struct json_node *v)
{
    repr_put_members(out, doc, v, true);
}

static void repr_put_array(struct buf *out, const struct json *doc, const struct json_node *v)
{
    assert(v->kind == JSON_ARRAY);
    buf_add_c(out, '[');
    JSON_FOREACH(x, doc, v) {
        if (x != json_first(doc, v))
            buf_add(out, STR(", "));
        repr_json(out, doc, x);
    }
    buf_add_c(out, ']');
}

void repr_json(struct buf *out, const struct json *doc, const struct json_node *v)
{
    bool yes;

    /* Nothing more is shown: the rest of a document of megabytes is not converted. */
    if (buf_full(out))
        return;
    switch (v->kind) {
    case JSON_NULL:
        buf_add(out, STR("None"));
        break;
    case JSON_STRING:
        repr_put_string(out, doc, v);
        break;
    case JSON_NUMBER:
        repr_put_number(out, doc, v);
        break;
    case JSON_ARRAY:
        repr_put_array(out, doc, v);
        break;
    case JSON_OBJECT:
        buf_add_c(out, '{');
        repr_put_members(out, doc, v, false);
        buf_add_c(out, '}');
        break;
    default:
        buf_add(out, json_bool(v, &yes) && yes ? STR("True") : STR("False"));
        break;
    }
}
