/* scope.h - which sentences of a document a criterion is about.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "apps/policy/judge.h"

#define SCOPE_SENTENCES_MAX 3000 /* that are read for one criterion */
#define SCOPE_SMALL 200          /* so many nodes are all read; of more those that were found */
#define SCOPE_TEXT_MAX ((size_t)256 << 10) /* bytes of one that is kept as words */
#define SCOPE_WORDS_MAX 20000

struct scope {
    struct reading *all;
    size_t n;
    const struct word *words; /* of all of them */
    size_t word_n;
};

/* How much of a criterion each sentence has. */
struct scores {
    double *score;   /* of each sentence: that of its block */
    bool *own;       /* no other sentence of its block has more of it */
    bool *aside;     /* about something else than the sentence of its block that has most of it */
    bool open;       /* the criterion has no words of its own: all is about it */
    double most;     /* the best score */
    double coverage; /* how much of the criterion's words the best has, 0 to 1 */
};

/* The words of a criterion: what is behind its last colon, without those that say nothing. */
size_t scope_question(str criterion, struct arena *a, struct word **out);
/* The sentences of a document, or of those sections alone that were found; all of them if hits is
 * NULL. */
void scope_read(const struct policy_doc *d, const struct policy_hits *hits, struct arena *a,
                struct scope *out);
void scope_score(const struct scope *s, const struct policy_doc *d, const struct policy_case *c,
                 str criterion, struct arena *a, struct scores *out);
