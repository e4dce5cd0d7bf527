/* markup.h - reads tool calls that a model wrote as text although it has function calling.
 *
 * Some models fall back to the markup of their training (<tool_call>, <invoke>, [TOOL_CALLS] and
 * others) in the text of a reply. The calls are read from it; the text before them stays the text.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "agent/tool.h"
#include "gateway/ask.h"

/* Changes the reply only if it has no calls and every call in its markup names a tool in the box;
 * markup in a code fence is text. Texts are in the arena. */
void agent_markup_read(struct ask_reply *reply, const struct toolbox *tools, struct arena *a);
