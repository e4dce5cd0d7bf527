/* openai_text.c - members found and text gathered: the small tools of the dialect.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/openai.h"

void openai_text_add(struct openai_text *t, struct arena *a, str s, size_t size_max)
{
    if (t->full || s.n == 0)
        return;
    if (s.n > size_max - t->n) {
        t->full = true;
        return;
    }
    if (t->n + s.n > t->cap) {
        size_t cap = t->cap ? t->cap * 2 : 64;
        char *p;

        while (cap < t->n + s.n)
            cap *= 2;
        if (cap > arena_left(a) / 2) {
            t->full = true;
            return;
        }
        p = arena_alloc(a, cap);
        if (t->n)
            memcpy(p, t->p, t->n);
        t->p = p;
        t->cap = cap;
    }
    memcpy(t->p + t->n, s.p, s.n);
    t->n += s.n;
    assert(t->n <= t->cap && t->n <= size_max);
}

str openai_text_str(const struct openai_text *t)
{
    return t->n ? (str){t->p, t->n} : STR("");
}

const struct json_node *openai_member(const struct json *doc, const struct json_node *v,
                                      const char *key)
{
    const struct json_node *m = json_find(doc, v, str_c(key));

    return m && m->kind != JSON_NULL ? m : NULL;
}

str openai_member_text(const struct json *doc, const struct json_node *v, const char *key,
                       struct arena *a)
{
    str text;

    return json_text(doc, json_find(doc, v, str_c(key)), a, &text) ? text : STR("");
}

bool openai_empty(const struct json *doc, const struct json_node *v)
{
    if (!v || v->kind == JSON_NULL)
        return true;
    if (v->kind == JSON_STRING)
        return v->size == 2;
    if (v->kind == JSON_ARRAY)
        return v->span == 1;
    if (v->kind != JSON_OBJECT)
        return false;
    for (const struct json_node *k = json_first(doc, v); k; k = json_next(doc, v, k))
        if (!openai_empty(doc, json_value(k)))
            return false;
    return true;
}

uint64_t openai_hash(uint64_t h, str s)
{
    for (size_t i = 0; i < s.n; i++)
        h = (h ^ (unsigned char)s.p[i]) * 1099511628211ull;
    return (h ^ 0xff) * 1099511628211ull;
}
