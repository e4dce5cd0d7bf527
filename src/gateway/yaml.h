/* yaml.h - a YAML file as JSON text, with the line of every value.
 *
 *     struct yaml y;
 *     if (!yaml_read(text, &arena, &y, e)) ...           y.line: where it went wrong
 *     json_parse(&doc, y.json, e)
 *     y.marks[node - doc.nodes].line                     a mark for each node of the tape
 *
 * What is taken is the plain part of YAML 1.2: one document, mappings with scalar keys, lists,
 * scalars by the core schema (so `no`, `on` and `12:30` are texts). Numbers stay as they are
 * written as far as JSON can say them. Anchors, aliases, tags and merge keys are refused, and so
 * is a key that stands twice in one mapping.
 *
 * ${VAR} in a value is replaced by the environment's, $${ is a plain ${; a plain scalar is resolved
 * after that, so `threads: ${THREADS}` is a number. Keys are left alone.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/arena.h"
#include "base/err.h"

#define YAML_SIZE_MAX ((size_t)1 << 20)
#define YAML_DEPTH_MAX 64
#define YAML_JSON_MAX ((size_t)16 << 20)  /* once escaped and filled in */
#define YAML_VALUE_MAX ((size_t)64 << 10) /* bytes of one value of the environment */

struct yaml_mark {
    unsigned line; /* from 1 */
    str raw;       /* as it was written, if something was filled in; else empty */
};

struct yaml {
    str json;
    struct yaml_mark *marks;
    size_t count;
    unsigned line; /* of the error */
};

/* Texts are in the arena. */
bool yaml_read(str text, struct arena *a, struct yaml *out, struct err *e) MUST_USE;
