/* level.h - how much a call may think: the level asked for, its preset and its cap.
 *
 * A level is asked for by a header, by the request's own words (reasoning_effort, thinking,
 * thinkingConfig, think) or by the model's name ("model-high"), in this order. An amount in tokens
 * is a cap of its own, without a preset. Levels beside the three presets take the nearest.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "gateway/config.h"

#define LEVEL_MARK "[REASONING LEVEL]"

struct level {
    enum chat_level asked;              /* NOT_GIVEN: nobody asked */
    enum chat_level weight;             /* the same for a key: an amount is the level it fits in */
    bool by_header;                     /* stronger than what the request itself says */
    bool by_body;                       /* the request itself says it, in its dialect's way */
    str model;                          /* as asked, without a level at its end */
    struct config_route route;          /* who serves it */
    const struct config_preset *preset; /* or NULL */
    int64_t cap;                        /* tokens of reasoning; -1: none */
};

/* ERR_NOT_FOUND if nobody serves the model; ERR_INPUT for a header that names no level. */
bool level_choose(const struct config *c, const struct chat_request *r, str header,
                  struct level *out, struct err *e) MUST_USE;

/* The cap that leaves room for the answer under max_tokens: half of it, or 512 tokens of it. */
int64_t level_room(int64_t cap, str max_tokens);

/* The words for the system prompt; empty if the request has them already. */
str level_words(const struct chat_request *r, const struct config_preset *preset);
/* The words that ask a model without reasoning of its own to think between tags. */
str level_convention(const struct chat_request *r);

/* Whether the key, or nobody's if NULL, may ask for it. */
bool level_allowed(const struct config_key *key, enum chat_level level);

/* Whether a thought sounds as if more of it would help: it doubts itself more than once. */
bool level_uncertain(str thought);
