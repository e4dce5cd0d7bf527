/* json_fields.h - finds the members of one object that a dialect knows by name, in one pass.
 *
 * A set is made from one list of its members, ordered by the length of their names, so that a key
 * is compared only with names of its length:
 *
 *     #define COLOR_FIELDS(LENGTH, FIELD) \
 *         LENGTH(3) FIELD(COLOR_RED, "red") LENGTH(4) FIELD(COLOR_BLUE, "blue")
 *     enum color { COLOR_FIELDS(JSON_FIELD_NO_LENGTH, JSON_FIELD_ENUM) };
 *     JSON_FIELD_SET(color_fields, COLOR_FIELDS);
 *
 * If a key occurs twice, the last one counts, as in json_find. A value that is no object has no
 * members.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/json.h"

#define JSON_FIELDS_MAX 64
#define JSON_FIELD_BIT(name) ((uint64_t)1 << (name))

struct json_fields {
    uint64_t seen;               /* one bit for each name */
    const struct json_node *odd; /* the first key that is not expected and whose value is not
                                    null; or NULL */
    const struct json_node *at[JSON_FIELDS_MAX]; /* values, valid if seen */
};

struct json_field_set {
    const str *names;
    int count;
    int (*find)(const char *p, size_t n); /* the index of the name, or -1 */
    /* json_fields_walk for this set. */
    void (*read)(const struct json *doc, const struct json_node *v, uint64_t expected,
                 struct json_fields *out);
};

/* The index of a key's name in the set, or -1. */
int json_fields_name(const struct json_field_set *set, const struct json *doc,
                     const struct json_node *key);
/* The same for a key with escapes. */
int json_fields_escaped_name(const struct json_field_set *set, const struct json *doc,
                             const struct json_node *key);

/* For the `read` of a set: the compiler inlines `find` into the loop. */
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

/* The same; NULL if it is null. */
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

/* ---- sets from lists ---- */

#define JSON_FIELD_NO_LENGTH(n)
#define JSON_FIELD_ENUM(field, name) field,
#define JSON_FIELD_NAME(field, name) [field] = STR_INIT(name),
#define JSON_FIELD_CASE(n)                                                                         \
    return -1;                                                                                     \
    case n:
/* The first byte distinguishes most names of one length. */
#define JSON_FIELD_COMPARE(field, name)                                                            \
    if (p[0] == (name)[0] && str_same(p, name, sizeof name - 1))                                   \
        return field;

#define JSON_FIELD_SET(set, LIST)                                                                  \
    static const str set##_names[] = {LIST(JSON_FIELD_NO_LENGTH, JSON_FIELD_NAME)};                \
    static inline int set##_find(const char *p, size_t n)                                          \
    {                                                                                              \
        switch (n) {                                                                               \
        default:                                                                                   \
            LIST(JSON_FIELD_CASE, JSON_FIELD_COMPARE)                                              \
        }                                                                                          \
        return -1;                                                                                 \
    }                                                                                              \
    static void set##_read(const struct json *doc,                                                 \
                           const struct json_node *v,                                              \
                           uint64_t expected,                                                      \
                           struct json_fields *out)                                                \
    {                                                                                              \
        json_fields_walk(&set, set##_find, doc, v, expected, out);                                 \
    }                                                                                              \
    const struct json_field_set set = {                                                            \
        set##_names, COUNT_OF(set##_names), set##_find, set##_read};                               \
    static_assert(COUNT_OF(set##_names) <= JSON_FIELDS_MAX, "a bit for each name")
