/* prose.c - see prose.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/format/prose.h"

#include "base/ctype.h"

size_t prose_bullet_size(str text)
{
    static const char *const bullets[] = {"\xE2\x80\xA2",
                                          "\xE2\x97\xA6",
                                          "\xE2\x96\xAA",
                                          "\xE2\x97\x8F",
                                          "\xE2\x97\x8B",
                                          "\xEF\x82\xB7",
                                          "\xE2\x80\x93 ", /* a space, or it is a minus */
                                          "\xC2\xB7"};

    for (size_t i = 0; i < COUNT_OF(bullets); i++)
        if (str_starts(text, str_c(bullets[i])))
            return strlen(bullets[i]);
    return 0;
}

void prose_init(struct prose *p, struct outline *o)
{
    *p = (struct prose){.o = o};
    buf_init(&p->open, POLICY_SIZE_MAX);
    buf_init(&p->row, POLICY_SIZE_MAX);
}

void prose_release(struct prose *p)
{
    buf_release(&p->open);
    buf_release(&p->row);
}

/* Empties the open text, or the row; if a part of it did not fit, the whole policy is refused. */
static void prose_reset(struct prose *p, struct buf *b)
{
    p->o->lost = p->o->lost || buf_full(b);
    buf_reset(b);
}

static void prose_space(struct prose *p)
{
    if (p->open.n > 0 && p->open.p[p->open.n - 1] != ' ' && p->open.p[p->open.n - 1] != '\n')
        buf_add_c(&p->open, ' ');
}

void prose_text(struct prose *p, str s)
{
    for (size_t i = 0; i < s.n;) {
        bool cell = p->tables > 0;
        size_t n = 0;

        if (s.p[i] == '\xC2' && i + 1 < s.n && s.p[i + 1] == '\xA0') {
            prose_space(p); /* a space that does not break */
            i += 2;
        } else if (s.p[i] == '\xC2' && i + 1 < s.n && s.p[i + 1] == '\xAD') {
            i += 2; /* a soft hyphen */
        } else if (char_is_json_space(s.p[i]) || s.p[i] == '\f' || s.p[i] == '\v' || !s.p[i]) {
            prose_space(p);
            i++;
        } else if (s.p[i] == '|' && cell) {
            buf_add(&p->open, STR("\xC2\xA6")); /* would end the cell */
            i++;
        } else {
            do
                n++;
            while (i + n < s.n && !char_is_json_space(s.p[i + n]) && s.p[i + n] != '|' &&
                   (s.p[i + n] & 0x80) == 0 && (unsigned char)s.p[i + n] > ' ');
            buf_add(&p->open, str_slice(s, i, i + n));
            i += n;
        }
    }
}

void prose_line(struct prose *p)
{
    if (p->tables > 0 || p->open.n == 0)
        prose_space(p);
    else
        buf_add_c(&p->open, '\n');
}

/* A paragraph must not look like an item, a row or a fence. */
static bool prose_looks_like_marks(str s)
{
    return s.n > 0 && (s.p[0] == '|' || s.p[0] == '>' || str_starts(s, STR("```")) ||
                       str_starts(s, STR("~~~")));
}

/* The text, a slice of the open one, with the pages that begin in it. */
static void prose_put_pages(struct prose *p, str text)
{
    size_t from = text.n > 0 ? (size_t)(text.p - p->open.p) : 0, at = 0;

    assert(from + text.n <= p->open.n && p->turn_count <= PROSE_TURNS_MAX);
    for (unsigned i = 0; i < p->turn_count; i++) {
        size_t to = p->turns[i].at > from ? p->turns[i].at - from : 0;

        to = to < text.n ? to : text.n;
        outline_put(p->o, str_slice(text, at, to));
        (void)!outline_page(p->o, p->turns[i].page);
        at = to;
    }
    p->turn_count = 0;
    outline_put(p->o, str_slice(text, at, text.n));
}

static void prose_put(struct prose *p, str text)
{
    struct outline *o = p->o;
    size_t bullet = prose_bullet_size(text);

    if (bullet > 0) { /* also of an item whose list is only text */
        p->item = p->item > 0 ? p->item : 1;
        text = str_trim(str_slice(text, bullet, text.n));
    }
    if (p->item > 0) {
        for (unsigned i = 1; i < p->item; i++)
            outline_put(o, STR("  "));
        if (p->number > 0)
            buf_printf(&o->text, "%u. ", p->number);
        else
            outline_put(o, STR("- "));
    } else if (prose_looks_like_marks(text)) {
        outline_put(o, STR("\\"));
    }
    prose_put_pages(p, text);
    outline_put(o, p->item > 0 ? STR("\n") : STR("\n\n"));
    p->item = p->number = 0;
}

