/* schema.h - JSON Schema 2020-12: compiled once, then checked against many values.
 *
 *     struct schema *s = schema_new();
 *     if (!schema_compile(s, STR("{\"type\":\"object\",\"required\":[\"city\"]}"), e))
 *         ...                                e: schema /required: must be ..., got ...
 *     if (!schema_check(s, &doc, json_root(&doc), e))
 *         ...                                e: /city: expected string, got number (schema
 *                                               /properties/city/type)
 *     schema_free(s);
 *
 * A problem has the place in the value (a JSON Pointer), the keyword of the schema, and a sentence
 * that a person or a model can act on. schema_check stops at the first problem; schema_check_each
 * reports problems to a sink, up to a number.
 *
 * References can point into the schema itself, documents registered with schema_add, and the
 * 2020-12 metaschema, which is built in. Nothing is ever fetched. Older drafts (4, 6, 7, 2019-09)
 * apply if $schema names them. docs/reference/json-schema.md has the details.
 *
 * Promises:
 *   - After schema_compile a schema is read only: any number of threads may check with it.
 *   - The schema text and the registered texts are copied.
 *   - A check always ends: steps, depth and each regular expression are limited, for any schema and
 *     value. A check that reaches a limit fails with ERR_LIMIT.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/json.h"

#define SCHEMA_SIZE_MAX ((size_t)4 << 20)    /* bytes of all documents of one schema */
#define SCHEMA_NODES_MAX 50000               /* subschemas compiled */
#define SCHEMA_DEPTH_MAX 1200                /* subschemas within subschemas: 0.6 MB of stack */
#define SCHEMA_URI_MAX 4096                  /* bytes of an absolute reference */
#define SCHEMA_WORK_MAX ((uint64_t)10 << 20) /* steps of a check; see schema_work_set */

struct schema;

struct schema *schema_new(void) MUST_USE;
void schema_free(struct schema *s); /* NULL is allowed */

/* Registers a document for references to this URI; call it before schema_compile. */
bool schema_add(struct schema *s, str uri, str text, struct err *e) MUST_USE;

/* Once for each schema. False: e says which keyword is wrong and how; the schema can only be freed.
 */
bool schema_compile(struct schema *s, str text, struct err *e) MUST_USE;

/* Sets the maximum number of steps of a check. A step is a subschema tried, a member or element
 * visited, or a character that a regular expression consumed: about ten nanoseconds. */
void schema_work_set(struct schema *s, uint64_t work_max);

/* Whether the value v of doc is valid. False: e.code is ERR_INPUT, or ERR_LIMIT if a limit was
 * reached first. */
bool schema_check(const struct schema *s, const struct json *doc, const struct json_node *v,
                  struct err *e) MUST_USE;

enum schema_problem_kind {
    SCHEMA_MISMATCH, /* a value is wrong */
    SCHEMA_MISSING,  /* a required property is missing: name */
    SCHEMA_UNKNOWN,  /* no keyword allows the property: name, perhaps nearest */
    SCHEMA_LIMIT,    /* a limit was reached; the last problem */
};

/* All members are valid only during the call. */
struct schema_problem {
    enum schema_problem_kind kind;
    str path;    /* JSON Pointer from the checked value; includes the name of an unknown property */
    str keyword; /* place in the schema: a JSON Pointer, after "URI#" if in another document */
    str text;    /* the sentence, without path and keyword */
    str name;    /* of the property that is missing or unknown, unescaped; else empty */
    str nearest; /* the most similar known property; empty if none is similar */
    const struct json_node *value; /* the value at path; for a missing property, its object */
};

struct schema_sink {
    void (*on_problem)(void *ctx, const struct schema_problem *problem);
    void *ctx;
    size_t problems_max; /* the check stops after this many; 0: no limit */
};

/* The same check, but it continues after a problem. False: e has the first one. */
bool schema_check_each(const struct schema *s, const struct json *doc, const struct json_node *v,
                       struct schema_sink sink, struct err *e) MUST_USE;
