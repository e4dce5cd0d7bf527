/* Evaluates candidates through the adapter, except for examples in the cache.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "optimize/internal.h"

#include <math.h>

const uint32_t *trial_val_ids(struct optimize *o)
{
    uint32_t *ids = arena_alloc(&o->scratch, o->task.val_count * sizeof *ids);

    assert(o->task.val_count > 0);
    for (size_t i = 0; i < o->task.val_count; i++)
        ids[i] = (uint32_t)i;
    return ids;
}

double trial_sum(const double *scores, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += scores[i];
    return sum;
}

/* The examples that must be evaluated, as a batch; `where` is the place of each in the trial. */
static void optimize_evaluate_prepare(struct optimize *o, struct trial *t, struct optimize_batch *b,
                                      size_t **where)
{
    uint32_t *ids = arena_alloc(&o->scratch, t->n * sizeof *ids);

    *where = arena_alloc(&o->scratch, t->n * sizeof **where);
    t->scores = arena_zero(&o->scratch, t->n, sizeof *t->scores);
    *b = (struct optimize_batch){
        .texts = text_list(o, t->text),
        .split = t->split,
        .ids = ids,
        .traces = t->traces,
        .arena = &o->scratch,
    };
    if (t->cached && o->task.settings.cache)
        t->grades = arena_zero(&o->scratch, t->n, sizeof *t->grades);
    for (size_t i = 0; i < t->n; i++) {
        if (t->grades && cache_get(o, t, t->ids[i], &t->grades[i]))
            continue;
        (*where)[b->n] = i;
        ids[b->n++] = t->ids[i];
    }
    assert(b->n <= t->n);
    b->grades = arena_zero(&o->scratch, b->n, sizeof *b->grades);
    for (size_t i = 0; i < b->n; i++)
        b->grades[i].trace = STR("");
    if (!t->grades)
        t->grades = b->grades; /* nothing is cached: they are the same */
}

bool trial_check_grade(const struct optimize *o, const struct optimize_grade *g, uint32_t id,
                       struct err *e)
{
    if (!g->done)
        return err_set(e, ERR_UPSTREAM, "example %u was not graded", id);
    if (!isfinite(g->score) || !isfinite(g->cost) || g->cost < 0)
        return err_set(e, ERR_UPSTREAM, "the score or the cost of example %u is no number", id);
    if (g->objective_count > o->task.objective_count)
        return err_set(e, ERR_UPSTREAM, "example %u has more objectives than there are", id);
    for (uint32_t i = 0; i < g->objective_count; i++) {
        if (g->objective[i] >= o->task.objective_count || !isfinite(g->value[i]))
            return err_set(e, ERR_UPSTREAM, "an objective of example %u is wrong", id);
        for (uint32_t j = 0; j < i; j++)
            if (g->objective[j] == g->objective[i])
                return err_set(e, ERR_UPSTREAM, "example %u has an objective twice", id);
    }
    return true;
}

static bool optimize_trial_collect_grades(struct optimize *o, struct trial *t,
                                          const struct optimize_batch *b, const size_t *where,
                                          struct err *e)
{
    assert(b->n <= t->n && t->grades);
    for (size_t i = 0; i < b->n; i++) {
        if (!trial_check_grade(o, &b->grades[i], b->ids[i], e))
            return false;
        if (t->grades != b->grades)
            t->grades[where[i]] = b->grades[i];
        o->cost += b->grades[i].cost;
        if (o->task.settings.cache)
            cache_put(o, t, b->ids[i], &b->grades[i]);
    }
    for (size_t i = 0; i < t->n; i++)
        t->scores[i] = t->grades[i].score;
    t->made = b->n;
    return true;
}

bool trial_run(struct optimize *o, struct trial *t, size_t n, struct err *e)
{
    struct optimize_batch *b = arena_zero(&o->scratch, n, sizeof *b);
    size_t **where = arena_zero(&o->scratch, n, sizeof *where);
    size_t wanted = 0;

    for (size_t i = 0; i < n; i++) {
        optimize_evaluate_prepare(o, &t[i], &b[i], &where[i]);
        wanted += b[i].n;
    }
    if (wanted > 0 && !o->task.adapter.evaluate(o->task.adapter.ctx, b, n, e))
        return false;
    for (size_t i = 0; i < n; i++)
        if (!optimize_trial_collect_grades(o, &t[i], &b[i], where[i], e))
            return false;
    return true;
}
