/* pdf_layout.c - lines of a PDF with their places to a tree. See pdf.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/format/markup.h"
#include "apps/policy/format/pdf.h"
#include "apps/policy/format/prose.h"
#include "base/ctype.h"
#include "base/utf8.h"

#include <math.h>

#define LINES_MAX ((size_t)4 << 20)
#define SIZES 400          /* distinct type sizes, in half points */
#define HEADING_RATIO 1.12 /* of the size of most text */
#define HEADING_CHARS 200  /* that a heading has at most, over all its lines */
#define LEVELS 6
#define MARGIN 0.08     /* of a page's height: where its number is */
#define CELL_CHARS 30   /* that lines of a table's column have on average */
#define RUNNING_MAX 32  /* headers and footers; others stay where they are */
#define LEVEL_SHIFT 0.4 /* of a line's height: cells of a row are not further apart */

struct pdf_line {
    str text;
    double x, right, y, bottom; /* in points, from the top left */
    uint32_t page, block;
    unsigned size;    /* of its type, in half points */
    bool margin;      /* its whole block is at the top or the bottom of the page */
    bool dropped;     /* it is not written where it is */
    unsigned repeats; /* of a line in a margin: pages near by that have it, too, but for a number */
    bool same;        /* one of them has the very line, or the number is the page's */
};

struct pdf_layout {
    struct outline o;
    struct arena *arena;
    struct policy_pdf_pages *pages;
    struct pdf_line *lines;
    size_t n, cap;
    double height; /* of the page */
    uint32_t block;
    struct buf words;                            /* of the open line */
    unsigned body;                               /* size of most text */
    unsigned sizes[LEVELS];                      /* of headings, largest first */
    bool open;                                   /* a paragraph that the next block may continue */
    uint32_t open_page;                          /* where its last line is */
    const struct pdf_line *running[RUNNING_MAX]; /* lines of margins, of which one copy is kept */
    size_t running_count;
};

/* ---- reading ---- */

static double pdf_place(const struct markup_token *t, const char *name, struct arena *a)
{
    char text[32];
    str value;
    double v;

    if (!markup_attribute(t, name, a, &value) || value.n >= sizeof text)
        return 0;
    memcpy(text, value.p, value.n);
    text[value.n] = 0;
    v = strtod(text, NULL);
    return isfinite(v) && fabs(v) < 1e6 ? v : 0;
}

static void pdf_end_page(struct pdf_layout *l)
{
    struct policy_pdf_pages *p = l->pages;

    if (p->count == 0 || (l->n > 0 && l->lines[l->n - 1].page == p->count))
        return;
    assert(p->empty_count == 0 || p->empty[p->empty_count - 1] < p->count);
    p->empty = base_realloc(p->empty, (p->empty_count + 1) * sizeof p->empty[0]);
    p->empty[p->empty_count++] = p->count;
}

static bool pdf_open(struct pdf_layout *l, const struct markup_token *t, struct arena *scratch)
{
    if (markup_is(t, "page")) {
        pdf_end_page(l);
        l->pages->count++;
        l->height = pdf_place(t, "height", scratch);
    } else if (markup_is(t, "block")) {
        l->block++;
    } else if (markup_is(t, "line")) {
        struct pdf_line line = {.page = l->pages->count, .block = l->block, .text = STR("")};

        if (l->n == LINES_MAX || l->pages->count == 0)
            return err_set(l->o.e, ERR_LIMIT, "the PDF has too many lines; save it in parts");
        line.x = pdf_place(t, "xMin", scratch);
        line.right = pdf_place(t, "xMax", scratch);
        line.y = pdf_place(t, "yMin", scratch);
        line.bottom = pdf_place(t, "yMax", scratch);
        line.margin = line.bottom < MARGIN * l->height || line.y > (1 - MARGIN) * l->height;
        line.size = (unsigned)fmin(fmax(2 * (line.bottom - line.y), 0), SIZES - 1);
        l->lines = base_grow(l->lines, l->n, &l->cap, sizeof l->lines[0]);
        assert(l->n < l->cap && line.size < SIZES);
        l->lines[l->n++] = line;
        buf_reset(&l->words);
    } else if (markup_is(t, "word") && l->words.n > 0) {
        buf_add_c(&l->words, ' ');
    }
    return true;
}

