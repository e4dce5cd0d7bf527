/* Reading: one pass from left to right, no recursion.
 *
 * Each function takes a start position and returns the position after its input, or NULL after it
 * has noted the error and its place. Line and column are counted only then.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/ctype.h"
#include "base/json/internal.h"
#include "base/spare.h"

#define NODES_MIN 32
#define BYTES_PER_NODE 32 /* of prose in JSON; with more nodes, the tape grows */
#define TEXT_OF(x) #x
#define TEXT(macro) TEXT_OF(macro)

/* A ceiling: the text may be right. */
static const char too_deep[] = "more than " TEXT(JSON_DEPTH_MAX) " levels deep";

/* The parser is a local variable of one function, into which all small functions are inlined; other
 * functions get no pointer to it, so its members stay in registers. */
#define PART static inline __attribute__((always_inline))

struct wrong {
    const char *what; /* NULL: nothing is */
    const char *at;
};

struct parser {
    struct json *doc;
    const char *src, *end;
    struct json_node *next, *limit; /* where the next node goes; the end of the room */
    struct json_node *in; /* the array or object we are in, or NULL; while it is open, its span is
                             the place of the one around it */
    char closer;          /* its closing bracket */
    bool closed;          /* the text ends in a bracket, so reading before it needs no check for the
                             end */
    uint16_t keys;        /* of the object we are in */
    enum simd_level level;
    const char *last;    /* the closing bracket, if there is one */
    const char *last_16; /* up to here 16 bytes can be loaded; NULL: nowhere */
    unsigned depth;
    struct wrong wrong;
};

void json_init(struct json *doc)
{
    *doc = (struct json){.src = STR("")};
}

void json_release(struct json *doc)
{
    spare_free(doc->nodes, doc->cap * sizeof *doc->nodes);
    json_init(doc);
}

PART const char *json_parse_fail(struct parser *ps, const char *at, const char *what)
{
    ps->wrong = (struct wrong){what, at};
    return NULL;
}

/* Called when the room is used up; returns where the next node goes. */
static NOINLINE struct json_node *json_parse_grow(struct json *doc)
{
    size_t guess = doc->src.n / BYTES_PER_NODE, n = doc->cap;
    size_t cap = n ? n * 2 : guess > NODES_MIN ? guess : NODES_MIN, size;

    assert(cap <= UINT32_MAX);
    size = cap * sizeof *doc->nodes;
    doc->nodes = spare_grow(doc->nodes, n * sizeof *doc->nodes, n * sizeof *doc->nodes, &size);
    doc->cap = (uint32_t)(size / sizeof *doc->nodes);
    assert(doc->cap > n);
    return doc->nodes + n;
}

PART void json_parse_add_node(struct parser *ps, const char *from, const char *to,
                              enum json_kind kind, bool escaped)
{
    struct json_node *v = ps->next;

    if (v == ps->limit) {
        ptrdiff_t in = ps->in ? ps->in - ps->doc->nodes : 0;

        v = json_parse_grow(ps->doc);
        ps->limit = ps->doc->nodes + ps->doc->cap;
        ps->in = ps->in ? ps->doc->nodes + in : NULL;
    }
    assert_slow(from >= ps->src && from < to && to <= ps->end && v < ps->limit);
    v->at = (uint32_t)(from - ps->src);
    v->size = (uint32_t)(to - from);
    v->span = 1;
    v->kind = (uint8_t)kind;
    v->escaped = escaped;
    v->keys = 0;
    ps->next = v + 1;
}

static const char *json_skip_space(const char *p, const char *end)
{
    while (p < end && char_is_json_space(*p))
        p++;
    return p;
}

/* Whether there is a byte at p; a closed text needs no check. */
PART bool json_parse_has_byte(const struct parser *ps, const char *p)
{
    return ps->closed || p < ps->end;
}

/* Skips white space and returns the next byte; 0, which begins no value, at the end.
 */
PART char json_parse_peek_token(const struct parser *ps, const char **p)
{
    if (json_parse_has_byte(ps, *p) && (unsigned char)**p > ' ')
        return **p;
    if ((ps->closed || ps->end - *p > 1) && **p == ' ' &&
        (unsigned char)(*p)[1] > ' ') /* most have one, if any */
        return *++*p;
    *p = json_skip_space(*p, ps->end);
    return *p < ps->end ? **p : '\0';
}

/* Whether that byte is c. */
PART bool json_parse_is_token(const struct parser *ps, const char **p, char c)
{
    return (json_parse_has_byte(ps, *p) && **p == c) || json_parse_peek_token(ps, p) == c;
}

