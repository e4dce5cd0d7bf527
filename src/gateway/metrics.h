/* metrics.h - the counters and histograms of /metrics. The request path never waits for them.
 *
 * Each loop writes only its own shard (relaxed atomics); a scrape adds the shards up. The number of
 * label values is limited: after METRICS_SERIES_MAX series of a metric, new ones count as "other".
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "gateway/summary.h"
#include "store/store.h"

struct metrics;       /* all shards */
struct metrics_shard; /* one thread's counters */

#define METRICS_SERIES_MAX 200

enum metrics_rejected {
    METRICS_QUEUE_FULL,
    METRICS_DISK, /* the record's disk is full, nearly full or failing, or its files are gone */
    METRICS_RATE,
    METRICS_BUDGET,
    METRICS_TOO_LARGE,
    METRICS_WRONG_KEYS,
    METRICS_REJECTED_COUNT
};

/* The part of a key's budget that is left: 1 is all of it. */
struct metrics_budget {
    str name;
    double left;
};

/* Watchers by WebSocket, and by event stream. */
#define METRICS_WAYS 2
struct metrics_live {
    uint64_t clients, lag_bytes, dropped;
};

/* Gauges that are read at each scrape. */
struct metrics_gauges {
    const struct metrics_budget *keys; /* keys with a budget; lent */
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

/* Writers of further metric families, called at each scrape, on any thread, under the source lock.
 * `ctx` identifies a source. At most METRICS_SOURCES_MAX; a removed source is not called again. */
#define METRICS_SOURCES_MAX 8
struct metrics_text;
void metrics_source_add(struct metrics *m, void (*write)(void *ctx, struct metrics_text *t),
                        void *ctx);
void metrics_source_remove(struct metrics *m, const void *ctx);

struct metrics *metrics_new(unsigned shards);
void metrics_free(struct metrics *m);
struct metrics_shard *metrics_shard(struct metrics *m, unsigned index);

void metrics_begin(struct metrics_shard *s);                         /* a call starts */
void metrics_done(struct metrics_shard *s, const struct summary *c); /* a call ends */
/* This rule masked something `n` times. */
void metrics_redacted(struct metrics_shard *s, str rule, uint64_t n);
/* A call that was refused before it had a provider. */
void metrics_refused(struct metrics_shard *s, str route, int status, bool stream, uint64_t took_ns);
void metrics_reject(struct metrics_shard *s, enum metrics_rejected why);

/* Text format 0.0.4, or OpenMetrics with # EOF. Any thread. */
void metrics_render(struct metrics *m, const struct metrics_gauges *g, bool openmetrics,
                    struct buf *out);
