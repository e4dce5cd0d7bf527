/* reader.h - shared by the files of openapi.h while they read a document.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/json.h"
#include "openapi/openapi.h"

/* Texts of the operation that is read. A document may use one large text in all operations, and in
 * one of them many times. */
struct openapi_scratch {
    struct arena arena;
    bool full; /* the operation is left out */
};

struct openapi_reader {
    const struct json *doc;
    struct arena *arena; /* for the result */
    struct openapi_scratch *scratch;
    struct openapi *out;
    const struct json_node *open[OPENAPI_DEPTH_MAX]; /* schemas being written */
    size_t depth;
    struct buf left_out;
    struct buf text;     /* the schema being written */
    size_t schemas_size; /* of the written ones */
};

/* The node itself, or the target of its "$ref" in the document; NULL if it does not exist. */
const struct json_node *openapi_follow(const struct openapi_reader *r, const struct json_node *v);
/* A text of the document, valid until the next operation. False: it is no text, or the texts of
 * this operation are too large. */
bool openapi_scratch_text(const struct openapi_reader *r, const struct json_node *v, str *out);
/* `description`, if not empty, replaces the schema's own. */
void openapi_write_schema(struct openapi_reader *r, const struct json_node *v, str description,
                          struct json_out *o);
