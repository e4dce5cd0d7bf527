/* Reading: one pass from left to right, no recursion.
 *
 * Each function takes the place where it begins and returns the place behind what it took, or NULL
 * after it has noted what is wrong and where. Line and column are counted only then.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/json.h"
#include "base/json/internal.h"
#include "base/spare.h"

#define NODES_MIN 32
#define SHORT_MAX 32 /* bytes of a string that are looked at on the spot */
#define TEXT_OF(x) #x
#define TEXT(macro) TEXT_OF(macro)

struct parser {
    struct json *doc;
    const char *src, *end;
    struct json_node *next, *limit; /* where the next node goes, and the end of the room */
    enum simd_level level;
    unsigned depth;
    bool limited;      /* a ceiling was reached; the text may be right */
    const char *wrong; /* what is wrong, once something is */
    const char *wrong_at;
    uint32_t open[JSON_DEPTH_MAX]; /* the nodes of the arrays and objects we are in */
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

static const char *fail(struct parser *ps, const char *at, const char *what)
{
    ps->wrong = what;
    ps->wrong_at = at;
    return NULL;
}

/* Called when the room is used up; returns where the next node goes. */
static struct json_node *grow(struct parser *ps)
{
    struct json *doc = ps->doc;
    size_t guess = doc->src.n / 16, n = doc->cap;
    size_t cap = n ? n * 2 : guess > NODES_MIN ? guess : NODES_MIN, size;

