/* Which candidate is to be improved next.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "optimize/internal.h"

const struct front_reduced *select_reduced(struct optimize *o)
{
    if (!o->reduced_valid)
        front_reduce(&o->front, o->means, NULL, &o->reduced);
    o->reduced_valid = true;
    return &o->reduced;
}

/* Each as likely as the sets that hold it are many. */
static uint32_t select_draw_weighted(struct optimize *o, const struct front_reduced *r)
{
    uint64_t place = twister_below(&o->chance, r->total);
    size_t i = 0;

    assert(r->n > 0 && r->total > 0);
    for (; place >= r->count[i]; i++)
        place -= r->count[i];
    assert(i < r->n);
    return r->order[i];
}

static uint32_t select_draw_pareto(struct optimize *o)
{
    return select_draw_weighted(o, select_reduced(o));
}

static uint32_t optimize_current_best(struct optimize *o)
{
    return (uint32_t)o->best;
}

static uint32_t optimize_epsilon_greedy(struct optimize *o)
{
    if (twister_random(&o->chance) < o->task.settings.epsilon)
        return (uint32_t)twister_below(&o->chance, o->count);
    return (uint32_t)o->best;
}

/* A bit for each of the k highest means, the lower number first among equals. */
static uint64_t *optimize_top_means(struct optimize *o, size_t k)
{
    /* Not by the sets of the front: candidates that reported no objective are in none. */
    size_t words = (o->count + 63) / 64;
    uint64_t *top = arena_zero(&o->scratch, words, sizeof *top);

    assert(o->front.candidates <= o->count); /* front_reduce reads as many bits */
    for (size_t i = 0; i < k && i < o->count; i++) {
        size_t best = SIZE_MAX;

        for (size_t c = 0; c < o->count; c++)
            if (!(top[c / 64] >> c % 64 & 1) && (best == SIZE_MAX || o->means[c] > o->means[best]))
                best = c;
        assert(best < o->count);
        top[best / 64] |= (uint64_t)1 << best % 64;
    }
    return top;
}

static uint32_t optimize_top_k_pareto(struct optimize *o)
{
    struct front_reduced r;
    uint32_t out = (uint32_t)o->best;

    front_reduced_init(&r);
    front_reduce(&o->front, o->means, optimize_top_means(o, o->task.settings.top_k), &r);
    if (r.total > 0)
        out = select_draw_weighted(o, &r);
    front_reduced_release(&r);
    return out;
}

uint32_t select_parent(struct optimize *o)
{
    static uint32_t (*const by[])(struct optimize * o) = {
        [OPTIMIZE_PARETO] = select_draw_pareto,
        [OPTIMIZE_CURRENT_BEST] = optimize_current_best,
        [OPTIMIZE_EPSILON_GREEDY] = optimize_epsilon_greedy,
        [OPTIMIZE_TOP_K_PARETO] = optimize_top_k_pareto,
    };

    assert((size_t)o->task.settings.selection < COUNT_OF(by));
    return by[o->task.settings.selection](o);
}
