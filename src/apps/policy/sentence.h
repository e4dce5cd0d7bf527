/* sentence.h - a section's text as sentences, list items and rows of tables.
 *
 *     struct policy_sentence *all;
 *     size_t n = policy_sentences(node->text, &arena, &all);
 *     str s = str_slice(node->text, all[i].from, all[i].to);
 *
 * A full stop after an abbreviation, after an initial or inside a number ends no sentence; code in
 * fences is quoted. An item knows the sentence that leads to it: one that ends with a colon.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/arena.h"

#define POLICY_NO_LEAD UINT32_MAX

struct policy_sentence {
    uint32_t from, to; /* bytes of the text; marks of items and quotes are before */
    uint32_t lead;     /* index of the sentence that leads to it, or POLICY_NO_LEAD */
    uint16_t indent;   /* columns before an item's mark */
    bool item;         /* of a list: its first sentence */
    bool row;          /* of a table */
    bool begins;       /* a paragraph, an item or a table */
    bool quoted;       /* in a block that begins with ">", or in a code fence */
};

size_t policy_sentences(str text, struct arena *a, struct policy_sentence **out);
