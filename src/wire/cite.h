/* cite.h - what a text was taken from, and how likely its tokens were, between the two dialects
 * of OpenAI, which say the same in other boxes:
 *
 *     Chat       annotations: [{type: url_citation, url_citation: {url, ...}}]
 *                logprobs: {content: [TOKEN, ...]}
 *     Responses  annotations: [{type: url_citation, url, ...}]   logprobs: [TOKEN, ...]
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "chat/chat.h"

/* An event of the Responses dialect as one of Chat, if it is one of these; its text is then in the
 * arena. */
bool cite_to_chat(const struct chat_event *ev, struct arena *a, struct chat_event *out) MUST_USE;
/* Annotations of either dialect: the nth as Responses has it, on one line; false: there are no
 * more, or it is one that it does not have. */
bool cite_note(const struct json *doc, const struct json_node *v, struct buf *out) MUST_USE;
/* The tokens of Chat's logprobs, commas between, on one line; "" if there are none. */
str cite_tokens(str json, struct arena *a);
