/* result.h - writes a split text as members of a JSON object, the same in every command.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/json.h"
#include "split/collect.h"

/* reasoning, content, tool_calls and the summary. */
void cli_write_result(struct json_out *o, const struct split *sp, const struct split_collect *c);

/* state, flags, accounted. */
void cli_write_summary(struct json_out *o, const struct split *sp, bool calls_unread);