static bool pdf_read(struct pdf_layout *l, str layout)
{
    struct markup m = {.src = layout};
    struct markup_token t;
    struct arena scratch;
    bool in_word = false, ok = true;

    arena_init(&scratch, (size_t)1 << 20);
    while (ok && markup_next(&m, &t)) {
        if (t.kind == MARKUP_OPEN)
            ok = pdf_open(l, &t, &scratch);
        if (t.kind == MARKUP_TEXT && in_word)
            markup_decode(t.text, &l->words);
        if (t.kind == MARKUP_CLOSE && markup_is(&t, "line") && l->n > 0)
            l->lines[l->n - 1].text = policy_one_line(buf_str(&l->words), l->arena);
        in_word = t.kind == MARKUP_OPEN && markup_is(&t, "word");
        arena_reset(&scratch);
    }
    arena_release(&scratch);
    pdf_end_page(l);
    if (ok && (m.wrong || l->pages->count == 0))
        return err_input(l->o.e, "the PDF is damaged: it has no pages that can be read");
    return ok;
}

/* The line at the end of a paragraph may be equal on two pages by chance: only a block of its own
 * is a header or a footer. */
static void pdf_find_margins(struct pdf_layout *l)
{
    for (size_t i = 0, to; i < l->n; i = to) {
        bool margin = true;

        for (to = i; to < l->n && l->lines[to].block == l->lines[i].block; to++)
            margin = margin && l->lines[to].margin;
        assert(to > i);
        for (size_t k = i; k < to; k++)
            l->lines[k].margin = margin && l->lines[k].text.n > 0;
    }
}

/* ---- the size of text and of headings ---- */

static bool pdf_is_larger(const struct pdf_layout *l, unsigned size)
{
    return size > HEADING_RATIO * l->body;
}

static void pdf_measure(struct pdf_layout *l)
{
    size_t chars[SIZES] = {0}, text[SIZES] = {0}, level = 0;
    const size_t *most = chars; /* whether all of it is in margins */

    for (size_t i = 0; i < l->n; i++) {
        chars[l->lines[i].size] += l->lines[i].text.n;
        if (!l->lines[i].margin && l->lines[i].text.n > 0) {
            text[l->lines[i].size] += l->lines[i].text.n;
            most = text;
        }
    }
    for (unsigned s = 0; s < SIZES; s++)
        if (most[s] > most[l->body])
            l->body = s;
    for (unsigned s = SIZES; s-- > 0 && level < LEVELS;)
        if (chars[s] > 0 && pdf_is_larger(l, s))
            l->sizes[level++] = s;
}

/* 1 to 6, or 0: the line is text. A line in large type that ends as a sentence is one. */
static unsigned pdf_level(const struct pdf_layout *l, const struct pdf_line *line)
{
    if (!pdf_is_larger(l, line->size) || line->text.n == 0 ||
        memchr(".;,:!?", line->text.p[line->text.n - 1], 6))
        return 0;
    for (unsigned i = 0; i < LEVELS; i++)
        if (line->size >= l->sizes[i])
            return i + 1;
    return LEVELS;
}

/* ---- headers and footers ---- */

#define NEAR_PAGES 4   /* where the copies of a header are looked for; chapters have their own */
#define NEAR_LINES 200 /* of margins that a line is compared with */
#define SURE_PAGES 2   /* more, on which a number goes up with the pages: it counts them */

static uint64_t pdf_number(str s, size_t *at)
{
    uint64_t n = 0;

    assert(*at <= s.n);
    for (; *at < s.n && char_is_digit(s.p[*at]); ++*at)
        n = n < 1000000 ? 10 * n + (uint64_t)(s.p[*at] - '0') : n;
    return n;
}

static bool pdf_is_page_word(str word)
{
    return str_is_one_of_nocase(word, "page p pg of seite von pagina");
}

