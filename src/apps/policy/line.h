/* line.h - one line of Markdown: the kind of block it may begin, by CommonMark 0.31.
 *
 * These functions do not know the lines before it; markdown.c does.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/str.h"

/* Columns of white space at the front (a tab goes to the next multiple of four), and its bytes. */
unsigned line_indent(str line, size_t *bytes);
bool line_blank(str line);

/* All of these take the line from its first character that is no white space, which at most three
 * columns precede. */

/* An ATX heading: its level, and its title without closing marks. */
bool line_atx(str s, unsigned *level, str *title);
/* An underline that makes the paragraph above it a heading: 1 for =, 2 for -, else 0. */
unsigned line_setext(str s);
bool line_break(str s); /* a thematic break */
/* The opening of a code fence: its mark and how often it is repeated. */
bool line_fence(str s, char *mark, size_t *n);
/* The closing of a fence of n marks. */
bool line_fence_end(str s, char mark, size_t n);
/* A list item that begins at column `at`: the columns from its mark to its text; `interrupts` says
 * whether it may end a paragraph. */
bool line_item(str s, unsigned at, unsigned *columns, bool *interrupts);
/* [label]: where */
bool line_definition(str s);

/* The kinds of HTML blocks, in the order of the specification; 0: none. */
enum { LINE_HTML_COMMENT = 2, LINE_HTML_TAG = 6, LINE_HTML_ALONE = 7 };
unsigned line_html(str s);
/* Whether a block of that kind ends on this line. */
bool line_html_end(unsigned kind, str line);

/* A comment that begins at s: its size with both marks, or 0 if it does not end here. */
size_t line_comment(str s);
/* Whether a whole comment is a page marker; the number may be too large for any page. */
bool line_page(str comment, uint64_t *page);

/* The line at *at, without its end (LF, CR or both). Moves *at to the next line. */
str line_next(str text, size_t *at);
