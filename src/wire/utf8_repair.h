/* utf8_repair.h - characters that a host has cut in two.
 *
 * A host that counts a text in UTF-16 units or in bytes may end one piece of a stream in the middle
 * of a character and begin the next with the rest: "\ud83c" and then "\udf0d", or two bytes and
 * then two more. No such piece is JSON by itself, though nothing is lost. The halves are put
 * together at the front of the later piece; what has no other half becomes U+FFFD.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/buf.h"
#include "base/str.h"

/* The front half of a character, until the rest comes: bytes of UTF-8, or an escape. */
struct utf8_repair {
    char half[8];
    size_t n;
};

/* Appends the JSON text with its strings mended; whether there was anything to mend. Without
 * `more` nothing comes behind it, so no half is kept. Linear, and only strings are changed. */
bool utf8_repair_json(struct utf8_repair *m, str json, bool more, struct buf *out);
