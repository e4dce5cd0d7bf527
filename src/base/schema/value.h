/* value.h - properties of JSON values for JSON Schema: text, length, hash.
 *
 *     struct schema_text t;
 *     schema_text_get(&t, doc, key);
 *     use(t.s);
 *     schema_text_release(&t);
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/json.h"

/* A string's unescaped text; schema_text_release frees it if it was copied. */
struct schema_text {
    str s;
    struct arena copy;
    bool copied;
};

void schema_text_get(struct schema_text *t, const struct json *doc, const struct json_node *v);
void schema_text_release(struct schema_text *t);

/* json_is for a string; compares the size first. */
static inline bool schema_text_is(const struct json *doc, const struct json_node *v, str s)
{
    return (v->escaped || v->size == s.n + 2) && json_is(doc, v, s);
}

/* The number of code points of a string; an escape or a surrogate pair counts as one. */
uint64_t schema_text_count(const struct json *doc, const struct json_node *v);

/* Equal values have equal hashes: 1 and 1.0, members in any order, text with any escapes. */
uint64_t schema_hash(const struct json *doc, const struct json_node *v);
uint64_t schema_hash_str(str s);
