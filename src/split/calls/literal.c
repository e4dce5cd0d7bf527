/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls written like code: Python's f(k="v", n=[1, 2]) and Gemma's call:f{k:<|"|>v<|"|>,n:[1,2]}.
 * Values are read by recursion, no deeper than CALLS_DEPTH_MAX, and written as JSON on the way.
 */
#include "base/utf8.h"
#include "split/calls/internal.h"

static int calls_hex_digit(char ch)
{
    if (ch >= '0' && ch <= '9')
        return ch - '0';
    ch = (char)(ch | 0x20);
    return ch >= 'a' && ch <= 'f' ? ch - 'a' + 10 : -1;
}

/* `count` hexadecimal digits at the cursor. */
static bool eat_hex(struct calls *c, unsigned count, uint32_t *out)
{
    uint32_t v = 0;

    assert(count <= 8);
    for (; count > 0; count--, c->at++) {
        int digit = calls_hex_digit(calls_peek(c));

        if (digit < 0 || v > UTF8_CODE_MAX)
            return false;
        v = v * 16 + (uint32_t)digit;
    }
    *out = v;
    return true;
}

static bool calls_add_code(struct calls *c, uint32_t code)
{
    char bytes[UTF8_SIZE_MAX];
    size_t n = utf8_encode(code, bytes);

    buf_add(&c->text, (str){bytes, n});
    return n > 0;
}

/* \u escapes; two of them may form one character, as in JSON. */
static bool eat_code(struct calls *c, unsigned digits)
{
    uint32_t code, low;

    assert(c->at <= c->raw.n);
    if (!eat_hex(c, digits, &code))
        return false;
    if (digits == 4 && code >= 0xD800 && code < 0xDC00) {
        if (!calls_eat(c, STR("\\u")) || !eat_hex(c, 4, &low) || low < 0xDC00 || low > 0xDFFF)
            return false;
        code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    }
    return calls_add_code(c, code);
}

static bool eat_octal(struct calls *c)
{
    uint32_t code = 0;

    for (int i = 0; i < 3 && calls_peek(c) >= '0' && calls_peek(c) <= '7'; i++, c->at++)
        code = code * 8 + (uint32_t)(calls_peek(c) - '0');
    return calls_add_code(c, code);
}

/* The cursor is after a backslash. One that escapes nothing is a literal backslash, as in
 * Python. */
static bool eat_escape(struct calls *c)
{
    static const char from[] = "abfnrtv\\'\"", to[] = "\a\b\f\n\r\t\v\\'\"";
    char ch = calls_peek(c);
    const char *hit = ch ? strchr(from, ch) : NULL;

    if (calls_done(c) || ch == 'N')
        return false;
    if (ch >= '0' && ch <= '7')
        return eat_octal(c);
    c->at++;
    if (hit) {
        buf_add_c(&c->text, to[hit - from]);
        return true;
    }
    switch (ch) {
    case '\n':
        return true;
    case 'x':
        return eat_code(c, 2);
    case 'u':
        return eat_code(c, 4);
    case 'U':
        return eat_code(c, 8);
    default:
        buf_add_c(&c->text, '\\');
        buf_add_c(&c->text, ch);
        return true;
    }
}

/* Reads a string in one or three quotes into c->text. Both may contain line ends. */
static bool python_text(struct calls *c)
{
    char quote = calls_peek(c);
    str one = {quote == '"' ? "\"" : "'", 1}, three = {quote == '"' ? "\"\"\"" : "'''", 3};
    str end = calls_eat(c, three) ? three : one;

    assert(quote == '"' || quote == '\'');
    if (end.n == 1)
        c->at++;
    buf_reset(&c->text);
    while (!calls_done(c)) {
        if (calls_eat(c, end))
            return true;
        if (calls_peek(c) != '\\') {
            buf_add_c(&c->text, calls_peek(c));
            c->at++;
            continue;
        }
        c->at++;
        if (!eat_escape(c))
            return false;
    }
    return false;
}

