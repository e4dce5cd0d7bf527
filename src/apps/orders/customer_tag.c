/* customer_tag.c - see customer_tag.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/orders/customer_tag.h"
#include "base/ctype.h"

#define SPACES_MAX 4   /* in a tag, before its name */
#define BRACKET_MAX 12 /* letters between [ and ] */

/* ---- letters ---- */

/* Signs that models and proxies write for brackets, and invisible characters. */
static const struct {
    const char *sign;
    char letter; /* 0: none */
} signs[] = {
    {"&lt;", '<'},         {"&gt;", '>'},         {"\xE2\x97\x81", '<'}, {"\xE2\x96\xB7", '>'},
    {"\xE2\x97\x80", '<'}, {"\xE2\x96\xB6", '>'}, {"\xEF\xBC\x9C", '<'}, {"\xEF\xBC\x9E", '>'},
    {"\xE2\x9F\xA8", '<'}, {"\xE2\x9F\xA9", '>'}, {"\xE3\x80\x88", '<'}, {"\xE3\x80\x89", '>'},
    {"\xE2\x80\xB9", '<'}, {"\xE2\x80\xBA", '>'}, {"\xE2\x80\x8B", 0},   {"\xE2\x80\x8C", 0},
    {"\xE2\x80\x8D", 0},   {"\xE2\x81\xA0", 0},   {"\xEF\xBB\xBF", 0},   {"\xC2\xAD", 0},
};

static const char sign_starts[] = "&\xE2\xE3\xEF\xC2"; /* the first bytes of all signs */

bool customer_tag_may_begin(char c)
{
    return c == '<' || c == '[' || c == '&' || c == '\xE2' || c == '\xEF' || c == '\xE3';
}

size_t customer_tag_common(str s, str sign)
{
    size_t n = 0;

    while (n < s.n && n < sign.n && char_to_lower(s.p[n]) == sign.p[n])
        n++;
    return n;
}

size_t customer_tag_letter(str s, char *out)
{
    bool more = false;

    *out = s.p[0];
    if (!memchr(sign_starts, s.p[0], sizeof sign_starts - 1))
        return 1;
    for (size_t i = 0; i < COUNT_OF(signs); i++) {
        str sign = str_c(signs[i].sign);
        size_t n = customer_tag_common(s, sign);

        if (n && n == sign.n) {
            *out = signs[i].letter;
            return n;
        }
        more |= n && n == s.n;
    }
    return more ? 0 : 1;
}

/* The end of the text without a sign that may be cut off. */
static void customer_letters_of(str s, struct customer_tag *out)
{
    size_t at = 0, size;
    char c;

    assert(s.n <= CUSTOMER_TAG_MAX);
    out->count = 0;
    while (at < s.n && (size = customer_tag_letter(str_slice(s, at, s.n), &c)) > 0) {
        at += size;
        if (c)
            out->letters[out->count] = c;
        if (c)
            out->ends[out->count++] = at;
    }
}

/* ---- names ---- */

bool customer_tag_name_has(str name, const char *stem)
{
    for (size_t i = 0; i < name.n; i++)
        if (customer_tag_common(str_slice(name, i, name.n), str_c(stem)) == strlen(stem))
            return true;
    return false;
}

/* The first THINKING of them speak of thinking. */
#define THINKING 11
static const char *const stems[] = {
    "think",   "thought", "reason", "reflect", "analy", "rational", "scratch",
    "monolog", "delib",   "inner",  "cot",     "tool",  "func",     "invoke",
    "call",    "param",   "plan",   "note",    "decis", "consider", "intern",
};

static bool customer_has_stem(str name, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (customer_tag_name_has(name, stems[i]))
            return true;
    return false;
}

bool customer_tag_hides(str name)
{
    return customer_has_stem(name, COUNT_OF(stems)) || str_eq(name, STR(CUSTOMER_COMMENT));
}

bool customer_tag_thinks(str name)
{
    return customer_has_stem(name, THINKING);
}

