/* format.h - a policy in any of its formats to its tree.
 *
 *     if (!policy_tree_any(bytes, STR("rules.docx"), &arena, &tree, e)) ...
 *
 * The content decides what a file is; its name only distinguishes a fragment of HTML from Markdown.
 * A file that cannot be read whole (encrypted, damaged, scanned, of an unknown kind) is an error
 * that says what it is and what to do: a policy of which a part is missing would decide cases
 * wrongly.
 *
 * HTML, DOCX and PDF give the same tree as Markdown: headings are sections, items of lists and rows
 * of tables are lines of text as outline.h has them. Pages are those of the file: in PDF each page,
 * in DOCX the breaks that the word processor stored; HTML has none.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "apps/policy/tree.h"

#define FORMAT_PDF_TIMEOUT_MS 60000
#define FORMAT_PDF_MEMORY ((size_t)1 << 30) /* address space of the program that reads a PDF */
#define FORMAT_PDF_OUT_MAX ((size_t)256 << 20)
#define FORMAT_PART_MAX ((size_t)128 << 20) /* bytes of an unpacked part of a DOCX file */

bool policy_tree_any(str bytes, str name, struct arena *a, struct policy_tree *out,
                     struct err *e) MUST_USE;
/* The text of a document of a case: text is lent as it is; HTML, DOCX and PDF give their headings
 * and texts as Markdown, in the arena. */
bool policy_text_any(str bytes, str name, struct arena *a, str *out, struct err *e) MUST_USE;

bool policy_tree_html(str text, str name, struct arena *a, struct policy_tree *out,
                      struct err *e) MUST_USE;
bool policy_tree_docx(str bytes, str name, struct arena *a, struct policy_tree *out,
                      struct err *e) MUST_USE;
bool policy_tree_pdf(str bytes, str name, struct arena *a, struct policy_tree *out,
                     struct err *e) MUST_USE;
