/* input_tokens.h - counts the tokens of a request if no provider does: for the count_tokens routes,
 * for usage that a provider left out, and for message_start.
 *
 *     int64_t n = input_tokens_count(&request, vocab);
 *
 * Texts are counted with the vocabulary. After INPUT_TOKENS_EXACT bytes, about 5 ms of work, the
 * rest is extrapolated from the counted part, because a loop must not wait. Attached data is
 * estimated: an image has a bounded number of tokens whatever its size, and a page of a document or
 * a minute of sound is a few thousand tokens.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "chat/chat.h"
#include "tokens/tokens.h"

#define INPUT_TOKENS_EXACT ((size_t)512 << 10)

int64_t input_tokens_count(const struct chat_request *r, const struct tokens_vocab *vocab);

/* The attached data of a request: its bytes, and an estimate of its tokens. */
struct input_tokens_data {
    size_t bytes, tokens;
};

void input_tokens_add_data(const struct chat_request *r, struct input_tokens_data *out);
