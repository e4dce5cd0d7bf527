/* get.c - members of JSON objects, read without errors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/json_get.h"

#define COUNT_TEXT_MAX 32
#define COUNT_MAX 9e15 /* a double represents it exactly, and several can be added up */

static int64_t json_quoted_number(str text)
{
    int64_t n = -1;
    struct json doc;
    struct err e;

    json_init(&doc);
    if (text.n <= COUNT_TEXT_MAX && json_parse(&doc, text, &e) &&
        json_root(&doc)->kind == JSON_NUMBER)
        n = json_to_count(&doc, json_root(&doc));
    json_release(&doc);
    return n;
}

int64_t json_to_count(const struct json *doc, const struct json_node *v)
{
    int64_t n;
    double x;

    if (!v || v->kind < JSON_NUMBER || v->kind > JSON_STRING)
        return -1;
    if (json_i64(doc, v, &n))
        return n >= 0 && n <= (int64_t)COUNT_MAX ? n : -1;
    if (v->kind == JSON_STRING)
        return json_quoted_number(str_slice(json_raw(doc, v), 1, v->size - 1));
    return json_double(doc, v, &x) && x >= 0 && x <= COUNT_MAX ? (int64_t)x : -1;
}

bool json_to_text(const struct json *doc, const struct json_node *v, struct arena *a, str *out)
{
    if (json_text(doc, v, a, out))
        return true;
    if (!v || v->kind != JSON_NUMBER)
        return false;
    *out = json_raw(doc, v);
    return true;
}

bool json_to_bool(const struct json *doc, const struct json_node *v)
{
    double x;

    return v && (v->kind == JSON_TRUE || json_is(doc, v, STR("true")) ||
                 (v->kind == JSON_NUMBER && json_double(doc, v, &x) && x != 0));
}

bool json_has_content(const struct json *doc, const struct json_node *v)
{
    if (!v || v->kind == JSON_NULL || v->kind == JSON_FALSE)
        return false;
    if (v->kind == JSON_STRING)
        return v->size > 2;
    if (v->kind < JSON_ARRAY)
        return json_to_bool(doc, v);
    JSON_FOREACH(k, doc, v)
        if (json_has_content(doc, v->kind == JSON_OBJECT ? json_value(k) : k))
            return true;
    return false;
}

bool json_is_one_of(const struct json *doc, const struct json_node *v, const char *words)
{
    if (!v || v->kind != JSON_STRING)
        return false;
    if (!v->escaped)
        return str_is_one_of((str){doc->src.p + v->at + 1, v->size - 2}, words);
    for (size_t n; *words; words += n + (words[n] == ' ')) {
        n = strcspn(words, " ");
        if (json_is_escaped(doc, v, (str){words, n}))
            return true;
    }
    return false;
}

int64_t json_get_count(const struct json *doc, const struct json_node *v, const char *key)
{
    return json_to_count(doc, json_find(doc, v, str_c(key)));
}

void json_get_into(const struct json *doc, const struct json_node *v, const char *key,
                   struct arena *a, str *out)
{
    const struct json_node *m = json_find(doc, v, str_c(key));
    str text;

    if (json_text(doc, m, a, &text) && text.n)
        *out = text;
    else if (m && m->kind == JSON_NUMBER)
        *out = json_raw(doc, m);
}

bool json_is_object_text(str json)
{
    struct json doc;
    struct err e;
    bool object;

    object = json_open(&doc, json, &e) && json_root(&doc)->kind == JSON_OBJECT;
    json_release(&doc);
    return object;
}

str json_copy_member(str json, const char *key, struct arena *a)
{
    struct json doc;
    struct err e;
    str text = STR("");

    if (json_open(&doc, json, &e))
        text = json_copy_text(&doc, json_root(&doc), key, a);
    json_release(&doc);
    return text;
}
