/* metrics_text.h - the two text formats of metrics: Prometheus 0.0.4 and OpenMetrics 1.0.
 *
 *     struct metrics_text t = {out, openmetrics};
 *     metrics_family(&t, "rationale_requests", METRICS_COUNTER, "Calls that ended.");
 *     metrics_line(&t, "", "model=\"m\"", 42, 1);
 *     metrics_end(&t);
 *
 * Values are whole numbers of a unit: 1500000 of a unit of 1000000 is 1.5. So nothing is lost in
 * adding them up, and the same number is always the same text.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/buf.h"

#define METRICS_BOUNDS_MAX 16
#define METRICS_LABEL_MAX 128 /* bytes of a value, before escapes */

enum metrics_type { METRICS_COUNTER, METRICS_GAUGE, METRICS_HISTOGRAM, METRICS_SUMMARY };

struct metrics_text {
    struct buf *out;
    bool open; /* OpenMetrics */
    const char *name;
    enum metrics_type type;
};

/* The name without _total, which a counter's lines get by themselves. */
void metrics_family(struct metrics_text *t, const char *name, enum metrics_type type,
                    const char *help);

/* suffix: "_sum" and the like, or "". labels: what stands between the braces, or "". */
void metrics_line(struct metrics_text *t, const char *suffix, const char *labels, uint64_t value,
                  uint64_t unit);

/* Bounds in the unit of what is observed, rising; the last bucket has none. */
struct metrics_bounds {
    uint64_t unit;
    size_t count;
    uint64_t at[METRICS_BOUNDS_MAX];
};

struct metrics_hist {
    _Atomic uint64_t sum;
    _Atomic uint64_t buckets[METRICS_BOUNDS_MAX + 1];
};

/* By the one thread that writes it. */
void metrics_observe(struct metrics_hist *h, const struct metrics_bounds *b, uint64_t value);
uint64_t metrics_hist_count(const struct metrics_hist *h);
void metrics_hist_lines(struct metrics_text *t, const char *labels, const struct metrics_hist *h,
                        const struct metrics_bounds *b);

/* name="value", with a comma before it if there is something already. The value is cut to
 * METRICS_LABEL_MAX bytes, made valid UTF-8 and escaped. */
void metrics_label(struct buf *labels, const char *name, str value);
void metrics_end(struct metrics_text *t);

/* process_*: memory, processor, descriptors, start. */
void metrics_process(struct metrics_text *t, uint64_t start_ms);

/* When this process began, in wall milliseconds. */
uint64_t metrics_process_start(void);