/* The position after the digits at p; there must be at least one. */
PART const char *json_some_digits(struct parser *ps, const char *p)
{
    const char *to = p;

    while (json_parse_has_byte(ps, to) && *to >= '0' && *to <= '9')
        to++;
    return to > p ? to : json_parse_fail(ps, p, "a digit is missing");
}

PART const char *json_parse_number(struct parser *ps, const char *from)
{
    const char *p = from;
    bool escaped = false;

    if (*p == '-')
        p++;
    if (json_parse_has_byte(ps, p) && *p == '0')
        p++;
    else
        p = json_some_digits(ps, p);
    if (p && json_parse_has_byte(ps, p) && *p == '.') {
        escaped = true;
        p = json_some_digits(ps, p + 1);
    }
    if (p && json_parse_has_byte(ps, p) && (*p == 'e' || *p == 'E')) {
        escaped = true;
        p++;
        if (json_parse_has_byte(ps, p) && (*p == '+' || *p == '-'))
            p++;
        p = json_some_digits(ps, p);
    }
    if (p)
        json_parse_add_node(ps, from, p, JSON_NUMBER, escaped);
    return p;
}

PART const char *json_parse_literal(struct parser *ps, const char *p, str word, enum json_kind kind)
{
    if ((size_t)(ps->end - p) < word.n || memcmp(p, word.p, word.n) != 0)
        return json_parse_fail(ps, p, "expected a value");
    json_parse_add_node(ps, p, p + word.n, kind, false);
    return p + word.n;
}

/* A string that is not settled at once. */
struct text {
    const char *end;
    enum simd_level level;
    bool escaped;
    struct wrong wrong;
};

static const char *json_bad_text(struct text *t, const char *at, const char *what)
{
    t->wrong = (struct wrong){what, at};
    return NULL;
}

/* The four hexadecimal digits at p, or -1. */
static int json_parse_hex4(const char *p, const char *end)
{
    int v = 0;

    if (end - p < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        char c = p[i];
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;

        if (digit < 0)
            return -1;
        v = v * 16 + digit;
    }
    return v;
}

/* p is at the backslash. */
static const char *json_parse_escape(struct text *t, const char *p)
{
    int unit;

    assert_slow(p < t->end && *p == '\\');
    if (t->end - p < 2)
        return json_bad_text(t, t->end, "the text ends inside a string");
    if (json_escapes[(unsigned char)p[1]])
        return p + 2;
    if (p[1] != 'u')
        return json_bad_text(t, p, "an unknown escape");
    unit = json_parse_hex4(p + 2, t->end);
    if (unit < 0)
        return json_bad_text(t, p, "\\u without four hexadecimal digits");
    if (unit < 0xD800 || unit > 0xDFFF)
        return p + 6;
    if (unit >= 0xDC00 || t->end - p < 12 || p[6] != '\\' || p[7] != 'u')
        return json_bad_text(t, p, "an escaped surrogate without its pair");
    unit = json_parse_hex4(p + 8, t->end);
    if (unit < 0xDC00 || unit > 0xDFFF)
        return json_bad_text(t, p, "an escaped surrogate without its pair");
    return p + 12;
}

/* from is at the opening quote. Returns the position after the closing one. */
static NOINLINE const char *json_long_string(struct text *t, const char *from)
{
    const char *p = from + 1;
    struct json_run r = {0};
    bool high = false;

    for (;;) {
        p = json_run(p, t->end, t->level, &r);
        if (p == t->end || *p != '"')
            p = json_scan(p, t->end, t->level, &high);
        if (p == t->end || *p != '\\')
            break;
        r.escaped = 1;
        p = json_parse_escape(t, p);
        if (!p)
            return NULL;
    }
    assert(p > from && p <= t->end);
    if (high || r.high) {
        const char *bad = utf8_scan(from + 1, p, t->level);

        if (bad)
            return json_bad_text(t, bad, "bytes that are not UTF-8");
    }
    if (p == t->end)
        return json_bad_text(t, p, "the text ends inside a string");
    if (*p != '"')
        return json_bad_text(t, p, "a control character in a string");
    t->escaped = r.escaped != 0;
    return p + 1;
}

/* The closing quote of a string that is short and plain, as most are, and whose inside begins at p;
 * NULL if it must be looked at closely. */
PART const char *json_short_end(const struct parser *ps, const char *p)
{
    assert_slow(p <= ps->end);
#if SIMD_HAS_16
    uint32_t stop = 0;

    if (p <= ps->last_16) {
        stop = json_ends_plain(simd_load(p));
        if (!stop && (p += 16) <= ps->last_16)
            stop = json_ends_plain(simd_load(p));
    } else if (ps->last_16) { /* the last 16 bytes, but for those before p */
        stop = json_ends_plain(simd_load(ps->last_16)) >> (p - ps->last_16);
    }
    if (stop && p[__builtin_ctz(stop)] == '"')
        return p + __builtin_ctz(stop);
#endif
    (void)ps, (void)p;
    return NULL;
}

