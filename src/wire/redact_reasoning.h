/* redact_reasoning.h - removes reasoning from members that the decoder does not read.
 *
 * Hosts repeat reasoning: LiteLLM in provider_specific_fields, Perplexity in a `message` beside the
 * delta, llama.cpp in __verbose, DeepSeek and vLLM token by token in logprobs; others use other
 * names. A client of the same dialect gets unknown members as they arrived. So where reasoning is
 * hidden, these members are removed before a frame is decoded.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "wire/wire.h"

/* Whether a member of a choice with this name lists the tokens of its text: logprobs and the
 * like. */
bool redact_is_token_list(str name);
/* Removes token lists from a relayed choice if no event has them: the pipe dropped those, because
 * they include tokens of hidden reasoning. */
void redact_token_lists(const struct json *doc, const struct json_node *choice,
                        const struct chat_event *events, size_t n, uint32_t index,
                        struct json_edits *ed);
/* Removes such members from the parsed frame; false if it has none. */
bool redact_frame(const struct wire_decoder *d, bool whole, struct json_edits *ed);

/* Removes earlier reasoning from the history in a client's body, in any dialect. */
bool redact_history(const struct json *doc, struct json_edits *ed);
/* Whether `is` returns true for a text of that reasoning, which is lent for the call. The arena,
 * which must have room for the largest text, is reset for each. */
bool redact_history_has(const struct json *doc, struct arena *a, bool (*is)(void *ctx, str text),
                        void *ctx);
/* The same for the text of a request: without reasoning, in the arena; empty if it is not JSON. */
str redact_history_text(str body, struct arena *a);