static bool order_customer_tag_is_name(char c)
{
    return char_is_letter(c) || char_is_digit(c) || c == '_' || c == '-' || c == ':' || c == '.';
}

static size_t customer_skip_spaces(str s, size_t at)
{
    size_t end = at;

    while (end < s.n && end - at < SPACES_MAX && char_is_json_space(s.p[end]))
        end++;
    return end;
}

static str customer_without_prefix(str name)
{
    return str_slice(name, str_find_last(name, ':') + 1, name.n);
}

/* ---- tags; sizes are in letters here ---- */

/* <|name|>, or <|name>, which <name|> ends. */
static enum customer_tag_kind customer_look_token(str s, struct customer_tag *out)
{
    for (size_t i = 2; i < s.n; i++) {
        if (s.p[i] == '|' && i + 1 == s.n)
            return CUSTOMER_TAG_MORE;
        if (s.p[i] == '|' && s.p[i + 1] == '>') {
            out->size = i + 2;
            out->name = str_slice(s, 2, i);
            out->whole = true;
            return CUSTOMER_TAG_TOKEN;
        }
        if (s.p[i] == '>') {
            out->size = i + 1;
            out->name = str_slice(s, 2, i);
            out->whole = true;
            return CUSTOMER_TAG_TAG;
        }
        if (i - 2 >= CUSTOMER_TAG_NAME_MAX ||
            (!order_customer_tag_is_name(s.p[i]) && s.p[i] != '/' && s.p[i] != ' '))
            return CUSTOMER_TAG_NONE;
    }
    return CUSTOMER_TAG_MORE;
}

static bool customer_is_bracket_name(str name)
{
    return customer_tag_name_has(name, "think") || customer_tag_name_has(name, "reason");
}

/* <!-- ; its end is looked for by customer_filter.c. */
static enum customer_tag_kind customer_look_comment(str s, struct customer_tag *out)
{
    str mark = STR("<!--");

    if (!str_starts(s, str_slice(mark, 0, s.n < mark.n ? s.n : mark.n)))
        return CUSTOMER_TAG_NONE;
    if (s.n < mark.n)
        return CUSTOMER_TAG_MORE;
    out->size = mark.n;
    out->name = STR(CUSTOMER_COMMENT);
    out->whole = true;
    return CUSTOMER_TAG_TAG;
}

/* [THINK] and [/THINK] */
static enum customer_tag_kind customer_look_bracket(str s, struct customer_tag *out)
{
    bool closing = s.n > 1 && s.p[1] == '/';
    size_t at = closing ? 2 : 1;

    for (size_t i = at; i < s.n; i++) {
        if (s.p[i] == ']') {
            out->size = i + 1;
            out->name = str_slice(s, at, i);
            out->closing = closing;
            out->whole = true;
            return customer_is_bracket_name(out->name) ? CUSTOMER_TAG_TAG : CUSTOMER_TAG_NONE;
        }
        if (i - at >= BRACKET_MAX || !order_customer_tag_is_name(s.p[i]))
            return CUSTOMER_TAG_NONE;
    }
    return CUSTOMER_TAG_MORE;
}

/* Behind the name of a tag, at its end. */
static enum customer_tag_kind customer_look_end(str s, size_t end, bool plain,
                                                struct customer_tag *out)
{
    bool hidden = customer_tag_hides(out->name);

    assert(end < s.n);
    out->whole = s.p[end] == '>';
    out->size = out->whole ? end + 1 : end;
    if (s.p[end] == '|') {
        if (end + 1 == s.n)
            return CUSTOMER_TAG_MORE;
        if (s.p[end + 1] != '>')
            return CUSTOMER_TAG_NONE;
        out->size = end + 2;
        out->whole = out->closing = true;
        return CUSTOMER_TAG_TAG;
    }
    if (plain ? hidden || out->whole : hidden && out->whole)
        return CUSTOMER_TAG_TAG;
    if (s.p[end] != '/' || !plain)
        return CUSTOMER_TAG_NONE;
    if (end + 1 == s.n)
        return CUSTOMER_TAG_MORE;
    out->whole = s.p[end + 1] == '>';
    out->size = end + 2;
    return out->whole ? CUSTOMER_TAG_TAG : CUSTOMER_TAG_NONE;
}

