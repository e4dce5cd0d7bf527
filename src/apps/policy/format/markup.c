/* markup.c - see markup.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/format/markup.h"

#include "base/ctype.h"
#include "base/utf8.h"

#include <strings.h>

#define ENTITY_MAX 12 /* bytes between & and ; */

static const struct {
    const char *name;
    uint32_t code;
} entities[] = {
    {"amp", '&'},       {"lt", '<'},       {"gt", '>'},       {"quot", '"'},     {"apos", '\''},
    {"nbsp", ' '},      {"ensp", ' '},     {"emsp", ' '},     {"thinsp", ' '},   {"shy", 0},
    {"zwnj", 0},        {"zwj", 0},        {"ndash", 0x2013}, {"mdash", 0x2014}, {"minus", 0x2212},
    {"hellip", 0x2026}, {"lsquo", 0x2018}, {"rsquo", 0x2019}, {"ldquo", 0x201C}, {"rdquo", 0x201D},
    {"laquo", 0xAB},    {"raquo", 0xBB},   {"bull", 0x2022},  {"middot", 0xB7},  {"sect", 0xA7},
    {"para", 0xB6},     {"copy", 0xA9},    {"reg", 0xAE},     {"trade", 0x2122}, {"deg", 0xB0},
    {"plusmn", 0xB1},   {"times", 0xD7},   {"divide", 0xF7},  {"frac12", 0xBD},  {"frac14", 0xBC},
    {"frac34", 0xBE},   {"le", 0x2264},    {"ge", 0x2265},    {"ne", 0x2260},    {"euro", 0x20AC},
    {"pound", 0xA3},    {"yen", 0xA5},     {"cent", 0xA2},    {"micro", 0xB5},   {"auml", 0xE4},
    {"ouml", 0xF6},     {"uuml", 0xFC},    {"Auml", 0xC4},    {"Ouml", 0xD6},    {"Uuml", 0xDC},
    {"szlig", 0xDF},    {"eacute", 0xE9},  {"egrave", 0xE8},  {"agrave", 0xE0},  {"aacute", 0xE1},
    {"oacute", 0xF3},   {"iacute", 0xED},  {"uacute", 0xFA},  {"ccedil", 0xE7},  {"ntilde", 0xF1},
    {"ecirc", 0xEA},    {"acirc", 0xE2},   {"ocirc", 0xF4},   {"iquest", 0xBF},  {"dagger", 0x2020},
    {"rarr", 0x2192},   {"larr", 0x2190},  {"check", 0x2713},
};

static bool markup_is_name(char c, bool first)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           (!first && (char_is_digit(c) || c == ':' || c == '-' || c == '.'));
}

/* The text from `from` to after the mark; false: there is no mark. */
static bool markup_after(struct markup *m, size_t from, str mark, const char *wrong)
{
    size_t end = str_find(str_slice(m->src, from, m->src.n), mark);

    if (end == STR_NONE) {
        m->wrong = wrong;
        return false;
    }
    m->at = from + end + mark.n;
    assert(m->at <= m->src.n);
    return true;
}

/* "<!" and "<?": false if the text ends in it. */
static bool markup_skip_declaration(struct markup *m)
{
    str rest = str_slice(m->src, m->at, m->src.n);

    if (str_starts(rest, STR("<!--")))
        return markup_after(m, m->at + 4, STR("-->"), "a comment does not end");
    if (str_starts(rest, STR("<?")) && !m->html)
        return markup_after(m, m->at + 2, STR("?>"), "an instruction does not end");
    /* <![if !supportLists]> and <![endif]> of Microsoft Word, as browsers read them */
    if (m->html && str_starts(rest, STR("<![")) && !str_starts(rest, STR("<![CDATA[")))
        return markup_after(m, m->at, STR(">"), "a condition does not end");
    for (size_t i = 2; i < rest.n && rest.p[i] != '>'; i++)
        if (rest.p[i] == '[') {
            m->wrong = "it declares entities of its own";
            return false;
        }
    return markup_after(m, m->at, STR(">"), "a declaration does not end");
}

