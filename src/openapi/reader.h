/* reader.h - shared by the files of openapi.h while they read a document.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/json.h"
#include "openapi/openapi.h"

struct openapi_reader {
    const struct json *doc;
    struct arena *arena; /* for the result */
    struct openapi *out;
    const struct json_node *open[OPENAPI_DEPTH_MAX]; /* schemas being written */
    size_t depth;
    struct buf left_out;
    struct buf text;     /* the schema being written */
    size_t schemas_size; /* of the written ones */
};

/* The node itself, or the target of its "$ref" in the document; NULL if it does not exist. */
const struct json_node *openapi_follow(const struct openapi_reader *r, const struct json_node *v);
/* `description`, if not empty, replaces the schema's own. */
void openapi_write_schema(struct openapi_reader *r, const struct json_node *v, str description,
                          struct json_out *o);
