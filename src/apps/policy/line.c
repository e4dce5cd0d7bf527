/* line.c - one line of Markdown. See line.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/line.h"
#include "base/ctype.h"

#include <strings.h>

static bool line_is_space(char c)
{
    return c == ' ' || c == '\t';
}

static str line_trim_blank(str s)
{
    while (s.n > 0 && line_is_space(s.p[s.n - 1]))
        s.n--;
    while (s.n > 0 && line_is_space(s.p[0]))
        s = str_slice(s, 1, s.n);
    return s;
}

/* The white space at the front of what begins at column `at`. */
static unsigned line_columns_from(unsigned at, str s, size_t *bytes)
{
    unsigned column = at;
    size_t i = 0;

    for (; i < s.n && line_is_space(s.p[i]); i++)
        column += s.p[i] == '\t' ? 4 - column % 4 : 1;
    *bytes = i;
    return column - at;
}

unsigned line_indent(str line, size_t *bytes)
{
    return line_columns_from(0, line, bytes);
}

bool line_blank(str line)
{
    return line_trim_blank(line).n == 0;
}

static size_t policy_line_run_of(str s, char c)
{
    size_t n = 0;

    while (n < s.n && s.p[n] == c)
        n++;
    return n;
}

bool line_atx(str s, unsigned *level, str *title)
{
    size_t n = policy_line_run_of(s, '#'), end;
    str t;

    if (n < 1 || n > 6 || (n < s.n && !line_is_space(s.p[n])))
        return false;
    t = line_trim_blank(str_slice(s, n, s.n));
    for (end = t.n; end > 0 && t.p[end - 1] == '#';)
        end--;
    if (end == 0 || (end < t.n && line_is_space(t.p[end - 1])))
        t = line_trim_blank(str_slice(t, 0, end));
    *level = (unsigned)n;
    *title = t;
    return true;
}

unsigned line_setext(str s)
{
    str t = line_trim_blank(s);

    if (t.n == 0 || (t.p[0] != '=' && t.p[0] != '-') || policy_line_run_of(t, t.p[0]) != t.n)
        return 0;
    return t.p[0] == '=' ? 1 : 2;
}

bool line_break(str s)
{
    size_t marks = 0;
    char c = s.n ? s.p[0] : 0;

    if (c != '-' && c != '_' && c != '*')
        return false;
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] == c)
            marks++;
        else if (!line_is_space(s.p[i]))
            return false;
    return marks >= 3;
}

bool line_fence(str s, char *mark, size_t *n)
{
    char c = s.n ? s.p[0] : 0;
    size_t run = policy_line_run_of(s, c);

    if ((c != '`' && c != '~') || run < 3)
        return false;
    if (c == '`' && memchr(s.p + run, '`', s.n - run))
        return false; /* a code span */
    *mark = c;
    *n = run;
    return true;
}

bool line_fence_end(str s, char mark, size_t n)
{
    size_t run = policy_line_run_of(s, mark);

    assert(n >= 3); /* line_fence accepts no fewer */
    return run >= n && line_blank(str_slice(s, run, s.n));
}

bool line_item(str s, unsigned at, unsigned *columns, bool *interrupts)
{
    size_t mark = 0, bytes;
    unsigned gap;
    bool one = true;

    if (s.n > 0 && (s.p[0] == '-' || s.p[0] == '+' || s.p[0] == '*')) {
        mark = 1;
    } else {
        while (mark < s.n && mark < 9 && char_is_digit(s.p[mark]))
            mark++;
        if (mark == 0 || mark == s.n || (s.p[mark] != '.' && s.p[mark] != ')'))
            return false;
        one = mark == 1 && s.p[0] == '1';
        mark++;
    }
    if (mark < s.n && !line_is_space(s.p[mark]))
        return false;
    gap = line_columns_from(at + (unsigned)mark, str_slice(s, mark, s.n), &bytes);
    if (mark + bytes == s.n || gap > 4)
        gap = 1; /* nothing after it, or code */
    assert(mark > 0 && mark + bytes <= s.n && gap > 0);
    *columns = (unsigned)mark + gap;
    *interrupts = one && mark + bytes < s.n;
    return true;
}

bool line_definition(str s)
{
    size_t close = str_find(s, STR("]:"));

    return s.n > 0 && s.p[0] == '[' && close != STR_NONE && close > 1 &&
           !line_blank(str_slice(s, close + 2, s.n));
}

/* The names of HTML's blocks, by the specification's sixth kind. */
static const char block_names[] =
    "address article aside base basefont blockquote body caption center col colgroup dd "
    "details dialog dir div dl dt fieldset figcaption figure footer form frame frameset h1 h2 "
    "h3 h4 h5 h6 head header hr html iframe legend li link main menu menuitem nav noframes ol "
    "optgroup option p param search section summary table tbody td tfoot th thead title tr "
    "track ul";

static const char raw_names[] = "pre script style textarea";

