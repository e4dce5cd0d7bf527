/* openapi.h - the operations of an OpenAPI 3 document, each as a tool for a model.
 *
 *     struct openapi api;
 *     if (!openapi_read(text, &arena, &api, e)) ...           e: what is wrong and where
 *     for (size_t i = 0; i < api.count; i++) api.operations[i].schema ...
 *
 * An operation's arguments are one JSON object: a member for each parameter, and "body" for the
 * request's JSON. openapi_request builds the request from them. References (#/components/...) are
 * followed within the document only; nothing is fetched.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"

#define OPENAPI_SIZE_MAX ((size_t)8 << 20)
#define OPENAPI_OPERATIONS_MAX 400
#define OPENAPI_PARAMS_MAX 64                  /* of one operation */
#define OPENAPI_SCHEMA_MAX ((size_t)256 << 10) /* of one operation, with references resolved */
#define OPENAPI_SCHEMAS_MAX ((size_t)8 << 20)  /* of all operations together */
#define OPENAPI_DEPTH_MAX 32                   /* of nested references */

enum openapi_place { OPENAPI_PATH, OPENAPI_QUERY, OPENAPI_HEADER };
/* How a list or an object is written: a=1,2 or a=1&a=2; a,1,b,2 or a=1&b=2 or p[a]=1&p[b]=2. */
enum openapi_style { OPENAPI_JOINED, OPENAPI_EXPLODED, OPENAPI_DEEP, OPENAPI_JSON };

struct openapi_param {
    str name;
    str member; /* of the arguments: the name, or PLACE_NAME if two have the same name */
    enum openapi_place place;
    enum openapi_style style;
    bool required;
};

struct openapi_operation {
    str name; /* its operationId, or made from method and path */
    str description;
    str method, path; /* "GET", "/items/{id}" */
    struct openapi_param *params;
    size_t param_count;
    bool body, body_required; /* it takes JSON */
    str schema;               /* JSON Schema of the arguments */
    bool read_only, idempotent;
};

struct openapi {
    str title;
    str server; /* the document's first server, unchanged; or "" */
    struct openapi_operation *operations;
    size_t count;
    str left_out; /* "NAME: why", a line for each operation that cannot be a tool; or "" */
};

/* Texts are in the arena; at most OPENAPI_ARENA bytes of it are used. */
#define OPENAPI_ARENA ((size_t)48 << 20)
bool openapi_read(str json, struct arena *a, struct openapi *out, struct err *e) MUST_USE;
const struct openapi_operation *openapi_find(const struct openapi *api, str name);

/* The target (path and query, to append to the base URL's path), header lines and body of a call.
 * ERR_INPUT: an argument cannot be sent; the text is for the model. */
bool openapi_request(const struct openapi_operation *op, str arguments, struct buf *target,
                     struct buf *headers, struct buf *body, struct err *e) MUST_USE;
/* Appends every argument as a query parameter; `more`: the target already has a query. */
bool openapi_query(str arguments, bool more, struct buf *target, struct err *e) MUST_USE;
