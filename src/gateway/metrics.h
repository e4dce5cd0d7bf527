/* metrics.h - what /metrics shows: counters and histograms that the request path never waits for.
 *
 * Each loop has a shard of its own, which only it writes (relaxed atomics); a scrape adds them up.
 * Label values are bounded: beyond METRICS_SERIES_MAX of a metric they are "other".
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/buf.h"
#include "gateway/summary.h"
#include "store/store.h"

struct metrics;       /* all of them */
struct metrics_shard; /* one thread's */

#define METRICS_SERIES_MAX 200

enum metrics_rejected {
    METRICS_QUEUE_FULL,
    METRICS_RATE,
    METRICS_BUDGET,
    METRICS_MEMORY,
    METRICS_DRAINING,
    METRICS_TOO_LARGE,
    METRICS_REJECTED_COUNT
};

/* How much of its money a key has left: 1 is all. */
struct metrics_budget {
    str name;
    double left;
};

/* Who watches by a WebSocket, and by a stream. */
#define METRICS_WAYS 2
struct metrics_live {
    uint64_t clients, lag_bytes, dropped;
};

/* Gauges that are asked for when scraped. */
struct metrics_gauges {
    const struct metrics_budget *keys; /* with money to spend; lent */
    size_t key_count;
    uint64_t queue_depth, queue_capacity;
    uint64_t history_seconds; /* age of the oldest record that is not in the tables */
    uint64_t history_pending, history_bytes, history_free, history_errors, history_dropped,
        history_records, history_window_ms;
    uint64_t history_commit_ns, history_commits[STORE_COMMIT_STEPS + 1];
    uint64_t export_depth, export_sent, export_dropped;
    uint64_t connections;
    struct metrics_live live[METRICS_WAYS];
};

/* Families of those above, written when the page is: under a lock of the page, on any thread. A
 * source is known by its ctx; at most METRICS_SOURCES_MAX, and none after the last remove. */
#define METRICS_SOURCES_MAX 8
struct metrics_text;
void metrics_source_add(struct metrics *m, void (*write)(void *ctx, struct metrics_text *t),
                        void *ctx);
void metrics_source_remove(struct metrics *m, const void *ctx);

struct metrics *metrics_new(unsigned shards);
void metrics_free(struct metrics *m);
struct metrics_shard *metrics_shard(struct metrics *m, unsigned index);

void metrics_begin(struct metrics_shard *s);                         /* a call is in flight */
void metrics_done(struct metrics_shard *s, const struct summary *c); /* it no longer is */
/* So many times something was masked by this rule. */
void metrics_redacted(struct metrics_shard *s, str rule, uint64_t n);
/* A call that was refused before it had a provider. */
void metrics_refused(struct metrics_shard *s, str route, int status, bool stream, uint64_t took_ns);
void metrics_reject(struct metrics_shard *s, enum metrics_rejected why);

/* Text format 0.0.4, or OpenMetrics with # EOF. Any thread. */
void metrics_render(struct metrics *m, const struct metrics_gauges *g, bool openmetrics,
                    struct buf *out);
