/* limits.h - the limits of a key: requests, tokens and money.
 *
 * Any thread. The state is stored by key name, so it survives a reload of the configuration.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "gateway/config.h"

struct limits;

struct limits *limits_new(void);
void limits_free(struct limits *l);

struct limits_want {
    int64_t tokens;  /* estimate of the input tokens */
    uint64_t now_ns; /* monotonic; values of different threads may be slightly out of order */
    double usd;      /* the most that the call may cost; 0: unknown */
};

/* Instead of a retry time: waiting does not help. */
#define LIMITS_NEVER (-1) /* the request is larger than a limit */
#define LIMITS_SPENT (-2) /* the key's spend_usd is used up */

/* Takes one request and the tokens from the key's per-minute limits, and reserves the possible cost
 * until limits_settle, so that concurrent calls cannot overspend. False: ERR_LIMIT says which limit
 * was reached; *retry_after_ms is when to retry, or one of the two values above. The limits are
 * token buckets: a minute's worth may be used at once and refills evenly. */
bool limits_take(struct limits *l, const struct config_key *key, const struct limits_want *want,
                 int64_t *retry_after_ms, struct err *e) MUST_USE;
/* Replaces the reservation by the actual use: corrects the tokens and adds the cost to the
 * spend. */
void limits_settle(struct limits *l, const struct config_key *key, const struct limits_want *taken,
                   int64_t tokens, double cost_usd);
double limits_spent(struct limits *l, str key_name);
/* Adds the amount that the record shows for earlier processes. */
void limits_spent_add(struct limits *l, str key_name, double usd);

/* ---- several daemons ----
 *
 * Each daemon reports the use of its keys as totals since its start, so that a lost report is
 * repaired by the next one; the others subtract the difference from their buckets. A limit is
 * exceeded at most by the calls that the others admit until the report reaches them. */

struct limits_use {
    str key;
    double requests, tokens, spent_usd;
    double aside_usd; /* now, for running calls */
};

/* wake: a key was used that limits_report has not reported yet; any thread, under a lock. */
void limits_share(struct limits *l, void (*wake)(void *ctx), void *ctx);
/* The keys that were used since the last report, or all. fn may not call the limits. */
void limits_report(struct limits *l, bool all, void (*fn)(void *ctx, const struct limits_use *u),
                   void *ctx);
/* The use of a key by another daemon; base: the beginning of our acquaintance, nothing is
 * subtracted for it. */
void limits_peer_used(struct limits *l, unsigned peer, bool base, const struct limits_use *u);
/* Nothing is set aside for its running calls any more; its totals stay known. */
void limits_peer_silent(struct limits *l, unsigned peer);
void limits_peer_gone(struct limits *l, unsigned peer);
