/* summary.h - the facts of one finished call, for metrics, export and the record.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "chat/chat.h"

enum summary_source {
    SUMMARY_NONE,
    SUMMARY_FIELD,
    SUMMARY_TAG,
    SUMMARY_CHANNEL,
    SUMMARY_SUMMARY,
    SUMMARY_OPAQUE,
    SUMMARY_SOURCE_COUNT
};

/* The members that are collected during the call. All texts are lent. Times are monotonic ns; 0 if
 * the event did not happen.
 *   attempts          requests sent to providers
 *   upstream_wait_ns  spent waiting for the provider; the rest is our own
 *   error_type        "" on success; else "upstream", "timeout", "429", ...
 *   cut_action        "prefill", "restate", "control", "truncate", "native" */
#define SUMMARY_COLLECTED                                                                          \
    unsigned attempts;                                                                             \
    int status;                                                                                    \
    bool complete, reasoning_exact;                                                                \
    bool cut, cut_upstream, starved, repaired;                                                     \
    bool cost_from_provider;                                                                       \
    int64_t wall_start_ms;                                                                         \
    uint64_t upstream_ns, first_byte_ns, reasoning_ns, reasoning_end_ns, answer_ns;                \
    uint64_t upstream_wait_ns;                                                                     \
    struct chat_usage usage;                                                                       \
    str reply_model, reply_id, error_type, cut_action;

/* A running call has only these: thousands of streams may be open. */
struct summary_collected {
    SUMMARY_COLLECTED
};

struct summary {
    union {
        struct summary_collected collected;
        struct {
            SUMMARY_COLLECTED
        };
    };

    /* Known from the start, or only at the end. */
    str id, session, key_name;
    str route; /* "/v1/chat/completions" */
    str provider, model, upstream_model;
    bool stream;
    enum chat_stop stop;
    enum chat_level level;
    enum summary_source source;
    unsigned anomalies; /* enum split_flag bits */
    uint64_t start_ns, end_ns;
    int64_t cap;     /* -1: no cap */
    double cost_usd; /* < 0: unknown */

    /* Only for the export. */
    str otel_provider, server_host;
    unsigned server_port;
    /* Numbers of the request, as text; n: how many choices. */
    str max_tokens, temperature, top_p, top_k, seed, frequency_penalty, presence_penalty, n;
};
