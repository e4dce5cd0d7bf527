/* internal.h - what the dialects share among themselves: their rows, and the tools of all of them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "wire/error.h"
#include "wire/member.h"
#include "wire/part.h"
#include "wire/piece.h"
#include "wire/plan.h"
#include "wire/rope.h"
#include "wire/say.h"
#include "wire/wire.h"
#include "wire/words.h"

extern const struct wire wire_openai, wire_responses, wire_anthropic, wire_gemini, wire_mistral,
    wire_ollama, wire_generate, wire_converse, wire_cohere;

/* Text that must outlive its frame; "" if the reply has filled its arena. */
str wire_keep(struct wire_decoder *d, str text);

/* An error with these and nothing else. */
struct chat_error wire_error(int status, const char *type, const char *message);
