/* redact_reasoning.h - what a reply says of its reasoning in places where no event comes from.
 *
 * Hosts repeat reasoning: LiteLLM in provider_specific_fields, Perplexity in a `message` beside the
 * delta, llama.cpp in __verbose, DeepSeek and vLLM token by token in logprobs; others have names of
 * their own for it. A client of the same dialect gets members nobody knows as they came, so where
 * reasoning is hidden, these are taken out before a frame is read.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "wire/wire.h"

/* Whether a member of a choice by this name lists the tokens of its text: logprobs and the like. */
bool redact_is_token_list(str name);
/* Removes from a choice that is passed on the lists of tokens that are in none of its events: the
 * pipe dropped them, since tokens of hidden reasoning are among them. */
void redact_token_lists(const struct json *doc, const struct json_node *choice,
                        const struct chat_event *events, size_t n, uint32_t index,
                        struct json_edits *ed);
/* Takes such places out of the frame that is parsed; whether there are any. */
bool redact_frame(const struct wire_decoder *d, bool whole, struct json_edits *ed);

/* The same for the history that a client sends back, in whatever dialect: earlier reasoning goes,
 * all else stays. */
bool redact_history(const struct json *doc, struct json_edits *ed);
/* Whether `is` holds for a text of that reasoning, which is lent for the call. The arena, which has
 * room for the largest text, is reset for each. */
bool redact_history_has(const struct json *doc, struct arena *a, bool (*is)(void *ctx, str text),
                        void *ctx);
/* The same for the text of a request: without reasoning, in the arena; empty if it is not JSON. */
str redact_history_text(str body, struct arena *a);
