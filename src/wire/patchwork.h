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

/* The source with those values replaced, in the order of their places. With `sse`, line ends in it
 * go on as further data lines. */
void patchwork_write(const struct json *doc, struct patchwork *list, size_t n, bool sse,
                     struct buf *out);