void prose_end(struct prose *p)
{
    str text = str_trim(buf_str(&p->open));

    if (p->tables > 0) {
        prose_space(p);
        return;
    }
    if (text.n > 0)
        prose_put(p, text);
    prose_reset(p, &p->open);
}

void prose_item(struct prose *p, unsigned depth, unsigned number)
{
    prose_end(p);
    if (p->tables > 0)
        return;
    p->item = depth < 16 ? depth : 16;
    p->number = number;
}

bool prose_heading(struct prose *p, unsigned level)
{
    str title;

    if (p->tables > 0)
        return true;
    p->item = 0;
    title = policy_title(buf_str(&p->open), p->o->arena);
    prose_reset(p, &p->open);
    prose_put_pages(p, buf_str(&p->open));
    return title.n == 0 || outline_section(p->o,
                                           level < 1   ? 1
                                           : level > 6 ? 6
                                                       : level,
                                           title,
                                           0,
                                           p->o->page);
}

/* Columns that cells of rows above take have nothing of their own. */
static void prose_fill_columns(struct prose *p)
{
    assert(p->columns <= PROSE_COLUMNS_MAX);
    while (p->columns < PROSE_COLUMNS_MAX && p->below[p->columns] > 0) {
        p->below[p->columns++]--;
        buf_add(&p->row, STR("  |"));
    }
}

static void prose_end_cell(struct prose *p)
{
    if (!p->in_cell)
        return;
    assert(p->in_row && p->spans_rows >= 1 && p->spans_rows <= UINT16_MAX);
    p->in_cell = false;
    buf_add_c(&p->row, ' ');
    buf_add(&p->row, str_trim(buf_str(&p->open)));
    buf_add(&p->row, STR(" |"));
    prose_reset(p, &p->open);
    for (unsigned i = 0; i < p->spans_columns && p->columns < PROSE_COLUMNS_MAX; i++) {
        p->below[p->columns++] = (uint16_t)(p->spans_rows - 1);
        if (i > 0)
            buf_add(&p->row, STR("  |"));
    }
}

static void prose_end_row(struct prose *p)
{
    assert(p->tables == 1 && (p->in_row || !p->in_cell));
    prose_end_cell(p);
    if (!p->in_row)
        return;
    p->in_row = false;
    prose_fill_columns(p);
    if (p->row.n == 0)
        return;
    outline_put(p->o, STR("|"));
    outline_put(p->o, buf_str(&p->row));
    outline_put(p->o, STR("\n"));
    prose_put_pages(p, buf_str(&p->open));
    if (p->rows++ == 0) {
        outline_put(p->o, STR("|"));
        for (unsigned i = 0; i < p->columns; i++)
            outline_put(p->o, STR("---|"));
        outline_put(p->o, STR("\n"));
    }
    prose_reset(p, &p->row);
}

void prose_table(struct prose *p, bool begins)
{
    if (begins && p->tables == 0) {
        prose_end(p);
        outline_put(p->o, STR("\n"));
        p->item = p->number = 0;
        p->rows = 0;
        memset(p->below, 0, sizeof p->below);
    }
    if (p->tables > 1)
        prose_space(p);
    if (begins) {
        p->tables++;
    } else if (p->tables > 0) {
        if (p->tables == 1)
            prose_end_row(p);
        if (--p->tables == 0) {
            prose_end(p); /* text of the table that is in no cell */
            outline_put(p->o, STR("\n"));
        }
    }
}

void prose_row(struct prose *p)
{
    if (p->tables != 1)
        return;
    prose_end_row(p);
    p->in_row = true;
    p->columns = 0;
}

void prose_cell(struct prose *p, unsigned columns, unsigned rows)
{
    if (p->tables != 1) {
        prose_space(p);
        return;
    }
    if (!p->in_row)
        prose_row(p);
    prose_end_cell(p);
    prose_fill_columns(p);
    p->in_cell = true;
    p->spans_columns = columns > 0 ? columns : 1;
    p->spans_rows = rows > 0 && rows <= UINT16_MAX ? rows : 1;
}

bool prose_page(struct prose *p, uint32_t page)
{
    bool open = p->open.n > 0 || (p->tables > 0 && p->row.n > 0);

    assert(p->turn_count <= PROSE_TURNS_MAX);
    if (!open)
        return outline_page(p->o, page);
    if (page < p->o->page || page > POLICY_PAGE_MAX)
        return outline_page(p->o, page); /* sets the reason */
    if (p->turn_count == PROSE_TURNS_MAX)
        p->turn_count--; /* the text between them is on the later page */
    p->turns[p->turn_count++] = (struct policy_page){(uint32_t)p->open.n, page};
    return true;
}
