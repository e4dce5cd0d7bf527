/* metrics.h - how good one policy verification was, in four numbers and words for each.
 *
 *     struct metrics m;
 *     metrics_judge(&truth, &run, &m);
 *     metrics_feedback(&truth, &run, &m, &buf);
 *
 *   citation     0.4  are the places that the label names cited, and no others
 *   coherence    0.3  does the conclusion rest on what was seen; errors and repetition cost
 *   calibration  0.2  sure where it is right, unsure where it is wrong or says so
 *   status       0.1  is it the status of the label
 *
 * Coherence does not count steps: one more step can lower it, and can raise it only by showing what
 * a citation rests on. So a longer trace is not a better one.
 *
 * Pure functions on plain structs; all texts are lent.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/buf.h"
#include "base/str.h"

enum metrics_kind {
    METRICS_CITATION,
    METRICS_COHERENCE,
    METRICS_CALIBRATION,
    METRICS_STATUS,
    METRICS_COUNT
};

/* Pages first..last; last is 0 where none are given. */
struct metrics_citation {
    str doc, section;
    uint32_t page_first, page_last;
};

struct metrics_step {
    str action, arguments;
    str observation;
    bool failed; /* the tool said so */
};

/* What the label says. */
struct metrics_truth {
    str status; /* empty: not labelled */
    const struct metrics_citation *citations;
    size_t citation_count;
    bool has_citations; /* false: not labelled; true with none: nothing is to be cited */
};

/* What the run concluded, and how. */
struct metrics_run {
    str status;
    double confidence; /* 0 to 1 */
    const struct metrics_citation *citations;
    size_t citation_count;
    const struct metrics_step *steps;
    size_t step_count;
};

struct metrics {
    double score[METRICS_COUNT]; /* each 0 to 1 */
    double total;                /* weighted */
};

extern const char *const metrics_names[METRICS_COUNT];
extern const double metrics_weights[METRICS_COUNT];
/* Below it a metric counts as failed. */
extern const double metrics_floors[METRICS_COUNT];

void metrics_judge(const struct metrics_truth *truth, const struct metrics_run *run,
                   struct metrics *out);

/* Sentences on one metric: what was wrong and what would be right; never empty. */
void metrics_feedback(const struct metrics_truth *truth, const struct metrics_run *run,
                      enum metrics_kind kind, struct buf *out);
