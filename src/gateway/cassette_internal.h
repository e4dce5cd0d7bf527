/* cassette_internal.h - functions that the files of the cassette share.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "gateway/cassette.h"

/* A body as JSON: parsed, or one JSON string (in `quoted`) if it is not JSON; an empty body is
 * null. */
void cassette_body(str body, struct json *doc, struct buf *quoted);

/* The JSON pointer of the first difference between two canonical bodies; false if they are
 * equal. */
bool cassette_differ(const struct json *da, const struct json *db, str path, struct buf *pointer);
