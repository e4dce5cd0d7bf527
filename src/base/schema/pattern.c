/* ECMA-262 patterns for PCRE2.
 *
 * Both dialects share a core that is copied unchanged. The rest has three parts: syntax that PCRE2
 * writes in another way is translated (\s, \uXXXX, \cX, "." ...); syntax with another meaning in
 * PCRE2 is escaped (a "[" in a class, a lone "{", "\v"); syntax that only PCRE2 has is refused
 * (possessive quantifiers, inline options, verbs, \A, \Q, (?P<...) and similar).
 *
 * Where ECMA-262 with the u flag is strict and its older form is not, the older form is accepted if
 * it is unambiguous: "\-" or "\@" is that character, "[\w-.]" has a plain hyphen in it, a lone "{",
 * "}" or "]" is a literal. Real schemas are full of these.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/ctype.h"
#include "base/schema/regex.h"

#define CODE_POINT_MAX 0x10ffffu
#define PROPERTY_MAX 64

/* White space and line ends as ECMA-262 has them, and all the rest, as insides of a class. */
#define SPACE_IN                                                                                   \
    "\\x{9}-\\x{d}\\x{20}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}"           \
    "\\x{205f}\\x{3000}\\x{feff}"
#define SPACE_OUT                                                                                  \
    "\\x{0}-\\x{8}\\x{e}-\\x{1f}\\x{21}-\\x{9f}\\x{a1}-\\x{167f}\\x{1681}-\\x{1fff}"               \
    "\\x{200b}-\\x{2027}\\x{202a}-\\x{202e}\\x{2030}-\\x{205e}\\x{2060}-\\x{2fff}"                 \
    "\\x{3001}-\\x{fefe}\\x{ff00}-\\x{10ffff}"
#define EVERY "\\x{0}-\\x{10ffff}"
#define DOT "[^\\x{a}\\x{d}\\x{2028}\\x{2029}]"

/* The long names of the general categories; PCRE2 knows the short ones. */
static const struct {
    const char *name, *category;
} categories[] = {
    {"Cased_Letter", "L&"},
    {"LC", "L&"},
    {"Close_Punctuation", "Pe"},
    {"Combining_Mark", "M"},
    {"Connector_Punctuation", "Pc"},
    {"Control", "Cc"},
    {"cntrl", "Cc"},
    {"Currency_Symbol", "Sc"},
    {"Dash_Punctuation", "Pd"},
    {"Decimal_Number", "Nd"},
    {"digit", "Nd"},
    {"Enclosing_Mark", "Me"},
    {"Final_Punctuation", "Pf"},
    {"Format", "Cf"},
    {"Initial_Punctuation", "Pi"},
    {"Letter", "L"},
    {"Letter_Number", "Nl"},
    {"Line_Separator", "Zl"},
    {"Lowercase_Letter", "Ll"},
    {"Mark", "M"},
    {"Math_Symbol", "Sm"},
    {"Modifier_Letter", "Lm"},
    {"Modifier_Symbol", "Sk"},
    {"Nonspacing_Mark", "Mn"},
    {"Number", "N"},
    {"Open_Punctuation", "Ps"},
    {"Other", "C"},
    {"Other_Letter", "Lo"},
    {"Other_Number", "No"},
    {"Other_Punctuation", "Po"},
    {"Other_Symbol", "So"},
    {"Paragraph_Separator", "Zp"},
    {"Private_Use", "Co"},
    {"Punctuation", "P"},
    {"punct", "P"},
    {"Separator", "Z"},
    {"Space_Separator", "Zs"},
    {"Spacing_Mark", "Mc"},
    {"Surrogate", "Cs"},
    {"Symbol", "S"},
    {"Titlecase_Letter", "Lt"},
    {"Unassigned", "Cn"},
    {"Uppercase_Letter", "Lu"},
};

struct pattern {
    str s;
    size_t at;
    struct buf *out;
    struct err *e;
};

static bool schema_pattern_wrong(const struct pattern *p, const char *what)
{
    return err_input(p->e, "%s, at character %zu of the regular expression", what, p->at);
}

/* The byte `ahead` of the place we are at, or 0 past the end. A NUL in the pattern is no special
 * byte, so it may look like the end. */
static char schema_pattern_peek(const struct pattern *p, size_t ahead)
{
    return p->at + ahead < p->s.n ? p->s.p[p->at + ahead] : '\0';
}

static void schema_pattern_put_char(struct pattern *p, uint32_t c)
{
    assert(c <= CODE_POINT_MAX);
    buf_printf(p->out, "\\x{%x}", c);
}

