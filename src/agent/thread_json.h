/* thread_json.h - reads and writes checkpoints and writes as JSON.
 *
 * A value is {"type": "json", "json": ...} or {"type": TYPE, "base64": "..."}; null if the channel
 * changed and has no value.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "agent/thread.h"
#include "base/json.h"

/* {"parent_id", "checkpoint", "metadata", "values"}. The texts are spans of the source or in the
 * arena, which must have room for the source and a quarter more. */
bool thread_json_put(const struct json *doc, struct arena *a, struct thread_tuple *out,
                     struct err *e) MUST_USE;
/* {"task_id", "writes": [{"channel", "value"}]} */
bool thread_json_writes(const struct json *doc, struct arena *a, struct thread_tuple *out,
                        struct err *e) MUST_USE;
void thread_json_tuple(struct json_out *o, const struct thread_tuple *t);
/* {"checkpoint_id", "values", "reducers", "metadata"}; only the values are required. */
bool thread_json_update(const struct json *doc, struct arena *a, struct thread_update *out,
                        struct err *e) MUST_USE;
/* Writes the values of the channels, without data that only savers need. */
void thread_json_state(struct json_out *o, const struct thread_tuple *t);
