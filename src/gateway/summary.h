/* summary.h - the facts of one finished call, for whoever counts, exports or records them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/err.h"
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

/* All texts are lent. Times are monotonic ns; 0 where it did not happen. */
struct summary {
    str id, session, key_name;
    str route; /* "/v1/chat/completions" */
    str provider, otel_provider, model, upstream_model, reply_model, reply_id;
    str server_host;
    unsigned server_port;
    int status;
    bool stream, complete;
    enum chat_stop stop;
    str error_type; /* "" if all went well: "upstream", "timeout", "429", ... */
    enum chat_level level;
    int64_t wall_start_ms;
    uint64_t start_ns, upstream_ns, first_byte_ns, reasoning_ns, reasoning_end_ns, answer_ns,
        end_ns;
    uint64_t upstream_wait_ns; /* spent waiting for upstream; the rest is our own */
    struct chat_usage usage;
    bool reasoning_exact;
    int64_t cap; /* -1: none */
    bool cut, cut_upstream, starved, repaired;
    str cut_action; /* "prefill", "restate", "control", "native" */
    enum summary_source source;
    unsigned anomalies; /* enum split_flag bits */
    double cost_usd;    /* < 0: not known */
    bool cost_from_provider;
    unsigned attempts;                  /* upstream calls made */
    str max_tokens, temperature, top_p; /* of the request, as text */
};
