/* yaml.h - converts a YAML file to JSON text, with the line of every value.
 *
 *     struct yaml y;
 *     if (!yaml_read(text, &arena, &y, e)) ...           y.line: where it went wrong
 *     json_parse(&doc, y.json, e)
 *     y.marks[node - doc.nodes].line                     a mark for each node of the tape
 *
 * It accepts a simple part of YAML 1.2: one document, mappings with scalar keys, lists, scalars by
 * the core schema (so `no`, `on` and `12:30` are texts). Numbers stay as written if JSON can
 * express them. Anchors, aliases, tags, merge keys and duplicate keys in a mapping are errors.
 *
 * ${VAR} in a value is replaced by the environment variable, $${ is a literal ${. A plain scalar is
 * resolved after that, so `threads: ${THREADS}` is a number. Keys are not expanded.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/arena.h"
#include "base/err.h"

#define YAML_SIZE_MAX ((size_t)1 << 20)
#define YAML_DEPTH_MAX 64
#define YAML_JSON_MAX ((size_t)16 << 20)  /* after escaping and expansion */
#define YAML_VALUE_MAX ((size_t)64 << 10) /* bytes of one environment variable */

struct yaml_mark {
    unsigned line; /* from 1 */
    str raw;       /* as written, if a variable was expanded; else empty */
};

struct yaml {
    str json;
    struct yaml_mark *marks;
    size_t count;
    unsigned line; /* of the error */
};

/* Texts are in the arena. */
bool yaml_read(str text, struct arena *a, struct yaml *out, struct err *e) MUST_USE;
