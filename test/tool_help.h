/* tool_help.h - converts a request with tools through each provider's dialect and back.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "test.h"

/* Reads a body of Chat Completions, writes it in each dialect, and reads it again: tools must keep
 * their names, descriptions and schemas, calls their names and arguments. Returns the number of
 * converted tools over all dialects. */
size_t check_dialects(str body);

/* Whether two texts are the same JSON value. */
bool same_json(str a, str b);
