/* markdown.c - a policy in Markdown to its tree, a line at a time. See tree.h.
 *
 * Only what decides where a section begins is read: headings, and everything in which something
 * that looks like one is none (code, HTML, comments, lists, quotes). What is inside of a list item
 * or a quote is text, whatever it looks like.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/front.h"
#include "apps/policy/line.h"
#include "apps/policy/tree_build.h"
#include "base/utf8.h"

/* What the next plain line would be part of. */
enum para {
    PARA_NONE,
    PARA_PLAIN, /* a paragraph that an underline makes a heading */
    PARA_LAZY   /* one in a list item or a quote, which it cannot */
};

struct section {
    struct policy_node node;
    size_t from, to; /* in out */
    uint32_t page;   /* on which it begins */
};

struct markdown {
    struct policy_tree *t;
    struct arena *arena;
    struct err *e;
    char *out; /* all texts, one behind the other: what is left out makes it no longer */
    size_t out_n;
    struct section *sections;
    size_t count, cap;
    struct policy_page *pages; /* where in out */
    size_t page_count, page_cap;
    uint32_t line, page;
    enum para para;
    size_t para_from;
    uint32_t para_line, para_page;
    bool para_defines; /* nothing in it but link definitions */
    char fence;
    size_t fence_n;
    unsigned html;
    unsigned item; /* the column from which lines are part of a list item; 0: none */
};

static void page_add(struct markdown *m, uint32_t page)
{
    if (m->page_count == m->page_cap) {
        m->page_cap = m->page_cap ? 2 * m->page_cap : 64;
        m->pages = base_realloc(m->pages, m->page_cap * sizeof m->pages[0]);
    }
    m->pages[m->page_count++] = (struct policy_page){(uint32_t)m->out_n, page};
}

static bool page_begin(struct markdown *m, uint64_t page)
{
    if (page < 1 || page > POLICY_PAGE_MAX)
        return err_set(
            m->e, ERR_INPUT, "line %u: a page is from 1 to %d", (unsigned)m->line, POLICY_PAGE_MAX);
    if (page < m->page)
        return err_set(m->e,
                       ERR_INPUT,
                       "line %u: page %u comes behind page %u",
                       (unsigned)m->line,
                       (unsigned)page,
                       (unsigned)m->page);
    m->t->has_pages = true;
    m->page = (uint32_t)page;
    page_add(m, m->page);
    return true;
}

static void policy_markdown_put(struct markdown *m, str s)
{
    memcpy(m->out + m->out_n, s.p, s.n);
    m->out_n += s.n;
}

/* A line of text without its comments; those that mark pages begin one. `alone` is set if nothing
 * but comments was on it: then no line was put. */
static bool policy_markdown_put_line(struct markdown *m, str line, bool *alone)
{
    size_t from = 0, before = m->out_n;
    bool code = false, comments = false;

    for (size_t i = 0; i < line.n;) {
        size_t n = line.p[i] == '<' && !code ? line_comment(str_slice(line, i, line.n)) : 0;
        uint64_t page;

        code = line.p[i] == '`' ? !code : code;
        if (n == 0) {
            if (!code && str_starts(str_slice(line, i, line.n), STR("<!--")))
                break; /* it does not end here, so none of the line does */
            i++;
            continue;
        }
        policy_markdown_put(m, str_slice(line, from, i));
        if (line_page(str_slice(line, i, i + n), &page) && !page_begin(m, page))
            return false;
        comments = true;
        from = i += n;
    }
    policy_markdown_put(m, str_slice(line, from, line.n));
    *alone = comments && line_blank((str){m->out + before, m->out_n - before});
    if (*alone)
        m->out_n = before;
    else
        policy_markdown_put(m, STR("\n"));
    return true;
}

static bool policy_markdown_put_text(struct markdown *m, str line)
{
    bool alone;

    return policy_markdown_put_line(m, line, &alone);
}

static bool section_begin(struct markdown *m, unsigned level, str title, uint32_t line,
                          uint32_t page)
{
    struct section *s;

    if (m->count == POLICY_NODES_MAX)
        return err_set(
            m->e, ERR_LIMIT, "line %u: more than %d headings", (unsigned)line, POLICY_NODES_MAX);
    if (m->count == m->cap) {
        m->cap = m->cap ? 2 * m->cap : 64;
        m->sections = base_realloc(m->sections, m->cap * sizeof m->sections[0]);
    }
    if (m->count > 0)
        m->sections[m->count - 1].to = m->out_n;
    s = &m->sections[m->count++];
    *s = (struct section){.from = m->out_n, .to = m->out_n, .page = page};
    s->node.title = title;
    s->node.level = level;
    s->node.line = line;
    m->para = PARA_NONE;
    m->item = 0;
    return true;
}

