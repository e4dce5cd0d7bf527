/* extract.h - removes reasoning from the text of a reply before an application reads it.
 *
 *     if (ask(&reply))
 *         agent_extract_reply(&reply, &arena);
 *     if (!reply.text.n && !reply.call_count) ...      the model gave no answer
 *
 * The gateway splits a reply by the format of its provider. An application does not rely on that: a
 * model may write its reasoning in another format, or in the tags that a prompt asked for. So every
 * format that split/extract.h knows is removed, whatever the provider is.
 *
 * If a block is never closed, all of the text after its opener is reasoning. Such a reply has no
 * answer: the text is empty, and the caller asks again or reports it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "gateway/ask.h"

/* Changes reply->text, and appends the removed text to reply->reasoning; both in the arena, which
 * needs room for four times the text. */
void agent_extract_reply(struct ask_reply *reply, struct arena *a);
