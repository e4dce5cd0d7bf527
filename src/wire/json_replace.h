/* json_replace.h - writes a frame with a few of its values replaced, without an arena.
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

/* For a list whose elements are copied from a list of the source; `out` begins with its bracket.
 * The first function writes the bytes between two elements: those that the source has before
 * `element`, or a comma if that is NULL. The second one writes the end. */
void json_replace_list_next(const struct json *doc, const struct json_node *element,
                            struct buf *out);
void json_replace_list_end(const struct json *doc, const struct json_node *list, struct buf *out);

/* The source with those values replaced; sorts the list. With `sse`, each line of it becomes a
 * separate data line. */
void json_replace_write(const struct json *doc, struct json_replacement *list, size_t n, bool sse,
                        struct buf *out);
