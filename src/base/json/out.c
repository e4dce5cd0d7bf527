/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json/internal.h"
#include "base/utf8.h"

#include <math.h>

static void json_add_escape(struct buf *out, char c)
{
    static const char letter[] = {
        ['\b'] = 'b',
        ['\t'] = 't',
        ['\n'] = 'n',
        ['\f'] = 'f',
        ['\r'] = 'r',
        ['"'] = '"',
        ['\\'] = '\\',
    };
    static const char hex[] = "0123456789abcdef";
    unsigned u = (unsigned char)c;

    assert(u < sizeof letter);
    if (letter[u] != '\0')
        buf_add(out, (str){(const char[]){'\\', letter[u]}, 2});
    else
        buf_add(out, (str){(const char[]){'\\', 'u', '0', '0', hex[u >> 4], hex[u & 15]}, 6});
}

/* Text that needs no escapes, but may not be UTF-8: then the answer is false. */
static bool json_add_checked(struct buf *out, const char *p, const char *end, enum simd_level level)
{
    const char *bad = utf8_scan(p, end, level);
    bool good = !bad;

    while (bad) {
        assert(bad >= p && bad < end);
        buf_add(out, (str){p, (size_t)(bad - p)});
        buf_add(out, STR("\xEF\xBF\xBD"));
        p = bad + utf8_bad((str){bad, (size_t)(end - bad)});
        bad = utf8_scan(p, end, level);
    }
    buf_add(out, (str){p, (size_t)(end - p)});
    return good;
}

void json_quote_plain(struct buf *out, str text)
{
    char *p = buf_room(out, text.n + 2);

    if (!p)
        return;
    p[0] = '"';
    *str_put(p + 1, text) = '"';
    out->n += text.n + 2;
}

bool json_quote_at(struct buf *out, str text, enum simd_level level)
{
    const char *p = text.p, *end = text.p + text.n;
    bool good = true, high = false;
    const char *stop = json_scan(p, end, level, &high);

    if (stop == end && !high) { /* nothing to escape and nothing to check, as mostly */
        json_quote_plain(out, text);
        return true;
    }
    buf_add_c(out, '"');
    while (p < end) {
        assert(stop >= p && stop <= end);
        if (!high)
            buf_add(out, (str){p, (size_t)(stop - p)});
        else if (!json_add_checked(out, p, stop, level))
            good = false;
        if (stop < end)
            json_add_escape(out, *stop++);
        p = stop;
        high = false;
        stop = json_scan(p, end, level, &high);
    }
    buf_add_c(out, '"');
    return good;
}

bool json_plain(str text)
{
    const char *end = text.p + text.n;
    bool high = false;

    return json_scan(text.p, end, simd_best(), &high) == end &&
           (!high || !utf8_scan(text.p, end, simd_best()));
}

bool json_quote(struct buf *out, str text)
{
    if (json_plain_few(text)) {
        json_quote_plain(out, text);
        return true;
    }
    return json_quote_at(out, text, simd_best());
}

static bool json_out_is_bit_set(const uint64_t *bits, unsigned i)
{
    return bits[i / 64] >> (i % 64) & 1;
}

static void json_set_bit(uint64_t *bits, unsigned i, bool on)
{
    uint64_t mask = (uint64_t)1 << (i % 64);

    bits[i / 64] = on ? bits[i / 64] | mask : bits[i / 64] & ~mask;
}

void json_out_init(struct json_out *o, struct buf *buf)
{
    *o = (struct json_out){.buf = buf};
}

void json_out_init_object(struct json_out *o, struct buf *buf)
{
    json_out_init(o, buf);
    json_out_object(o);
}

/* Before a value or a key: writes the comma, if it is not the first. */
static void json_out_comma(struct json_out *o)
{
    assert(o->depth <= JSON_DEPTH_MAX);
    if (json_out_is_bit_set(o->comma, o->depth))
        buf_add_c(o->buf, ',');
    json_set_bit(o->comma, o->depth, true);
}

/* Before a value, with or without a key; false when all is lost and nothing may be written. */
static bool json_out_begin(struct json_out *o)
{
    if (o->too_deep)
        return false;
    assert(o->depth > 0 || !json_out_is_bit_set(o->comma, 0)); /* one value, no more */
    assert(o->after_key ==
           (o->depth > 0 && json_out_is_bit_set(o->object, o->depth))); /* members have keys */
    if (!o->after_key)
        json_out_comma(o);
    o->after_key = false;
    return true;
}

static void json_out_open_level(struct json_out *o, bool object)
{
    if (!json_out_begin(o))
        return;
    assert(o->depth <= JSON_DEPTH_MAX);
    if (o->depth == JSON_DEPTH_MAX) {
        o->too_deep = true;
        return;
    }
    o->depth++;
    json_set_bit(o->comma, o->depth, false);
    json_set_bit(o->object, o->depth, object);
    buf_add_c(o->buf, object ? '{' : '[');
}

void json_out_object(struct json_out *o)
{
    json_out_open_level(o, true);
}

void json_out_array(struct json_out *o)
{
    json_out_open_level(o, false);
}

