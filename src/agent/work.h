/* work.h - a run whose course is its caller's: single model calls and batches of tools, each an
 * effect in the log.
 *
 *     struct agent_work *w;
 *     if (!agent_work_begin(&o, &arena, &result, &w, e)) ...    as agent_run; user unused
 *     if (agent_work_ask(w, &prompt, &reply) &&
 *         agent_work_act(w, calls, n, done)) ...                 false: over or broken; end it
 *     agent_work_once(w, STR("runbook"), url, fetch, ctx, &text) a thing done once and remembered
 *     if (!agent_work_end(w, STR(""), e)) ...                    e: the log failed; resumable
 *
 * For who is not a conversation but a plan. Called again with the same run id, the same calls in
 * the same order find their results in the log. What was said between them is up to the caller, so
 * the same must be asked: another question in the place of the one on record breaks the run.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "agent/run.h"

struct agent_work;

struct agent_prompt {
    str system, user;
    str extra; /* members for the request; or "" */
    str level; /* or "" */
};

struct agent_done {
    const struct tool *tool; /* NULL: there is none of this name */
    bool ok;
    str result; /* whole; of one that failed {"error": ...} */
};

bool agent_work_begin(const struct agent_options *o, struct arena *a, struct agent_result *out,
                      struct agent_work **w, struct err *e) MUST_USE;
/* Whether the limits leave room for more; if not, the result has the reason. */
bool agent_work_within(struct agent_work *w);
bool agent_work_ask(struct agent_work *w, const struct agent_prompt *p,
                    struct ask_reply *reply) MUST_USE;
/* For a prompt whose answer is text: a reply without one (empty, or reasoning only) is asked for
 * once more. If the second reply has none either, reply->text is empty. */
bool agent_work_answer(struct agent_work *w, const struct agent_prompt *p,
                       struct ask_reply *reply) MUST_USE;
/* All at once, results in the order of the calls; at most TOOL_CALLS_MAX are carried out. */
bool agent_work_act(struct agent_work *w, const struct ask_call *calls, size_t n,
                    struct agent_done *out) MUST_USE;
/* What `make` gives, and whether it could (else why not), is remembered under the name and what was
 * asked. One whose end is unknown is made again. */
bool agent_work_once(struct agent_work *w, str name, str asked,
                     bool (*make)(void *ctx, struct buf *out, struct err *e), void *ctx,
                     struct agent_done *out) MUST_USE;
/* Frees it. The result is as the caller has left it; `told` is for the row, JSON; "" is made of the
 * result. A run that was broken keeps its row, to be resumed. */
bool agent_work_end(struct agent_work *w, str told, struct err *e) MUST_USE;