static size_t pdf_word_size(str s, size_t at)
{
    size_t n = 0;

    while (at + n < s.n && ((s.p[at + n] | 0x20) >= 'a' && (s.p[at + n] | 0x20) <= 'z'))
        n++;
    return n;
}

/* "Page 3 of 9", "- 3 -", "3/9": only numbers and words for page numbers. *sure: it has such a
 * word, or begins with the number of its page. */
static bool pdf_is_page_number(const struct pdf_line *line, bool *sure)
{
    str s = line->text;
    unsigned digits = 0;

    *sure = false;
    for (size_t i = 0; i < s.n;) {
        size_t n = pdf_word_size(s, i);

        if (n > 0 && !pdf_is_page_word(str_slice(s, i, i + n)))
            return false;
        if (n == 0 && !char_is_digit(s.p[i]) && !memchr(" -/.|", s.p[i], 5))
            return false;
        *sure |= n > 0;
        if (n > 0 || !char_is_digit(s.p[i]))
            i += n + (n == 0);
        else if (pdf_number(s, &i) == line->page || digits > 0)
            *sure |= digits++ == 0;
        else
            digits++;
    }
    return digits > 0 && s.n <= 24;
}

/* Whether the word before the number at `at` is one for page numbers. */
static bool pdf_is_after_page_word(str s, size_t at)
{
    size_t from;

    while (at > 0 && memchr(" .", s.p[at - 1], 2))
        at--;
    from = at;
    while (from > 0 && char_is_letter(s.p[from - 1]))
        from--;
    return from < at && pdf_is_page_word(str_slice(s, from, at));
}

/* Whether two lines are equal except for a number that increases with the pages. *same: there is no
 * number, or it is the page's. */
static bool pdf_is_same(const struct pdf_line *a, const struct pdf_line *b, bool *same)
{
    size_t i = 0, k = 0;

    *same = true;
    while (i < a->text.n && k < b->text.n) {
        if (char_is_digit(a->text.p[i]) && char_is_digit(b->text.p[k])) {
            bool named = pdf_is_after_page_word(a->text, i);
            uint64_t x = pdf_number(a->text, &i), y = pdf_number(b->text, &k);

            if (x == y)
                continue;
            if (y - x != (uint64_t)b->page - a->page)
                return false;
            *same = *same && (named || x == a->page);
        } else if (a->text.p[i++] != b->text.p[k++]) {
            return false;
        }
    }
    return i == a->text.n && k == b->text.n;
}

static void pdf_find_copies(struct pdf_layout *l, size_t at)
{
    struct pdf_line *line = &l->lines[at];
    uint32_t seen = line->page;
    size_t left = NEAR_LINES;

    assert(at < l->n && line->margin);
    for (size_t i = at + 1; i < l->n && left > 0; i++) {
        struct pdf_line *next = &l->lines[i];
        bool same;

        if (next->page > line->page + NEAR_PAGES)
            break;
        if (!next->margin)
            continue;
        left--;
        if (next->page == seen || !pdf_is_same(line, next, &same))
            continue;
        seen = next->page;
        line->repeats++;
        next->repeats++;
        line->same |= same;
        next->same |= same;
    }
}

static bool pdf_is_written(const struct pdf_layout *l, const struct pdf_line *line)
{
    bool same;

    for (size_t i = 0; i < l->running_count; i++)
        if (pdf_is_same(l->running[i], line, &same))
            return true;
    return false;
}

/* Removes page numbers. One copy of a header or a footer is kept, before the text: in its place it
 * would interrupt a sentence that continues on the next page. A heading keeps its place. */
static void pdf_drop_margins(struct pdf_layout *l)
{
    assert(l->running_count == 0);
    for (size_t i = 0; i < l->n; i++)
        if (l->lines[i].margin)
            pdf_find_copies(l, i);
    for (size_t i = 0; i < l->n; i++) {
        struct pdf_line *line = &l->lines[i];
        bool sure, running = line->repeats > 0 && (line->same || line->repeats >= SURE_PAGES);

        if (!line->margin)
            continue;
        if (pdf_is_page_number(line, &sure) && (sure || running)) {
            line->dropped = true;
        } else if (running && pdf_is_written(l, line)) {
            line->dropped = true;
        } else if (running && l->running_count < RUNNING_MAX) {
            l->running[l->running_count++] = line;
            line->dropped = pdf_level(l, line) == 0;
        }
    }
}

