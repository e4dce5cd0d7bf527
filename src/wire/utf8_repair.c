/* utf8_repair.c - see utf8_repair.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/utf8_repair.h"

#include "base/ctype.h"

#include "base/utf8.h"

#define ESCAPE_SIZE 6 /* \uXXXX */
#define LOST STR("\xEF\xBF\xBD")

struct text {
    str src;
    size_t at;
    bool front;   /* the string has just begun */
    bool changed; /* something was repaired */
};

/* The UTF-16 unit that is escaped there, or -1. */
static int utf8_repair_unit(str s, size_t at)
{
    int v = 0;

    if (at + ESCAPE_SIZE > s.n || s.p[at] != '\\' || s.p[at + 1] != 'u')
        return -1;
    for (size_t i = at + 2; i < at + ESCAPE_SIZE; i++) {
        int digit = char_hex_value(s.p[i]);

        if (digit < 0)
            return -1;
        v = v * 16 + digit;
    }
    return v;
}

static bool utf8_repair_is_high(int u)
{
    return u >= 0xD800 && u < 0xDC00;
}

static bool utf8_repair_is_low(int u)
{
    return u >= 0xDC00 && u < 0xE000;
}

static bool utf8_repair_ends(const struct text *t, size_t size)
{
    return t->at + size < t->src.n && t->src.p[t->at + size] == '"';
}

/* Keeps a half at the end of a string for the next, or gives it up. */
static void utf8_repair_half(struct utf8_repair *m, struct text *t, size_t size, bool more,
                             struct buf *out)
{
    assert(size > 0 && size <= sizeof m->half && t->at + size <= t->src.n);
    t->changed = true;
    if (more && utf8_repair_ends(t, size)) {
        memcpy(m->half, t->src.p + t->at, size);
        m->n = size;
    } else {
        buf_add(out, LOST);
    }
    t->at += size;
}

static void utf8_repair_escape(struct utf8_repair *m, struct text *t, bool more, struct buf *out)
{
    int u = utf8_repair_unit(t->src, t->at);
    size_t size = u >= 0 ? ESCAPE_SIZE : 2;

    assert(t->src.p[t->at] == '\\');
    if (utf8_repair_is_high(u) &&
        utf8_repair_is_low(utf8_repair_unit(t->src, t->at + ESCAPE_SIZE))) {
        size = 2 * (size_t)ESCAPE_SIZE;
    } else if (utf8_repair_is_high(u)) {
        utf8_repair_half(m, t, size, more, out);
        return;
    } else if (utf8_repair_is_low(u)) {
        bool whole = t->front && m->n == ESCAPE_SIZE;

        buf_add(out, whole ? (str){m->half, m->n} : LOST);
        if (whole)
            buf_add(out, str_slice(t->src, t->at, t->at + size));
        m->n = 0;
        t->changed = true;
        t->at += size;
        return;
    }
    buf_add(out, str_slice(t->src, t->at, t->at + size));
    t->at += size;
}

/* The rest of a character whose front is kept; false if it is none. */
static bool utf8_repair_joined(struct utf8_repair *m, struct text *t, struct buf *out)
{
    char whole[UTF8_SIZE_MAX];
    size_t n = 0, rest = 0;
    uint32_t code;

    if (!t->front || m->n == 0 || m->n >= UTF8_SIZE_MAX)
        return false;
    memcpy(whole, m->half, m->n);
    n = m->n;
    while (n < UTF8_SIZE_MAX && t->at + rest < t->src.n &&
           ((unsigned char)t->src.p[t->at + rest] & 0xC0) == 0x80)
        whole[n++] = t->src.p[t->at + rest++];
    assert(n <= sizeof whole);
    n = utf8_decode((str){whole, n}, &code);
    if (n <= m->n)
        return false;
    buf_add(out, (str){whole, n});
    t->at += n - m->n;
    m->n = 0;
    return t->changed = true;
}

static void utf8_repair_bytes(struct utf8_repair *m, struct text *t, bool more, struct buf *out)
{
    str rest = str_slice(t->src, t->at, t->src.n);
    uint32_t code;
    size_t n = utf8_decode(rest, &code), bad;

    if (n) {
        buf_add(out, str_slice(rest, 0, n));
        t->at += n;
        return;
    }
    if (utf8_repair_joined(m, t, out))
        return;
    bad = utf8_bad(rest);
    assert(bad > 0 && bad <= rest.n);
    if (utf8_tail(str_slice(rest, 0, bad)) == bad) {
        utf8_repair_half(m, t, bad, more, out);
        return;
    }
    buf_add(out, LOST);
    t->changed = true;
    t->at += bad;
}

/* Processes a string from after its opening quote to its end. */
static void utf8_repair_string(struct utf8_repair *m, struct text *t, bool more, struct buf *out)
{
    t->front = true;
    while (t->at < t->src.n && t->src.p[t->at] != '"') {
        if (t->src.p[t->at] == '\\')
            utf8_repair_escape(m, t, more, out);
        else if ((unsigned char)t->src.p[t->at] >= 0x80)
            utf8_repair_bytes(m, t, more, out);
        else
            buf_add_c(out, t->src.p[t->at++]);
        t->front = false;
    }
}

bool utf8_repair_json(struct utf8_repair *m, str json, bool more, struct buf *out)
{
    struct text t = {.src = json};

    while (t.at < json.n) {
        char c = json.p[t.at++];

        buf_add_c(out, c);
        if (c != '"')
            continue;
        utf8_repair_string(m, &t, more, out);
        if (t.at < json.n)
            buf_add_c(out, json.p[t.at++]);
    }
    return t.changed;
}
