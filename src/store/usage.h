/* usage.h - sums of calls, so that totals are found without reading the calls.
 *
 * A row of usage_hours is the sum of the calls of one hour, model, provider, key, level and cap. A
 * row of usage_slots is the sum of the calls of 5 minutes, an hour or a day (UTC), a model, a key
 * and a route, with a histogram of how long they took. The engine adds each call and subtracts each
 * erased one. Queries of usage_hours read calls only where a range begins or ends within an hour;
 * those of usage_slots widen a range to whole slots and read no calls.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/buf.h"

#define USAGE_HOUR_MS 3600000
#define USAGE_BUCKETS 10 /* by the part of its cap that a call's reasoning used */
/* The lengths of slots. */
#define USAGE_SLOT_S 300
#define USAGE_HOUR_S 3600
#define USAGE_DAY_S 86400

/* The key columns and the sums, in the order of the table. The last sum is cost_usd. */
#define USAGE_WHICH "hour, model, provider, key_name, level, cap_tokens"
#define USAGE_SUMS                                                                                 \
    "calls, failed, input_tokens, output_tokens, reasoning_tokens, cache_read_tokens, starved,"    \
    " cut, with_reasoning, b0, b1, b2, b3, b4, b5, b6, b7, b8, b9, priced, cost_usd"
enum {
    USAGE_WHICH_COUNT = 6,
    USAGE_CALLS = 0,
    USAGE_REASONED = 8,
    USAGE_BUCKET_0,
    USAGE_PRICED = USAGE_BUCKET_0 + USAGE_BUCKETS,
    USAGE_COST,
    USAGE_SUM_COUNT
};

/* How long answered calls took, in classes by the ms: class n begins at usage_latency_ms[n - 1].
 * Three classes double the time, so the middle of a class is within 13 % of each of its values. */
#define USAGE_LATENCY_COUNT 44
extern const int64_t usage_latency_ms[USAGE_LATENCY_COUNT - 1];
/* Their columns. */
#define USAGE_LATENCY_NAMES                                                                        \
    "l0, l1, l2, l3, l4, l5, l6, l7, l8, l9, l10, l11, l12, l13, l14, l15, l16, l17, l18,"         \
    " l19, l20, l21, l22, l23, l24, l25, l26, l27, l28, l29, l30, l31, l32, l33, l34, l35,"        \
    " l36, l37, l38, l39, l40, l41, l42, l43"

#define USAGE_SLOT_WHICH "seconds, slot, model, key_name, route"
#define USAGE_SLOT_SUMS                                                                            \
    "calls, failed, input_tokens, output_tokens, reasoning_tokens, starved, "                      \
    "cut, " USAGE_LATENCY_NAMES ", priced, cost_usd"
enum {
    USAGE_SLOT_WHICH_COUNT = 5,
    USAGE_SLOT_LATENCY_0 = 7,
    USAGE_SLOT_PRICED = USAGE_SLOT_LATENCY_0 + USAGE_LATENCY_COUNT,
    USAGE_SLOT_COST,
    USAGE_SLOT_SUM_COUNT
};

enum usage_by { USAGE_BY_HOUR, USAGE_BY_SLOT, USAGE_BY_COUNT };
struct usage_table {
    const char *name, *which, *sums;
    /* For one call i, in SQL: what to select from, the key columns, the sums, where @ is for the
     * classes of latency. usage_slots has a row for
     * each length of slot. */
    const char *call_from, *call_which, *call_sums;
    size_t which_count, sum_count;
};
extern const struct usage_table usage_tables[USAGE_BY_COUNT];

/* The key columns and the sums of a call i. */
void usage_write_call(const struct usage_table *t, struct buf *out);
/* After an INSERT: adds to an existing row. */
void usage_write_add(const struct usage_table *t, struct buf *out);
/* The next name of a list such as USAGE_SUMS, which becomes shorter; empty at its end. */
str usage_next_name(str *names);