/* ---- writing ---- */

static size_t pdf_block_end(const struct pdf_layout *l, size_t from)
{
    size_t to = from + 1;

    assert(from < l->n);
    while (to < l->n && l->lines[to].block == l->lines[from].block)
        to++;
    return to;
}

/* Whether the block at `b` continues the rows of the one at `a` to its right. */
static bool pdf_is_beside(const struct pdf_layout *l, size_t a, size_t b, size_t rows)
{
    size_t chars = 0;

    assert(a < b);
    if (b >= l->n || l->lines[b].page != l->lines[a].page || pdf_block_end(l, b) - b != rows)
        return false;
    for (size_t i = 0; i < rows; i++) {
        const struct pdf_line *x = &l->lines[a + i], *y = &l->lines[b + i];

        if (fabs(x->y - y->y) > LEVEL_SHIFT * (x->bottom - x->y) || y->x < x->right || x->dropped ||
            y->dropped || pdf_level(l, x) != pdf_level(l, y))
            return false;
        chars += x->text.n + y->text.n;
    }
    return chars <= 2 * rows * CELL_CHARS;
}

static void pdf_put_cell(struct pdf_layout *l, str text)
{
    outline_put(&l->o, STR(" "));
    for (size_t i = 0; i < text.n; i++)
        outline_put(&l->o, text.p[i] == '|' ? STR("\xC2\xA6") : str_slice(text, i, i + 1));
    outline_put(&l->o, STR(" |"));
}

/* Blocks side by side as rows; gives the first line after them, or `from` if there is no table. */
static size_t pdf_table(struct pdf_layout *l, size_t from)
{
    size_t rows = pdf_block_end(l, from) - from, columns[32], n = 0, at = from;

    if (rows < 2)
        return from;
    do
        columns[n++] = at;
    while (n < COUNT_OF(columns) && pdf_is_beside(l, at, at + rows, rows) && (at += rows));
    if (n < 2)
        return from;
    assert(at + rows <= l->n);
    outline_put(&l->o, STR("\n\n"));
    for (size_t r = 0; r < rows; r++) {
        outline_put(&l->o, STR("|"));
        for (size_t c = 0; c < n; c++)
            pdf_put_cell(l, l->lines[columns[c] + r].text);
        outline_put(&l->o, STR("\n"));
        if (r == 0) {
            outline_put(&l->o, STR("|"));
            for (size_t c = 0; c < n; c++)
                outline_put(&l->o, STR("---|"));
            outline_put(&l->o, STR("\n"));
        }
    }
    outline_put(&l->o, STR("\n"));
    l->open = false;
    return at + rows;
}

/* Bullets as Markdown writes them. */
static void pdf_put_line(struct pdf_layout *l, str text)
{
    size_t bullet = prose_bullet_size(text);

    if (bullet > 0) {
        text = str_trim(str_slice(text, bullet, text.n));
        outline_put(&l->o, STR("- "));
    }
    if (text.n > 0 && (text.p[0] == '|' || text.p[0] == '>' || str_starts(text, STR("```"))))
        outline_put(&l->o, STR("\\"));
    outline_put(&l->o, text);
}

/* A sentence may continue in the next column or on the next page, there also with a capital: a
 * sentence that is too long decides nothing, half a sentence decides wrongly. */
static bool pdf_goes_on(const struct pdf_layout *l, const struct pdf_line *next)
{
    return l->open && next->text.n > 0 &&
           (next->page != l->open_page || (next->text.p[0] >= 'a' && next->text.p[0] <= 'z'));
}

/* "ex-" before "empt" is one word, also over a footer. A compound loses its hyphen, which only
 * makes it unknown. */
