/* json_fields.c - the members of one object, found in one walk.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/json_fields.h"

/* Seldom enough to be compared with all of them. */
int json_fields_escaped_name(const struct json_field_set *set, const struct json *doc,
                             const struct json_node *key)
{
    int i = 0;

    assert(key->kind == JSON_STRING && key->escaped);
    while (i < set->count && !json_is(doc, key, set->names[i]))
        i++;
    return i < set->count ? i : -1;
}

int json_fields_name(const struct json_field_set *set, const struct json *doc,
                     const struct json_node *key)
{
    assert(key->kind == JSON_STRING);
    return key->escaped ? json_fields_escaped_name(set, doc, key)
                        : set->find(doc->src.p + key->at + 1, key->size - 2);
}
