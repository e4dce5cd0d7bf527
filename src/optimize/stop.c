/* Whether the run is over. Asked once before each iteration; each condition is a row.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "optimize/internal.h"

static bool optimize_stop_has_reached_calls(struct optimize *o, double limit)
{
    return (double)o->calls >= limit;
}

static bool optimize_stop_score(struct optimize *o, double limit)
{
    return o->means[o->best] >= limit;
}

static bool optimize_no_improvement(struct optimize *o, double limit)
{
    return (double)o->stalled >= limit;
}

static bool optimize_stop_has_reached_candidates(struct optimize *o, double limit)
{
    return (double)o->count >= limit;
}

static bool optimize_stop_has_reached_iterations(struct optimize *o, double limit)
{
    return (double)o->iteration >= limit;
}

static bool optimize_stop_has_reached_cost(struct optimize *o, double limit)
{
    return o->cost >= limit;
}

static bool optimize_stop_has_reached_time(struct optimize *o, double limit)
{
    const struct optimize_adapter *a = &o->task.adapter;

    return a->elapsed_s(a->ctx) >= limit;
}

static bool (*const conditions[])(struct optimize *o, double limit) = {
    [OPTIMIZE_STOP_CALLS] = optimize_stop_has_reached_calls,
    [OPTIMIZE_STOP_SCORE] = optimize_stop_score,
    [OPTIMIZE_STOP_NO_IMPROVEMENT] = optimize_no_improvement,
    [OPTIMIZE_STOP_CANDIDATES] = optimize_stop_has_reached_candidates,
    [OPTIMIZE_STOP_ITERATIONS] = optimize_stop_has_reached_iterations,
    [OPTIMIZE_STOP_COST] = optimize_stop_has_reached_cost,
    [OPTIMIZE_STOP_TIME] = optimize_stop_has_reached_time,
};

/* How many askings in a row have seen nothing better. */
static void optimize_stop_watch(struct optimize *o)
{
    double now = o->means[o->best];

    o->stalled = !o->any_seen || now > o->best_seen ? 0 : o->stalled + 1;
    if (o->stalled == 0)
        o->best_seen = now;
    o->any_seen = true;
}

/* Without overshooting there is no use in an iteration whose child could not be validated. */
static bool optimize_budget_spent(const struct optimize *o)
{
    const struct optimize_settings *s = &o->task.settings;

    if (s->reference)
        return o->calls >= s->metric_calls;
    return engine_left(o) < 2 * s->minibatch + o->task.val_count;
}

bool stop_now(struct optimize *o)
{
    const struct optimize_settings *s = &o->task.settings;
    const struct optimize_adapter *a = &o->task.adapter;
    size_t agreed = 0;

    optimize_stop_watch(o);
    for (size_t i = 0; i < s->stop_count; i++)
        agreed += conditions[s->stops[i].kind](o, s->stops[i].limit);
    if (optimize_budget_spent(o) || (agreed > 0 && (!s->stop_all || agreed == s->stop_count)))
        return true;
    o->interrupted = a->asked_to_stop && a->asked_to_stop(a->ctx);
    return o->interrupted;
}
