/* thread_json.h - checkpoints and writes as JSON, in and out.
 *
 * A value is {"type": "json", "json": ...} or {"type": TYPE, "base64": "..."}; null where the
 * channel changed and has none.
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
/* {"checkpoint_id", "values", "reducers", "metadata"}, of which only the values must be there. */
bool thread_json_update(const struct json *doc, struct arena *a, struct thread_update *out,
                        struct err *e) MUST_USE;
/* What stands in the channels, without what only savers need. */
void thread_json_state(struct json_out *o, const struct thread_tuple *t);
