/* tool_help.h - a request with tools, through every provider's dialect and back.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "test.h"

/* A body of Chat Completions is read, written in each dialect and read again: tools have the same
 * names, descriptions and schemas, calls the same names and arguments. Gives the count of tools
 * that went through, all dialects together. */
size_t check_dialects(str body);

/* Whether two texts are the same JSON value. */
bool same_json(str a, str b);
