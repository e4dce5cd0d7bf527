/* rows.c - the applications whose prompts can be improved.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/tune/tune.h"

static const struct tune_app *const rows[] = {&tune_policy, &tune_orders, &tune_incidents};

const struct tune_app *tune_app_at(size_t i)
{
    return i < COUNT_OF(rows) ? rows[i] : NULL;
}

const struct tune_app *tune_app_find(str name)
{
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (str_eq(name, str_c(rows[i]->name)))
            return rows[i];
    return NULL;
}

struct optimize_settings tune_settings(str frontier)
{
    static const char frontiers[] = "instance objective hybrid cartesian"; /* as in the enum */
    struct optimize_settings s = optimize_defaults();

    s.frontier = (enum optimize_frontier)str_place(frontier, frontiers);
    assert(s.frontier <= OPTIMIZE_CARTESIAN);
    s.merge = true;
    s.pick = OPTIMIZE_USED_COMPONENTS;
    /* No text can beat a perfect mean: further evaluations would cost and change nothing. */
    s.stops[s.stop_count++] = (struct optimize_stop){OPTIMIZE_STOP_SCORE, s.perfect_score};
    return s;
}