static bool python_string(struct calls *c)
{
    if (!python_text(c))
        return false;
    json_out_str(&c->out, buf_str(&c->text));
    return true;
}

/* The token at the cursor: all that a word or number may be made of. */
static str eat_token(struct calls *c)
{
    size_t from = c->at;

    while (!calls_done(c) && !char_is_json_space(calls_peek(c)) &&
           !calls_is_one_of(calls_peek(c), ",:=()[]{}'\"<"))
        c->at++;
    return str_slice(c->raw, from, c->at);
}

/* A number of Python's in JSON's spelling: no leading zeros or underscores, digits around a dot. */
static bool python_number(struct calls *c, str token)
{
    size_t i = token.n > 0 && (token.p[0] == '-' || token.p[0] == '+');
    size_t from;
    struct err e;

    assert(i <= token.n);
    buf_reset(&c->text);
    if (i > 0 && token.p[0] == '-')
        buf_add_c(&c->text, '-');
    while (i + 1 < token.n && token.p[i] == '0' && token.p[i + 1] >= '0' && token.p[i + 1] <= '9')
        i++;
    if (i < token.n && token.p[i] == '.')
        buf_add_c(&c->text, '0');
    for (from = i; i < token.n; i++) {
        bool dot = i > from && token.p[i - 1] == '.';

        if (dot && !(token.p[i] >= '0' && token.p[i] <= '9'))
            buf_add_c(&c->text, '0');
        if (token.p[i] != '_')
            buf_add_c(&c->text, token.p[i]);
    }
    if (token.n > 1 && token.p[token.n - 1] == '.')
        buf_add_c(&c->text, '0');
    if (!json_parse(&c->inner, buf_str(&c->text), &e) || json_root(&c->inner)->kind != JSON_NUMBER)
        return false;
    json_out_raw(&c->out, buf_str(&c->text));
    return true;
}

static bool calls_literal_python_word(struct calls *c, str token)
{
    if (str_eq(token, STR("True")) || str_eq(token, STR("true")))
        json_out_bool(&c->out, true);
    else if (str_eq(token, STR("False")) || str_eq(token, STR("false")))
        json_out_bool(&c->out, false);
    else if (str_eq(token, STR("None")) || str_eq(token, STR("null")))
        json_out_null(&c->out);
    else
        return python_number(c, token);
    return true;
}

/* Between elements: a comma, or the end. False if neither is here. */
static bool calls_next_or_end(struct calls *c, char end, bool *more)
{
    calls_space(c);
    if (calls_peek(c) == ',') {
        c->at++;
        calls_space(c);
    } else if (calls_peek(c) != end) {
        return false;
    }
    *more = calls_peek(c) != end;
    if (!*more)
        c->at++;
    return !calls_done(c) || !*more;
}

static bool python_list(struct calls *c, char end, unsigned depth)
{
    bool more;

    assert(!calls_done(c) && depth < CALLS_DEPTH_MAX);
    c->at++;
    calls_space(c);
    more = calls_peek(c) != end;
    c->at += !more;
    json_out_array(&c->out);
    while (more)
        if (!calls_python_value(c, depth + 1) || !calls_next_or_end(c, end, &more))
            return false;
    json_out_end(&c->out);
    return true;
}

static bool python_dict(struct calls *c, unsigned depth)
{
    bool more;

    assert(calls_peek(c) == '{' && depth < CALLS_DEPTH_MAX);
    c->at++;
    calls_space(c);
    more = calls_peek(c) != '}';
    c->at += !more;
    json_out_object(&c->out);
    while (more) {
        if (!calls_is_one_of(calls_peek(c), "'\"") || !python_text(c))
            return false;
        json_out_key(&c->out, buf_str(&c->text));
        calls_space(c);
        if (!calls_eat(c, STR(":")) || !calls_python_value(c, depth + 1) ||
            !calls_next_or_end(c, '}', &more))
            return false;
    }
    json_out_end(&c->out);
    return true;
}