/* from is at the opening quote. */
PART const char *json_parse_string(struct parser *ps, const char *from)
{
    const char *p = json_short_end(ps, from + 1);
    struct text t;

    if (p) {
        json_parse_add_node(ps, from, p + 1, JSON_STRING, false);
        return p + 1;
    }
    t.end = ps->end;
    t.level = ps->level;
    p = json_long_string(&t, from);
    if (!p)
        return json_parse_fail(ps, t.wrong.at, t.wrong.what);
    json_parse_add_node(ps, from, p, JSON_STRING, t.escaped);
    return p;
}

/* Anything that is no string, array or object; c is the byte at p. */
PART const char *json_parse_scalar(struct parser *ps, const char *p, char c)
{
    if ((c >= '0' && c <= '9') || c == '-')
        return json_parse_number(ps, p);
    switch (c) {
    case 'n':
        return json_parse_literal(ps, p, STR("null"), JSON_NULL);
    case 't':
        return json_parse_literal(ps, p, STR("true"), JSON_TRUE);
    case 'f':
        return json_parse_literal(ps, p, STR("false"), JSON_FALSE);
    default:
        if (p == ps->end)
            return json_parse_fail(ps, p, "the text ends where a value is missing");
        return json_parse_fail(ps, p, "a value is missing");
    }
}

/* The node written last is a key of the object we are in, from quote to quote. */
PART void json_note_key(struct parser *ps, const char *from, const char *to)
{
    unsigned keys = ps->keys, bit = 1u << json_key_kind(from + 1, (size_t)(to - from) - 2);

    assert_slow(ps->in && ps->in->kind == JSON_OBJECT && to - from >= 2);
    if (ps->next[-1].escaped) /* with escapes it may equal any other key */
        bit = keys = UINT16_MAX;
    if (keys & bit)
        ps->in->escaped = true;
    ps->keys = (uint16_t)(keys | bit);
}

/* A key and its colon. */
PART const char *json_parse_key(struct parser *ps, const char *p)
{
    const char *from;

    if (!json_parse_is_token(ps, &p, '"'))
        return json_parse_fail(ps, p, "a key in quotes is missing");
    from = p;
    p = json_parse_string(ps, from);
    if (!p)
        return NULL;
    json_note_key(ps, from, p);
    if (!json_parse_is_token(ps, &p, ':'))
        return json_parse_fail(ps, p, "a colon is missing");
    return p + 1;
}

PART const char *json_open_level(struct parser *ps, const char *p, char c)
{
    struct json_node *around;

    if (ps->depth == JSON_DEPTH_MAX)
        return json_parse_fail(ps, p, too_deep);
    json_parse_add_node(ps, p, p + 1, c == '{' ? JSON_OBJECT : JSON_ARRAY, false);
    around = ps->in;
    if (around)
        around->keys = ps->keys;
    assert_slow(ps->depth > 0 || !around);
    ps->keys = 0;
    ps->depth++;
    ps->closer = c == '{' ? '}' : ']';
    ps->in = ps->next - 1;
    ps->in->span = around ? (uint32_t)(around - ps->doc->nodes) : 0;
    return p + 1;
}

/* p is at the closing bracket. */
PART const char *json_close_level(struct parser *ps, const char *p)
{
    struct json_node *v = ps->in;

    assert_slow(ps->depth > 0 && v && v->kind >= JSON_ARRAY && v < ps->next);
    v->keys = ps->keys;
    ps->in = NULL;
    if (--ps->depth > 0) {
        ps->in = ps->doc->nodes + v->span;
        assert_slow(ps->in < v && ps->in->kind >= JSON_ARRAY);
        ps->keys = ps->in->keys;
        ps->closer = ps->in->kind == JSON_ARRAY ? ']' : '}';
    }
    v->size = (uint32_t)(p + 1 - ps->src) - v->at;
    v->span = (uint32_t)(ps->next - v);
    return p + 1;
}

PART const char *json_parse_fail_unclosed(struct parser *ps, const char *p)
{
    return json_parse_fail(
        ps, p, ps->closer == '}' ? "a comma or } is missing" : "a comma or ] is missing");
}

/* After a value: closes all containers that end here, and consumes the comma before the next
 * value. */
PART const char *json_parse_end_value(struct parser *ps, const char *p)
{
    while (ps->in) {
        if (json_parse_is_token(ps, &p, ','))
            return p + 1;
        if (!json_parse_has_byte(ps, p) || *p != ps->closer)
            return json_parse_fail_unclosed(ps, p);
        p = json_close_level(ps, p);
        if (ps->closed && p > ps->last && ps->in)
            return json_parse_fail_unclosed(ps, ps->end);
    }
    return p;
}

