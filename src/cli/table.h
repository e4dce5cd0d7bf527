/* table.h - a table of texts on stdout: as wide as its cells, and no wider than the terminal.
 *
 *     static const struct table_column columns[] = {{"CASE", TABLE_TEXT, 24},
 *                                                   {"SCORE", TABLE_RIGHT, 6}};
 *     struct table t;
 *
 *     table_begin(&t, cli, columns, COUNT_OF(columns));
 *     table_add(&t, name);                  cell by cell, row by row
 *     table_printf(&t, "%.2f", score);
 *     table_flush(&t);                      optional: shows the rows so far
 *     table_end(&t);                        prints the others
 *
 * The first print decides the widths. So a table that is flushed after each row gives its columns
 * a width; longer cells of later rows are truncated on a terminal. Widths are cells of a terminal:
 * a CJK character or an emoji has two, a combining mark has none. If a row is wider than the
 * terminal, it continues on a new line.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "cli/cli.h"

#define TABLE_COLUMNS_MAX 12

enum table_form {
    TABLE_TEXT,
    TABLE_STATUS, /* text in the colour of a status */
    TABLE_RIGHT,  /* right-aligned, as numbers */
};

struct table_column {
    const char *head;
    enum table_form form;
    size_t width; /* at least */
};

struct table {
    struct cli *cli;
    const struct table_column *columns; /* lent */
    size_t column_count;
    struct arena arena;
    str *cells;
    size_t count, room;
    bool printed; /* its head, so that the widths are final */
    size_t widths[TABLE_COLUMNS_MAX];
    bool breaks[TABLE_COLUMNS_MAX + 1]; /* whether a line ends before this column */
};

void table_begin(struct table *t, struct cli *cli, const struct table_column *columns, size_t n);
/* One more cell: the text in one line, without control characters. */
void table_add(struct table *t, str text);
void table_printf(struct table *t, const char *fmt, ...) PRINTF_LIKE(2, 3);
void table_flush(struct table *t);
void table_end(struct table *t);
void table_release(struct table *t); /* without printing */

/* The cells of a terminal that a text in one line takes. */
size_t table_text_width(str text);
/* The prefix of a text that takes at most this many. */
str table_cut_width(str text, size_t width_max);
