/* outline.h - a tree while a reader finds its sections: headings, text and pages in their order.
 *
 *     struct outline o;
 *     outline_init(&o, doc_name, &arena, &tree, e);
 *     ok = outline_begin(&o, 1) && outline_page(&o, 2) &&
 *          outline_section(&o, 1, title, line, 2) && ...
 *     outline_put(&o, STR("The text of the section.\n"));
 *     ok = ok && outline_finish(&o, source);
 *     outline_release(&o);
 *
 * The readers of all formats share it, so a section, its pages and its depth mean the same in each.
 * Text before the first heading is a section of level 0, titled as the document. Items of lists are
 * lines that begin with "- " or "1. ", rows of tables lines that begin with "|" (sentence.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "apps/policy/tree_build.h"

struct outline_section {
    struct policy_node node;
    size_t from, to; /* in the text */
    uint32_t page;   /* on which it begins */
};

struct outline {
    struct policy_tree *t;
    struct arena *arena;
    struct err *e;
    struct buf text; /* of all sections; a reader may shorten it to where the last one began */
    struct outline_section *sections;
    size_t count, cap;
    struct policy_page *pages; /* where in the text they begin */
    size_t page_count, page_cap;
    uint32_t line, page; /* the current ones; line is 0 in formats without lines */
    bool lost;           /* a part did not fit: outline_finish fails */
};

/* The tree is emptied. */
void outline_init(struct outline *o, str doc_name, struct arena *a, struct policy_tree *t,
                  struct err *e);
/* The text before the first heading; the tree's title is read before. */
bool outline_begin(struct outline *o, uint32_t line) MUST_USE;
bool outline_section(struct outline *o, unsigned level, str title, uint32_t line,
                     uint32_t page) MUST_USE;
/* Pages go up; ERR_INPUT if they do not. */
bool outline_page(struct outline *o, uint64_t page) MUST_USE;
void outline_put(struct outline *o, str s);
/* Whether the text is larger than a policy may be: reading further is in vain. */
bool outline_is_over(const struct outline *o);
/* Gives the tree its nodes; `source` is the file. */
bool outline_finish(struct outline *o, str source) MUST_USE;
void outline_release(struct outline *o);
