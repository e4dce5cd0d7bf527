/* call_order.h - writes the arguments of a tool call without a break.
 *
 * A host may send a word of the answer, or a line end, between a tool call and its arguments. Some
 * dialects write a call whole (Gemini, Ollama) or one item after the other, so no other event may
 * come in between: it waits until the arguments are a complete object, or until the reply ends.
 * Where a block ends before the next one begins (Anthropic), other calls wait too, since a host may
 * interleave their arguments.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "wire/wire.h"

/* True: the event waits, and the caller must not encode it. Encodes events that have waited. */
bool call_order_wait(struct wire_encoder *en, const struct chat_event *ev);
