/* work.h - a run that its caller controls: single model calls and batches of tools, each an effect
 * in the log.
 *
 *     struct agent_work *w;
 *     if (!agent_work_begin(&o, &arena, &result, &w, e)) ...    as agent_run; user unused
 *     if (agent_work_ask(w, &prompt, &reply) &&
 *         agent_work_act(w, calls, n, done)) ...                 false: over or broken; end it
 *     agent_work_once(w, STR("runbook"), url, fetch, ctx, &text) a thing done once and remembered
 *     if (!agent_work_end(w, STR(""), e)) ...                    e: the log failed; resumable
 *
 * For a fixed plan instead of a conversation. If it is called again with the same run id, the same
 * calls in the same order find their results in the log. The caller must make the same calls: a
 * call that differs from the logged one breaks the run.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "agent/run.h"

struct agent_work;

struct agent_prompt {
    str system, user;
    str extra;                 /* members for the request; or "" */
    str level;                 /* or "" */
    bool quiet;                /* the prompt needs no reasoning: see ask.h */
    str what;                  /* the purpose of the call, for the record; or "" */
    struct call_reader reader; /* of the reply, for the decision log; or none */
};

bool agent_work_begin(const struct agent_options *o, struct arena *a, struct agent_result *out,
                      struct agent_work **w, struct err *e) MUST_USE;
/* Whether the limits allow more; if not, the result has the reason. */
bool agent_work_within(struct agent_work *w);
bool agent_work_ask(struct agent_work *w, const struct agent_prompt *p,
                    struct ask_reply *reply) MUST_USE;
/* For a prompt whose answer is text: a reply without text (empty, or only reasoning) is retried
 * once. If the second reply has none either, reply->text is empty. */
bool agent_work_answer(struct agent_work *w, const struct agent_prompt *p,
                       struct ask_reply *reply) MUST_USE;
/* Runs all calls at once, results in the order of the calls; at most TOOL_CALLS_MAX are made. */
bool agent_work_act(struct agent_work *w, const struct ask_call *calls, size_t n,
                    struct agent_done *out) MUST_USE;
/* Logs the result of `make`, or its error, under `name` and `asked`. If its outcome is unknown,
 * `make` runs again. */
bool agent_work_once(struct agent_work *w, str name, str asked,
                     bool (*make)(void *ctx, struct buf *out, struct err *e), void *ctx,
                     struct agent_done *out) MUST_USE;
/* Frees w. The result is as the caller left it; `told` is JSON for the row; "": made from the
 * result. A broken run keeps its row, to be resumed. */
bool agent_work_end(struct agent_work *w, str report, struct err *e) MUST_USE;