/* The end of a tag's attributes, or NULL if they are invalid. */
static const char *line_attributes_end(const char *p, const char *end)
{
    for (;;) {
        const char *space = p;

        while (p < end && line_is_space(*p))
            p++;
        if (p == end || *p == '>' || *p == '/' || p == space)
            return p;
        if (!char_is_letter(*p) && *p != '_' && *p != ':')
            return NULL;
        while (p < end && (char_is_letter(*p) || char_is_digit(*p) || (*p && strchr("_.:-", *p))))
            p++;
        for (space = p; space < end && line_is_space(*space);)
            space++;
        if (space == end || *space != '=')
            continue;
        for (p = space + 1; p < end && line_is_space(*p);)
            p++;
        if (p < end && (*p == '"' || *p == '\'')) {
            const char *close = memchr(p + 1, *p, (size_t)(end - p) - 1);

            if (!close)
                return NULL;
            p = close + 1;
            continue;
        }
        for (space = p; p < end && !line_is_space(*p) && !(*p && strchr("\"'=<>`", *p));)
            p++;
        if (p == space)
            return NULL;
    }
}

/* A whole tag and nothing after it. */
static bool tag_alone(str s, size_t name_end, bool closing)
{
    const char *p = s.p + name_end, *end = s.p + s.n;

    assert(name_end <= s.n);
    if (closing)
        while (p < end && line_is_space(*p))
            p++;
    else if (!(p = line_attributes_end(p, end)))
        return false;
    if (!closing && p < end && *p == '/')
        p++;
    return p < end && *p == '>' && line_blank((str){p + 1, (size_t)(end - p) - 1});
}

unsigned line_html(str s)
{
    bool closing = s.n > 1 && s.p[1] == '/';
    size_t from = closing ? 2 : 1, to = from;
    bool ends;
    str name;

    if (s.n < 2 || s.p[0] != '<')
        return 0;
    if (str_starts(s, STR("<!--")))
        return LINE_HTML_COMMENT;
    if (str_starts(s, STR("<?")))
        return 3;
    if (str_starts(s, STR("<![CDATA[")))
        return 5;
    if (s.p[1] == '!' && s.n > 2 && char_is_letter(s.p[2]))
        return 4;
    while (to < s.n &&
           (char_is_letter(s.p[to]) || (to > from && (char_is_digit(s.p[to]) || s.p[to] == '-'))))
        to++;
    name = str_slice(s, from, to);
    ends = to == s.n || line_is_space(s.p[to]) || s.p[to] == '>';
    if (name.n == 0)
        return 0;
    if (!closing && ends && str_is_one_of_nocase(name, raw_names))
        return 1;
    if ((ends || str_starts(str_slice(s, to, s.n), STR("/>"))) &&
        str_is_one_of_nocase(name, block_names))
        return LINE_HTML_TAG;
    if (!str_is_one_of_nocase(name, raw_names) && tag_alone(s, to, closing))
        return LINE_HTML_ALONE;
    return 0;
}

static bool line_has_raw_end(str line)
{
    size_t at;

    while ((at = str_find(line, STR("</"))) != STR_NONE) {
        str name;

        line = str_slice(line, at + 2, line.n);
        name = str_slice(line, 0, str_find(line, STR(">")));
        if (name.n < line.n && str_is_one_of_nocase(name, raw_names))
            return true;
    }
    return false;
}

bool line_html_end(unsigned kind, str line)
{
    assert(kind >= 1 && kind <= LINE_HTML_ALONE);
    switch (kind) {
    case 1:
        return line_has_raw_end(line);
    case LINE_HTML_COMMENT:
        return str_find(line, STR("-->")) != STR_NONE;
    case 3:
        return str_find(line, STR("?>")) != STR_NONE;
    case 4:
        return str_find(line, STR(">")) != STR_NONE;
    case 5:
        return str_find(line, STR("]]>")) != STR_NONE;
    default:
        return line_blank(line);
    }
}

size_t line_comment(str s)
{
    size_t end;

    if (!str_starts(s, STR("<!--")))
        return 0;
    end = str_find(str_slice(s, 4, s.n), STR("-->"));
    return end == STR_NONE ? 0 : end + 7;
}

bool line_page(str comment, uint64_t *page)
{
    str s;

    if (comment.n < 7)
        return false;
    s = str_trim(str_slice(comment, 4, comment.n - 3));
    if (s.n < 6 || strncasecmp(s.p, "page", 4) != 0 || !line_is_space(s.p[4]))
        return false;
    s = str_trim(str_slice(s, 4, s.n));
    for (size_t i = 0; i < s.n; i++)
        if (!char_is_digit(s.p[i]))
            return false;
    if (s.n == 0)
        return false;
    if (!str_u64(s, page))
        *page = UINT64_MAX;
    return true;
}

str line_next(str text, size_t *at)
{
    size_t from = *at, to = from;

    while (to < text.n && text.p[to] != '\n' && text.p[to] != '\r')
        to++;
    *at = to;
    if (to < text.n)
        *at += text.p[to] == '\r' && to + 1 < text.n && text.p[to + 1] == '\n' ? 2 : 1;
    assert(*at <= text.n && (*at > from || from == text.n));
    return str_slice(text, from, to);
}
