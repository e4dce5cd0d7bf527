/* decide.h - writes the tool calls of a reply to the decision log, under the names that their
 * servers use.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "agent/view.h"
#include "chat/decision.h"

/* Replaces the entry's calls by these; a name that the box does not have is kept. */
void agent_decide_calls(const struct toolbox *tools, const struct ask_call *calls, size_t n,
                        struct arena *a, struct decision *d);
/* Adds a reason if the entry has none. */
void agent_decide_why(str why, struct decision *d);
/* The reader (gateway/call.h) of a view's replies, by its strategy. */
struct call_reader agent_decide_reader(struct agent_view *v);
