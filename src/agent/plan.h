/* plan.h - calls as one JSON object in text: how the prompt asks for them, and how they are read.
 *
 *     {"reason": "...", "tools": [{"tool": "stock.search", "parameters": {"q": "Emma"}}]}
 *     {"answer": "..."}
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/json.h"
#include "gateway/ask.h"

/* Instructions for the prompt. */
extern const char plan_how[];

/* Writes an assistant's message in this form; `calls` as in Chat Completions, or NULL. */
void plan_write(const struct json *doc, const struct json_node *calls, str said, struct arena *a,
                struct buf *out);
/* Turns the text of a reply into calls or into the answer; a text without such an object is the
 * answer. The ids of calls are made from `turn`. */
void plan_read(struct ask_reply *reply, size_t turn, struct arena *a);
