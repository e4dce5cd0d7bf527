/* input_tokens.h - how many tokens a request has, where no provider says so: the count of the
 * count_tokens routes, of usage that a provider left out, and of message_start.
 *
 *     int64_t n = input_tokens_count(&request, vocab);
 *
 * Texts are counted with the vocabulary. Beyond INPUT_TOKENS_EXACT bytes of them, about 5 ms of
 * work, the rest is taken to be like the part that was counted: a loop must not wait. Attached data
 * is not text: an image is never more than some tokens however many bytes it has, and a page of a
 * document or a minute of sound is a few thousand of them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "chat/chat.h"
#include "tokens/tokens.h"

#define INPUT_TOKENS_EXACT ((size_t)512 << 10)

int64_t input_tokens_count(const struct chat_request *r, const struct tokens_vocab *vocab);

/* The attached data of a request: its bytes, and about how many tokens they are. */
struct input_tokens_data {
    size_t bytes, tokens;
};

void input_tokens_add_data(const struct chat_request *r, struct input_tokens_data *out);
