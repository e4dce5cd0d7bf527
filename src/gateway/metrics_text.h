/* metrics_text.h - writes metrics in two text formats: Prometheus 0.0.4 and OpenMetrics 1.0.
 *
 *     struct metrics_text t = {out, openmetrics};
 *     metrics_family(&t, "rationale_requests", METRICS_COUNTER, "Calls that ended.");
 *     metrics_line(&t, "", "model=\"m\"", 42, 1);
 *     metrics_end(&t);
 *
 * A value is an integer count of 1/unit: 1500000 with the unit 1000000 is 1.5. So sums are exact,
 * and equal numbers are always written alike.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/buf.h"

#include <stdatomic.h>

#define METRICS_BOUNDS_MAX 16
#define METRICS_LABEL_MAX 128 /* bytes of a label value, before escaping */

enum metrics_type { METRICS_COUNTER, METRICS_GAUGE, METRICS_HISTOGRAM, METRICS_SUMMARY };

struct metrics_text {
    struct buf *out;
    bool open; /* OpenMetrics */
    const char *name;
    enum metrics_type type;
};

/* The name without _total, which metrics_line adds for counters. */
void metrics_family(struct metrics_text *t, const char *name, enum metrics_type type,
                    const char *help);

/* suffix: "_sum" and the like, or "". labels: the text between the braces, or "". */
void metrics_line(struct metrics_text *t, const char *suffix, const char *labels, uint64_t value,
                  uint64_t unit);

/* A family of one value without labels. */
void metrics_value(struct metrics_text *t, const char *name, enum metrics_type type,
                   const char *help, uint64_t value, uint64_t unit);
/* A count with one label, whose value is a word of ours: it is not escaped. */
void metrics_count(struct metrics_text *t, const char *label, const char *word, uint64_t count);

/* Upper bounds of the buckets, in the unit of the observed values, rising; the last bucket has no
 * bound. */
struct metrics_bounds {
    uint64_t unit;
    size_t count;
    uint64_t at[METRICS_BOUNDS_MAX];
};

struct metrics_hist {
    _Atomic uint64_t sum;
    _Atomic uint64_t buckets[METRICS_BOUNDS_MAX + 1];
};

/* Only one thread may write a count or a histogram. */
static inline void metrics_add(_Atomic uint64_t *at, uint64_t n)
{
    atomic_store_explicit(
        at, atomic_load_explicit(at, memory_order_relaxed) + n, memory_order_relaxed);
}
void metrics_observe(struct metrics_hist *h, const struct metrics_bounds *b, uint64_t value);
uint64_t metrics_hist_count(const struct metrics_hist *h);
void metrics_hist_lines(struct metrics_text *t, const char *labels, const struct metrics_hist *h,
                        const struct metrics_bounds *b);

/* Appends name="value", after a comma if `labels` is not empty. The value is truncated to
 * METRICS_LABEL_MAX bytes, made valid UTF-8 and escaped. */
void metrics_label(struct buf *labels, const char *name, str value);
void metrics_end(struct metrics_text *t);

/* Writes process_*: memory, CPU time, file descriptors, start time. */
void metrics_process(struct metrics_text *t, uint64_t start_ms);

/* When this process started, in wall-clock milliseconds. */
uint64_t metrics_process_start(void);