/* The end of a tag: a > that is not inside quotes. */
static size_t markup_tag_end(str s, size_t from, bool html)
{
    char quote = 0;

    for (size_t i = from; i < s.n; i++) {
        if (quote)
            quote = s.p[i] == quote ? 0 : quote;
        else if ((s.p[i] == '"' || s.p[i] == '\'') && i > from && memchr("= \t\r\n", s.p[i - 1], 5))
            quote = s.p[i];
        else if (s.p[i] == '>')
            return i;
        else if (s.p[i] == '<' && !html)
            return STR_NONE;
    }
    return STR_NONE;
}

static bool markup_tag(struct markup *m, struct markup_token *t)
{
    bool close = m->src.p[m->at + 1] == '/';
    size_t from = m->at + 1 + close, name = from, end = markup_tag_end(m->src, from, m->html);

    assert(m->at + 1 < m->src.n && m->src.p[m->at] == '<');
    if (end == STR_NONE) {
        m->wrong = "a tag does not end";
        return false;
    }
    while (name < end && markup_is_name(m->src.p[name], name == from))
        name++;
    *t = (struct markup_token){.kind = close ? MARKUP_CLOSE : MARKUP_OPEN,
                               .name = str_slice(m->src, from, name),
                               .text = STR("")};
    t->empty = !close && m->src.p[end - 1] == '/';
    t->attributes = str_slice(m->src, name, end - t->empty);
    assert(from <= name && name <= end && end < m->src.n);
    m->at = end + 1;
    return true;
}

bool markup_next(struct markup *m, struct markup_token *t)
{
    assert(m->at <= m->src.n);
    while (!m->wrong && m->at < m->src.n) {
        str rest = str_slice(m->src, m->at, m->src.n);
        char next = rest.n > 1 ? rest.p[1] : ' ';
        size_t end = 1;

        if (!m->html && str_starts(rest, STR("<![CDATA["))) {
            size_t from = m->at + 9;

            if (!markup_after(m, from, STR("]]>"), "a CDATA section does not end"))
                return false;
            *t = (struct markup_token){
                .kind = MARKUP_TEXT, .literal = true, .text = str_slice(m->src, from, m->at - 3)};
            return true;
        }
        if (rest.p[0] == '<' && (next == '!' || next == '?')) {
            (void)markup_skip_declaration(m);
            continue;
        }
        if (rest.p[0] == '<' && markup_is_name(next == '/' && rest.n > 2 ? rest.p[2] : next, true))
            return markup_tag(m, t);
        while (end < rest.n && rest.p[end] != '<')
            end++;
        *t = (struct markup_token){.kind = MARKUP_TEXT, .text = str_slice(rest, 0, end)};
        m->at += end;
        return true;
    }
    return false;
}

bool markup_is(const struct markup_token *t, const char *name)
{
    return str_eq_nocase(t->name, str_c(name));
}

bool markup_among(const struct markup_token *t, const char *names)
{
    return str_is_one_of_nocase(t->name, names);
}

/* The next attribute: name="value", name='value', name=value or name. */
static bool markup_next_attribute(str *rest, str *name, str *value)
{
    size_t i = 0, from;

    while (i < rest->n && (char_is_json_space(rest->p[i]) || rest->p[i] == '/'))
        i++;
    from = i;
    while (i < rest->n && !char_is_json_space(rest->p[i]) && rest->p[i] != '=')
        i++;
    *name = str_slice(*rest, from, i);
    *value = STR("");
    while (i < rest->n && char_is_json_space(rest->p[i]))
        i++;
    if (i < rest->n && rest->p[i] == '=') {
        char quote;

        for (i++; i < rest->n && char_is_json_space(rest->p[i]);)
            i++;
        quote = i < rest->n && (rest->p[i] == '"' || rest->p[i] == '\'') ? rest->p[i] : 0;
        from = i += quote != 0;
        while (i < rest->n && (quote ? rest->p[i] != quote : !char_is_json_space(rest->p[i])))
            i++;
        *value = str_slice(*rest, from, i);
        i += quote != 0;
        if (name->n == 0)
            *name = STR("=");
    }
    *rest = str_slice(*rest, i, rest->n);
    return name->n > 0;
}