/* Exactly n hex digits at an offset from here. */
static bool schema_hex_digits(const struct pattern *p, size_t from, size_t n, uint32_t *out)
{
    uint32_t v = 0;

    assert(n <= 8);
    for (size_t i = 0; i < n; i++) {
        int d = char_hex_value(schema_pattern_peek(p, from + i));

        if (d < 0)
            return false;
        v = v * 16 + (uint32_t)d;
    }
    *out = v;
    return true;
}

/* \u{...}, at the u. */
static bool schema_braced_unicode(struct pattern *p)
{
    size_t n = 2;
    uint32_t v = 0;

    for (; char_hex_value(schema_pattern_peek(p, n)) >= 0 && v <= CODE_POINT_MAX; n++)
        v = v * 16 + (uint32_t)char_hex_value(schema_pattern_peek(p, n));
    if (n == 2 || schema_pattern_peek(p, n) != '}' || v > CODE_POINT_MAX)
        return schema_pattern_wrong(p, "\\u{...} needs a code point");
    schema_pattern_put_char(p, v);
    p->at += n + 1;
    return true;
}

/* \uXXXX, at the u; two of them that make a surrogate pair are one character. */
static bool schema_unicode_escape(struct pattern *p)
{
    uint32_t v, low;

    assert(schema_pattern_peek(p, 0) == 'u');
    if (schema_pattern_peek(p, 1) == '{')
        return schema_braced_unicode(p);
    if (!schema_hex_digits(p, 1, 4, &v))
        return schema_pattern_wrong(p, "\\u needs four hex digits");
    p->at += 5;
    if (v >= 0xd800 && v < 0xdc00 && schema_pattern_peek(p, 0) == '\\' &&
        schema_pattern_peek(p, 1) == 'u' && schema_hex_digits(p, 2, 4, &low) && low >= 0xdc00 &&
        low < 0xe000) {
        v = 0x10000 + ((v - 0xd800) << 10) + (low - 0xdc00);
        p->at += 6;
    }
    schema_pattern_put_char(p, v);
    return true;
}

/* The property's name as PCRE2 has it. */
static bool schema_put_property(struct pattern *p, bool negated, str name)
{
    static const char *const scripts[] = {"Script=", "sc=", "Script_Extensions=", "scx="};
    const char *kind = "";

    for (size_t i = 0; i < COUNT_OF(scripts); i++)
        if (str_starts(name, str_c(scripts[i]))) {
            kind = i < 2 ? "sc:" : "scx:";
            name = str_slice(name, strlen(scripts[i]), name.n);
        }
    if (str_starts(name, STR("General_Category=")))
        name = str_slice(name, 17, name.n);
    else if (str_starts(name, STR("gc=")))
        name = str_slice(name, 3, name.n);
    for (size_t i = 0; i < COUNT_OF(categories); i++)
        if (!*kind && str_eq(name, str_c(categories[i].name)))
            name = str_c(categories[i].category);
    if (str_eq(name, STR("Assigned"))) {
        negated = !negated;
        name = STR("Cn");
    }
    for (size_t i = 0; i < name.n; i++)
        if (!char_is_letter(name.p[i]) && !char_is_digit(name.p[i]) && name.p[i] != '_' &&
            name.p[i] != '&')
            return schema_pattern_wrong(p, "unknown name in \\p{...}");
    buf_printf(p->out, "\\%c{%s" STR_FMT "}", negated ? 'P' : 'p', kind, STR_ARG(name));
    return true;
}

/* \p{...} or \P{...}, at the letter. */
static bool schema_property_escape(struct pattern *p)
{
    bool negated = schema_pattern_peek(p, 0) == 'P';
    size_t n = 2;

    assert(negated || schema_pattern_peek(p, 0) == 'p');
    if (schema_pattern_peek(p, 1) != '{')
        return schema_pattern_wrong(p, "\\p needs a name in braces");
    while (p->at + n < p->s.n && schema_pattern_peek(p, n) != '}' && n < PROPERTY_MAX)
        n++;
    if (schema_pattern_peek(p, n) != '}' || n == 2)
        return schema_pattern_wrong(p, "\\p needs a name in braces");
    if (!schema_put_property(p, negated, str_slice(p->s, p->at + 2, p->at + n)))
        return false;
    p->at += n + 1;
    return true;
}

