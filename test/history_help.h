/* history_help.h - what each provider demands of a history with tool calls, checked to the letter.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "chat/chat.h"
#include "test.h"

/* A body of Chat Completions is read, written in each provider's dialect, and held against that
 * provider's rules: every call has its result right behind it under the same id, roles follow each
 * other as they must, nothing is empty that may not be. Gives the count of dialects. */
size_t check_histories(str body);
