/* prose.h - paragraphs, items, tables and headings, as a reader of a format meets them, into an
 * outline.
 *
 *     prose_init(&p, &outline);
 *     prose_text(&p, STR("Bring one of these:"));
 *     prose_end(&p);                              the paragraph ends
 *     prose_item(&p, 1, 0);                       the next one is an item
 *     prose_table(&p, true); prose_row(&p); prose_cell(&p, 1, 1); ... prose_table(&p, false);
 *     ok = prose_heading(&p, 2);                  the open text is a heading
 *     prose_release(&p);
 *
 * White space is one space. The first row of a table is its header. A table inside a cell, and
 * paragraphs inside it, are text of the cell.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "apps/policy/outline.h"

#define PROSE_COLUMNS_MAX 64
#define PROSE_TURNS_MAX 16

struct prose {
    struct outline *o;
    struct buf open;                    /* the paragraph, heading or cell that is not ended */
    struct buf row;                     /* the cells of the row so far */
    unsigned item;                      /* depth of the item that the next paragraph is; 0: none */
    unsigned number;                    /* of the item; 0: it has none */
    unsigned tables;                    /* that are open, one inside the other */
    unsigned rows;                      /* of the outermost table so far */
    bool in_row, in_cell;               /* of the outermost table */
    unsigned columns;                   /* cells of the row so far */
    uint16_t below[PROSE_COLUMNS_MAX];  /* rows for which a cell above takes this column */
    unsigned spans_rows, spans_columns; /* of the open cell */
    struct policy_page turns[PROSE_TURNS_MAX]; /* pages that begin in the open text, and where */
    unsigned turn_count;
};

/* Bytes of the bullet that a text begins with; 0: none. */
size_t prose_bullet_size(str text);

void prose_init(struct prose *p, struct outline *o);
void prose_release(struct prose *p);
/* Adds to the open paragraph; marked up text is decoded before. */
void prose_text(struct prose *p, str s);
void prose_line(struct prose *p); /* a line break in the paragraph */
void prose_end(struct prose *p);  /* the paragraph ends, if there is one */
/* The next paragraph is an item of a list of that depth, from 1. */
void prose_item(struct prose *p, unsigned depth, unsigned number);
/* The open text is a heading of level 1 to 6. In a table, it is text. */
bool prose_heading(struct prose *p, unsigned level) MUST_USE;
void prose_table(struct prose *p, bool begins);
void prose_row(struct prose *p);
/* A cell begins, over so many columns and rows. */
void prose_cell(struct prose *p, unsigned columns, unsigned rows);
/* A page begins here; inside of a row, after the row. Pages go up. */
bool prose_page(struct prose *p, uint32_t page) MUST_USE;