/* An escape for one character, inside or outside a class; the position is after the backslash. */
static bool schema_char_escape(struct pattern *p)
{
    static const char from[] = "tnvfr", to[] = "\t\n\v\f\r";
    char c = schema_pattern_peek(p, 0);
    const char *known = c ? strchr(from, c) : NULL;
    uint32_t v;

    if (known) {
        schema_pattern_put_char(p, (unsigned char)to[known - from]);
    } else if (c == 'c' && char_is_letter(schema_pattern_peek(p, 1))) {
        schema_pattern_put_char(p, (uint32_t)schema_pattern_peek(p, 1) & 0x1f);
        p->at++;
    } else if (c == '0' && !char_is_digit(schema_pattern_peek(p, 1))) {
        schema_pattern_put_char(p, 0);
    } else if (c == 'x' && schema_hex_digits(p, 1, 2, &v)) {
        schema_pattern_put_char(p, v);
        p->at += 2;
    } else if (c == 'u') {
        return schema_unicode_escape(p);
    } else if (char_is_letter(c) || char_is_digit(c)) {
        return schema_pattern_wrong(p, "ECMA-262 has no such escape");
    } else if ((unsigned char)c >= 0x80) {
        return true; /* the character itself, copied next */
    } else {
        schema_pattern_put_char(p, (unsigned char)c);
    }
    p->at++;
    return true;
}

/* An escape for a set of characters; false if it is another one. In a class with a property, PCRE2
 * ignores the non-ASCII part of \D and \W. */
static bool schema_set_escape(struct pattern *p, bool in_class)
{
    static const struct {
        char letter;
        const char *inside;
    } sets[] = {
        {'s', SPACE_IN},
        {'S', SPACE_OUT},
        {'d', "0-9"},
        {'D', "\\x{0}-\\x{2f}\\x{3a}-\\x{10ffff}"},
        {'w', "0-9A-Z_a-z"},
        {'W', "\\x{0}-\\x{2f}\\x{3a}-\\x{40}\\x{5b}-\\x{5e}\\x{60}\\x{7b}-\\x{10ffff}"},
    };

    for (size_t i = 0; i < COUNT_OF(sets); i++)
        if (schema_pattern_peek(p, 0) == sets[i].letter) {
            buf_printf(p->out, in_class ? "%s" : "[%s]", sets[i].inside);
            p->at++;
            return true;
        }
    return false;
}

/* Outside a class, at the backslash. */
static bool schema_pattern_escape(struct pattern *p)
{
    size_t n = 0;

    assert(schema_pattern_peek(p, 0) == '\\');
    if (++p->at >= p->s.n)
        return schema_pattern_wrong(p, "a backslash with nothing after it");
    if (schema_set_escape(p, false))
        return true;
    switch (schema_pattern_peek(p, 0)) {
    case 'p':
    case 'P':
        return schema_property_escape(p);
    case 'b':
    case 'B':
        buf_printf(p->out, "\\%c", schema_pattern_peek(p, 0));
        p->at++;
        return true;
    case 'k':
        if (schema_pattern_peek(p, 1) != '<')
            return schema_pattern_wrong(p, "\\k needs a group's name in <>");
        buf_add(p->out, STR("\\k"));
        p->at++; /* the name and its <> are copied next */
        return true;
    default:
        break;
    }
    if (schema_pattern_peek(p, 0) < '1' || schema_pattern_peek(p, 0) > '9')
        return schema_char_escape(p);
    while (char_is_digit(schema_pattern_peek(p, n)))
        n++;
    buf_printf(p->out, "\\g{" STR_FMT "}", STR_ARG(str_slice(p->s, p->at, p->at + n)));
    p->at += n;
    return true;
}

/* One member of a class; *single: it is one character, which can begin a range. */
static bool schema_class_atom(struct pattern *p, bool *single)
{
    char c = schema_pattern_peek(p, 0);

    *single = true;
    if (c != '\\') {
        if ((unsigned char)c < 0x80 && !char_is_letter(c) && !char_is_digit(c))
            buf_add_c(p->out, '\\'); /* [: [. [= and others have a meaning there */
        do
            buf_add_c(p->out, p->s.p[p->at++]);
        while (p->at < p->s.n && ((unsigned char)schema_pattern_peek(p, 0) & 0xc0) == 0x80);
        return true;
    }
    if (++p->at >= p->s.n)
        return schema_pattern_wrong(p, "a backslash with nothing after it");
    c = schema_pattern_peek(p, 0);
    *single = false;
    if (schema_set_escape(p, true))
        return true;
    if (c == 'p' || c == 'P')
        return schema_property_escape(p);
    *single = true;
    if (c == 'b') {
        schema_pattern_put_char(p, '\b');
        p->at++;
        return true;
    }
    if ((unsigned char)c >= 0x80)
        return schema_class_atom(p, single);
    return schema_char_escape(p);
}

/* Whether the next member of a class is one character. */
static bool schema_single_next(const struct pattern *p, size_t ahead)
{
    char c = schema_pattern_peek(p, ahead + 1);

    return schema_pattern_peek(p, ahead) != '\\' || !(c && strchr("dDwWsSpP", c));
}

