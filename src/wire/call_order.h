/* call_order.h - a call's arguments are said in one go.
 *
 * A host may say a word of the answer, or a line end, between a tool call and its arguments. Some
 * dialects have a call whole or not at all (Gemini, Ollama), or one item after the other: there
 * what comes in between would end the call too soon. So what is not of the call waits until its
 * arguments are a whole object, or until the reply ends. Where a block ends before the next one
 * begins (Anthropic), so do other calls, whose arguments a host may send by turns.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "wire/wire.h"

/* True: the event waits, and is not to be written now. What waited long enough is written. */
bool call_order_wait(struct wire_encoder *en, const struct chat_event *ev);
