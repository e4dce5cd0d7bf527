/* json_edit.h - many changes to one JSON text in one pass; every other byte stays as it was.
 *
 *     struct json_edits ed;
 *     json_edits_init(&ed, &doc, &arena);
 *     json_edit_set(&ed, json_root(&doc), STR("stream"), STR("true"));
 *     json_edit_replace(&ed, node, STR("\"other\""));
 *     json_edits_apply(&ed, &out);
 *
 * Values are JSON texts, lent until the apply. Edits are given against the source as it was parsed
 * and may come in any order. An edit inside a value that another edit replaces or takes out is
 * lost; of two that say different things of one member the later one holds; things added at one
 * place come out in the order in which they were added.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/arena.h"
#include "base/json.h"

struct json_edit;
struct json_edit_link;

struct json_edits {
    const struct json *doc;
    struct arena *arena; /* for the edits */
    struct json_edit *first, *last;
    size_t n;
    struct json_edit_link **slots; /* by place, so that one is found among many */
    size_t slot_count, link_count;
};

void json_edits_init(struct json_edits *ed, const struct json *doc, struct arena *a);

void json_edit_replace(struct json_edits *ed, const struct json_node *v, str with);
/* Member `key` of object v: replaced where it stands, else added at its end. */
void json_edit_set(struct json_edits *ed, const struct json_node *v, str key, str with);
/* The same with a text, lent likewise: it is put in quotes when it is written. One that lies in the
 * source is taken for a piece of one of its strings without escapes. */
void json_edit_set_text(struct json_edits *ed, const struct json_node *v, str key, str text);
/* Nothing happens if it is not there; if it is there twice, both go. */
void json_edit_remove(struct json_edits *ed, const struct json_node *v, str key);
/* An element of an array: before `before`, or at the end if it is NULL. */
void json_edit_insert(struct json_edits *ed, const struct json_node *array,
                      const struct json_node *before, str with);
/* An element of an array goes, and its comma. */
void json_edit_drop(struct json_edits *ed, const struct json_node *array,
                    const struct json_node *element);
/* A set on a path of 1 or more members below object v ("generationConfig", "thinkingConfig"):
 * objects that are missing on the way are made, once; a value on the way that is no object is
 * replaced by one. */
void json_edit_set_path(struct json_edits *ed, const struct json_node *v, const str *path, size_t n,
                        str with);
/* Merges an object deep into object v: objects into objects, all else replaces. Both texts are lent
 * until the apply. */
void json_edit_merge(struct json_edits *ed, const struct json_node *v, const struct json *from_doc,
                     const struct json_node *from);

/* The source with all edits; out may be full afterwards, look there. */
void json_edits_apply(struct json_edits *ed, struct buf *out);
