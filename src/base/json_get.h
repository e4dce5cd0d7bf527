/* json_get.h - reads members of JSON objects without errors.
 *
 * A member that is null counts as absent; a member of the wrong kind reads as empty. To report
 * errors to a client, use wire/request_reader.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/json.h"

/* A member, or NULL if it is absent or null. */
static inline const struct json_node *json_get(const struct json *doc, const struct json_node *v,
                                               const char *key)
{
    const struct json_node *m = json_find(doc, v, str_c(key));

    return m && m->kind != JSON_NULL ? m : NULL;
}

/* The text of a member, or "". */
static inline str json_get_text(const struct json *doc, const struct json_node *v, const char *key,
                                struct arena *a)
{
    const struct json_node *m = json_find(doc, v, str_c(key));
    str text;

    return m && json_text(doc, m, a, &text) ? text : STR("");
}

/* A text of a reply, or a number that the host wrote without quotes. */
bool json_to_text(const struct json *doc, const struct json_node *v, struct arena *a,
                  str *out) MUST_USE;
/* The text of a member, or a number that the host wrote without quotes; or "". */
static inline str json_get_as_text(const struct json *doc, const struct json_node *v,
                                   const char *key, struct arena *a)
{
    str text;

    return json_to_text(doc, json_find(doc, v, str_c(key)), a, &text) ? text : STR("");
}

/* The same as a copy in the arena, which outlives the source. */
static inline str json_copy_text(const struct json *doc, const struct json_node *v, const char *key,
                                 struct arena *a)
{
    return arena_dup(a, json_get_text(doc, v, key, a));
}

/* The text of a member of an object, given as JSON text; "" also if it is not JSON. A copy in the
 * arena. */
str json_copy_member(str json, const char *key, struct arena *a);

/* A count of a reply, in any form that hosts write: 12, 12.0, 12.7 (its whole part) or "12". -1 if
 * absent, negative or larger than 9e15. */
int64_t json_to_count(const struct json *doc, const struct json_node *v);
/* true, "true", or a number that is not 0. */
bool json_to_bool(const struct json *doc, const struct json_node *v);
/* Whether a value has content: null, false, 0, "", and lists of these have none. */
bool json_has_content(const struct json *doc, const struct json_node *v);
/* The count of a member, or -1. */
int64_t json_get_count(const struct json *doc, const struct json_node *v, const char *key);
/* Whether a member is that text: {"type": "function"}. */
static inline bool json_get_is(const struct json *doc, const struct json_node *v, const char *key,
                               const char *text)
{
    return json_is(doc, json_find(doc, v, str_c(key)), str_c(text));
}

/* The integer of a member; `otherwise` if it is absent or no integer. */
static inline int64_t json_get_i64(const struct json *doc, const struct json_node *v,
                                   const char *key, int64_t otherwise)
{
    int64_t n;

    return json_i64(doc, json_find(doc, v, str_c(key)), &n) ? n : otherwise;
}

/* Whether a member is true. */
static inline bool json_get_true(const struct json *doc, const struct json_node *v, const char *key)
{
    const struct json_node *m = json_find(doc, v, str_c(key));

    return m && m->kind == JSON_TRUE;
}

/* Whether v is one of these texts, which are separated by spaces: "text image file". */
bool json_is_one_of(const struct json *doc, const struct json_node *v, const char *words);

/* Sets *out to a member's text or number; leaves it unchanged if the member is absent or empty. */
void json_get_into(const struct json *doc, const struct json_node *v, const char *key,
                   struct arena *a, str *out);
/* Whether a text is a JSON object, as the arguments of calls should be. */
bool json_is_object_text(str json);
