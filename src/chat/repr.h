/* repr.h - JSON values as Python's repr() writes them: 'text', 3, 0.1, True, None, [..], {'k': v}.
 *
 *     repr_json(&out, &doc, node);
 *
 * The output equals repr(json.loads(value)), character for character: double quotes if the text has
 * a single one and no double one, non-printable characters (Unicode 14) escaped, floats with their
 * shortest digits. If a key occurs twice, its first place has its last value.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/json.h"

void repr_json(struct buf *out, const struct json *doc, const struct json_node *v);
/* The members of an object as arguments of a call: k='v', n=2. */
void repr_arguments(struct buf *out, const struct json *doc, const struct json_node *v);
/* Invalid UTF-8 is replaced first. */
void repr_text(struct buf *out, str text);
void repr_double(struct buf *out, double d);

/* Whether Python calls the character printable (str.isprintable). */
bool repr_printable(uint32_t code);