bool calls_python_value(struct calls *c, unsigned depth)
{
    if (depth >= CALLS_DEPTH_MAX)
        return false;
    calls_space(c);
    switch (calls_peek(c)) {
    case '"':
    case '\'':
        return python_string(c);
    case '[':
        return python_list(c, ']', depth);
    case '(':
        return python_list(c, ')', depth);
    case '{':
        return python_dict(c, depth);
    default:
        return calls_literal_python_word(c, eat_token(c));
    }
}

/* The cursor is after "f(". */
static bool python_arguments(struct calls *c)
{
    bool more;

    calls_make(c);
    calls_space(c);
    more = calls_peek(c) != ')';
    c->at += !more;
    while (more) {
        str key = eat_token(c);

        calls_space(c);
        if (!calls_is_bare(key) || !calls_eat(c, STR("=")))
            return false;
        json_out_key(&c->out, key);
        if (!calls_python_value(c, 1) || !calls_next_or_end(c, ')', &more))
            return false;
    }
    return true;
}

/* Skips from after an open parenthesis past its end, ignoring strings; to the end of the text
 * without one. */
static void calls_skip_parens(struct calls *c)
{
    size_t depth = 1;

    while (!calls_done(c) && depth > 0) {
        char ch = calls_peek(c);

        if (ch == '"' || ch == '\'') {
            if (!python_text(c))
                c->at = c->raw.n;
            continue;
        }
        depth += ch == '(' || ch == '[' || ch == '{';
        depth -= ch == ')' || ch == ']' || ch == '}';
        c->at++;
    }
    assert(c->at <= c->raw.n);
}

static void python_call(struct calls *c)
{
    str name = eat_token(c);
    size_t from;

    calls_space(c);
    if (!calls_is_bare(name) || !calls_eat(c, STR("("))) {
        calls_doubt(c); /* text after a word that is not a call may be inside of anything */
        c->at = c->raw.n;
        return;
    }
    from = c->at;
    if (python_arguments(c)) {
        calls_finish_object(c, name);
        return;
    }
    calls_doubt(c);
    c->at = from;
    calls_skip_parens(c);
}

/* A list of calls, which some models write as JSON. */
static void python_list_begin(struct calls *c, size_t *open)
{
    size_t from = c->at++;

    assert(c->raw.p[from] == '[');
    calls_space(c);
    if (calls_peek(c) != '{') {
        (*open)++;
        return;
    }
    c->at = from;
    calls_json_step(c);
}

void calls_pythonic(struct calls *c)
{
    size_t open = 0; /* lists */

    while (calls_space(c), !calls_done(c)) {
        size_t was = c->at;

        if (calls_eat_mark(c) || calls_eat(c, STR(",")))
            continue;
        if (calls_peek(c) == '[')
            python_list_begin(c, &open);
        else if (open > 0 && calls_eat(c, STR("]")))
            open--;
        else
            python_call(c);
        assert(c->at > was); /* each step reads something */
    }
    if (open > 0)
        calls_doubt(c);
}

/* ---- Gemma ---- */

struct gemma {
    struct calls *c;
    struct calls_find quote, end;
};

static bool gemma_value(struct gemma *g, unsigned depth);

/* A text in Gemma's quotes, which has no escapes; the cursor is after the first quote. */
static bool gemma_text(struct gemma *g, str *out)
{
    struct calls *c = g->c;
    size_t from = c->at, at = calls_seek(c, &g->quote, from);

    assert(from <= at && at <= c->raw.n);
    *out = str_slice(c->raw, from, at);
    c->at = at;
    return calls_eat(c, g->quote.needle);
}

