/* metrics_cells.h - the storage of metrics: one cell of counters for each set of labels.
 *
 *     metrics.c writes cells, metrics_render.c adds them up.
 *
 * A new set of labels is entered in the registry, which all threads share, under its lock. From
 * then on each thread finds the set and its cell in a table of its own. Readers take no lock:
 * entries and cells are only added, and are complete before they become visible. Cells hold only
 * 64-bit counters, so the sum of two cells needs no knowledge of their structure.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "gateway/metrics.h"
#include "gateway/metrics_text.h"
#include "split/split.h"

#define METRICS_SLOTS 512u /* of a thread's table; a power of two, more than twice the series */
#define METRICS_LABELS_MAX 3
#define METRICS_CLASSES 6 /* 0: no status; 1xx to 5xx */

enum metrics_set {
    METRICS_BY_ROUTE_MODEL,
    METRICS_BY_MODEL,
    METRICS_BY_ROUTE,
    METRICS_BY_RULE,
    METRICS_SET_COUNT
};

enum { METRICS_INPUT, METRICS_CACHE_READ, METRICS_CACHE_WRITE, METRICS_ANSWER, METRICS_REASONING };
enum { METRICS_TOKEN_KINDS = METRICS_REASONING + 1 };
enum { METRICS_CUT_ACTIONS = 6 };

struct metrics_route_model {
    _Atomic uint64_t requests[METRICS_CLASSES][2]; /* [1]: streamed */
    struct metrics_hist duration;
};

struct metrics_model {
    _Atomic uint64_t tokens[METRICS_TOKEN_KINDS];
    _Atomic uint64_t cost[2];    /* [0] computed here, [1] from the provider; in 1e-9 USD */
    _Atomic uint64_t starved[2]; /* not repaired, repaired */
    struct metrics_hist reasoning[CHAT_LEVEL_COUNT], reasoning_tokens[CHAT_LEVEL_COUNT],
        cap_ratio[CHAT_LEVEL_COUNT];
};

struct metrics_route {
    struct metrics_hist overhead;
};

struct metrics_rule {
    _Atomic uint64_t redactions;
};

/* Counters without labels that a client can choose. */
struct metrics_totals {
    _Atomic uint64_t begun, done;
    _Atomic uint64_t rejected[METRICS_REJECTED_COUNT];
    struct metrics_hist first[2];                 /* reasoning, answer */
    _Atomic uint64_t cut[2][METRICS_CUT_ACTIONS]; /* gateway, upstream */
    _Atomic uint64_t source[SUMMARY_SOURCE_COUNT];
    _Atomic uint64_t anomalies[SPLIT_FLAG_COUNT];
};

struct metrics_key {
    uint64_t hash;
    str id;             /* the values, each ended by a NUL */
    const char *labels; /* as text for the page */
};

struct metrics_registry {
    _Atomic size_t count;
    struct metrics_key keys[METRICS_SERIES_MAX + 1]; /* the first is "other" */
};

struct metrics_table {
    uint16_t slots[METRICS_SLOTS]; /* 1 + index into the registry's keys; only the owner uses it */
    _Atomic(void *) cells[METRICS_SERIES_MAX + 1];
};

#define METRICS_RECENT 16

/* A cache of the cells of a route, provider and model. */
struct metrics_recent {
    size_t size[METRICS_LABELS_MAX]; /* of the names */
    char text[METRICS_LABELS_MAX][METRICS_LABEL_MAX];
    struct metrics_route *route; /* NULL: the slot is empty */
    struct metrics_route_model *route_model;
    struct metrics_model *model; /* NULL: not looked up yet */
};

struct metrics_shard {
    struct metrics *all;
    struct metrics_totals totals;
    struct metrics_table tables[METRICS_SET_COUNT];
    struct metrics_recent recent[METRICS_RECENT];
};

struct metrics_source {
    void (*write)(void *ctx, struct metrics_text *t);
    void *ctx;
};

struct metrics {
    pthread_mutex_t source_lock; /* protects the next two, also while the sources write */
    size_t source_count;
    struct metrics_source sources[METRICS_SOURCES_MAX];
    pthread_mutex_t lock; /* protects additions to the registries */
    struct arena arena;   /* their texts; under the lock */
    uint64_t seed[2];
    uint64_t start_ms;
    struct metrics_registry registries[METRICS_SET_COUNT];
    unsigned shard_count;
    struct metrics_shard shards[];
};

/* The size of a cell, in counters. */
extern const size_t metrics_cell_counts[METRICS_SET_COUNT];
extern const struct metrics_bounds metrics_seconds, metrics_overhead, metrics_tokens, metrics_ratio;
extern const char *const metrics_commit; /* or "unknown" */
extern const char *const metrics_cut_actions[METRICS_CUT_ACTIONS];
