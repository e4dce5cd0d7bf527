/* markup.h - calls that a model wrote as text though it has function calling.
 *
 * Some models fall back to the markup of their training (<tool_call>, <invoke>, [TOOL_CALLS] and
 * others) in the text of a reply. Such a reply has calls: the text before them stays its text.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "agent/tool.h"
#include "gateway/ask.h"

/* Changes the reply only if it has no calls and every call in its markup is of a tool in the box;
 * markup in a code fence is text. Texts are in the arena. */
void agent_markup_read(struct ask_reply *reply, const struct toolbox *tools, struct arena *a);
