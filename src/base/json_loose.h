/* json_loose.h - finds JSON in the text of a model.
 *
 *     if (json_loose(text, wanted, ctx, &out, e))
 *         json_parse(&doc, buf_str(&out), e) ...            plain JSON now
 *
 * Even if asked for JSON alone, models write it in fences, between sentences or after a draft, with
 * comments, extra commas, single quotes, unquoted names, line breaks inside texts, True and None.
 * json_loose accepts all of these and nothing else.
 *
 * If the text has several values, the last one is used, because drafts come before the decision. A
 * value inside another is a candidate only if the outer one is not wanted.
 *
 * Promises:
 *   - The result is valid JSON with the same numbers and texts.
 *   - The time is linear in the size of the text, whatever it contains.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/json.h"

#define JSON_LOOSE_MAX ((size_t)4 << 20) /* bytes of text that are read */
#define JSON_LOOSE_DEPTH 64

/* Whether an object or array is the wanted one; NULL accepts any. */
typedef bool json_loose_wanted(void *ctx, const struct json *doc);
json_loose_wanted json_loose_object; /* any object */

/* Appends the value to out. ERR_INPUT: the text has no value; e explains what is wrong with the
 * best candidate. */
bool json_loose(str text, json_loose_wanted *wanted, void *ctx, struct buf *out,
                struct err *e) MUST_USE;
