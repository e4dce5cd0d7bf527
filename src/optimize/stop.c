/* Whether the run is over. Asked once before each iteration.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "optimize/internal.h"

/* What a condition compares with its limit. */
static double optimize_stop_value(const struct optimize *o, enum optimize_stop_kind kind)
{
    const struct optimize_adapter *a = &o->task.adapter;

    switch (kind) {
    case OPTIMIZE_STOP_CALLS:
        return (double)o->calls;
    case OPTIMIZE_STOP_SCORE:
        return o->means[o->best];
    case OPTIMIZE_STOP_NO_IMPROVEMENT:
        return (double)o->stalled;
    case OPTIMIZE_STOP_CANDIDATES:
        return (double)o->count;
    case OPTIMIZE_STOP_ITERATIONS:
        return (double)o->iteration;
    case OPTIMIZE_STOP_COST:
        return o->cost;
    case OPTIMIZE_STOP_TIME:
        return a->elapsed_s(a->ctx);
    }
    return 0;
}

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
        agreed += optimize_stop_value(o, s->stops[i].kind) >= s->stops[i].limit;
    if (optimize_budget_spent(o) || (agreed > 0 && (!s->stop_all || agreed == s->stop_count)))
        return true;
    o->interrupted = a->asked_to_stop && a->asked_to_stop(a->ctx);
    return o->interrupted;
}
