/* fts.h - the index of a document: its passages and its sentences in FTS5, in memory.
 *
 * One connection, guarded by a lock: any thread may query.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "apps/policy/sentence.h"
#include "apps/policy/tree.h"

#define FTS_WORDS_MAX 128 /* different words of a query that are looked for */

struct policy_index;

struct fts_row {
    uint32_t at;  /* the place of the node or sentence that matches */
    double score; /* more is better */
};

struct fts_rows {
    struct fts_row *at; /* best first */
    size_t max, n;      /* max: how many fit, set by the caller */
};

bool fts_open(const struct policy_tree *t, struct policy_index **out, struct err *e) MUST_USE;
void fts_close(struct policy_index *x); /* NULL: nothing */

/* The words of any text as an FTS5 expression: each quoted, any may match. "" if it has none. */
str fts_expression(str query, struct arena *a);

/* Passages that match: `at` is their node, once for each passage. */
bool fts_nodes(struct policy_index *x, str expression, struct fts_rows *out,
               struct err *e) MUST_USE;
/* Sentences of one node that match: `at` counts from the node's first. */
bool fts_sentences(struct policy_index *x, uint32_t node, str expression, struct fts_rows *out,
                   struct err *e) MUST_USE;
/* The sentences of a node, by their places in its text. */
size_t fts_sentences_of(const struct policy_index *x, uint32_t node,
                        const struct policy_sentence **out);