/* Marks escaped with a backslash, and comments, as a reader sees them. */
static str clean_title(struct markdown *m, str s)
{
    char *p = arena_alloc(m->arena, s.n + 1);
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
    return policy_title((str){p, n}, m->arena);
}

static bool atx(struct markdown *m, unsigned level, str title)
{
    if (!section_begin(m, level, clean_title(m, title), m->line, m->page))
        return false;
    /* A marker behind the title is for what comes below. */
    for (size_t i = 0; i + 4 < title.n; i++) {
        str rest = str_slice(title, i, title.n);
        size_t n = rest.p[0] == '<' ? line_comment(rest) : 0;
        uint64_t page;

        if (n > 0 && line_page(str_slice(rest, 0, n), &page))
            return page_begin(m, page);
        if (n == 0 && str_starts(rest, STR("<!--")))
            break;
    }
    return true;
}

/* The paragraph that was put turns out to be a title. */
static bool setext(struct markdown *m, unsigned level)
{
    str title = {m->out + m->para_from, m->out_n - m->para_from};

    title = clean_title(m, title);
    m->out_n = m->para_from;
    for (size_t i = m->page_count; i > 0 && m->pages[i - 1].at > m->out_n; i--)
        m->pages[i - 1].at = (uint32_t)m->out_n;
    return section_begin(m, level, title, m->para_line, m->para_page);
}

static bool html_begin(struct markdown *m, unsigned kind, str line)
{
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
        m->para_from = m->out_n;
        m->para_line = m->line;
        m->para_page = m->page;
        m->para_defines = true;
    }
    m->para_defines = m->para_defines && line_definition(s);
    return policy_markdown_put_text(m, line);
}

static bool other(struct markdown *m, enum para para, unsigned item, str line)
{
    m->para = para;
    m->item = item;
    return policy_markdown_put_text(m, line);
}

/* A line that is not inside of something: s is what is behind its indent of at most three. */
static bool block_line(struct markdown *m, str line, str s, unsigned indent)
{
    unsigned level, columns, kind;
    bool interrupts;
    str title;

    if (line_atx(s, &level, &title))
        return atx(m, level, title);
    if (line_break(s))
        return other(m, PARA_NONE, 0, line);
    if (line_fence(s, &m->fence, &m->fence_n))
        return other(m, PARA_NONE, 0, line);
    if (s.p[0] == '>')
        return other(m, PARA_LAZY, 0, line);
    kind = line_html(s);
    if (kind && (kind != LINE_HTML_ALONE || m->para == PARA_NONE))
        return html_begin(m, kind, line);
    if (line_item(s, indent, &columns, &interrupts) &&
        (m->para == PARA_NONE || m->item > 0 || interrupts))
        return other(m, PARA_LAZY, indent + columns, line);
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
        policy_markdown_put(m, line);
        policy_markdown_put(m, STR("\n"));
        return true;
    }
    if (m->html)
        return html_line(m, line);
    if (s.n == 0) {
        m->para = PARA_NONE;
        policy_markdown_put(m, STR("\n"));
        return true;
    }
    if (m->item > 0 && indent >= m->item) {
        char mark;
        size_t n;

        return other(m, line_fence(s, &mark, &n) ? PARA_NONE : PARA_LAZY, m->item, line);
    }
    if (indent < 4 && m->para == PARA_PLAIN && !m->para_defines && (level = line_setext(s)))
        return setext(m, level);
    if (indent >= 4) {
        if (m->para == PARA_NONE)
            m->item = 0;
        return policy_markdown_put_text(m, line);
    }
    return block_line(m, line, s, indent);
}

/* The next line, without what ends it: LF, CR or both. */
static str policy_markdown_next_line(str text, size_t *at)
{
    size_t from = *at, to = from;

    while (to < text.n && text.p[to] != '\n' && text.p[to] != '\r')
        to++;
    *at = to;
    if (to < text.n)
        *at += text.p[to] == '\r' && to + 1 < text.n && text.p[to + 1] == '\n' ? 2 : 1;
    return str_slice(text, from, to);
}

static uint32_t policy_markdown_line_of(str text, size_t byte)
{
    uint32_t line = 1;

    for (size_t at = 0; at < byte;) {
        policy_markdown_next_line(text, &at);
        line += at <= byte;
    }
    return line;
}

