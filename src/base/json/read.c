/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json/internal.h"

const struct json_node *json_root(const struct json *doc)
{
    return doc->n > 0 ? doc->nodes : NULL;
}

size_t json_count(const struct json *doc, const struct json_node *v)
{
    size_t n = 0;

    JSON_FOREACH(c, doc, v)
        n++;
    return n;
}

/* The last member whose key spells as `key` does. */
static const struct json_node *json_read_find(const struct json *doc, const struct json_node *v,
                                              struct json_cursor key)
{
    const struct json_node *found = NULL;

    JSON_FOREACH(k, doc, v)
        if (json_cursor_cmp(json_cursor_of(doc, k), key) == 0)
            found = json_value(k);
    return found;
}

const struct json_node *json_find_among(const struct json *doc, const struct json_node *v, str key)
{
    const struct json_node *found = NULL, *end;

    assert(v->kind == JSON_OBJECT);
    assert_slow(v >= doc->nodes && v + v->span <= doc->nodes + doc->n);
    /* Most of the work of a dialect is finding members, nearly all by keys without escapes:
     * comparing the sizes rules most keys out. */
    end = v + v->span;
    for (const struct json_node *k = v + 1; k < end; k += 1 + k[1].span) {
        if (k->escaped ? !json_is(doc, k, key)
                       : k->size != key.n + 2 || !str_same(doc->src.p + k->at + 1, key.p, key.n))
            continue;
        assert_slow(k->kind == JSON_STRING && k + 1 < end);
        found = k + 1;
        if (!v->escaped)
            break;
    }
    return found;
}

const struct json_node *json_at(const struct json *doc, const struct json_node *v, size_t index)
{
    const struct json_node *child;

    if (!v || v->kind != JSON_ARRAY || index >= v->span)
        return NULL;
    child = json_first(doc, v);
    while (child && index-- > 0)
        child = json_next(doc, v, child);
    return child;
}

/* An index has no sign and no zeros in front. */
static const struct json_node *json_at_token(const struct json *doc, const struct json_node *v,
                                             str token)
{
    uint64_t index;

    if (!str_u64(token, &index) || (token.n > 1 && token.p[0] == '0') || index > SIZE_MAX)
        return NULL;
    return json_at(doc, v, (size_t)index);
}

/* Each ~ is followed by 0 or 1. */
static bool json_pointed_well(str token)
{
    for (size_t i = 0; i < token.n; i++)
        if (token.p[i] == '~' &&
            (i + 1 == token.n || (token.p[i + 1] != '0' && token.p[i + 1] != '1')))
            return false;
    return true;
}

const struct json_node *json_pointer(const struct json *doc, str pointer)
{
    const struct json_node *v = json_root(doc);

    if (pointer.n > 0 && pointer.p[0] != '/')
        return NULL;
    while (v && pointer.n > 0) {
        str rest = str_slice(pointer, 1, pointer.n);
        size_t n = str_find(rest, STR("/"));
        str token = str_slice(rest, 0, n);

        assert(pointer.p[0] == '/');
        if (!json_pointed_well(token))
            return NULL;
        if (v->kind == JSON_ARRAY)
            v = json_at_token(doc, v, token);
        else if (v->kind == JSON_OBJECT)
            v = json_read_find(
                doc, v, (struct json_cursor){.rest = token, .spelling = JSON_POINTED});
        else
            v = NULL;
        pointer = str_slice(rest, n, rest.n);
    }
    return v;
}

str json_raw(const struct json *doc, const struct json_node *v)
{
    assert(!v || (size_t)v->at + v->size <= doc->src.n);
    return v ? (str){doc->src.p + v->at, v->size} : STR("");
}

bool json_bool(const struct json_node *v, bool *out)
{
    if (!v || (v->kind != JSON_TRUE && v->kind != JSON_FALSE))
        return false;
    *out = v->kind == JSON_TRUE;
    return true;
}
