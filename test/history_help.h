/* history_help.h - checks each provider's rules for a history with tool calls.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "chat/chat.h"
#include "test.h"

/* Reads a body of Chat Completions, writes it in each provider's dialect, and checks that
 * provider's rules: results with the same ids directly follow their calls, roles alternate as
 * required, nothing is empty that must not be. Returns the number of dialects. */
size_t check_histories(str body);
