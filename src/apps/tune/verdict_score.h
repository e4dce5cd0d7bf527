/* verdict_score.h - scores a policy verification by four metrics, with a sentence on each.
 *
 *     struct verdict_score m;
 *     verdict_judge(&truth, &run, &m);
 *     verdict_feedback(&truth, &run, &m, &buf);
 *
 *   citation     0.4  the citations are those of the label, and no others
 *   coherence    0.3  the conclusion rests on passages that were read; errors and repetition cost
 *   calibration  0.2  confidence is high for a right status, and low for a wrong or uncertain one
 *   status       0.1  the status is that of the label
 *
 * Coherence does not count steps: one more step can lower it, and can raise it only by showing the
 * passage of a citation. So a longer trace is not a better one.
 *
 * Pure functions on plain structs; all texts are lent.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/buf.h"

enum verdict_kind {
    VERDICT_CITATION,
    VERDICT_COHERENCE,
    VERDICT_CALIBRATION,
    VERDICT_STATUS,
    VERDICT_COUNT
};

/* Pages first..last; last is 0 without pages. */
struct verdict_citation {
    str doc, section;
    uint32_t page_first, page_last;
};

struct verdict_step {
    str action, arguments;
    str observation;
    bool failed; /* reported by the tool */
};

/* The label. */
struct verdict_truth {
    str status; /* empty: not labelled */
    const struct verdict_citation *citations;
    size_t citation_count;
    bool has_citations; /* false: not labelled; true without citations: nothing should be cited */
};

/* The run's conclusion and steps. */
struct verdict_run {
    str status;
    double confidence; /* 0 to 1 */
    const struct verdict_citation *citations;
    size_t citation_count;
    const struct verdict_step *steps;
    size_t step_count;
};

struct verdict_score {
    double score[VERDICT_COUNT]; /* each 0 to 1 */
    double total;                /* weighted */
};

extern const char *const verdict_names[VERDICT_COUNT];
extern const double verdict_weights[VERDICT_COUNT];
/* A mean below its floor has failed, whatever the total. */
extern const double verdict_floors[VERDICT_COUNT];

void verdict_judge(const struct verdict_truth *truth, const struct verdict_run *run,
                   struct verdict_score *out);

/* Sentences on one metric: the errors and the right answer; never empty. */
void verdict_feedback(const struct verdict_truth *truth, const struct verdict_run *run,
                      enum verdict_kind kind, struct buf *out);