/* The text of a section without blank lines at its ends. */
static str section_text(const struct markdown *m, struct section *s)
{
    size_t from = s->from, to = s->to, line = from;

    while (to > from && memchr(" \t\n", m->out[to - 1], 3))
        to--;
    while (line < to && memchr(" \t\n", m->out[line], 3))
        if (m->out[line++] == '\n')
            from = line;
    s->from = from;
    s->to = to;
    return (str){m->out + from, to - from};
}

/* `next` is the first page behind those before this section. */
static void section_pages(struct markdown *m, struct section *s, size_t *next)
{
    size_t n = 0, first;
    uint32_t page = s->page;
    struct policy_page *pages;

    for (; *next < m->page_count && m->pages[*next].at <= s->from; (*next)++)
        page = m->pages[*next].page > page ? m->pages[*next].page : page;
    first = *next;
    for (; *next < m->page_count && m->pages[*next].at < s->to; (*next)++)
        n++;
    pages = arena_alloc(m->arena, (n + 1) * sizeof pages[0]);
    pages[0] = (struct policy_page){0, s->node.text.n > 0 ? page : s->page};
    for (size_t i = 0; i < n; i++) {
        pages[i + 1] = m->pages[first + i];
        pages[i + 1].at -= (uint32_t)s->from;
    }
    s->node.pages = pages;
    s->node.page_count = (uint32_t)n + 1;
    s->node.start_index = s->node.level == 0 ? pages[0].page : s->page;
    s->node.end_index = pages[n].page;
}

/* Whether there is anything but lines drawn across. */
static bool policy_markdown_says_nothing(str text)
{
    for (size_t at = 0; at < text.n;) {
        str line = str_trim(policy_markdown_next_line(text, &at));

        if (line.n > 0 && !line_break(line))
            return false;
    }
    return true;
}

/* Sections to nodes; how deep one is follows from those it stands in. */
static void policy_markdown_gather(struct markdown *m)
{
    struct policy_tree *t = m->t;
    unsigned open[8];
    uint32_t depth = 0;
    size_t page = 0;

    t->nodes = arena_zero(m->arena, m->count + 1, sizeof t->nodes[0]);
    for (size_t i = 0; i < m->count; i++) {
        struct section *s = &m->sections[i];

        s->node.text = section_text(m, s);
        if (s->node.level == 0 && policy_markdown_says_nothing(s->node.text))
            continue; /* nothing stands before the first heading */
        section_pages(m, s, &page);
        while (depth > 0 && open[depth - 1] >= s->node.level)
            depth--;
        s->node.depth = depth;
        if (s->node.level > 0)
            open[depth++] = s->node.level;
        t->nodes[t->node_count++] = s->node;
    }
    t->page_count = m->page;
}

static bool policy_markdown_read_lines(struct markdown *m, str text, size_t at)
{
    uint32_t line = policy_markdown_line_of(text, at);
    str name = m->t->title.n > 0 ? m->t->title : m->t->doc_name;

    m->line = line;
    if (!section_begin(m, 0, policy_title(name, m->arena), line, m->page))
        return false;
    for (; at < text.n; m->line++)
        if (!policy_markdown_on_line(m, policy_markdown_next_line(text, &at)))
            return false;
    m->t->line_count = m->line - 1;
    m->sections[m->count - 1].to = m->out_n;
    policy_markdown_gather(m);
    return true;
}

bool policy_tree_markdown(str text, str doc_name, struct arena *a, struct policy_tree *out,
                          struct err *e)
{
    struct markdown m = {.t = out, .arena = a, .e = e, .page = 1};
    size_t bad, at;
    str source = text;
    bool ok;

    *out = (struct policy_tree){.doc_name = arena_dup(a, doc_name),
                                .doc_description = STR(""),
                                .title = STR(""),
                                .version = STR(""),
                                .effective_start = STR(""),
                                .effective_end = STR("")};
    if (text.n > POLICY_SIZE_MAX)
        return err_set(
            e, ERR_LIMIT, "the policy is %zu bytes, the limit is %zu", text.n, POLICY_SIZE_MAX);
    bad = utf8_valid_size(text);
    if (bad == text.n && memchr(text.p, 0, text.n))
        bad = (size_t)((const char *)memchr(text.p, 0, text.n) - text.p);
    if (bad < text.n)
        return err_set(e,
                       ERR_INPUT,
                       "line %u: a byte that is not text",
                       (unsigned)policy_markdown_line_of(text, bad));
    if (str_starts(text, STR("\xEF\xBB\xBF")))
        text = str_slice(text, 3, text.n);
    at = policy_front(text, a, out);
    m.out = arena_alloc(a, text.n + 2);
    ok = policy_markdown_read_lines(&m, text, at);
    if (ok)
        policy_tree_finish(out, source, a);
    free(m.pages);
    free(m.sections);
    return ok;
}