PART struct parser json_parse_make_parser(struct json *doc, str src, enum simd_level level)
{
    return (struct parser){
        .doc = doc,
        .src = src.p,
        .end = src.p + src.n,
        .next = doc->nodes,
        .limit = doc->nodes ? doc->nodes + doc->cap : NULL,
        .level = level,
        .last_16 = level >= SIMD_16 && src.n >= 16 ? src.p + src.n - 16 : NULL,
    };
}

/* Fills the tape; false after the error was set. */
PART bool json_parse_document(struct parser ps, struct wrong *wrong)
{
    const char *p = ps.src;

    do {
        char c;

        if (ps.in && ps.closer == '}' && !(p = json_parse_key(&ps, p)))
            break;
        c = json_parse_peek_token(&ps, &p);
        if (c == '"') {
            p = json_parse_string(&ps, p);
        } else if (c == '{' || c == '[') {
            p = json_open_level(&ps, p, c);
            if (!p || json_parse_peek_token(&ps, &p) != ps.closer)
                continue;
        } else {
            p = json_parse_scalar(&ps, p, c);
        }
        if (p)
            p = json_parse_end_value(&ps, p);
    } while (p && ps.in);
    if (p && (p = json_skip_space(p, ps.end)) < ps.end)
        p = json_parse_fail(&ps, p, "more text after the value");
    if (p)
        ps.doc->n = (uint32_t)(ps.next - ps.doc->nodes);
    *wrong = ps.wrong;
    return p != NULL;
}

/* Two instances: nearly every text is closed. */
static NOINLINE bool json_open_document(struct json *doc, str src, enum simd_level level,
                                        struct wrong *wrong)
{
    return json_parse_document(json_parse_make_parser(doc, src, level), wrong);
}

static bool json_any_document(struct json *doc, str src, enum simd_level level, struct wrong *wrong)
{
    struct parser ps = json_parse_make_parser(doc, src, level);
    const char *last = ps.end;

    while (last > src.p && char_is_json_space(last[-1]))
        last--;
    if (last == src.p || (last[-1] != '}' && last[-1] != ']'))
        return json_open_document(doc, src, level, wrong);
    ps.closed = true;
    ps.last = last - 1;
    return json_parse_document(ps, wrong);
}

/* Columns are counted in characters, lines and columns from 1, bytes from 0. */
static bool json_parse_describe(str src, struct wrong wrong, struct err *e)
{
    size_t at = (size_t)(wrong.at - src.p), line = 1, column = 1;

    assert(wrong.what && wrong.at >= src.p && at <= src.n);
    for (size_t i = 0; i < at; i++) {
        char c = src.p[i];

        if (c == '\n')
            line++, column = 1;
        else if ((c & 0xC0) != 0x80)
            column++;
    }
    return err_set(e,
                   wrong.what == too_deep ? ERR_LIMIT : ERR_INPUT,
                   "JSON: %s at line %zu, column %zu (byte %zu)",
                   wrong.what,
                   line,
                   column,
                   at);
}

/* Nodes are in the order of the source and within it, and no value reaches beyond the one around
 * it. */
static bool json_tape_is_sound(const struct json *doc)
{
    for (uint32_t i = 0; i < doc->n; i++) {
        const struct json_node *v = &doc->nodes[i], *end = v + v->span;

        if (v->span == 0 || v->span > doc->n - i || (size_t)v->at + v->size > doc->src.n)
            return false;
        if (v->kind < JSON_ARRAY ? v->span != 1 : v->size < 2)
            return false;
        if (v->span > 1 && (v[1].at <= v->at || end[-1].at + end[-1].size >= v->at + v->size))
            return false;
        if (end < doc->nodes + doc->n && end->at < v->at + v->size)
            return false;
    }
    return true;
}

bool json_parse(struct json *doc, str src, struct err *e)
{
    return json_parse_at(doc, src, simd_best(), e);
}

bool json_open(struct json *doc, str src, struct err *e)
{
    json_init(doc);
    return json_parse(doc, src, e);
}

bool json_parse_at(struct json *doc, str src, enum simd_level level, struct err *e)
{
    struct wrong wrong;

    doc->n = 0;
    doc->src = STR("");
    if (src.n > JSON_SIZE_MAX)
        return err_set(
            e, ERR_LIMIT, "JSON: %zu bytes, the limit is %zu", src.n, (size_t)JSON_SIZE_MAX);
    doc->src = src;
    if (json_any_document(doc, src, level, &wrong)) {
        assert(doc->n > 0 && doc->nodes[0].span == doc->n);
        assert_slow(json_tape_is_sound(doc));
        return true;
    }
    doc->src = STR("");
    return json_parse_describe(src, wrong, e);
}
