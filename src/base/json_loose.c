/* json_loose.c - see json_loose.h.
 *
 * One reader over the text writes plain JSON. It is tried at every bracket that is not inside an
 * earlier value. A value may fail far after its bracket, and then the next bracket is tried; the
 * steps of all attempts are counted and limited.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/json_loose.h"

#include "base/utf8.h"

#define WORK_PER_BYTE 16
#define WORK_LEAST 65536

struct reader {
    str s;
    size_t at;
    size_t work; /* steps left */
    unsigned depth;
    struct buf *out;
    const char *wrong; /* the error */
    size_t wrong_at;
};

static bool json_loose_wrong(struct reader *r, const char *why)
{
    assert(r->at <= r->s.n);
    r->wrong = why;
    r->wrong_at = r->at;
    return false;
}

static bool json_loose_more(struct reader *r)
{
    assert_slow(r->at <= r->s.n);
    if (r->at >= r->s.n || r->work == 0)
        return false;
    r->work--;
    return true;
}

static bool json_loose_word_char(char c)
{
    return (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z') || c == '_' || c == '$' ||
           c == '-' || c == '.';
}

/* Skips a comment; false if none begins here. */
static bool json_loose_skip_comment(struct reader *r)
{
    str rest = str_slice(r->s, r->at, r->s.n);
    bool block = str_starts(rest, STR("/*"));
    size_t end;

    if (!block && !str_starts(rest, STR("//")) && !str_starts(rest, STR("#")))
        return false;
    end = str_find(rest, block ? STR("*/") : STR("\n"));
    end = end == STR_NONE ? rest.n : end + (block ? 2 : 1);
    r->at += end;
    r->work -= end < r->work ? end : r->work;
    return true;
}

static void json_loose_skip_space(struct reader *r)
{
    while (json_loose_more(r)) {
        char c = r->s.p[r->at];

        if (c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v')
            r->at++;
        else if (str_starts(str_slice(r->s, r->at, r->s.n), STR("\xc2\xa0")))
            r->at += 2;
        else if (!json_loose_skip_comment(r))
            return;
    }
}

/* ---- texts ---- */

static int json_loose_hex4(str s, size_t at)
{
    int n = 0;

    if (at + 4 > s.n)
        return -1;
    for (size_t i = at; i < at + 4; i++) {
        char c = s.p[i];
        int d = c >= '0' && c <= '9'                   ? c - '0'
                : ((c | 32) >= 'a' && (c | 32) <= 'f') ? (c | 32) - 'a' + 10
                                                       : -1;

        if (d < 0)
            return -1;
        n = n << 4 | d;
    }
    return n;
}

/* Copies \uXXXX, if it is a character: a lone surrogate is not. */
static void json_loose_copy_unicode(struct reader *r)
{
    int n = json_loose_hex4(r->s, r->at + 2), low;

    assert(str_starts(str_slice(r->s, r->at, r->s.n), STR("\\u")));
    if (n >= 0xd800 && n <= 0xdbff && str_starts(str_slice(r->s, r->at + 6, r->s.n), STR("\\u"))) {
        low = json_loose_hex4(r->s, r->at + 8);
        if (low >= 0xdc00 && low <= 0xdfff) {
            buf_add(r->out, str_slice(r->s, r->at, r->at + 12));
            r->at += 12;
            return;
        }
    }
    if (n < 0) {
        buf_add(r->out, STR("\\\\u"));
        r->at += 2;
    } else {
        buf_add(r->out,
                n >= 0xd800 && n <= 0xdfff ? STR("\\ufffd") : str_slice(r->s, r->at, r->at + 6));
        r->at += 6;
    }
}

static void json_loose_escape(struct reader *r)
{
    char c = r->at + 1 < r->s.n ? r->s.p[r->at + 1] : '\0';

    assert(r->s.p[r->at] == '\\');
    if (c == 'u') {
        json_loose_copy_unicode(r);
        return;
    }
    if (c && strchr("\"\\/bfnrt", c))
        buf_add(r->out, str_slice(r->s, r->at, r->at + 2));
    else if (c == '\n')
        ; /* a continued line */
    else if (c == '\'' || c == '`')
        buf_add_c(r->out, c);
    else { /* as in a path or a pattern: the backslash was meant */
        buf_add(r->out, STR("\\\\"));
        r->at++;
        return;
    }
    r->at += 2;
}

static void json_loose_plain(struct reader *r)
{
    char c = r->s.p[r->at++];

    if (c == '"')
        buf_add(r->out, STR("\\\""));
    else if (c == '\n')
        buf_add(r->out, STR("\\n"));
    else if (c == '\r')
        buf_add(r->out, STR("\\r"));
    else if (c == '\t')
        buf_add(r->out, STR("\\t"));
    else if ((unsigned char)c < 0x20)
        buf_printf(r->out, "\\u%04x", (unsigned)c);
    else
        buf_add_c(r->out, c);
}

static bool json_loose_text(struct reader *r)
{
    char quote = r->s.p[r->at++];

    buf_add_c(r->out, '"');
    while (json_loose_more(r)) {
        char c = r->s.p[r->at];

        if (c == quote) {
            r->at++;
            buf_add_c(r->out, '"');
            return true;
        }
        if (c == '\\')
            json_loose_escape(r);
        else
            json_loose_plain(r);
    }
    return json_loose_wrong(r, "a text is not closed");
}

/* ---- words and numbers ---- */

static str json_loose_word(struct reader *r)
{
    size_t from = r->at;

    while (r->at < r->s.n && json_loose_word_char(r->s.p[r->at]) && json_loose_more(r))
        r->at++;
    return str_slice(r->s, from, r->at);
}

static bool json_loose_number(str w, struct buf *out)
{
    struct json doc;
    struct err e;
    str digits = str_starts(w, STR("+")) ? str_slice(w, 1, w.n) : w;
    bool ok;

    ok = json_open(&doc, digits, &e) && json_root(&doc)->kind == JSON_NUMBER;
    json_release(&doc);
    if (ok)
        buf_add(out, digits);
    return ok;
}

static bool json_loose_read_literal(struct reader *r)
{
    static const struct {
        const char *said, *meant;
    } words[] = {{"true", "true"},
                 {"false", "false"},
                 {"null", "null"},
                 {"True", "true"},
                 {"False", "false"},
                 {"None", "null"},
                 {"TRUE", "true"},
                 {"FALSE", "false"},
                 {"NULL", "null"},
                 {"undefined", "null"},
                 {"NaN", "null"}};
    size_t from = r->at;
    str w;

    if (r->at < r->s.n && r->s.p[r->at] == '+')
        r->at++;
    w = json_loose_word(r);
    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (str_eq(w, str_c(words[i].said))) {
            buf_add(r->out, str_c(words[i].meant));
            return true;
        }
    if (json_loose_number(w, r->out))
        return true;
    r->at = from;
    return json_loose_wrong(
        r, "a value is neither a text in quotes nor a number, true, false or null");
}

/* ---- objects and arrays ---- */

static bool json_loose_value(struct reader *r);

static bool json_loose_quoted(const struct reader *r)
{
    return r->at < r->s.n && (r->s.p[r->at] == '"' || r->s.p[r->at] == '\'');
}

static bool json_loose_key(struct reader *r)
{
    str w;

    if (json_loose_quoted(r))
        return json_loose_text(r);
    w = json_loose_word(r);
    if (!w.n)
        return json_loose_wrong(r, "a name was expected");
    buf_add_c(r->out, '"');
    buf_add(r->out, w);
    buf_add_c(r->out, '"');
    return true;
}

static bool json_loose_member(struct reader *r)
{
    if (!json_loose_key(r))
        return false;
    json_loose_skip_space(r);
    if (r->at >= r->s.n || r->s.p[r->at] != ':')
        return json_loose_wrong(r, "expected a colon after a name");
    r->at++;
    buf_add_c(r->out, ':');
    return json_loose_value(r);
}

/* Members or elements up to the closing bracket. Extra commas are ignored, and a missing one at the
 * end of a line is added. */
static bool json_loose_read_items(struct reader *r, char close)
{
    bool any = false;

    assert((close == '}' || close == ']') && r->depth > 0 && r->depth <= JSON_LOOSE_DEPTH);
    for (;;) {
        bool comma = false;

        json_loose_skip_space(r);
        while (r->at < r->s.n && r->s.p[r->at] == ',' && json_loose_more(r)) {
            comma = true;
            r->at++;
            json_loose_skip_space(r);
        }
        if (r->at >= r->s.n || r->work == 0)
            return json_loose_wrong(r, "it is not closed");
        if (r->s.p[r->at] == close) {
            r->at++;
            buf_add_c(r->out, close);
            return true;
        }
        if (any && !comma && r->s.p[r->at] != '{' && !(close == '}' && json_loose_quoted(r)))
            return json_loose_wrong(r, "a comma was expected");
        if (any)
            buf_add_c(r->out, ',');
        if (close == '}' ? !json_loose_member(r) : !json_loose_value(r))
            return false;
        any = true;
    }
}

static bool json_loose_value(struct reader *r)
{
    char c;
    bool ok;

    json_loose_skip_space(r);
    if (!json_loose_more(r))
        return json_loose_wrong(r, "it ends where a value was expected");
    c = r->s.p[r->at];
    if (c == '"' || c == '\'')
        return json_loose_text(r);
    if (c != '{' && c != '[')
        return json_loose_read_literal(r);
    if (r->depth == JSON_LOOSE_DEPTH)
        return json_loose_wrong(r, "it is nested too deep");
    r->depth++;
    r->at++;
    buf_add_c(r->out, c);
    ok = json_loose_read_items(r, c == '{' ? '}' : ']');
    assert(r->depth > 0);
    r->depth--;
    return ok;
}

/* ---- where ---- */

struct search {
    json_loose_wanted *wanted;
    void *ctx;
    struct buf *best;
    bool found;
    const char *why;
    size_t why_at, why_size; /* of the try that came farthest */
};

static bool base_json_loose_wanted(struct search *f, str json)
{
    struct json doc;
    struct err e;
    bool ok;

    ok = json_open(&doc, json, &e) && (!f->wanted || f->wanted(f->ctx, &doc));
    json_release(&doc);
    return ok;
}

static void json_loose_try_at(struct search *f, struct reader *r)
{
    size_t from = r->at;

    buf_reset(r->out);
    r->depth = 0;
    if (!json_loose_value(r)) {
        assert(r->wrong && r->wrong_at >= from);
        if (!f->why || r->wrong_at - from > f->why_size) {
            f->why = r->wrong;
            f->why_at = r->wrong_at;
            f->why_size = r->wrong_at - from;
        }
        r->at = from + 1;
    } else if (base_json_loose_wanted(f, buf_str(r->out))) {
        assert(r->depth == 0 && r->at > from);
        f->found = true;
        assert(!buf_full(r->out)); /* it has room for whatever the text becomes */
        buf_reset(f->best);
        buf_add(f->best, buf_str(r->out));
    } else {
        r->at = from + 1; /* perhaps something in it */
    }
}

static unsigned json_loose_line_of(str s, size_t at)
{
    unsigned n = 1;

    for (size_t i = 0; i < at && i < s.n; i++)
        n += s.p[i] == '\n';
    return n;
}

bool json_loose_object(void *ctx, const struct json *doc)
{
    (void)ctx;
    return json_root(doc)->kind == JSON_OBJECT;
}

bool json_loose(str said, json_loose_wanted *want, void *ctx, struct buf *out, struct err *e)
{
    struct buf now, best;
    struct search f = {.wanted = want, .ctx = ctx, .best = &best};
    struct reader r = {.s = said, .work = said.n * WORK_PER_BYTE + WORK_LEAST, .out = &now};
    bool ok;

    if (said.n > JSON_LOOSE_MAX || !utf8_valid(said))
        return err_input(e,
                         said.n > JSON_LOOSE_MAX ? "the text is too long to look for JSON in it"
                                                 : "the text is not UTF-8");
    buf_init(&now, 6 * said.n + 64);
    buf_init(&best, 6 * said.n + 64);
    while (r.at < said.n && r.work > 0) {
        if (said.p[r.at] == '{' || said.p[r.at] == '[')
            json_loose_try_at(&f, &r);
        else
            r.at++;
    }
    ok = f.found;
    if (ok)
        buf_add(out, buf_str(&best));
    else if (f.why)
        err_input(e,
                  "no JSON of the requested form: line %u: %s",
                  json_loose_line_of(said, f.why_at),
                  f.why);
    else
        err_input(e, "there is no JSON of the requested form");
    buf_release(&now);
    buf_release(&best);
    return ok;
}
