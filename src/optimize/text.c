/* Texts by number: equal ones have equal numbers, so that candidates are compared by them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "optimize/internal.h"

bool text_intern(struct optimize *o, str text, uint32_t *out, struct err *e)
{
    struct map_entry *found = map_find(&o->text_ids, text);

    assert(o->text_count <= o->text_cap);
    if (found) {
        *out = (uint32_t)found->value.u64;
        return true;
    }
    if (text.n > OPTIMIZE_TEXT_MAX)
        return err_set(e,
                       ERR_LIMIT,
                       "a text of %zu bytes was proposed; the limit is %zu",
                       text.n,
                       OPTIMIZE_TEXT_MAX);
    if (!arena_fits(&o->texts_arena, OPTIMIZE_TEXT_MAX + 1, 0))
        return err_set(e,
                       ERR_LIMIT,
                       "the texts of this run are larger than %zu bytes",
                       OPTIMIZE_TEXTS_SIZE_MAX);
    o->texts = base_grow(o->texts, o->text_count, &o->text_cap, sizeof *o->texts);
    o->texts[o->text_count] = arena_dup(&o->texts_arena, text);
    if (!map_set(&o->text_ids, o->texts[o->text_count], MAP_U64(o->text_count), e))
        return false;
    *out = (uint32_t)o->text_count++;
    return true;
}

const str *text_list(struct optimize *o, const uint32_t *ids)
{
    str *list = arena_zero(&o->scratch, o->task.component_count, sizeof *list);

    for (size_t i = 0; i < o->task.component_count; i++) {
        assert(ids[i] < o->text_count);
        list[i] = o->texts[ids[i]];
    }
    return list;
}

bool text_same(const struct optimize *o, const uint32_t *a, const uint32_t *b)
{
    assert(a && b);
    return memcmp(a, b, o->task.component_count * sizeof *a) == 0;
}
