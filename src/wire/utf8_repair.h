/* utf8_repair.h - joins characters that a host cut in two.
 *
 * A host that counts a text in UTF-16 units or in bytes may end one piece of a stream in the middle
 * of a character and begin the next with the rest: "\ud83c" and then "\udf0d", or two bytes and
 * then two more. Neither piece alone is valid JSON. The halves are joined at the start of the later
 * piece; a half without its other half becomes U+FFFD.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/buf.h"

/* The first half of a character, until the rest comes: bytes of UTF-8, or an escape. */
struct utf8_repair {
    char half[8];
    size_t n;
};

/* Appends the JSON text with its strings repaired; false if there was nothing to repair. `more`:
 * another piece may follow, so a half at the end is kept for it. Linear; changes only strings. */
bool utf8_repair_json(struct utf8_repair *m, str json, bool more, struct buf *out);
