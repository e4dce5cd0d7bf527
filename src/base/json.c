/* Reading: one pass from left to right, no recursion.
 *
 * Each function takes the place where it begins and returns the place behind what it took, or NULL
 * after it has noted what is wrong and where. Line and column are counted only then.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/json.h"
#include "base/json_internal.h"

#define NODES_MIN 32
#define TEXT_OF(x) #x
#define TEXT(macro) TEXT_OF(macro)

struct parser {
    struct json *doc;
    const char *end;
    unsigned depth;
    const char *wrong; /* what is wrong, once something is */
    const char *wrong_at;
    bool limit;                    /* a ceiling was reached, the text may be right */
    uint32_t open[JSON_DEPTH_MAX]; /* the nodes of the arrays and objects we are in */
};

void json_init(struct json *doc)
{
    *doc = (struct json){.src = STR("")};
}

void json_release(struct json *doc)
{
    free(doc->nodes);
    json_init(doc);
}

static const char *fail(struct parser *ps, const char *at, const char *what)
{
    ps->wrong = what;
    ps->wrong_at = at;
    return NULL;
}

static void grow(struct json *doc)
{
    size_t guess = doc->src.n / 16;
    size_t cap = doc->cap ? (size_t)doc->cap * 2 : guess > NODES_MIN ? guess : NODES_MIN;

    assert(cap <= UINT32_MAX);
    doc->nodes = base_realloc(doc->nodes, cap * sizeof *doc->nodes);
    doc->cap = (uint32_t)cap;
}

static struct json_node *add(struct parser *ps, const char *from, const char *to,
                             enum json_kind kind)
{
    struct json *doc = ps->doc;
    struct json_node *v;

    if (doc->n == doc->cap)
        grow(doc);
    v = &doc->nodes[doc->n++];
    *v = (struct json_node){
        .at = (uint32_t)(from - doc->src.p),
        .size = (uint32_t)(to - from),
        .span = 1,
        .kind = (uint8_t)kind,
    };
    return v;
}

