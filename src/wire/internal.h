/* internal.h - the rows of all dialects, and functions that they share.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/json_get.h"
#include "wire/arena_text.h"
#include "wire/error.h"
#include "wire/json_write.h"
#include "wire/message_parts.h"
#include "wire/name_table.h"
#include "wire/patch_plan.h"
#include "wire/rope.h"

extern const struct wire wire_openai, wire_responses, wire_anthropic, wire_gemini, wire_mistral,
    wire_ollama, wire_generate, wire_converse, wire_cohere;

/* Copies a text that must outlive its frame; "" if the reply has filled its arena. */
str wire_keep(struct wire_decoder *d, str text);

/* An error with only these members set. */
struct chat_error wire_error(int status, const char *type, const char *message);
