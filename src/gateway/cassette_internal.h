/* cassette_internal.h - what the files of the cassette share.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "gateway/cassette.h"

/* A body as JSON: parsed, or as one JSON string if it is none; empty is null. The text is in
 * `quoted` in that case. */
void cassette_body(str body, struct json *doc, struct buf *quoted);

/* The pointer of the first place where two bodies differ in what counts; false if they do not. */
bool cassette_differ(const struct json *da, const struct json *db, str path, struct buf *pointer);

bool cassette_b64_decode(str text, struct arena *a, str *out) MUST_USE;
void cassette_b64_encode(str bytes, struct buf *out);
