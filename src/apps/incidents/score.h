/* score.h - scores how well an analysis states the expected facts, without a model as a judge.
 *
 * Only what the analysis states itself counts (score/claims.h): no quotation, nothing that it rules
 * out, asks, or lists as one of many possibilities. Statements and expected texts are compared word
 * by word (score/words.h), and a denied word equals only a denied word. This finds statements made
 * in the same words; it does not understand.
 *
 * A fact is a sentence:
 *
 *     share = weight of its words in the best stretch of the statements / weight of its words
 *     met   = share >= SCORE_SHARE, and every word in `backticks` or with digits is in that stretch
 *
 * Words in backticks and numbers weigh 2, others 1. A stretch is 4 words for each of the fact's and
 * 20 more.
 *
 * A cause is a list of points, an object a list of names; each is "this | or that | or that". A
 * point is met if all words of an alternative are in one clause; the cause is met if all points are
 * met within SCORE_CAUSE_CLAUSES clauses; an object if one of its names is stated.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/arena.h"

#define SCORE_SHARE 0.7
#define SCORE_EVIDENCE_MAX ((size_t)8 << 20) /* bytes that are compared with an analysis */
#define SCORE_WORDS_MAX 256                  /* of a fact; further words do not count */
#define SCORE_CAUSE_CLAUSES 6                /* that state the cause together */
#define SCORE_FOUND 0.7       /* of an analysis that names cause and object, before its facts */
#define SCORE_FACTS_LEAST 0.5 /* fewer facts, where no cause is expected, count as not found */
#define SCORE_NOT_FOUND 0.25  /* at most, for one that does not, or does not know */

struct score_texts {
    str *at;
    size_t n;
};

struct score_expected {
    struct score_texts facts;
    struct score_texts cause, object; /* both may be empty: then the facts alone are scored */
    struct score_texts not_cause;     /* statements that show that another cause is blamed */
};

enum score_verdict {
    SCORE_VERDICT_FOUND,   /* cause and object; or no cause is expected */
    SCORE_VERDICT_SILENT,  /* nothing is stated */
    SCORE_VERDICT_REFUSED, /* "I cannot say what is wrong" */
    SCORE_VERDICT_WRONG,   /* another cause */
    SCORE_VERDICT_CAUSE,   /* the cause is missing */
    SCORE_VERDICT_OBJECT,  /* the object is missing */
};

struct score_fact {
    bool met;
    double share;
    str missing; /* words that are not in the best stretch, comma separated */
};

struct score_result {
    enum score_verdict verdict;
    double score;             /* 0 to 1 */
    struct score_fact *facts; /* as expected.facts */
    size_t facts_met;
    str missing; /* points of the cause and names that are not stated; the wrong cause; or "" */
};

/* evidence: texts that the analysis could quote, such as outputs of tools; or "". */
void score_analysis(str analysis, str evidence, const struct score_expected *x, struct arena *a,
                    struct score_result *out);
/* "found", "nothing_stated", "refused", "wrong_cause", "cause_missing", "object_missing" */
const char *score_verdict_name(enum score_verdict v);

/* Whether each alternative has a word that counts. */
bool score_point_is_usable(str point);

void score_fact(str report, str fact, struct arena *a, struct score_fact *out);

/* From 0 to 1: the share of facts that are met; 1 if there are none. found, if not NULL, gets
 * whether each is. */
double score_facts(str report, const str *facts, size_t n, bool *found);
