/* internal.h - what the dialects share among themselves.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "wire/wire.h"

extern const struct wire wire_openai, wire_responses, wire_anthropic, wire_gemini, wire_mistral,
    wire_ollama, wire_generate, wire_converse, wire_cohere;

/* Text that must outlive its frame. */
str wire_keep(struct wire_decoder *d, str text);

/* An SSE event of JSON: begins with "event: NAME\ndata: " ("data: " alone if the name is empty),
 * what is written between goes behind it, and the end is the blank line. */
void wire_sse_begin(struct buf *out, str name);
void wire_sse_end(struct buf *out);

/* A body of /v1/messages/count_tokens: a request without max_tokens. */
bool wire_anthropic_read_count(const struct json *doc, struct arena *a, struct chat_request *out,
                               struct err *e) MUST_USE;

/* streamGenerateContent without alt=sse: the stream is one JSON array. */
void wire_gemini_array(struct wire_encoder *en);
