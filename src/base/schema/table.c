/* Everything that has a name in a schema, in one hash table; and what compiling may cost.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/schema/internal.h"

#define TABLE_MIN 64

bool schema_spend(struct schema *s, uint64_t cost, struct err *e)
{
    if (cost > s->build_left)
        return err_set(e, ERR_LIMIT, "the schema takes too much work or memory to compile");
    s->build_left -= cost;
    return true;
}

static struct schema_entry *schema_table_slot_of(const struct schema *s, str key, uint64_t hash)
{
    size_t i = hash & (s->entry_cap - 1);

    assert(s->entry_count < s->entry_cap);
    while (s->entries[i].at && (s->entries[i].hash != hash || !str_eq(s->entries[i].key, key)))
        i = (i + 1) & (s->entry_cap - 1);
    return &s->entries[i];
}

const struct schema_entry *schema_entry_find(const struct schema *s, str key)
{
    const struct schema_entry *e;

    if (s->entry_cap == 0)
        return NULL;
    e = schema_table_slot_of(s, key, schema_hash_str(key));
    return e->at ? e : NULL;
}

static void table_grow(struct schema *s)
{
    struct schema_entry *old = s->entries;
    size_t old_cap = s->entry_cap;

    s->entry_cap = old_cap ? old_cap * 2 : TABLE_MIN;
    s->entries = arena_zero(&s->arena, s->entry_cap, sizeof *s->entries);
    for (size_t i = 0; i < old_cap; i++)
        if (old[i].at)
            *schema_table_slot_of(s, old[i].key, old[i].hash) = old[i];
}

bool schema_entry_add(struct schema *s, str key, struct schema_doc *doc, const struct json_node *at,
                      bool dynamic)
{
    uint64_t hash = schema_hash_str(key);
    struct schema_entry *e;

    if ((s->entry_count + 1) * 2 > s->entry_cap)
        table_grow(s);
    assert((s->entry_count + 1) * 2 <= s->entry_cap);
    e = schema_table_slot_of(s, key, hash);
    if (e->at)
        return e->at == at;
    *e = (struct schema_entry){arena_dup(&s->arena, key), hash, doc, at, dynamic};
    s->entry_count++;
    return true;
}

void schema_entry_move(struct schema *s, str key, const struct json_node *at)
{
    struct schema_entry *e = schema_table_slot_of(s, key, schema_hash_str(key));

    assert(e->at);
    e->at = at;
}
