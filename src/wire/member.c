/* member.c - members of JSON objects.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/member.h"

int64_t member_count(const struct json *doc, const struct json_node *v, const char *key)
{
    int64_t n;

    return json_i64(doc, json_find(doc, v, str_c(key)), &n) && n >= 0 ? n : -1;
}

bool member_is(const struct json *doc, const struct json_node *v, const char *key, const char *text)
{
    return json_is(doc, json_find(doc, v, str_c(key)), str_c(text));
}

void member_take(const struct json *doc, const struct json_node *v, const char *key,
                 struct arena *a, str *out)
{
    const struct json_node *m = json_find(doc, v, str_c(key));
    str text;

    if (json_text(doc, m, a, &text) && text.n)
        *out = text;
    else if (m && m->kind == JSON_NUMBER)
        *out = json_raw(doc, m);
}

bool member_is_object(str json)
{
    struct json doc;
    struct err e;
    bool object;

    json_init(&doc);
    object = json_parse(&doc, json, &e) && json_root(&doc)->kind == JSON_OBJECT;
    json_release(&doc);
    return object;
}