    assert(ps->next == ps->limit && cap <= UINT32_MAX);
    size = cap * sizeof *doc->nodes;
    doc->nodes = spare_grow(doc->nodes, n * sizeof *doc->nodes, n * sizeof *doc->nodes, &size);
    cap = size / sizeof *doc->nodes;
    doc->cap = (uint32_t)cap;
    ps->next = doc->nodes + n;
    ps->limit = doc->nodes + cap;
    return ps->next;
}

static inline void add(struct parser *ps, const char *from, const char *to, enum json_kind kind,
                       bool escaped)
{
    struct json_node *v = ps->next;

    if (v == ps->limit)
        v = grow(ps);
    *v = (struct json_node){
        .at = (uint32_t)(from - ps->src),
        .size = (uint32_t)(to - from),
        .span = 1,
        .kind = (uint8_t)kind,
        .escaped = escaped,
    };
    ps->next = v + 1;
}

static const char *skip_space(const char *p, const char *end)
{
    while (p < end && (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t'))
        p++;
    return p;
}

/* Goes over white space and gives the byte that stands there; 0, which begins nothing, at the end.
 */
static inline char token(const struct parser *ps, const char **p)
{
    if (*p < ps->end && (unsigned char)**p > ' ')
        return **p;
    *p = skip_space(*p, ps->end);
    return *p < ps->end ? **p : '\0';
}

static inline bool is_digit(const struct parser *ps, const char *p)
{
    return p < ps->end && *p >= '0' && *p <= '9';
}

static inline const char *digits(struct parser *ps, const char *p)
{
    if (!is_digit(ps, p))
        return fail(ps, p, "a digit is missing");
    while (is_digit(ps, p))
        p++;
    return p;
}

static const char *number(struct parser *ps, const char *from)
{
    const char *p = from;
    bool escaped = false;

    if (*p == '-')
        p++;
    if (p < ps->end && *p == '0')
        p++;
    else
        p = digits(ps, p);
    if (p && p < ps->end && *p == '.') {
        escaped = true;
        p = digits(ps, p + 1);
    }
    if (p && p < ps->end && (*p == 'e' || *p == 'E')) {
        escaped = true;
        p++;
        if (p < ps->end && (*p == '+' || *p == '-'))
            p++;
        p = digits(ps, p);
    }
    if (p)
        add(ps, from, p, JSON_NUMBER, escaped);
    return p;
}

static inline const char *literal(struct parser *ps, const char *p, str word, enum json_kind kind)
{
    if ((size_t)(ps->end - p) < word.n || memcmp(p, word.p, word.n) != 0)
        return fail(ps, p, "expected a value");
    add(ps, p, p + word.n, kind, false);
    return p + word.n;
}

/* The four hexadecimal digits at p, or -1. */
static int hex4(const struct parser *ps, const char *p)
{
    int v = 0;

    if (ps->end - p < 4)
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
static const char *escape(struct parser *ps, const char *p)
{
    int unit;

    if (ps->end - p < 2)
        return fail(ps, ps->end, "the text ends inside a string");
    if (json_escapes[(unsigned char)p[1]])
        return p + 2;
    if (p[1] != 'u')
        return fail(ps, p, "an unknown escape");
    unit = hex4(ps, p + 2);
    if (unit < 0)
        return fail(ps, p, "\\u without four hexadecimal digits");
    if (unit < 0xD800 || unit > 0xDFFF)
        return p + 6;
    if (unit >= 0xDC00 || ps->end - p < 12 || p[6] != '\\' || p[7] != 'u')
        return fail(ps, p, "an escaped surrogate without its pair");
    unit = hex4(ps, p + 8);
    if (unit < 0xDC00 || unit > 0xDFFF)
        return fail(ps, p, "an escaped surrogate without its pair");
    return p + 12;
}

/* from is at the opening quote. */
static const char *long_string(struct parser *ps, const char *from)
{
    const char *p = from + 1, *bad;
    struct json_run r = {0};
    bool high = false;

    for (;;) {
        p = json_run(p, ps->end, ps->level, &r);
        p = json_scan(p, ps->end, ps->level, &high);
        if (p == ps->end || *p != '\\')
            break;
        r.escaped = 1;
        p = escape(ps, p);
        if (!p)
            return NULL;
    }
    if (high || r.high) {
        bad = utf8_scan(from + 1, p, ps->level);
        if (bad)
            return fail(ps, bad, "bytes that are not UTF-8");
    }
    if (p == ps->end)
        return fail(ps, p, "the text ends inside a string");
    if (*p != '"')
        return fail(ps, p, "a control character in a string");
    add(ps, from, p + 1, JSON_STRING, r.escaped != 0);
    return p + 1;
}

/* from is at the opening quote. Most strings are short and plain, and settled here. */
static inline const char *string(struct parser *ps, const char *from)
{
#if SIMD_HAS_16
    const char *p = from + 1;

    while (ps->end - p >= 16 && p - from < SHORT_MAX && ps->level >= SIMD_16) {
        simd16 v = simd_load(p);
        uint32_t quote = simd_bits(simd_eq(v, '"'));
        uint32_t other = simd_bits(simd_or(simd_eq(v, '\\'), simd_below(v, 0x20))) | simd_high(v);

        if (quote && !(other & (quote - 1) & ~quote)) {
            p += __builtin_ctz(quote) + 1;
            add(ps, from, p, JSON_STRING, false);
            return p;
        }
        if (quote | other)
            break;
        p += 16;
    }
#endif
    return long_string(ps, from);
}

/* Anything that is neither an array nor an object; c is the byte at p. */
static inline const char *scalar(struct parser *ps, const char *p, char c)
{
    switch (c) {
    case '"':
        return string(ps, p);
    case 'n':
        return literal(ps, p, STR("null"), JSON_NULL);
    case 't':
        return literal(ps, p, STR("true"), JSON_TRUE);
    case 'f':
        return literal(ps, p, STR("false"), JSON_FALSE);
    default:
        if (c == '-' || (c >= '0' && c <= '9'))
            return number(ps, p);
        if (p == ps->end)
            return fail(ps, p, "the text ends where a value is missing");
        return fail(ps, p, "a value is missing");
    }
}

/* The node written last is a key of the innermost object. */
static inline void note_key(struct parser *ps)
{
    const struct json_node *k = ps->next - 1;
    struct json_node *v = &ps->doc->nodes[ps->open[ps->depth - 1]];
    const char *p = ps->src + k->at + 1;
    size_t n = k->size - 2;
    unsigned bit, other;

    if (k->escaped) {
        v->keys = UINT16_MAX;
        return;
    }
    bit = json_key_bit(p, n);
    other = 1u << ((n + (unsigned char)p[n / 2]) >> 1 & 7); /* of an empty key, its quote */
    if (v->keys & bit && v->escaped & other)
        bit |= JSON_KEYS_REPEAT;
    v->keys = (uint16_t)(v->keys | bit);
    v->escaped = (uint8_t)(v->escaped | other);
}

/* A key and its colon. */
static inline const char *member(struct parser *ps, const char *p)
{
    if (token(ps, &p) != '"')
        return fail(ps, p, "a key in quotes is missing");
    p = string(ps, p);
    if (!p)
        return NULL;
    note_key(ps);
    if (token(ps, &p) != ':')
        return fail(ps, p, "a colon is missing");
    return p + 1;
}

static const char *open_level(struct parser *ps, const char *p, enum json_kind kind)
{
    if (ps->depth == JSON_DEPTH_MAX) {
        ps->limited = true;
        return fail(ps, p, "more than " TEXT(JSON_DEPTH_MAX) " levels deep");
    }
    add(ps, p, p + 1, kind, false);
    ps->open[ps->depth++] = (uint32_t)(ps->next - 1 - ps->doc->nodes);
    return p + 1;
}

static struct json_node *innermost(const struct parser *ps)
{
    return ps->depth > 0 ? &ps->doc->nodes[ps->open[ps->depth - 1]] : NULL;
}

/* p is at the closing bracket. */
static const char *close_level(struct parser *ps, const char *p)
{
    struct json_node *v = innermost(ps);

    v->size = (uint32_t)(p + 1 - ps->src) - v->at;
    v->span = (uint32_t)(ps->next - v);
    ps->depth--;
    return p + 1;
}

/* Behind a value: closes all that ends here, and takes the comma that announces the next. */
static inline const char *after(struct parser *ps, const char *p, bool *object)
{
    while (ps->depth > 0) {
        const struct json_node *v;
        char c = token(ps, &p);

        if (c == ',')
            return p + 1;
        if (c != (*object ? '}' : ']'))
            return fail(ps, p, *object ? "a comma or } is missing" : "a comma or ] is missing");
        p = close_level(ps, p);
        v = innermost(ps);
        *object = v && v->kind == JSON_OBJECT;
    }
    return p;
}

static const char *document(struct parser *ps, const char *p)
{
    bool object = false; /* what we are in, if in anything */

    do {
        char c;

        if (object)
            p = member(ps, p);
        if (!p)
            return NULL;
        c = token(ps, &p);
        if (c == '{' || c == '[') {
            object = c == '{';
            p = open_level(ps, p, object ? JSON_OBJECT : JSON_ARRAY);
            if (!p)
                return NULL;
            if (token(ps, &p) != (object ? '}' : ']'))
                continue;
        } else {
            p = scalar(ps, p, c);
        }
        if (p)
            p = after(ps, p, &object);
    } while (p && ps->depth > 0);
    if (!p)
        return NULL;
    p = skip_space(p, ps->end);
    return p == ps->end ? p : fail(ps, p, "more text behind the value");
}

/* Columns are counted in characters, lines and columns from 1, bytes from 0. */
static bool say_where(const struct parser *ps, struct err *e)
{
    size_t at = (size_t)(ps->wrong_at - ps->doc->src.p), line = 1, column = 1;

    for (size_t i = 0; i < at; i++) {
        char c = ps->doc->src.p[i];

        if (c == '\n')
            line++, column = 1;
        else if ((c & 0xC0) != 0x80)
            column++;
    }
    return err_set(e,
                   ps->limited ? ERR_LIMIT : ERR_INPUT,
                   "JSON: %s at line %zu, column %zu (byte %zu)",
                   ps->wrong,
                   line,
                   column,
                   at);
}

bool json_parse(struct json *doc, str src, struct err *e)
{
    return json_parse_at(doc, src, simd_best(), e);
}

bool json_parse_at(struct json *doc, str src, enum simd_level level, struct err *e)
{
    struct parser ps;

    doc->n = 0;
    doc->src = STR("");
    if (src.n > JSON_SIZE_MAX)
        return err_set(
            e, ERR_LIMIT, "JSON: %zu bytes, the limit is %zu", src.n, (size_t)JSON_SIZE_MAX);
    doc->src = src;
    /* Field by field: to zero `open` would cost more than a small document. */
    ps.doc = doc;
    ps.src = src.p;
    ps.end = src.p + src.n;
    ps.next = doc->nodes;
    ps.limit = doc->nodes ? doc->nodes + doc->cap : NULL;
    ps.level = level;
    ps.depth = 0;
    ps.limited = false;
    ps.wrong = NULL;
    ps.wrong_at = src.p;
    if (document(&ps, src.p)) {
        doc->n = (uint32_t)(ps.next - doc->nodes);
        assert(doc->n > 0 && doc->nodes[0].span == doc->n);
        return true;
    }
    say_where(&ps, e);
    doc->src = STR("");
    return false;
}
