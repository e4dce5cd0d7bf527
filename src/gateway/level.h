/* level.h - how much a call may reason: the requested level, its preset and its cap.
 *
 * The level comes from, in this order: a header, the reasoning parameters of the request's dialect
 * (reasoning_effort, thinking, thinkingConfig, think), or the model's name ("model-high"). A call
 * without any of them gets the level of its key, of its provider, or the highest of its key's
 * `levels`.
 *
 * The parameters of a provider's own dialect pass unchanged, without a preset or a cap, unless the
 * configuration says `reasoning.presets: always`. All other sources are the gateway's own and apply
 * the preset of their level; a number of tokens is a cap by itself, without a preset.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "gateway/config.h"

#define LEVEL_MARK "[REASONING LEVEL]"

enum level_source {
    LEVEL_BY_NOBODY,
    LEVEL_BY_HEADER,
    LEVEL_BY_REQUEST,  /* parameters of the client's dialect */
    LEVEL_BY_GENERATE, /* the request or the default of our own route */
    LEVEL_BY_MODEL,    /* the suffix of the model's name */
    LEVEL_BY_KEY,
    LEVEL_BY_PROVIDER,
};

struct level {
    enum chat_level asked;              /* NOT_GIVEN: no level was requested; never ON */
    enum chat_level weight;             /* the same for a key's limits; a token budget counts as
                                           a level */
    enum level_source source;           /* where the level comes from */
    str model;                          /* as requested, without the level suffix */
    struct config_route route;          /* the provider that serves it */
    const struct config_preset *preset; /* or NULL */
    int64_t cap;                        /* reasoning tokens; -1: no cap */
};

/* key: the caller's key, or NULL. ERR_NOT_FOUND if no provider serves the model; ERR_INPUT if the
 * header names no level. */
bool level_choose(const struct config *c, const struct chat_request *r, str header,
                  const struct config_key *key, struct level *out, struct err *e) MUST_USE;

/* The level of a call that is only recorded: what the request says, without a preset or a cap. */
void level_watch(const struct config_provider *p, const struct chat_request *r, struct level *out);

/* Whether a level from this source applies its preset. */
bool level_brings_preset(const struct config *c, enum level_source source);

/* The cap, lowered so that max_tokens leaves room for the answer: half of max_tokens, at most
 * 512. */
int64_t level_room(int64_t cap, str max_tokens);

/* The text for the system prompt; empty if the request already has it. */
str level_words(const struct chat_request *r, const struct config_preset *preset);
/* The text that asks a model without native reasoning to think between tags. */
str level_convention(const struct chat_request *r);

/* Whether the key may ask for the level. NULL: a caller without a key. */
bool level_allowed(const struct config_key *key, enum chat_level level);

/* Fills `e`: the key may not ask for this level, and which ones it may. budget: tokens requested,
 * or -1. */
void level_set_refusal(const struct level *level, int64_t budget, const struct config_key *key,
                       struct err *e);

/* Whether more reasoning may help: the text expresses doubt more than once. */
bool level_uncertain(str thought);
