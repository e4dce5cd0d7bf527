/* outline.c - see outline.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/outline.h"

#include "apps/policy/line.h"

void outline_init(struct outline *o, str doc_name, struct arena *a, struct policy_tree *t,
                  struct err *e)
{
    policy_tree_init(t, doc_name, a);
    *o = (struct outline){.t = t, .arena = a, .e = e, .page = 1};
    buf_init(&o->text, POLICY_SIZE_MAX + 65536);
}

void outline_release(struct outline *o)
{
    free(o->pages);
    free(o->sections);
    buf_release(&o->text);
}

void outline_put(struct outline *o, str s)
{
    buf_add(&o->text, s);
}

/* "line 7: ", or nothing in formats without lines. */
static const char *outline_where(const struct outline *o, char out[24])
{
    out[0] = 0;
    if (o->line > 0)
        snprintf(out, 24, "line %u: ", (unsigned)o->line);
    return out;
}

bool outline_page(struct outline *o, uint64_t page)
{
    char where[24];

    if (page < 1 || page > POLICY_PAGE_MAX)
        return err_input(
            o->e, "%sa page is from 1 to %d", outline_where(o, where), POLICY_PAGE_MAX);
    if (page < o->page)
        return err_input(o->e,
                         "%spage %u comes after page %u; number the pages in order",
                         outline_where(o, where),
                         (unsigned)page,
                         (unsigned)o->page);
    o->t->has_pages = true;
    o->page = (uint32_t)page;
    o->pages = base_grow(o->pages, o->page_count, &o->page_cap, sizeof o->pages[0]);
    assert(o->page_count < o->page_cap);
    assert(!o->page_count || o->pages[o->page_count - 1].at <= o->text.n);
    o->pages[o->page_count++] = (struct policy_page){(uint32_t)o->text.n, o->page};
    return true;
}

bool outline_section(struct outline *o, unsigned level, str title, uint32_t line, uint32_t page)
{
    char where[24];

    assert(level <= 6 &&
           (level == 0) == (o->count == 0)); /* the text before headings comes first */
    if (o->count == POLICY_NODES_MAX)
        return err_set(
            o->e, ERR_LIMIT, "%smore than %d headings", outline_where(o, where), POLICY_NODES_MAX);
    o->sections = base_grow(o->sections, o->count, &o->cap, sizeof o->sections[0]);
    assert(o->count < o->cap);
    if (o->count > 0)
        o->sections[o->count - 1].to = o->text.n;
    o->sections[o->count++] =
        (struct outline_section){.node = {.title = title, .level = level, .line = line},
                                 .from = o->text.n,
                                 .to = o->text.n,
                                 .page = page};
    return true;
}

bool outline_begin(struct outline *o, uint32_t line)
{
    str name = o->t->title.n > 0 ? o->t->title : o->t->doc_name;

    return outline_section(o, 0, policy_title(name, o->arena), line, o->page);
}

/* The text of a section without blank lines at its ends. */
static str outline_section_text(str all, struct outline_section *s)
{
    size_t from = s->from, to = s->to, line = from;

    assert(s->from <= s->to && s->to <= all.n);
    while (to > from && memchr(" \t\n", all.p[to - 1], 3))
        to--;
    while (line < to && memchr(" \t\n", all.p[line], 3))
        if (all.p[line++] == '\n')
            from = line;
    s->from = from;
    s->to = to;
    return str_slice(all, from, to);
}

/* `next` is the first page after those before this section. */
static void outline_section_pages(struct outline *o, struct outline_section *s, size_t *next)
{
    size_t n = 0, first;
    uint32_t page = s->page;
    struct policy_page *pages;

    assert(*next <= o->page_count && s->from <= s->to);
    for (; *next < o->page_count && o->pages[*next].at <= s->from; (*next)++)
        page = o->pages[*next].page > page ? o->pages[*next].page : page;
    first = *next;
    for (; *next < o->page_count && o->pages[*next].at < s->to; (*next)++)
        n++;
    pages = arena_alloc(o->arena, (n + 1) * sizeof pages[0]);
    pages[0] = (struct policy_page){0, s->node.text.n > 0 ? page : s->page};
    for (size_t i = 0; i < n; i++) {
        pages[i + 1] = o->pages[first + i];
        pages[i + 1].at -= (uint32_t)s->from;
    }
    assert(*next == first + n);
    s->node.pages = pages;
    s->node.page_count = (uint32_t)n + 1;
    s->node.start_index = s->node.level == 0 ? pages[0].page : s->page;
    s->node.end_index = pages[n].page;
}

/* Whether a text has nothing but lines drawn across. */
static bool outline_says_nothing(str text)
{
    while (text.n > 0) {
        str line = str_trim(str_cut(&text, '\n'));

        if (line.n > 0 && !line_break(line))
            return false;
    }
    return true;
}

/* Converts sections to nodes; the depth of a node follows from the sections around it. */
static void outline_gather(struct outline *o)
{
    struct policy_tree *t = o->t;
    str all = arena_dup(o->arena, buf_str(&o->text));
    unsigned open[8];
    uint32_t depth = 0;
    size_t page = 0;

    t->nodes = arena_zero(o->arena, o->count + 1, sizeof t->nodes[0]);
    for (size_t i = 0; i < o->count; i++) {
        struct outline_section *s = &o->sections[i];

        s->node.text = outline_section_text(all, s);
        if (s->node.level == 0 && outline_says_nothing(s->node.text))
            continue; /* there is no text before the first heading */
        outline_section_pages(o, s, &page);
        while (depth > 0 && open[depth - 1] >= s->node.level)
            depth--;
        s->node.depth = depth;
        assert(depth < COUNT_OF(open) && (depth == 0 || open[depth - 1] < s->node.level));
        if (s->node.level > 0)
            open[depth++] = s->node.level;
        assert(t->node_count < o->count && s->from <= s->to);
        t->nodes[t->node_count++] = s->node;
    }
    t->page_count = o->page;
}

bool outline_is_over(const struct outline *o)
{
    return o->lost || buf_full(&o->text);
}

bool outline_finish(struct outline *o, str source)
{
    if (outline_is_over(o))
        return err_set(
            o->e, ERR_LIMIT, "the text of the policy: larger than %zu bytes", POLICY_SIZE_MAX);
    if (o->count > 0)
        o->sections[o->count - 1].to = o->text.n;
    outline_gather(o);
    policy_tree_finish(o->t, source, o->arena);
    return true;
}
