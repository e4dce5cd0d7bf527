/* reader.h - what the files of openapi.h share while a document is read.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/json.h"
#include "openapi/openapi.h"

struct openapi_reader {
    const struct json *doc;
    struct arena *arena; /* of what is kept */
    struct openapi *out;
    const struct json_node *open[OPENAPI_DEPTH_MAX]; /* schemas that are being written */
    size_t depth;
    struct buf left_out;
    struct buf text;     /* the schema that is being written */
    size_t schemas_size; /* of those that are written */
};

/* The node itself, or what its "$ref" leads to within the document; NULL if that is not there. */
const struct json_node *openapi_follow(const struct openapi_reader *r, const struct json_node *v);
/* `description`, if not empty, takes the place of the schema's own. */
void openapi_write_schema(struct openapi_reader *r, const struct json_node *v, str description,
                          struct json_out *o);
