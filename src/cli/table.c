/* table.c - see table.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli/table.h"

#include "base/utf8.h"
#include "cli/history.h"

#include <wchar.h>

#define ARENA_MAX ((size_t)512 << 20)
#define CELL_MAX 1000
#define LAST_WIDTH_MIN 20 /* if less is left on the line, the last column begins a new line */
#define ROW_INDENT 2      /* of the second and later lines of a row */

/* ---- widths ---- */

/* The size of the first character; *width is its cells. */
static size_t table_measure(str text, size_t *width)
{
    uint32_t c;
    size_t size = utf8_decode(text, &c);
    int cells = size ? wcwidth((wchar_t)c) : 1;

    *width = cells < 0 ? 1 : (size_t)cells; /* < 0: a control character, printed as "?" */
    return size ? size : utf8_bad(text);
}

size_t table_text_width(str text)
{
    size_t total = 0, width;

    for (size_t at = 0; at < text.n; total += width)
        at += table_measure(str_slice(text, at, text.n), &width);
    return total;
}

str table_cut_width(str text, size_t width_max)
{
    size_t at = 0, total = 0, width;

    while (at < text.n) {
        size_t size = table_measure(str_slice(text, at, text.n), &width);

        total += width;
        if (total > width_max)
            break;
        at += size;
    }
    return str_slice(text, 0, at);
}

/* ---- layout ---- */

/* Narrows the columns to the line, and decides where its rows continue. */
static void table_fit(struct table *t, size_t line)
{
    size_t used = 0;

    assert(line > ROW_INDENT);
    for (size_t i = 0; i < t->column_count; i++) {
        bool shrinks = i + 1 == t->column_count && t->widths[i] > LAST_WIDTH_MIN;

        t->breaks[i] = i > 0 && used + (shrinks ? LAST_WIDTH_MIN : t->widths[i]) > line;
        used = t->breaks[i] ? ROW_INDENT : used;
        t->widths[i] = t->widths[i] < line - used ? t->widths[i] : line - used;
        used += t->widths[i] + 2;
    }
    t->breaks[t->column_count] = true;
}

static void table_set_widths(struct table *t)
{
    for (size_t i = 0; i < t->column_count; i++) {
        size_t head = strlen(t->columns[i].head);

        t->widths[i] = head > t->columns[i].width ? head : t->columns[i].width;
    }
    for (size_t i = 0; i < t->count; i++) {
        size_t width = table_text_width(t->cells[i]), *widest = &t->widths[i % t->column_count];

        *widest = width > *widest ? width : *widest;
    }
    table_fit(t, cli_line_width(t->cli));
}

/* ---- output ---- */

static void table_put_spaces(struct table *t, size_t n)
{
    file_out_printf(&t->cli->out, "%*s", (int)n, "");
}

static void table_print_cell(struct table *t, size_t i, str text)
{
    enum table_form form = t->columns[i].form;
    const char *color = form == TABLE_STATUS ? cli_status(t->cli, text) : "";
    bool cut = t->cli->terminal && table_text_width(text) > t->widths[i];
    str shown = cut ? history_line(&t->arena, text, t->widths[i]) : text;
    size_t width = table_text_width(shown);
    size_t rest = width < t->widths[i] ? t->widths[i] - width : 0;

    if (t->breaks[i])
        table_put_spaces(t, ROW_INDENT);
    if (form == TABLE_RIGHT)
        table_put_spaces(t, rest);
    file_out_printf(
        &t->cli->out, "%s" STR_FMT "%s", color, STR_ARG(shown), color[0] ? cli_plain(t->cli) : "");
    if (form != TABLE_RIGHT && !t->breaks[i + 1])
        table_put_spaces(t, rest);
    file_out_add(&t->cli->out, t->breaks[i + 1] ? STR("\n") : STR("  "));
}

void table_flush(struct table *t)
{
    assert(t->count % t->column_count == 0);
    if (!t->printed) {
        table_set_widths(t);
        file_out_add(&t->cli->out, str_c(cli_bold(t->cli)));
        for (size_t i = 0; i < t->column_count; i++)
            table_print_cell(t, i, str_c(t->columns[i].head));
        file_out_add(&t->cli->out, str_c(cli_plain(t->cli)));
        t->printed = true;
    }
    for (size_t i = 0; i < t->count; i++)
        table_print_cell(t, i % t->column_count, t->cells[i]);
    t->count = 0;
    cli_flush(t->cli);
}

/* ---- life ---- */

void table_begin(struct table *t, struct cli *cli, const struct table_column *columns, size_t n)
{
    assert(n > 0 && n <= TABLE_COLUMNS_MAX);
    *t = (struct table){.cli = cli, .columns = columns, .column_count = n};
    arena_init(&t->arena, ARENA_MAX);
}

void table_add(struct table *t, str text)
{
    t->cells = base_grow(t->cells, t->count, &t->room, sizeof *t->cells);
    t->cells[t->count++] = history_line(&t->arena, text.n ? text : STR("-"), CELL_MAX);
}

void table_printf(struct table *t, const char *fmt, ...)
{
    char text[CELL_MAX];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    table_add(t, str_c(text));
}

void table_end(struct table *t)
{
    table_flush(t);
    table_release(t);
}

void table_release(struct table *t)
{
    free(t->cells);
    arena_release(&t->arena);
}
