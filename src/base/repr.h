/* repr.h - JSON values in the words of Python's repr(): 'text', 3, 0.1, True, None, [..], {'k': v}.
 *
 *     repr_json(&out, &doc, node);
 *
 * What json.loads would make of the value and repr() of that, character for character: quotes
 * double where the text has a single one and no double, characters that are not printable (Unicode
 * 14) escaped, floats by their shortest digits, of equal keys the last value at the first's place.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/buf.h"
#include "base/json.h"

void repr_json(struct buf *out, const struct json *doc, const struct json_node *v);
/* The members of an object as a call has them: k='v', n=2. */
void repr_arguments(struct buf *out, const struct json *doc, const struct json_node *v);
/* Bytes that are no characters are replaced first. */
void repr_text(struct buf *out, str text);
void repr_double(struct buf *out, double d);

/* As str.isprintable() has it. */
bool repr_printable(uint32_t code);
