/* json_edit.h - many changes to one JSON text in one pass; every other byte stays as it was.
 *
 *     struct json_edits ed;
 *     json_edits_init(&ed, &doc, &arena);
 *     json_edit_set(&ed, json_root(&doc), STR("stream"), STR("true"));
 *     json_edit_replace(&ed, node, STR("\"other\""));
 *     json_edits_apply(&ed, &out);
 *
 * Values are JSON texts that must stay valid until json_edits_apply. Edits refer to the parsed
 * source and may come in any order. An edit inside a value that another edit replaces or removes is
 * lost. If two edits change the same member, the later one wins. Additions at one place keep their
 * order.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/json.h"

/* Bytes of edits for each byte of the source, if all of its members are removed or replaced: a body
 * of nothing but short members that must go may not fill the arena. */
#define JSON_EDITS_SIZE ((size_t)32)

struct json_edit;
struct json_edit_link;

struct json_edits {
    const struct json *doc;
    struct arena *arena; /* for the edits */
    struct json_edit *first, *last;
    size_t n;
    struct json_edit_link **slots; /* hash table by place */
    size_t slot_count, link_count;
};

void json_edits_init(struct json_edits *ed, const struct json *doc, struct arena *a);

void json_edit_replace(struct json_edits *ed, const struct json_node *v, str with);
/* Member `key` of object v: replaced in place, otherwise added at the end. */
void json_edit_set(struct json_edits *ed, const struct json_node *v, str key, str with);
/* The same with a text, which is quoted when it is written and must stay valid until then. A text
 * that points into the source must be part of a string without escapes. */
void json_edit_set_text(struct json_edits *ed, const struct json_node *v, str key, str text);
/* Does nothing if the member is absent; removes both if it occurs twice. */
void json_edit_remove(struct json_edits *ed, const struct json_node *v, str key);
/* An element of an array: before `before`, or at the end if it is NULL. */
void json_edit_insert(struct json_edits *ed, const struct json_node *array,
                      const struct json_node *before, str with);
/* Removes an element of an array, or the member of an object with this key, and its comma. No other
 * edit of the child, earlier or later, brings it back. */
void json_edit_drop(struct json_edits *ed, const struct json_node *v,
                    const struct json_node *child);
/* A set on a path of 1 or more members below object v ("generationConfig", "thinkingConfig"):
 * missing objects on the path are created once; a value on the path that is not an object is
 * replaced by one. */
void json_edit_set_path(struct json_edits *ed, const struct json_node *v, const str *path, size_t n,
                        str with);
/* Merges an object recursively into object v: objects are merged, other values replaced. Both texts
 * must stay valid until json_edits_apply. */
void json_edit_merge(struct json_edits *ed, const struct json_node *v, const struct json *from_doc,
                     const struct json_node *from);

/* Writes the source with all edits; check out with buf_full. */
void json_edits_apply(struct json_edits *ed, struct buf *out);
