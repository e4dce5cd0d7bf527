/* Grades of earlier evaluations. Training and validation examples have the same numbers, so they
 * have separate name spaces, unless they are the same examples.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "optimize/internal.h"

struct cached {
    double score;
    uint32_t objective_count;
    struct {
        uint32_t objective;
        double value;
    } pair[];
};

struct row {
    struct cached **by_id;
};

#define KEY_MAX (1 + OPTIMIZE_COMPONENTS_MAX * sizeof(uint32_t))

static str optimize_cache_key_of(const struct optimize *o, const struct trial *t, char key[KEY_MAX])
{
    size_t size = o->task.component_count * sizeof *t->text;

    assert(size + 1 <= KEY_MAX);
    key[0] = t->split == OPTIMIZE_VAL && !o->task.val_is_train ? 'v' : 't';
    memcpy(key + 1, t->text, size);
    return (str){key, size + 1};
}

static size_t optimize_ids_max(const struct optimize *o)
{
    return o->task.train_count > o->task.val_count ? o->task.train_count : o->task.val_count;
}

bool cache_get(struct optimize *o, const struct trial *t, uint32_t id, struct optimize_grade *out)
{
    char key[KEY_MAX];
    const struct row *row = map_find_ptr(&o->cache, optimize_cache_key_of(o, t, key));
    const struct cached *c = row ? row->by_id[id] : NULL;

    assert(id < optimize_ids_max(o));
    if (!c)
        return false;
    *out = (struct optimize_grade){.score = c->score, .trace = STR(""), .done = true};
    out->objective_count = c->objective_count;
    for (uint32_t i = 0; i < c->objective_count; i++) {
        out->objective[i] = c->pair[i].objective;
        out->value[i] = c->pair[i].value;
    }
    return true;
}

static struct row *optimize_cache_row_of(struct optimize *o, const struct trial *t)
{
    char key[KEY_MAX];
    str name = optimize_cache_key_of(o, t, key);
    struct row *row = map_find_ptr(&o->cache, name);
    struct err e;

    if (row)
        return row;
    row = arena_zero(&o->cache_arena, 1, sizeof *row);
    row->by_id = arena_zero(&o->cache_arena, optimize_ids_max(o), sizeof(struct cached *));
    return map_set(&o->cache, name, MAP_PTR(row), &e) ? row : NULL;
}

void cache_put(struct optimize *o, const struct trial *t, uint32_t id,
               const struct optimize_grade *g)
{
    size_t size = sizeof(struct cached) + g->objective_count * sizeof((struct cached *)0)->pair[0];
    struct row *row;
    struct cached *c;

    assert(id < optimize_ids_max(o) && g->objective_count <= OPTIMIZE_OBJECTIVES_MAX);
    if (!arena_fits(
            &o->cache_arena, 2 * (size + optimize_ids_max(o) * sizeof c) + ((size_t)1 << 20), 0))
        return; /* full: further grades are not cached */
    row = optimize_cache_row_of(o, t);
    if (!row || row->by_id[id])
        return;
    c = arena_alloc(&o->cache_arena, size);
    c->score = g->score;
    c->objective_count = g->objective_count;
    for (uint32_t i = 0; i < g->objective_count; i++) {
        c->pair[i].objective = g->objective[i];
        c->pair[i].value = g->value[i];
    }
    row->by_id[id] = c;
}
