/* value.h - what JSON Schema asks of JSON values: their text, its length, a hash.
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

/* A string's text, unescaped; to be released only if it had to be copied. */
struct schema_text {
    str s;
    struct arena copy;
    bool copied;
};

void schema_text_get(struct schema_text *t, const struct json *doc, const struct json_node *v);
void schema_text_release(struct schema_text *t);

/* json_is for a string, told by its size in most cases. */
static inline bool schema_text_is(const struct json *doc, const struct json_node *v, str s)
{
    return (v->escaped || v->size == s.n + 2) && json_is(doc, v, s);
}

/* Characters of a string: code points, escapes and pairs of surrogates being one each. */
uint64_t schema_text_count(const struct json *doc, const struct json_node *v);

/* Equal values have equal hashes: 1 and 1.0, members in any order, text however escaped. */
uint64_t schema_hash(const struct json *doc, const struct json_node *v);
uint64_t schema_hash_str(str s);
