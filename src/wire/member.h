/* member.h - members of JSON objects, as all dialects read them: what is null counts as not there,
 * and what is of the wrong kind reads as nothing. Where a client must be told, see asked.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/json.h"

/* A member, or NULL: also where it is null. */
static inline const struct json_node *member_find(const struct json *doc, const struct json_node *v,
                                                  const char *key)
{
    const struct json_node *m = json_find(doc, v, str_c(key));

    return m && m->kind != JSON_NULL ? m : NULL;
}

/* The text of a member, or "". */
static inline str member_text(const struct json *doc, const struct json_node *v, const char *key,
                              struct arena *a)
{
    const struct json_node *m = json_find(doc, v, str_c(key));
    str text;

    return m && json_text(doc, m, a, &text) ? text : STR("");
}

/* A count of a reply, however its host writes it: 12, 12.0, 12.7 (its whole part) or "12". -1
 * where there is none. */
int64_t member_number(const struct json *doc, const struct json_node *v);
/* A text of a reply, or a number for which its host forgot the quotes. */
bool member_words(const struct json *doc, const struct json_node *v, struct arena *a,
                  str *out) MUST_USE;
/* true, "true", or a number that is not 0. */
bool member_true(const struct json *doc, const struct json_node *v);
/* Whether a value says anything: null, false, 0, "", and lists of such do not. */
bool member_says(const struct json *doc, const struct json_node *v);
/* The count of a member, or -1. */
int64_t member_count(const struct json *doc, const struct json_node *v, const char *key);
/* Whether a member is that text: {"type": "function"}. */
bool member_is(const struct json *doc, const struct json_node *v, const char *key,
               const char *text);
/* Puts a member's text or number over *out; leaves it where there is none, or an empty one. */
void member_take(const struct json *doc, const struct json_node *v, const char *key,
                 struct arena *a, str *out);
/* Whether a text is a JSON object, as the arguments of calls should be. */
bool member_is_object(str json);
