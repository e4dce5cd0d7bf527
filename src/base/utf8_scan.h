/* utf8_scan.h - the first bytes that are no character, found many bytes at a time.
 *
 * The way utf8_valid takes for long spans, and JSON for its strings. Callers who only want to know
 * whether a text is UTF-8 use base/utf8.h; the level is there so that tests can run every path.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/simd.h"

/* Where the first bytes that are no character begin, or NULL if all are. */
const char *utf8_scan(const char *p, const char *end, enum simd_level level);
