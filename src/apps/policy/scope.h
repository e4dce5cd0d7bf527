/* scope.h - the sentences of a document as words and rules, and which a criterion is about.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "apps/policy/rule/rule.h"
#include "apps/policy/search.h"
#include "apps/policy/sentence.h"

#define SCOPE_SENTENCES_MAX 200000       /* of a document; a longer one is not decided */
#define SCOPE_ROOM ((size_t)64 << 20)    /* bytes of an arena that reading leaves to others */
#define SCOPE_KEPT_MAX ((size_t)1 << 20) /* bytes of a document that is read once, when loaded */
#define SCOPE_QUESTION_MAX 24

/* A sentence and its context. */
struct reading {
    const struct policy_node *node;
    uint32_t node_at;
    const struct policy_sentence *sentence;
    str text;
    const struct word *w;
    size_t n;
    struct reading *lead; /* for an item or a table's row; NULL: none */
    struct rule *rule;    /* NULL: not understood */
    bool part;            /* its lead's rule has it already */
};

struct scope {
    struct reading *all;
    size_t n;
    bool cut; /* the document has more than was read */
};

/* A criterion without its namespace: "age" of "elig:age". */
str scope_criterion(str criterion);
/* The words that it asks about, without those that only say that it is a criterion. */
struct phrase scope_question(str criterion, struct arena *a);
/* Words that only number criteria, or say that they are criteria: "c1", "rule 3". */
bool scope_word_numbers(const struct word *w);
/* All sentences of the document; those that it keeps, if it is small. */
const struct scope *scope_of(const struct policy_doc *d, struct arena *a);
/* The words of the titles above a sentence, kept for the next sentence of its section: a document
 * has too many sentences to read them for each. */
struct scope_titles {
    const struct policy_node *node;
    struct phrase words;
    struct arena arena;
};
void scope_titles_init(struct scope_titles *t);
void scope_titles_release(struct scope_titles *t);
/* Whether a sentence with its lead has all words of a question. t: words of the titles above it
 * count as well; or NULL. */
bool scope_covers(const struct reading *r, const struct phrase *q, struct scope_titles *t);
