/* markdown.c - a policy in Markdown to its tree, a line at a time. See tree.h.
 *
 * The reader parses only what decides where a section begins: headings, and the blocks in which a
 * line that looks like a heading is not one (code, HTML, comments, lists, quotes). The content of a
 * list item or a quote is always text.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/front_matter.h"
#include "apps/policy/line.h"
#include "apps/policy/outline.h"
#include "base/utf8.h"

/* The block that the next plain line would belong to. */
enum para {
    PARA_NONE,
    PARA_PLAIN, /* a paragraph that an underline makes a heading */
    PARA_LAZY   /* one in a list item or a quote, which it cannot */
};

struct markdown {
    struct outline o;
    enum para para;
    size_t para_from;
    uint32_t para_line, para_page;
    bool para_defines; /* nothing in it but link definitions */
    char fence;
    size_t fence_n;
    unsigned html;
    unsigned item; /* the column from which lines are part of a list item; 0: none */
};

/* A line of text without its comments; a comment that marks a page starts that page. `alone` is set
 * if the line had only comments: then no line was added. */
static bool policy_markdown_put_line(struct markdown *m, str line, bool *alone)
{
    size_t from = 0, before = m->o.text.n;
    bool code = false, comments = false;

    for (size_t i = 0; i < line.n;) {
        size_t n = line.p[i] == '<' && !code ? line_comment(str_slice(line, i, line.n)) : 0;
        uint64_t page;

        code = line.p[i] == '`' ? !code : code;
        if (n == 0) {
            if (!code && str_starts(str_slice(line, i, line.n), STR("<!--")))
                break; /* it does not end on this line, nor does any later one */
            i++;
            continue;
        }
        outline_put(&m->o, str_slice(line, from, i));
        if (line_page(str_slice(line, i, i + n), &page) && !outline_page(&m->o, page))
            return false;
        comments = true;
        from = i += n;
    }
    assert(from <= line.n && before <= m->o.text.n);
    outline_put(&m->o, str_slice(line, from, line.n));
    *alone = comments && line_blank(str_slice(buf_str(&m->o.text), before, m->o.text.n));
    if (*alone)
        m->o.text.n = before;
    else
        outline_put(&m->o, STR("\n"));
    return true;
}

static bool policy_markdown_put_text(struct markdown *m, str line)
{
    bool alone;

    return policy_markdown_put_line(m, line, &alone);
}

static bool policy_markdown_section(struct markdown *m, unsigned level, str title, uint32_t line,
                                    uint32_t page)
{
    m->para = PARA_NONE;
    m->item = 0;
    return outline_section(&m->o, level, title, line, page);
}

/* Marks escaped with a backslash, and comments, as a reader sees them. */
static str policy_clean_title(struct markdown *m, str s)
{
    char *p = arena_alloc(m->o.arena, s.n + 1);
    bool open = true; /* a comment may still end */
    size_t n = 0;

    for (size_t i = 0; i < s.n; i++) {
        size_t skip = open && s.p[i] == '<' ? line_comment(str_slice(s, i, s.n)) : 0;
        bool mark =
            i + 1 < s.n &&
            ((s.p[i + 1] >= '!' && s.p[i + 1] <= '/') || (s.p[i + 1] >= ':' && s.p[i + 1] <= '@') ||
             (s.p[i + 1] >= '[' && s.p[i + 1] <= '`') || (s.p[i + 1] >= '{' && s.p[i + 1] <= '~'));

        if (skip == 0 && str_starts(str_slice(s, i, s.n), STR("<!--")))
            open = false;
        if (skip > 0) {
            i += skip - 1;
            continue;
        }
        if (s.p[i] == '\\' && mark)
            i++;
        p[n++] = s.p[i];
    }
    return policy_title((str){p, n}, m->o.arena);
}

static bool policy_markdown_put_atx_title(struct markdown *m, unsigned level, str title)
{
    if (!policy_markdown_section(m, level, policy_clean_title(m, title), m->o.line, m->o.page))
        return false;
    /* A page marker after the title applies to the text below it. */
    for (size_t i = 0; i + 4 < title.n; i++) {
        str rest = str_slice(title, i, title.n);
        size_t n = rest.p[0] == '<' ? line_comment(rest) : 0;
        uint64_t page;

        if (n > 0 && line_page(str_slice(rest, 0, n), &page))
            return outline_page(&m->o, page);
        i += n > 0 ? n - 1 : 0; /* a comment has no comments in it */
        if (n == 0 && str_starts(rest, STR("<!--")))
            break;
    }
    return true;
}

/* The paragraph that was put turns out to be a title. */
static bool policy_markdown_put_setext_title(struct markdown *m, unsigned level)
{
    str title = str_slice(buf_str(&m->o.text), m->para_from, m->o.text.n);

    assert(m->para == PARA_PLAIN && m->para_from <= m->o.text.n);
    title = policy_clean_title(m, title);
    m->o.text.n = m->para_from;
    for (size_t i = m->o.page_count; i > 0 && m->o.pages[i - 1].at > m->o.text.n; i--)
        m->o.pages[i - 1].at = (uint32_t)m->o.text.n;
    return policy_markdown_section(m, level, title, m->para_line, m->para_page);
}

static bool html_begin(struct markdown *m, unsigned kind, str line)
{
    assert(kind > 0 && !m->html && !m->fence);
    m->para = PARA_NONE;
    m->item = 0;
    if (kind == LINE_HTML_COMMENT) {
        size_t bytes;

        line_indent(line, &bytes);
        if (line_comment(str_slice(line, bytes, line.n)) > 0)
            return policy_markdown_put_text(m, line);
        m->html = kind;
        return true;
    }
    if (kind >= LINE_HTML_TAG || !line_html_end(kind, line))
        m->html = kind;
    return policy_markdown_put_text(m, line);
}

