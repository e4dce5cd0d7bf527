/* members.h - the members of one object that a dialect knows by name, all found in one walk.
 *
 * A set is a list of names and a function that tells which of them a key is; names are numbered by
 * an enum of the dialect.
 *
 *     struct members m;
 *     members_read(&openai_names, doc, root, known, &m);
 *     usage(members_have(&m, OPENAI_USAGE));
 *
 * Of two equal keys the last counts, as in json_find. What is no object has no members.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/json.h"

#define MEMBER_NAMES_MAX 64
#define MEMBER_BIT(name) ((uint64_t)1 << (name))

struct members_set {
    const str *names;
    int count;
    int (*find)(const char *p, size_t n); /* the number of the name, or -1 */
};

struct members {
    uint64_t seen;               /* a bit a name */
    const struct json_node *odd; /* the first key, of a value that is not null, that is not among
                                    the expected; or NULL */
    const struct json_node *at[MEMBER_NAMES_MAX]; /* values, where seen */
};

void members_read(const struct members_set *set, const struct json *doc, const struct json_node *v,
                  uint64_t expected, struct members *out);

/* The number of a key's name in the set, or -1. */
int members_name(const struct members_set *set, const struct json *doc,
                 const struct json_node *key);

/* The value, or NULL. */
static inline const struct json_node *members_get(const struct members *m, unsigned name)
{
    return m->seen & MEMBER_BIT(name) ? m->at[name] : NULL;
}

/* The same, and NULL where it is null. */
static inline const struct json_node *members_have(const struct members *m, unsigned name)
{
    const struct json_node *v = members_get(m, name);

    return v && v->kind != JSON_NULL ? v : NULL;
}

/* Its text, or "". */
static inline str members_text(const struct members *m, unsigned name, const struct json *doc,
                               struct arena *a)
{
    str text;

    return json_text(doc, members_get(m, name), a, &text) ? text : STR("");
}
