/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json_internal.h"

int json_utf8(const char *p, const char *end)
{
    const unsigned char *u = (const unsigned char *)p;
    unsigned char low = 0x80, high = 0xBF; /* what the second byte may be */
    int n;

    assert(p < end);
    if (u[0] < 0x80)
        return 1;
    if (u[0] < 0xC2 || u[0] > 0xF4)
        return -1;
    n = u[0] < 0xE0 ? 2 : u[0] < 0xF0 ? 3 : 4;
    if (u[0] == 0xE0)
        low = 0xA0; /* below: overlong */
    else if (u[0] == 0xED)
        high = 0x9F; /* above: surrogates */
    else if (u[0] == 0xF0)
        low = 0x90; /* below: overlong */
    else if (u[0] == 0xF4)
        high = 0x8F; /* above: beyond U+10FFFF */
    for (int i = 1; i < n; i++) {
        if (p + i == end || u[i] < low || u[i] > high)
            return -i;
        low = 0x80, high = 0xBF;
    }
    return n;
}

static unsigned hex4(const char *p)
{
    unsigned v = 0;

    for (int i = 0; i < 4; i++)
        v = v * 16 + (unsigned)(p[i] <= '9' ? p[i] - '0' : (p[i] & 0xF) + 9);
    return v;
}

static size_t utf8_put(unsigned c, char out[4])
{
    assert(c <= 0x10FFFF);
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (char)(0xC0 | c >> 6);
        out[1] = (char)(0x80 | (c & 0x3F));
        return 2;
    }
    if (c < 0x10000) {
        out[0] = (char)(0xE0 | c >> 12);
        out[1] = (char)(0x80 | (c >> 6 & 0x3F));
        out[2] = (char)(0x80 | (c & 0x3F));
        return 3;
    }
    out[0] = (char)(0xF0 | c >> 18);
    out[1] = (char)(0x80 | (c >> 12 & 0x3F));
    out[2] = (char)(0x80 | (c >> 6 & 0x3F));
    out[3] = (char)(0x80 | (c & 0x3F));
    return 4;
}

/* What the escape at p stands for; *size says how many bytes it takes. It was checked by the parse.
 */
static size_t unescape(const char *p, size_t *size, char out[4])
{
    static const char plain[256] = {
        ['"'] = '"',
        ['\\'] = '\\',
        ['/'] = '/',
        ['b'] = '\b',
        ['f'] = '\f',
        ['n'] = '\n',
        ['r'] = '\r',
        ['t'] = '\t',
    };
    unsigned c;

    *size = 2;
    out[0] = plain[(unsigned char)p[1]];
    if (p[1] != 'u')
        return 1;
    *size = 6;
    c = hex4(p + 2);
    if (c >= 0xD800 && c <= 0xDBFF) {
        *size = 12;
        c = 0x10000 + ((c - 0xD800) << 10) + (hex4(p + 8) - 0xDC00);
    }
    return utf8_put(c, out);
}

str json_piece(struct json_cursor *c)
{
    char mark = c->spelling == JSON_ESCAPED ? '\\' : '~';
    size_t size = c->rest.n, n;
    str piece = c->rest;

    if (c->spelling != JSON_PLAIN && size > 0) {
        const char *hit = memchr(c->rest.p, mark, size);

        if (hit)
            size = piece.n = (size_t)(hit - c->rest.p);
    }
    if (size == 0 && c->rest.n > 0) {
        n = 1;
        if (c->spelling == JSON_ESCAPED)
            n = unescape(c->rest.p, &size, c->bytes);
        else
            size = 2, c->bytes[0] = c->rest.p[1] == '0' ? '~' : '/';
        piece = (str){c->bytes, n};
    }
    c->rest = str_slice(c->rest, size, c->rest.n);
    return piece;
}

struct json_cursor json_cursor_of(const struct json *doc, const struct json_node *v)
{
    assert(v->kind == JSON_STRING && v->size >= 2);
    return (struct json_cursor){
        .rest = {doc->src.p + v->at + 1, v->size - 2},
        .spelling = v->escaped ? JSON_ESCAPED : JSON_PLAIN,
    };
}

int json_cursor_cmp(struct json_cursor a, struct json_cursor b)
{
    str x = STR(""), y = STR("");

    if (a.spelling == JSON_PLAIN && b.spelling == JSON_PLAIN)
        return str_cmp(a.rest, b.rest);
    for (;;) {
        size_t n;
        int c;

        if (x.n == 0)
            x = json_piece(&a);
        if (y.n == 0)
            y = json_piece(&b);
        n = x.n < y.n ? x.n : y.n;
        if (n == 0)
            return (x.n > 0) - (y.n > 0);
        c = memcmp(x.p, y.p, n);
        if (c != 0)
            return c;
        x = str_slice(x, n, x.n);
        y = str_slice(y, n, y.n);
    }
}

bool json_text(const struct json *doc, const struct json_node *v, struct arena *a, str *out)
{
    struct json_cursor c;
    size_t n = 0;
    char *text;

    if (!v || v->kind != JSON_STRING)
        return false;
    c = json_cursor_of(doc, v);
    if (!v->escaped) {
        *out = c.rest;
        return true;
    }
    text = arena_alloc(a, c.rest.n); /* an escape is never shorter than what it stands for */
    for (str piece = json_piece(&c); piece.n > 0; piece = json_piece(&c)) {
        memcpy(text + n, piece.p, piece.n);
        n += piece.n;
    }
    *out = (str){text, n};
    return true;
}

bool json_is(const struct json *doc, const struct json_node *v, str s)
{
    if (!v || v->kind != JSON_STRING)
        return false;
    if (!v->escaped && v->size - 2 != s.n)
        return false;
    return json_cursor_cmp(json_cursor_of(doc, v), (struct json_cursor){.rest = s}) == 0;
}