void json_out_end(struct json_out *o)
{
    if (o->too_deep)
        return;
    assert(o->depth > 0 && !o->after_key);
    buf_add_c(o->buf, json_out_is_bit_set(o->object, o->depth) ? '}' : ']');
    o->depth--;
}

void json_out_close(struct json_out *o, unsigned n)
{
    assert(o->too_deep || n <= o->depth);
    while (n-- > 0)
        json_out_end(o);
}

void json_out_key(struct json_out *o, str key)
{
    if (o->too_deep)
        return;
    assert(o->depth > 0 && json_out_is_bit_set(o->object, o->depth) && !o->after_key);
    json_out_comma(o);
    if (!json_quote(o->buf, key))
        o->bad_text = true;
    buf_add_c(o->buf, ':');
    o->after_key = true;
}

void json_out_str(struct json_out *o, str text)
{
    if (json_out_begin(o) && !json_quote(o->buf, text))
        o->bad_text = true;
}

void json_out_i64(struct json_out *o, int64_t v)
{
    if (!json_out_begin(o))
        return;
    if (v < 0)
        buf_add_c(o->buf, '-');
    buf_add_u64(o->buf, v < 0 ? 0 - (uint64_t)v : (uint64_t)v);
}

void json_out_u64(struct json_out *o, uint64_t v)
{
    if (json_out_begin(o))
        buf_add_u64(o->buf, v);
}

void json_out_double(struct json_out *o, double v)
{
    struct json_double_text t;

    if (!isfinite(v)) {
        json_out_null(o);
        return;
    }
    t = json_double_text(v);
    if (json_out_begin(o))
        buf_add(o->buf, (str){t.text, t.n});
}

void json_out_bool(struct json_out *o, bool v)
{
    json_out_raw(o, v ? STR("true") : STR("false"));
}

void json_out_null(struct json_out *o)
{
    json_out_raw(o, STR("null"));
}

void json_out_raw(struct json_out *o, str json)
{
    if (json_out_begin(o))
        buf_add(o->buf, json);
}

void json_member_str(struct json_out *o, const char *name, str text)
{
    json_out_key(o, str_c(name));
    json_out_str(o, text);
}

void json_member_str_or_null(struct json_out *o, const char *name, str text)
{
    if (text.n)
        json_member_str(o, name, text);
    else
        json_member_null(o, name);
}

void json_member_i64(struct json_out *o, const char *name, int64_t n)
{
    json_out_key(o, str_c(name));
    json_out_i64(o, n);
}

void json_member_i64_or_null(struct json_out *o, const char *name, int64_t n)
{
    if (n >= 0)
        json_member_i64(o, name, n);
    else
        json_member_null(o, name);
}

void json_member_u64(struct json_out *o, const char *name, uint64_t n)
{
    json_out_key(o, str_c(name));
    json_out_u64(o, n);
}

void json_member_double(struct json_out *o, const char *name, double v)
{
    json_out_key(o, str_c(name));
    json_out_double(o, v);
}

void json_member_double_or_null(struct json_out *o, const char *name, double v)
{
    if (v >= 0)
        json_member_double(o, name, v);
    else
        json_member_null(o, name);
}

void json_member_raw(struct json_out *o, const char *name, str json)
{
    json_out_key(o, str_c(name));
    json_out_raw(o, json);
}

void json_member_bool(struct json_out *o, const char *name, bool v)
{
    json_out_key(o, str_c(name));
    json_out_bool(o, v);
}

void json_member_null(struct json_out *o, const char *name)
{
    json_out_key(o, str_c(name));
    json_out_null(o);
}

void json_member_object(struct json_out *o, const char *name)
{
    json_out_key(o, str_c(name));
    json_out_object(o);
}

void json_member_array(struct json_out *o, const char *name)
{
    json_out_key(o, str_c(name));
    json_out_array(o);
}

void json_member_texts(struct json_out *o, const char *name, const str *list, size_t n)
{
    json_member_array(o, name);
    for (size_t i = 0; i < n; i++)
        json_out_str(o, list[i]);
    json_out_end(o);
}

bool json_out_ok(const struct json_out *o, struct err *e)
{
    if (o->too_deep)
        return err_set(e, ERR_LIMIT, "JSON: more than %d levels deep", JSON_DEPTH_MAX);
    if (!buf_ok(o->buf, "JSON", e))
        return false;
    if (o->bad_text)
        return err_input(e, "JSON: text that is not UTF-8");
    if (o->depth > 0 || !json_out_is_bit_set(o->comma, 0))
        return err_input(e, "JSON: nothing written, or something not closed");
    return true;
}

void json_text_begin(struct json_text *t, size_t size_max)
{
    buf_init(&t->buf, size_max);
    json_out_init_object(&t->o, &t->buf);
}

void json_text_begin_array(struct json_text *t, size_t size_max)
{
    buf_init(&t->buf, size_max);
    json_out_init(&t->o, &t->buf);
    json_out_array(&t->o);
}

str json_text_end(struct json_text *t, struct arena *a, str otherwise)
{
    str text;

    json_out_close(&t->o, t->o.depth);
    text = buf_full(&t->buf) || t->o.too_deep ? otherwise : arena_dup(a, buf_str(&t->buf));
    buf_release(&t->buf);
    return text;
}