bool markup_attribute(const struct markup_token *t, const char *name, struct arena *a, str *out)
{
    str rest = t->attributes, key, value;

    while (markup_next_attribute(&rest, &key, &value))
        if (str_eq_nocase(key, str_c(name))) {
            struct buf b;

            buf_init(&b, 4 * value.n + 64);
            markup_decode(value, &b);
            *out = arena_move_buf(a, &b);
            return true;
        }
    return false;
}

unsigned markup_number(const struct markup_token *t, const char *name, unsigned max,
                       unsigned otherwise)
{
    str rest = t->attributes, key, value;

    while (markup_next_attribute(&rest, &key, &value)) {
        unsigned n = 0;

        if (!str_eq_nocase(key, str_c(name)))
            continue;
        if (value.n == 0 || value.n > 9)
            return otherwise;
        for (size_t i = 0; i < value.n; i++) {
            if (!char_is_digit(value.p[i]))
                return otherwise;
            n = 10 * n + (unsigned)(value.p[i] - '0');
        }
        return n <= max ? n : otherwise;
    }
    return otherwise;
}

void markup_skip_raw(struct markup *m, const struct markup_token *open)
{
    for (size_t i = m->at; i + 2 + open->name.n < m->src.n; i++)
        if (m->src.p[i] == '<' && m->src.p[i + 1] == '/' &&
            strncasecmp(m->src.p + i + 2, open->name.p, open->name.n) == 0 &&
            !markup_is_name(m->src.p[i + 2 + open->name.n], false)) {
            m->at = i;
            return;
        }
    m->wrong = "a script or a style does not end";
}

/* The character of "#65", "#x41" or "amp"; false if it is not a character. */
static bool markup_entity(str name, uint32_t *code)
{
    *code = 0;
    if (name.n > 1 && name.p[0] == '#') {
        bool hex = name.p[1] == 'x' || name.p[1] == 'X';

        for (size_t i = 1 + hex; i < name.n; i++) {
            int digit = char_hex_value(name.p[i]);

            if (digit < 0 || (!hex && digit > 9))
                return false;
            *code = *code * (hex ? 16 : 10) + (uint32_t)digit;
        }
        /* What is no character, or ends texts, stays as it is written. */
        return name.n > 1u + hex && *code >= 9 && *code <= 0x10FFFF &&
               !(*code >= 0xD800 && *code < 0xE000);
    }
    for (size_t i = 0; i < COUNT_OF(entities); i++)
        if (str_eq(name, str_c(entities[i].name))) {
            *code = entities[i].code;
            return true;
        }
    return false;
}

static void markup_put_code(uint32_t code, struct buf *out)
{
    char utf8[UTF8_SIZE_MAX];

    if (code > 0)
        buf_add(out, (str){utf8, utf8_encode(code == 0xA0 ? ' ' : code, utf8)});
}

void markup_decode(str text, struct buf *out)
{
    for (size_t i = 0; i < text.n;) {
        str front = str_slice(text, i + 1, text.n - i > ENTITY_MAX ? i + ENTITY_MAX : text.n);
        size_t end = text.p[i] == '&' ? str_find(front, STR(";")) : STR_NONE;
        const char *next;
        uint32_t code;

        if (end != STR_NONE && markup_entity(str_slice(front, 0, end), &code)) {
            markup_put_code(code, out);
            i += end + 2;
            continue;
        }
        next = memchr(text.p + i + 1, '&', text.n - i - 1);
        end = next ? (size_t)(next - text.p) : text.n;
        assert(end > i && end <= text.n);
        buf_add(out, str_slice(text, i, end));
        i = end;
    }
}