static bool gemma_key(struct gemma *g, str *out)
{
    struct calls *c = g->c;

    calls_space(c);
    if (calls_eat(c, g->quote.needle))
        return gemma_text(g, out);
    if (calls_is_one_of(calls_peek(c), "'\"")) {
        if (!python_text(c))
            return false;
        *out = buf_str(&c->text);
        return true;
    }
    *out = eat_token(c);
    return calls_is_bare(*out);
}

static bool gemma_members(struct gemma *g, unsigned depth)
{
    struct calls *c = g->c;
    bool more;

    calls_space(c);
    more = calls_peek(c) != '}';
    c->at += !more;
    while (more) {
        str key;

        if (!gemma_key(g, &key))
            return false;
        json_out_key(&c->out, key);
        calls_space(c);
        if (!calls_eat(c, STR(":")) || !gemma_value(g, depth + 1) ||
            !calls_next_or_end(c, '}', &more))
            return false;
    }
    return true;
}

static bool gemma_list(struct gemma *g, unsigned depth)
{
    struct calls *c = g->c;
    bool more;

    calls_space(c);
    more = calls_peek(c) != ']';
    c->at += !more;
    json_out_array(&c->out);
    while (more)
        if (!gemma_value(g, depth + 1) || !calls_next_or_end(c, ']', &more))
            return false;
    json_out_end(&c->out);
    return true;
}

/* Text without quotes runs to the next comma or bracket. */
static bool gemma_bare(struct gemma *g)
{
    struct calls *c = g->c;
    size_t from = c->at;
    str text;

    while (!calls_done(c) && !calls_is_one_of(calls_peek(c), ",}]{[<\""))
        c->at++;
    text = str_trim(str_slice(c->raw, from, c->at));
    if (text.n == 0 || !calls_is_one_of(calls_peek(c), ",}]"))
        return false;
    calls_value(c, text, 0);
    return true;
}

static bool gemma_value(struct gemma *g, unsigned depth)
{
    struct calls *c = g->c;
    str text;
    bool ok;

    if (depth >= CALLS_DEPTH_MAX)
        return false;
    calls_space(c);
    if (calls_eat(c, g->quote.needle)) {
        ok = gemma_text(g, &text);
        json_out_str(&c->out, text);
        return ok;
    }
    if (calls_is_one_of(calls_peek(c), "'\""))
        return python_string(c);
    if (calls_eat(c, STR("[")))
        return gemma_list(g, depth);
    if (!calls_eat(c, STR("{")))
        return gemma_bare(g);
    json_out_object(&c->out);
    if (!gemma_members(g, depth))
        return false;
    json_out_end(&c->out);
    return true;
}

/* The cursor is after "call:". */
static void gemma_call(struct gemma *g)
{
    struct calls *c = g->c;
    size_t from = c->at;
    str name;

    while (!calls_done(c) && !calls_is_one_of(calls_peek(c), "{<\n"))
        c->at++;
    name = str_trim(str_slice(c->raw, from, c->at));
    calls_space(c);
    calls_make(c);
    if (calls_is_bare(name) && calls_eat(c, STR("{")) && gemma_members(g, 1)) {
        calls_finish_object(c, name);
    } else {
        calls_doubt(c);
        c->at = calls_seek(c, &g->end, c->at);
    }
}

void calls_gemma(struct calls *c)
{
    /* FunctionGemma, the smaller sister, has other tokens for the same grammar. */
    bool sister = str_find(c->raw, STR("<start_function_call>")) != STR_NONE;
    struct gemma g = {
        .c = c,
        .quote.needle = sister ? STR("<escape>") : STR("<|\"|>"),
        .end.needle = sister ? STR("<end_function_call>") : STR("<tool_call|>"),
    };

    while (calls_space(c), !calls_done(c)) {
        size_t was = c->at;

        if (calls_eat(c, STR("call:"))) {
            gemma_call(&g);
        } else if (!calls_eat_mark(c)) {
            calls_doubt(c);
            c->at = calls_seek(c, &g.end, c->at);
        }
        assert(c->at > was); /* each step reads something */
    }
}