static enum customer_tag_kind customer_look_letters(str s, bool plain, struct customer_tag *out)
{
    size_t at, end;

    if (s.n == 0)
        return CUSTOMER_TAG_MORE;
    if (s.p[0] == '[')
        return customer_look_bracket(s, out);
    if (s.p[0] != '<')
        return CUSTOMER_TAG_NONE;
    if (s.n > 1 && s.p[1] == '|')
        return customer_look_token(s, out);
    if (s.n > 1 && s.p[1] == '!')
        return customer_look_comment(s, out);
    at = customer_skip_spaces(s, 1);
    out->closing = at < s.n && s.p[at] == '/';
    at = out->closing ? customer_skip_spaces(s, at + 1) : at;
    if (at == s.n)
        return CUSTOMER_TAG_MORE;
    if (!char_is_letter(s.p[at]))
        return CUSTOMER_TAG_NONE;
    for (end = at; end < s.n && order_customer_tag_is_name(s.p[end]); end++)
        if (end - at >= CUSTOMER_TAG_NAME_MAX)
            return CUSTOMER_TAG_NONE;
    if (end == s.n)
        return CUSTOMER_TAG_MORE;
    out->name = customer_without_prefix(str_slice(s, at, end));
    return customer_look_end(s, end, plain, out);
}

enum customer_tag_kind customer_tag_read(str s, struct customer_tag *out)
{
    enum customer_tag_kind l;
    char first;

    assert(s.n > 0);
    /* An invisible character begins no tag: many of them would be read again with every byte. */
    if (customer_tag_letter(s, &first) && !first)
        return CUSTOMER_TAG_NONE;
    *out = (struct customer_tag){.name = STR("")};
    customer_letters_of(s, out);
    /* In other signs only a whole tag that hides is taken for one: some are quotes, too. */
    l = customer_look_letters((str){out->letters, out->count}, s.p[0] == '<', out);
    assert(l < CUSTOMER_TAG_TAG || (out->size > 0 && out->size <= out->count));
    if (l == CUSTOMER_TAG_TAG || l == CUSTOMER_TAG_TOKEN)
        out->size = out->ends[out->size - 1];
    return l;
}

/* ---- the end of the text ---- */

static bool order_customer_tag_begins(const char *stem, str word)
{
    return customer_tag_common(word, str_c(stem)) == word.n;
}

static bool customer_may_hide(str s)
{
    size_t at = customer_skip_spaces(s, 1), from = s.n;

    assert(s.n > 0);
    if (s.p[0] == '[')
        return order_customer_tag_begins("[think", s) || order_customer_tag_begins("[/think", s) ||
               order_customer_tag_begins("[reason", s) ||
               order_customer_tag_begins("[/reason", s) || customer_is_bracket_name(s);
    if (at < s.n && s.p[at] == '/')
        at = customer_skip_spaces(s, at + 1);
    if (at == s.n || s.p[at] == '|' || s.p[at] == '!' || customer_tag_hides(str_slice(s, at, s.n)))
        return true;
    while (from > at && char_is_letter(s.p[from - 1]))
        from--;
    for (size_t i = 0; i < COUNT_OF(stems); i++)
        if (order_customer_tag_begins(stems[i], str_slice(s, from, s.n)))
            return true;
    return false;
}

bool customer_tag_is_cut(str s)
{
    struct customer_tag seen;

    customer_letters_of(s, &seen);
    if (seen.count == 0) /* a sign that is cut, perhaps */
        return s.p[0] == '&' ? s.n > 1 : s.n < 3;
    return (seen.letters[0] == '<' || seen.letters[0] == '[') &&
           customer_may_hide((str){seen.letters, seen.count});
}
