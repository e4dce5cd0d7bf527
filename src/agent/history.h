/* history.h - the messages of a run in Chat Completions form, ready to be sent again.
 *
 *     history_init(&h, 16 << 20);
 *     history_text(&h, "system", prompt);
 *     history_reply(&h, &reply);                       and then for each of its calls, in order
 *     history_result(&h, call_id, text);
 *     body = history_body(&h, model, STR(""), &arena);
 *
 * Every tool call has its tool message, so the list is valid for every provider at any time except
 * between a reply and its last result.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "gateway/ask.h"

struct history {
    struct buf json; /* "[" and the messages; the sender adds "]" */
    size_t count;
};

void history_init(struct history *h, size_t size_max);
void history_release(struct history *h);
void history_text(struct history *h, const char *role, str text);
void history_reply(struct history *h, const struct ask_reply *r);
void history_result(struct history *h, str call_id, str text);
/* Adds messages that are already JSON, separated by commas. */
void history_add_messages(struct history *h, str messages);

/* The body of a request: {"model", the members of extra, "messages"}, in the arena; "" if it is too
 * large. Releases the history. */
str history_body(struct history *h, str model, str extra, struct arena *a);

/* A reply as bytes for the effect log, and back; with `reasoning`, its reasoning too. */
void reply_write(struct buf *out, const struct ask_reply *r, bool reasoning);
bool reply_read(str text, struct arena *a, struct ask_reply *out) MUST_USE;
