/* usage.h - hourly sums, so that totals are found without reading the calls.
 *
 * A row of usage_hours is the sum of the calls of one hour, model, provider, key, level and cap.
 * The engine adds each call and subtracts each erased one. Queries take whole hours from the table,
 * and read calls only where a range begins or ends within an hour.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#define USAGE_HOUR_MS 3600000
#define USAGE_BUCKETS 10 /* by the part of its cap that a call's reasoning used */

/* The key columns and the sums, in the order of the table. */
#define USAGE_WHICH "hour, model, provider, key_name, level, cap_tokens"
#define USAGE_SUMS                                                                                 \
    "calls, failed, input_tokens, output_tokens, reasoning_tokens, cache_read_tokens, starved,"    \
    " cut, with_reasoning, b0, b1, b2, b3, b4, b5, b6, b7, b8, b9, priced, cost_usd"
/* After an INSERT: adds to an existing row. */
#define USAGE_PLUS(sum) sum " = usage_hours." sum " + excluded." sum
#define USAGE_ADD                                                                                  \
    " ON CONFLICT (" USAGE_WHICH ") DO UPDATE SET "                                                \
    USAGE_PLUS("calls") ", " USAGE_PLUS("failed") ", " USAGE_PLUS("input_tokens") ", "             \
    USAGE_PLUS("output_tokens") ", " USAGE_PLUS("reasoning_tokens") ", "                           \
    USAGE_PLUS("cache_read_tokens") ", " USAGE_PLUS("starved") ", " USAGE_PLUS("cut") ", "         \
    USAGE_PLUS("with_reasoning") ", " USAGE_PLUS("b0") ", " USAGE_PLUS("b1") ", "                  \
    USAGE_PLUS("b2") ", " USAGE_PLUS("b3") ", " USAGE_PLUS("b4") ", " USAGE_PLUS("b5") ", "        \
    USAGE_PLUS("b6") ", " USAGE_PLUS("b7") ", " USAGE_PLUS("b8") ", " USAGE_PLUS("b9") ", "        \
    USAGE_PLUS("priced") ", " USAGE_PLUS("cost_usd")
enum {
    USAGE_WHICH_COUNT = 6,
    USAGE_CALLS = 0,
    USAGE_REASONED = 8,
    USAGE_BUCKET_0,
    USAGE_PRICED = USAGE_BUCKET_0 + USAGE_BUCKETS,
    USAGE_COST,
    USAGE_SUM_COUNT
};

/* The same for one call i: usage.c has the text, which is long. */
extern const char usage_of_call_which[], usage_of_call_sums[];
