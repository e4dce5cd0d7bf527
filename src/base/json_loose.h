/* json_loose.h - the JSON somewhere in what a model said.
 *
 *     if (json_loose(text, wanted, ctx, &out, e))
 *         json_parse(&doc, buf_str(&out), e) ...            plain JSON now
 *
 * Asked for nothing but JSON, models put it in fences, between sentences or behind a draft of it,
 * with comments, commas too many, single quotes, names without quotes, line breaks inside texts,
 * True and None. All of that is read; what is not JSON by any of these habits is not guessed at.
 *
 * Of several values that could be meant the last is: what was thought aloud comes before what was
 * decided. A value inside another is no candidate unless the outer one is not wanted.
 *
 * Promises:
 *   - What comes out is valid JSON, its numbers and texts as they were meant.
 *   - The time is linear in the text: the work is bounded, whatever it holds.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/json.h"

#define JSON_LOOSE_MAX ((size_t)4 << 20) /* bytes of text that are looked at */
#define JSON_LOOSE_DEPTH 64

/* Whether an object or array is what is looked for; NULL takes any. */
typedef bool json_loose_wanted(void *ctx, const struct json *doc);

/* The value behind what is in out. ERR_INPUT: there is none, and why the nearest to one is not. */
bool json_loose(str text, json_loose_wanted *wanted, void *ctx, struct buf *out,
                struct err *e) MUST_USE;