static bool html_line(struct markdown *m, str line)
{
    bool ends = line_html_end(m->html, line);

    assert(m->html > 0 && !m->fence);
    if (m->html == LINE_HTML_COMMENT) {
        size_t at = str_find(line, STR("-->"));

        if (!ends)
            return true;
        m->html = 0;
        line = str_slice(line, at + 3, line.n);
        return line_blank(line) || policy_markdown_put_text(m, line);
    }
    if (ends)
        m->html = 0;
    return policy_markdown_put_text(m, line);
}

static bool policy_markdown_plain(struct markdown *m, str line, str s)
{
    if (m->para == PARA_NONE) {
        m->para = PARA_PLAIN;
        m->item = 0;
        m->para_from = m->o.text.n;
        m->para_line = m->o.line;
        m->para_page = m->o.page;
        m->para_defines = true;
    }
    m->para_defines = m->para_defines && line_definition(s);
    return policy_markdown_put_text(m, line);
}

static bool policy_markdown_begin_line(struct markdown *m, enum para para, unsigned item, str line)
{
    m->para = para;
    m->item = item;
    return policy_markdown_put_text(m, line);
}

/* A line outside of any block: s is the line after its indent of at most three. */
static bool policy_block_line(struct markdown *m, str line, str s, unsigned indent)
{
    unsigned level, columns, kind;
    bool interrupts;
    str title;

    assert(!m->html && !m->fence && indent < 4 && s.n > 0);
    if (line_atx(s, &level, &title))
        return policy_markdown_put_atx_title(m, level, title);
    if (line_break(s))
        return policy_markdown_begin_line(m, PARA_NONE, 0, line);
    if (line_fence(s, &m->fence, &m->fence_n))
        return policy_markdown_begin_line(m, PARA_NONE, 0, line);
    if (s.p[0] == '>')
        return policy_markdown_begin_line(m, PARA_LAZY, 0, line);
    kind = line_html(s);
    if (kind && (kind != LINE_HTML_ALONE || m->para == PARA_NONE))
        return html_begin(m, kind, line);
    if (line_item(s, indent, &columns, &interrupts) &&
        (m->para == PARA_NONE || m->item > 0 || interrupts))
        return policy_markdown_begin_line(m, PARA_LAZY, indent + columns, line);
    return policy_markdown_plain(m, line, s);
}

static bool policy_markdown_on_line(struct markdown *m, str line)
{
    size_t bytes;
    unsigned indent = line_indent(line, &bytes), level;
    str s = str_slice(line, bytes, line.n);

    if (m->fence) {
        if (indent < 4 && line_fence_end(s, m->fence, m->fence_n))
            m->fence = 0;
        outline_put(&m->o, line);
        outline_put(&m->o, STR("\n"));
        return true;
    }
    if (m->html)
        return html_line(m, line);
    if (s.n == 0) {
        m->para = PARA_NONE;
        outline_put(&m->o, STR("\n"));
        return true;
    }
    if (m->item > 0 && indent >= m->item) {
        char mark;
        size_t n;

        return policy_markdown_begin_line(
            m, line_fence(s, &mark, &n) ? PARA_NONE : PARA_LAZY, m->item, line);
    }
    if (indent < 4 && m->para == PARA_PLAIN && !m->para_defines && (level = line_setext(s)))
        return policy_markdown_put_setext_title(m, level);
    if (indent >= 4) {
        if (m->para == PARA_NONE)
            m->item = 0;
        return policy_markdown_put_text(m, line);
    }
    return policy_block_line(m, line, s, indent);
}

static uint32_t policy_markdown_line_of(str text, size_t byte)
{
    uint32_t line = 1;

    for (size_t at = 0; at < byte;) {
        line_next(text, &at);
        line += at <= byte;
    }
    return line;
}

static bool policy_markdown_read_lines(struct markdown *m, str text, size_t at)
{
    assert(at <= text.n);
    m->o.line = policy_markdown_line_of(text, at);
    if (!outline_begin(&m->o, m->o.line))
        return false;
    for (; at < text.n; m->o.line++)
        if (!policy_markdown_on_line(m, line_next(text, &at)))
            return false;
    m->o.t->line_count = m->o.line - 1;
    return true;
}

bool policy_tree_markdown(str text, str doc_name, struct arena *a, struct policy_tree *out,
                          struct err *e)
{
    struct markdown m = {.para = PARA_NONE};
    size_t bad;
    str source = text;
    bool ok;

    outline_init(&m.o, doc_name, a, out, e);
    if (text.n > POLICY_SIZE_MAX)
        return err_set(
            e, ERR_LIMIT, "the policy is %zu bytes, the limit is %zu", text.n, POLICY_SIZE_MAX);
    bad = utf8_valid_size(text);
    if (bad == text.n && memchr(text.p, 0, text.n))
        bad = (size_t)((const char *)memchr(text.p, 0, text.n) - text.p);
    if (bad < text.n)
        return err_input(e,
                         "line %u: a byte that is not text; save the file as UTF-8",
                         (unsigned)policy_markdown_line_of(text, bad));
    if (str_starts(text, STR("\xEF\xBB\xBF")))
        text = str_slice(text, 3, text.n);
    ok = policy_markdown_read_lines(&m, text, policy_front_matter(text, a, out)) &&
         outline_finish(&m.o, source);
    outline_release(&m.o);
    return ok;
}
