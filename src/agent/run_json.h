/* run_json.h - writes runs and their effects as JSON, for the API and the command.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "agent/run.h"

/* {"runs": [...]}, newest first; a waiting run includes its question. */
bool run_json_list(struct agent_log *log, const struct agent_filter *f, bool thoughts,
                   struct buf *out, struct err *e) MUST_USE;
/* The asker: sees only runs of this key, if it is not empty; `thoughts`: may see reasoning
 * (config_shows_reasoning decides). Without it, the model's reasons for calls are omitted too. */
struct run_asker {
    str key;
    bool thoughts;
};
/* A run with its effects and its trace. */
bool run_json_one(struct agent_log *log, str id, const struct run_asker *who, struct buf *out,
                  struct err *e) MUST_USE;
/* The question or calls a run waits for, or null: {"kind": "approval" or "unknown", "seq",
 * "tool", "arguments", "why", ...}, or {"kind": "client", "calls": [...]}. */
void run_json_pending(struct agent_log *log, const struct agent_row *row, bool thoughts,
                      struct json_out *o, struct arena *a);
/* Opens the object of a question: {"run_id", "kind", "seq", "tool", "arguments", "why",
 * "asked_at_us"; the caller ends it. */
void run_json_question(struct json_out *o, const struct agent_effect *f, bool thoughts);
/* The object without the member, if `hide`; in the arena. */
str run_json_hide(str json, const char *member, bool hide, struct arena *a);
/* {"run_id", "same", "status", "reason", "text", "trace"}: a replay of the run from its log. same:
 * it ended as recorded. */
bool run_json_replay(struct agent_log *log, str id, const struct run_asker *who, struct buf *out,
                     struct err *e) MUST_USE;

/* A tool call as a line of text: name(k='v', n=2). Arguments that are not an object appear as they
 * are. */
str agent_call_text(str name, str arguments, struct arena *a);
