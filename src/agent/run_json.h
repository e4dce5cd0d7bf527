/* run_json.h - runs and their effects as JSON, for the API and the command.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "agent/run.h"
#include "base/buf.h"
#include "base/json.h"

/* {"runs": [...]}, newest first; one that waits has its question with it. */
bool run_json_list(struct agent_log *log, const struct agent_filter *f, bool thoughts,
                   struct buf *out, struct err *e) MUST_USE;
/* Who asks: only what is this key's, if it is not empty; and whether reasoning may be seen
 * (config_shows_reasoning decides). Without it, the model's reasons for calls are left out too. */
struct run_asker {
    str key;
    bool thoughts;
};
/* A run with its effects and its trace. */
bool run_json_one(struct agent_log *log, str id, const struct run_asker *who, struct buf *out,
                  struct err *e) MUST_USE;
/* What a run waits for, or null: {"kind": "approval" or "unknown", "seq", "tool", "arguments",
 * "why", ...}, or {"kind": "client", "calls": [...]}. */
void run_json_pending(struct agent_log *log, const struct agent_row *row, bool thoughts,
                      struct json_out *o, struct arena *a);
/* The object without the member, if it is to be hidden; in the arena. */
str run_json_hide(str json, const char *member, bool hide, struct arena *a);
/* {"run_id", "same", "status", "reason", "text", "trace"}: the run gone over again from its log.
 * same: it came to the end that is on record. */
bool run_json_replay(struct agent_log *log, str id, const struct run_asker *who, struct buf *out,
                     struct err *e) MUST_USE;
