/* event.h - the events of a run: one struct for all kinds, and each as a line of JSON.
 *
 * Which fields an event has, and in which order, is one table in event.c; the fields are those of
 * the reference's logs, so that a log of ours can be compared with one of theirs byte for byte.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/buf.h"
#include "optimize/optimize.h"

enum optimize_event_kind {
    OPTIMIZE_EV_START,
    OPTIMIZE_EV_NOTICE, /* a message for a person: the budget is too small, ... */
    OPTIMIZE_EV_VALSET,
    OPTIMIZE_EV_ITERATION,
    OPTIMIZE_EV_MERGE_NONE,
    OPTIMIZE_EV_MERGE,
    OPTIMIZE_EV_MERGE_ACCEPTED,
    OPTIMIZE_EV_MERGE_REJECTED,
    OPTIMIZE_EV_SELECTED,
    OPTIMIZE_EV_MINIBATCH,
    OPTIMIZE_EV_PARENT_SCORES,
    OPTIMIZE_EV_SKIPPED,
    OPTIMIZE_EV_COMPONENTS,
    OPTIMIZE_EV_PROPOSED,
    OPTIMIZE_EV_CHILD_SCORES,
    OPTIMIZE_EV_REJECTED,
    OPTIMIZE_EV_FRONT,
    OPTIMIZE_EV_ACCEPTED,
    OPTIMIZE_EV_END,
    OPTIMIZE_EV_FINISH,
    OPTIMIZE_EV_COUNT
};

/* Only the fields of its kind mean anything. */
struct optimize_event {
    enum optimize_event_kind kind;
    const struct optimize *run;
    uint64_t iteration, calls;
    uint32_t candidate, ancestor;
    uint32_t parents[2];
    size_t parent_count;
    const uint32_t *ids; /* of examples, or of components */
    const double *scores;
    size_t n;                       /* of ids and scores */
    const double *parent_scores[2]; /* n each */
    const str *texts; /* one for each component; empty ones (p is NULL) are left out */
    double mean, before[2], after;
    bool yes; /* best, or accepted */
    const char *reason;
};

/* One line with its newline, added to out. */
void optimize_event_json(const struct optimize_event *ev, struct buf *out);

/* A number in the shortest decimal form that reads back, never with an exponent. */
void optimize_number(struct buf *out, double v);
