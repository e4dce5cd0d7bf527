/* pdf.h - a PDF while it is read: pdf.c the program that reads it, pdf_layout.c its answer.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "apps/policy/format/format.h"

struct policy_pdf_pages {
    uint32_t count;
    uint32_t *empty; /* pages without a word, from 1; freed by the caller */
    size_t empty_count;
};

struct policy_pdf {
    str layout; /* output of pdftotext */
    str source; /* the file */
    str name;
};

/* The tree from the output of `pdftotext -bbox-layout`: pages, blocks, lines and words with
 * their places. A line in larger type than most of the text is a heading, blocks side by side
 * whose short lines are level are a table, numbers of pages are left out. */
bool policy_pdf_layout(const struct policy_pdf *in, struct arena *a, struct policy_tree *out,
                       struct policy_pdf_pages *pages, struct err *e) MUST_USE;
