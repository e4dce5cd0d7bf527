/* json_fields.h - the members of one object that a dialect knows by name, all found in one walk.
 *
 * A set is a list of names and a function that tells which of them a key is; names are numbered by
 * an enum of the dialect.
 *
 *     struct members m;
 *     json_fields_read(&openai_names, doc, root, known, &m);
 *     usage(json_fields_present(&m, OPENAI_USAGE));
 *
 * Of two equal keys the last counts, as in json_find. What is no object has no members.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/json.h"

#define JSON_FIELDS_MAX 64
#define JSON_FIELD_BIT(name) ((uint64_t)1 << (name))

struct json_fields {
    uint64_t seen;               /* a bit a name */
    const struct json_node *odd; /* the first key, of a value that is not null, that is not among
                                    the expected; or NULL */
    const struct json_node *at[JSON_FIELDS_MAX]; /* values, where seen */
};

struct json_field_set {
    const str *names;
    int count;
    int (*find)(const char *p, size_t n); /* the number of the name, or -1 */
    /* What json_fields_walk does with this set. */
    void (*read)(const struct json *doc, const struct json_node *v, uint64_t expected,
                 struct json_fields *out);
};

/* The number of a key's name in the set, or -1. */
int json_fields_name(const struct json_field_set *set, const struct json *doc,
                     const struct json_node *key);
/* The same of a key with escapes in it. */
int json_fields_escaped_name(const struct json_field_set *set, const struct json *doc,
                             const struct json_node *key);

/* For the `read` of a set: its `find` becomes a part of the loop. */
static inline void json_fields_walk(const struct json_field_set *set,
                                    int (*find)(const char *p, size_t n), const struct json *doc,
                                    const struct json_node *v, uint64_t expected,
                                    struct json_fields *out)
{
    const struct json_node *end, *odd = NULL;
    uint64_t seen = 0;

    if (v && v->kind == JSON_OBJECT) {
        end = v + v->span;
        for (const struct json_node *k = v + 1; k < end; k += 1 + k[1].span) {
            int name = k->escaped ? json_fields_escaped_name(set, doc, k)
                                  : find(doc->src.p + k->at + 1, k->size - 2);
            uint64_t bit = 0;

            if (name >= 0) {
                bit = JSON_FIELD_BIT(name);
                out->at[name] = k + 1;
            }
            seen |= bit;
            if (!(bit & expected) && !odd && k[1].kind != JSON_NULL)
                odd = k;
        }
    }
    out->seen = seen;
    out->odd = odd;
}

static inline void json_fields_read(const struct json_field_set *set, const struct json *doc,
                                    const struct json_node *v, uint64_t expected,
                                    struct json_fields *out)
{
    set->read(doc, v, expected, out);
}

/* The value, or NULL. */
static inline const struct json_node *json_fields_get(const struct json_fields *m, unsigned name)
{
    return m->seen & JSON_FIELD_BIT(name) ? m->at[name] : NULL;
}

/* The same, and NULL where it is null. */
static inline const struct json_node *json_fields_present(const struct json_fields *m,
                                                          unsigned name)
{
    const struct json_node *v = json_fields_get(m, name);

    return v && v->kind != JSON_NULL ? v : NULL;
}

/* Its text, or "". */
static inline str json_fields_text(const struct json_fields *m, unsigned name,
                                   const struct json *doc, struct arena *a)
{
    str text;

    return json_text(doc, json_fields_get(m, name), a, &text) ? text : STR("");
}
