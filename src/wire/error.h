/* error.h - recognises errors of providers by their text.
 *
 * Clients act on some errors: they shorten a conversation that is too long, or ask for another key.
 * Each dialect, and each host of a dialect, words these errors differently. wire_error_classify
 * sets OpenAI's code and the matching status, so that every dialect's write_error can report the
 * error as its own clients expect.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "chat/chat.h"

#define WIRE_CONTEXT_CODE "context_length_exceeded" /* the request is longer than the context */

/* The texts that it sets are constants. */
void wire_error_classify(struct chat_error *error);
bool wire_error_is_context(const struct chat_error *error);
/* The size of a request that is too long, and the limit, in tokens; false if the message does not
 * give them. */
bool wire_error_tokens(const struct chat_error *error, uint64_t *used, uint64_t *max) MUST_USE;
