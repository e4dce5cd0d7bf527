/* json_replace.h - a frame with a few of its values replaced, in one go and without an arena.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/json.h"

struct json_replacement {
    const struct json_node *node;
    str with; /* a JSON text, or with `quote` a text that becomes a JSON string */
    bool quote;
};

#define JSON_REPLACE_MAX 16

/* For a list written to `out`, which begins with its bracket, of elements that are copied from a
 * list of the source. The first writes what is between elements: as the source has it before
 * `element`, or a comma if that is NULL. The second writes the end. */
void json_replace_list_next(const struct json *doc, const struct json_node *element,
                            struct buf *out);
void json_replace_list_end(const struct json *doc, const struct json_node *list, struct buf *out);

/* The source with those values replaced, in the order of their places. With `sse`, line ends in it
 * go on as further data lines. */
void json_replace_write(const struct json *doc, struct json_replacement *list, size_t n, bool sse,
                        struct buf *out);
