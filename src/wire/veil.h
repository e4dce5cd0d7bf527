/* veil.h - what a reply says of its reasoning in places where no event comes from.
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

/* Takes such places out of the frame that is parsed; whether there are any. */
bool veil_draw(const struct wire_decoder *d, bool whole, struct json_edits *ed);

/* The same for the history that a client sends back, in whatever dialect: earlier reasoning goes,
 * all else stays. */
bool veil_history(const struct json *doc, struct json_edits *ed);
/* The same for the text of a request: without reasoning, in the arena; empty if it is not JSON. */
str veil_history_text(str body, struct arena *a);
