/* level.h - how much a call may think: the level asked for, its preset and its cap.
 *
 * A level is asked for, in this order, by a header, by the words of the request's dialect
 * (reasoning_effort, thinking, thinkingConfig, think), or by the model's name ("model-high"); a
 * call that asks for none has the level of its key, of its provider, or the highest of its key's
 * `levels`.
 *
 * The words of a provider's own dialect pass as they are: they bring no preset and no cap, unless
 * the configuration says `reasoning.presets: always`. All other sources are our own words and bring
 * the preset of their level; an amount of tokens is then a cap of its own, without a preset.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "gateway/config.h"

#define LEVEL_MARK "[REASONING LEVEL]"

enum level_source {
    LEVEL_BY_NOBODY,
    LEVEL_BY_HEADER,
    LEVEL_BY_REQUEST,  /* in the words of the client's dialect */
    LEVEL_BY_GENERATE, /* the request or the default of our own route */
    LEVEL_BY_MODEL,    /* the end of the model's name */
    LEVEL_BY_KEY,
    LEVEL_BY_PROVIDER,
};

struct level {
    enum chat_level asked;              /* NOT_GIVEN: nobody asked; never ON */
    enum chat_level weight;             /* the same for a key: an amount is the level it fits in */
    enum level_source source;           /* who asked */
    str model;                          /* as asked, without a level at its end */
    struct config_route route;          /* who serves it */
    const struct config_preset *preset; /* or NULL */
    int64_t cap;                        /* tokens of reasoning; -1: none */
};

/* key: whose call it is, or NULL. ERR_NOT_FOUND if nobody serves the model; ERR_INPUT for a header
 * that names no level. */
bool level_choose(const struct config *c, const struct chat_request *r, str header,
                  const struct config_key *key, struct level *out, struct err *e) MUST_USE;

/* Whether a level of this source brings its preset. */
bool level_brings_preset(const struct config *c, enum level_source source);

/* The cap that leaves room for the answer under max_tokens: half of it, or 512 tokens of it. */
int64_t level_room(int64_t cap, str max_tokens);

/* The words for the system prompt; empty if the request has them already. */
str level_words(const struct chat_request *r, const struct config_preset *preset);
/* The words that ask a model without reasoning of its own to think between tags. */
str level_convention(const struct chat_request *r);

/* Whether the key, or nobody's if NULL, may ask for it. */
bool level_allowed(const struct config_key *key, enum chat_level level);

/* Says that the key may not ask for it, and for what it may. budget: tokens asked for, or -1. */
void level_set_refusal(const struct level *level, int64_t budget, const struct config_key *key,
                       struct err *e);

/* Whether a thought sounds as if more of it would help: it doubts itself more than once. */
bool level_uncertain(str thought);
