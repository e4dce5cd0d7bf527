/* utf8_scan.h - finds the first invalid UTF-8, many bytes at a time.
 *
 * utf8_valid uses it for long texts, and the JSON parser for its strings. To check whether a text
 * is UTF-8, use base/utf8.h. The level lets tests run every path.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/simd.h"

/* The first invalid byte, or NULL if all are valid. */
const char *utf8_scan(const char *p, const char *end, enum simd_level level);