/* A class, at its "[". A hyphen is a range only between two characters. */
static bool schema_char_class(struct pattern *p)
{
    bool single = false, negated = schema_pattern_peek(p, 1) == '^';

    assert(schema_pattern_peek(p, 0) == '[');
    p->at += negated ? 2 : 1;
    if (schema_pattern_peek(p, 0) == ']') { /* no character, or any */
        buf_add(p->out, negated ? STR("[" EVERY "]") : STR("[^" EVERY "]"));
        p->at++;
        return true;
    }
    buf_add(p->out, negated ? STR("[^") : STR("["));
    while (p->at < p->s.n && schema_pattern_peek(p, 0) != ']') {
        bool range = single && schema_pattern_peek(p, 0) == '-' && p->at + 1 < p->s.n &&
                     schema_pattern_peek(p, 1) != ']' && schema_single_next(p, 1);

        if (range) {
            buf_add_c(p->out, '-');
            p->at++;
        }
        if (!schema_class_atom(p, &single))
            return false;
        if (range)
            single = false;
    }
    if (p->at >= p->s.n)
        return schema_pattern_wrong(p, "a class that is not closed");
    buf_add_c(p->out, ']');
    p->at++;
    return true;
}

/* The length of the quantifier {n}, {n,} or {n,m} here; 0: none. */
static size_t schema_pattern_measure_braces(const struct pattern *p)
{
    size_t n = 1;

    assert(schema_pattern_peek(p, 0) == '{');
    if (!char_is_digit(schema_pattern_peek(p, n)))
        return 0;
    while (char_is_digit(schema_pattern_peek(p, n)))
        n++;
    if (schema_pattern_peek(p, n) == ',')
        n++;
    while (char_is_digit(schema_pattern_peek(p, n)))
        n++;
    return schema_pattern_peek(p, n) == '}' ? n + 1 : 0;
}

static size_t schema_pattern_measure_quantifier(const struct pattern *p)
{
    char c = schema_pattern_peek(p, 0);

    return c == '*' || c == '+' || c == '?' ? 1 : c == '{' ? schema_pattern_measure_braces(p) : 0;
}

/* A quantifier of n bytes. A second one would be PCRE2's possessive form. */
static bool schema_put_quantifier(struct pattern *p, size_t n)
{
    if (schema_pattern_peek(p, n) == '?')
        n++;
    assert(n > 0 && p->at + n <= p->s.n);
    buf_add(p->out, str_slice(p->s, p->at, p->at + n));
    p->at += n;
    return schema_pattern_measure_quantifier(p) == 0 ||
           schema_pattern_wrong(p, "a quantifier with nothing to repeat");
}

/* At "(". */
static bool schema_pattern_translate_group(struct pattern *p)
{
    static const char *const known[] = {"(?:", "(?=", "(?!", "(?<=", "(?<!", "(?<"};
    str rest = str_slice(p->s, p->at, p->s.n);
    str open = STR("(");

    assert(rest.n > 0 && rest.p[0] == '(');
    if (str_starts(rest, STR("(*")))
        return schema_pattern_wrong(p, "a quantifier with nothing to repeat");
    if (str_starts(rest, STR("(?"))) {
        size_t i = 0;

        while (i < COUNT_OF(known) && !str_starts(rest, str_c(known[i])))
            i++;
        if (i == COUNT_OF(known))
            return schema_pattern_wrong(p, "ECMA-262 has no such group");
        open = str_c(known[i]);
    }
    buf_add(p->out, open);
    p->at += open.n;
    return schema_pattern_measure_quantifier(p) == 0 ||
           schema_pattern_wrong(p, "a quantifier with nothing to repeat");
}

static bool schema_pattern_step(struct pattern *p)
{
    char c = schema_pattern_peek(p, 0);
    size_t n = schema_pattern_measure_quantifier(p);

    if (n > 0)
        return schema_put_quantifier(p, n);
    switch (c) {
    case '\\':
        return schema_pattern_escape(p);
    case '[':
        return schema_char_class(p);
    case '(':
        return schema_pattern_translate_group(p);
    case '.':
        buf_add(p->out, STR(DOT));
        break;
    case '{':
    case '}':
    case ']':
        buf_add_c(p->out, '\\');
        buf_add_c(p->out, c);
        break;
    default:
        buf_add_c(p->out, c);
    }
    p->at++;
    return true;
}

bool schema_pattern_translate(str pattern, struct buf *out, struct err *e)
{
    struct pattern p = {.s = pattern, .out = out, .e = e};

    if (pattern.n > SCHEMA_PATTERN_MAX)
        return err_set(e,
                       ERR_LIMIT,
                       "the regular expression is %zu bytes, the limit is %d",
                       pattern.n,
                       SCHEMA_PATTERN_MAX);
    while (p.at < pattern.n) {
        size_t from = p.at;

        if (!schema_pattern_step(&p))
            return false;
        assert(p.at > from && p.at <= pattern.n);
    }
    return buf_ok(out, "the regular expression", e);
}
