/* scope.h - which sentences of a document a criterion is about.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "apps/policy/judge.h"

#define SCOPE_SENTENCES_MAX 3000 /* that are read for one criterion */
#define SCOPE_SMALL 200          /* so many nodes are all read; of more those that were found */
#define SCOPE_WORDS_MAX 20000

struct scope {
    struct reading *all;
    size_t n;
    const struct word *words; /* of all of them */
    size_t word_n;
    bool open;       /* the criterion has no words of its own: all is about it */
    double most;     /* the best score */
    double coverage; /* how much of the criterion's words the best has, 0 to 1 */
};

/* The words of a criterion: what is behind its last colon, without those that say nothing. */
size_t scope_question(str criterion, struct arena *a, struct word **out);
/* Sentences with their scores. hits: where to look in a large document. */
void scope_read(const struct policy_doc *d, const struct policy_hits *hits, struct arena *a,
                struct scope *out);
void scope_score(struct scope *s, const struct policy_doc *d, str criterion, str hint, str section,
                 struct arena *a);