static size_t pdf_hyphen_size(const struct pdf_layout *l, size_t at)
{
    str text = l->lines[at].text, next;
    char before = text.n > 1 ? (char)(text.p[text.n - 2] | 0x20) : 0;

    assert(text.n > 0);
    while (++at < l->n && l->lines[at].dropped)
        ;
    next = at < l->n && pdf_level(l, &l->lines[at]) == 0 ? l->lines[at].text : STR("");
    if (next.n == 0 || next.p[0] < 'a' || next.p[0] > 'z')
        return 0;
    if (str_ends(text, STR("\xC2\xAD")))
        return 2;
    return before >= 'a' && before <= 'z' && text.p[text.n - 1] == '-' ? 1 : 0;
}

/* A heading of one or more lines of a block; gives the first line after it. */
static bool pdf_heading(struct pdf_layout *l, size_t *at, size_t to, unsigned level)
{
    str title = l->lines[*at].text;
    uint32_t page = l->lines[*at].page;

    assert(level >= 1 && level <= LEVELS && *at < to && to <= l->n);
    while (++*at < to && pdf_level(l, &l->lines[*at]) == level &&
           title.n + l->lines[*at].text.n < HEADING_CHARS)
        title = arena_join(l->arena, title, STR(" "), l->lines[*at].text);
    l->open = false;
    return outline_section(&l->o, level, policy_title(title, l->arena), 0, page);
}

static bool pdf_put_block(struct pdf_layout *l, size_t from, size_t to)
{
    bool begun = false;

    assert(from < to && to <= l->n);
    for (size_t i = from; i < to;) {
        const struct pdf_line *line = &l->lines[i];
        size_t hyphen;
        unsigned level = line->dropped ? 0 : pdf_level(l, line);

        if (level > 0 && line->text.n <= HEADING_CHARS) {
            if (!pdf_heading(l, &i, to, level))
                return false;
            continue;
        }
        i++;
        if (line->dropped || line->text.n == 0)
            continue;
        if (!begun && !pdf_goes_on(l, line))
            outline_put(&l->o, STR("\n"));
        begun = true;
        hyphen = pdf_hyphen_size(l, i - 1);
        pdf_put_line(l, str_slice(line->text, 0, line->text.n - hyphen));
        if (!hyphen)
            outline_put(&l->o, STR("\n"));
        l->open = !memchr(".;:!?", line->text.p[line->text.n - 1], 5);
        l->open_page = line->page;
    }
    return true;
}

static bool pdf_write(struct pdf_layout *l)
{
    uint32_t page = 0;

    if (!outline_page(&l->o, ++page))
        return false;
    for (size_t i = 0; i < l->running_count; i++)
        if (l->running[i]->dropped) {
            outline_put(&l->o, STR("\n"));
            pdf_put_line(l, l->running[i]->text);
            outline_put(&l->o, STR("\n"));
        }
    for (size_t i = 0, next; i < l->n; i = next) {
        for (; page < l->lines[i].page; page++)
            if (!outline_page(&l->o, page + 1))
                return false;
        assert(page == l->lines[i].page); /* lines are in the order of their pages */
        next = pdf_table(l, i);
        if (next > i)
            continue;
        next = pdf_block_end(l, i);
        assert(next > i);
        if (!pdf_put_block(l, i, next))
            return false;
    }
    l->o.page = l->pages->count > l->o.page ? l->pages->count : l->o.page;
    return true;
}

bool policy_pdf_layout(const struct policy_pdf *in, struct arena *a, struct policy_tree *out,
                       struct policy_pdf_pages *pages, struct err *e)
{
    struct pdf_layout *l = base_alloc(sizeof *l);
    bool ok;

    memset(l, 0, sizeof *l);
    l->arena = a;
    l->pages = pages;
    outline_init(&l->o, in->name, a, out, e);
    buf_init(&l->words, POLICY_SIZE_MAX);
    ok = (utf8_valid(in->layout) || err_input(e, "the PDF is damaged: its text is no text")) &&
         pdf_read(l, in->layout);
    if (ok) {
        pdf_find_margins(l);
        pdf_measure(l);
        pdf_drop_margins(l);
        ok = outline_begin(&l->o, 0) && pdf_write(l) && outline_finish(&l->o, in->source);
    }
    buf_release(&l->words);
    outline_release(&l->o);
    free(l->lines);
    free(l);
    return ok;
}
