/* results.h - keeps whole results of tools while a run lives, and the tool that searches them.
 *
 *     struct agent_results *kept = agent_results_new();
 *     if (!agent_results_add_tool(kept, box, e)) ...         the built-in tool result_search
 *     agent_run(&(struct agent_options){.tools = box, .results = kept, ...}, ...)
 *     toolbox_free(box); agent_results_free(kept);           in this order
 *
 * If a result is larger than the model may see, the model gets its head and tail, with a sentence
 * that names it ("result 3") and says how to search it. A resumed run fills the table again from
 * its log.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "agent/tool.h"

#define RESULT_SEARCH "result_search"
#define RESULTS_SIZE_MAX ((size_t)256 << 20) /* of one run; the oldest are dropped first */

struct agent_results;

struct agent_results *agent_results_new(void);
void agent_results_free(struct agent_results *k); /* NULL is allowed */
bool agent_results_add_tool(struct agent_results *k, struct toolbox *box, struct err *e) MUST_USE;
/* The result for the model: whole, or its head and tail of at most `shown` bytes; in that case the
 * whole result is kept. In the arena, or the text itself. */
str agent_results_show(struct agent_results *k, str text, size_t shown, struct arena *a);
/* Keeps a copy of a result and gives it the next number, from 1. Any thread. */
unsigned agent_results_put(struct agent_results *k, str text);
