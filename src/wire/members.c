/* members.c - the members of one object, found in one walk.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/members.h"

/* A key with escapes in it: seldom enough to be compared with all of them. */
static NOINLINE int spelled(const struct members_set *set, const struct json *doc,
                            const struct json_node *key)
{
    int i = 0;

    while (i < set->count && !json_is(doc, key, set->names[i]))
        i++;
    return i < set->count ? i : -1;
}

int members_name(const struct members_set *set, const struct json *doc, const struct json_node *key)
{
    return key->escaped ? spelled(set, doc, key)
                        : set->find(doc->src.p + key->at + 1, key->size - 2);
}

void members_read(const struct members_set *set, const struct json *doc, const struct json_node *v,
                  uint64_t expected, struct members *out)
{
    const struct json_node *end;

    assert(set->count <= MEMBER_NAMES_MAX);
    out->seen = 0;
    out->odd = NULL;
    if (!v || v->kind != JSON_OBJECT)
        return;
    end = v + v->span;
    for (const struct json_node *k = v + 1; k < end; k += 1 + k[1].span) {
        int name = members_name(set, doc, k);
        uint64_t bit = name < 0 ? 0 : MEMBER_BIT(name);

        if (name >= 0)
            out->at[name] = k + 1;
        out->seen |= bit;
        if (!(bit & expected) && !out->odd && k[1].kind != JSON_NULL)
            out->odd = k;
    }
}
