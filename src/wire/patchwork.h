/* patchwork.h - a frame with a few of its values replaced, in one go and without an arena.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/json.h"

struct patchwork {
    const struct json_node *node;
    str with; /* a JSON text, or with `quote` a text that becomes a JSON string */
    bool quote;
};

#define PATCHWORK_MAX 16

/* For a list written to `out`, which begins with its bracket, of elements that are copied from a
 * list of the source. The first writes what is between elements: as the source has it before
 * `element`, or a comma if that is NULL. The second writes the end. */
void patchwork_list_next(const struct json *doc, const struct json_node *element, struct buf *out);
void patchwork_list_end(const struct json *doc, const struct json_node *list, struct buf *out);

/* The source with those values replaced, in the order of their places. With `sse`, line ends in it
 * go on as further data lines. */
void patchwork_write(const struct json *doc, struct patchwork *list, size_t n, bool sse,
                     struct buf *out);
