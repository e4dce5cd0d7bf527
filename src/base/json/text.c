/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json/internal.h"

const char json_escapes[256] = {
    ['"'] = '"',
    ['\\'] = '\\',
    ['/'] = '/',
    ['b'] = '\b',
    ['f'] = '\f',
    ['n'] = '\n',
    ['r'] = '\r',
    ['t'] = '\t',
};

static unsigned json_text_hex4(const char *p)
{
    unsigned v = 0;

    for (int i = 0; i < 4; i++)
        v = v * 16 + (unsigned)(p[i] <= '9' ? p[i] - '0' : (p[i] & 0xF) + 9);
    return v;
}

static size_t json_utf8_put(unsigned c, char out[4])
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

/* The bytes of the escape at p; *size is its length in the source. The parse has checked it.
 */
static size_t json_text_decode_escape(const char *p, size_t *size, char out[4])
{
    unsigned c;

    *size = 2;
    out[0] = json_escapes[(unsigned char)p[1]];
    if (p[1] != 'u')
        return 1;
    *size = 6;
    c = json_text_hex4(p + 2);
    if (c >= 0xD800 && c <= 0xDBFF) {
        *size = 12;
        c = 0x10000 + ((c - 0xD800) << 10) + (json_text_hex4(p + 8) - 0xDC00);
    }
    return json_utf8_put(c, out);
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
            n = json_text_decode_escape(c->rest.p, &size, c->bytes);
        else
            size = 2, c->bytes[0] = c->rest.p[1] == '0' ? '~' : '/';
        piece = (str){c->bytes, n};
    }
    assert(size <= c->rest.n);
    c->rest = str_slice(c->rest, size, c->rest.n);
    return piece;
}

struct json_cursor json_cursor_of(const struct json *doc, const struct json_node *v)
{
    assert(v->kind == JSON_STRING && v->size >= 2);
    assert((size_t)v->at + v->size <= doc->src.n);
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

/* Decodes the escape at p into `to`, which has room for 4 bytes or for the rest of the string. */
static inline size_t json_put_escape(const char *p, size_t *size, char *to)
{
    char bytes[4];
    size_t n;

    if (p[1] != 'u') {
        *size = 2;
        *to = json_escapes[(unsigned char)p[1]];
        return 1;
    }
    n = json_text_decode_escape(p, size, bytes);
    memcpy(to, bytes, n);
    return n;
}

#if SIMD_HAS_16

static inline void json_copy_64(char *to, const char *p)
{
    for (int i = 0; i < 64; i += 16)
        simd_store(to + i, simd_load(p + i));
}

/* Decodes blocks of 64 bytes. A run of plain text is always copied as 64 bytes, and the next run
 * overwrites the surplus: cheaper than a branch on the length. Returns the position where it
 * stopped, near the end. */
static const char *json_unescape_blocks(const char *p, const char *end, char **out)
{
    char *to = *out;

    while (end - p >= 128) {
        uint64_t back = 0;
        size_t done = 0;

        for (int i = 0; i < 64; i += 16)
            back |= (uint64_t)simd_bits(simd_eq(simd_load(p + i), '\\')) << i;
        while (back) {
            size_t at = (size_t)__builtin_ctzll(back), size;

            json_copy_64(to, p + done);
            to += at - done;
            to += json_put_escape(p + at, &size, to);
            done = at + size;
            back = done < 64 ? back >> done << done : 0;
        }
        if (done < 64) {
            json_copy_64(to, p + done);
            to += 64 - done;
            done = 64;
        }
        p += done;
    }
    *out = to;
    assert(p <= end);
    return p;
}

#endif

size_t json_unescape(str raw, char *out, enum simd_level level)
{
    const char *p = raw.p, *end = raw.p + raw.n;
    char *to = out;

#if SIMD_HAS_16
    if (level >= SIMD_16)
        p = json_unescape_blocks(p, end, &to);
#endif
    (void)level;
    while (p < end) {
        size_t size = 1;

        if (*p == '\\')
            to += json_put_escape(p, &size, to);
        else
            *to++ = *p;
        p += size;
    }
    assert(p == end && (size_t)(to - out) <= raw.n);
    return (size_t)(to - out);
}

bool json_text(const struct json *doc, const struct json_node *v, struct arena *a, str *out)
{
    str raw;
    char *text;

    if (!v || v->kind != JSON_STRING)
        return false;
    assert(v->size >= 2 && (size_t)v->at + v->size <= doc->src.n);
    raw = (str){doc->src.p + v->at + 1, v->size - 2};
    if (v->escaped) {
        text = arena_alloc(a, raw.n); /* an escape is never shorter than its character */
        raw = (str){text, json_unescape(raw, text, simd_best())};
    }
    *out = raw;
    return true;
}

bool json_is_escaped(const struct json *doc, const struct json_node *v, str s)
{
    return json_cursor_cmp(json_cursor_of(doc, v), (struct json_cursor){.rest = s}) == 0;
}
