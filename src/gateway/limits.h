/* limits.h - who may call, how often and for how much.
 *
 * Any thread. State is by key name, so it survives a reload of the configuration.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "gateway/config.h"

struct limits;

struct limits *limits_new(void);
void limits_free(struct limits *l);

struct limits_want {
    int64_t tokens;  /* an estimate of the input */
    uint64_t now_ns; /* monotonic; one who asks may be a little behind another */
    double usd;      /* what all of it may cost; 0: not known */
};

/* In place of a time to come back: waiting does not help. */
#define LIMITS_NEVER (-1) /* this request is larger than a limit */
#define LIMITS_SPENT (-2) /* the key's spend_usd is used up */

/* Takes one request from the key's minute, and the tokens from its token minute; what it may cost
 * is set aside until it is settled, so that calls at once spend no more than one after the other
 * would. False: ERR_LIMIT with what ran out, and when to come back, or one of the two above.
 * Token buckets: a minute's worth may be used at once, and flows back evenly. */
bool limits_take(struct limits *l, const struct config_key *key, const struct limits_want *want,
                 int64_t *retry_after_ms, struct err *e) MUST_USE;
/* What it really was, of what was taken: corrects the tokens and adds to the spend. */
void limits_settle(struct limits *l, const struct config_key *key, const struct limits_want *taken,
                   int64_t tokens, double cost_usd);
double limits_spent(struct limits *l, str key_name);
/* What the records say was spent before this process began. */
void limits_spent_add(struct limits *l, str key_name, double usd);