static const char *space(const struct parser *ps, const char *p)
{
    while (p < ps->end && (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t'))
        p++;
    return p;
}

static bool is_digit(const struct parser *ps, const char *p)
{
    return p < ps->end && *p >= '0' && *p <= '9';
}

static const char *digits(struct parser *ps, const char *p)
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
        add(ps, from, p, JSON_NUMBER)->escaped = escaped;
    return p;
}

static const char *literal(struct parser *ps, const char *p, str word, enum json_kind kind)
{
    if ((size_t)(ps->end - p) < word.n || memcmp(p, word.p, word.n) != 0)
        return fail(ps, p, "neither null, true nor false");
    add(ps, p, p + word.n, kind);
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
    if (p[1] != 'u')
        return p[1] != '\0' && strchr("\"\\/bfnrt", p[1]) ? p + 2
                                                          : fail(ps, p, "an unknown escape");
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
static const char *string(struct parser *ps, const char *from)
{
    const char *p = from + 1;
    bool escaped = false;

    while (p && p < ps->end && *p != '"') {
        if (*p == '\\') {
            escaped = true;
            p = escape(ps, p);
        } else if ((unsigned char)*p < 0x20) {
            return fail(ps, p, "a control character in a string");
        } else {
            int n = json_utf8(p, ps->end);

            if (n < 0)
                return fail(ps, p, "bytes that are not UTF-8");
            p += n;
        }
    }
    if (!p)
        return NULL;
    if (p == ps->end)
        return fail(ps, p, "the text ends inside a string");
    add(ps, from, p + 1, JSON_STRING)->escaped = escaped;
    return p + 1;
}

static const char *open_node(struct parser *ps, const char *p, enum json_kind kind)
{
    if (ps->depth == JSON_DEPTH_MAX) {
        ps->limit = true;
        return fail(ps, p, "more than " TEXT(JSON_DEPTH_MAX) " levels deep");
    }
    ps->open[ps->depth++] = ps->doc->n;
    add(ps, p, p + 1, kind);
    return p + 1;
}

static const char *scalar(struct parser *ps, const char *p)
{
    if (p == ps->end)
        return fail(ps, p, "the text ends where a value is missing");
    switch (*p) {
    case '"':
        return string(ps, p);
    case 'n':
        return literal(ps, p, STR("null"), JSON_NULL);
    case 't':
        return literal(ps, p, STR("true"), JSON_TRUE);
    case 'f':
        return literal(ps, p, STR("false"), JSON_FALSE);
    default:
        if (*p == '-' || is_digit(ps, p))
            return number(ps, p);
        return fail(ps, p, "a value is missing");
    }
}

static bool in_object(const struct parser *ps)
{
    return ps->depth > 0 && ps->doc->nodes[ps->open[ps->depth - 1]].kind == JSON_OBJECT;
}

/* A key and its colon. */
static const char *member(struct parser *ps, const char *p)
{
    p = space(ps, p);
    if (p == ps->end || *p != '"')
        return fail(ps, p, "a key in quotes is missing");
    p = string(ps, p);
    if (!p)
        return NULL;
    p = space(ps, p);
    if (p == ps->end || *p != ':')
        return fail(ps, p, "a colon is missing");
    return p + 1;
}

/* Behind a value: closes all that ends here, and takes the comma that announces the next one. */
static const char *after(struct parser *ps, const char *p)
{
    while (ps->depth > 0) {
        bool object = in_object(ps);
        struct json_node *v = &ps->doc->nodes[ps->open[ps->depth - 1]];

        p = space(ps, p);
        if (p < ps->end && *p == ',')
            return p + 1;
        if (p == ps->end || *p != (object ? '}' : ']'))
            return fail(ps, p, object ? "a comma or } is missing" : "a comma or ] is missing");
        p++;
        v->size = (uint32_t)(p - ps->doc->src.p) - v->at;
        v->span = (uint32_t)(ps->doc->nodes + ps->doc->n - v);
        ps->depth--;
    }
    return p;
}

static const char *document(struct parser *ps, const char *p)
{
    do {
        char c;

        if (in_object(ps))
            p = member(ps, p);
        p = p ? space(ps, p) : NULL;
        if (!p)
            return NULL;
        c = p < ps->end ? *p : '\0';
        if (c == '{' || c == '[') {
            p = open_node(ps, p, c == '{' ? JSON_OBJECT : JSON_ARRAY);
            p = p ? space(ps, p) : NULL;
            if (p && (p == ps->end || *p != (c == '{' ? '}' : ']')))
                continue;
        } else {
            p = scalar(ps, p);
        }
        p = p ? after(ps, p) : NULL;
    } while (p && ps->depth > 0);
    if (!p)
        return NULL;
    p = space(ps, p);
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
                   ps->limit ? ERR_LIMIT : ERR_INPUT,
                   "JSON: %s at line %zu, column %zu (byte %zu)",
                   ps->wrong,
                   line,
                   column,
                   at);
}

bool json_parse(struct json *doc, str src, struct err *e)
{
    struct parser ps;

    /* Field by field: zeroing `open` would cost more than a small document. */
    ps.doc = doc;
    ps.end = src.p + src.n;
    ps.depth = 0;
    ps.limit = false;
    ps.wrong = NULL;
    ps.wrong_at = src.p;
    doc->n = 0;
    doc->src = STR("");
    if (src.n > JSON_SIZE_MAX)
        return err_set(
            e, ERR_LIMIT, "JSON: %zu bytes, the limit is %zu", src.n, (size_t)JSON_SIZE_MAX);
    doc->src = src;
    if (document(&ps, src.p)) {
        assert(doc->n > 0 && doc->nodes[0].span == doc->n);
        return true;
    }
    say_where(&ps, e);
    doc->n = 0;
    doc->src = STR("");
    return false;
}
