/* SPDX-License-Identifier: Apache-2.0 */
#include "optimize/budget.h"

#define PROPOSALS_MIN 3

static const struct {
    size_t candidates;
    double doublings; /* candidates, and how often one doubles to reach them */
} sizes[] = {
    [OPTIMIZE_LIGHT] = {6, 2.584962500721156},
    [OPTIMIZE_MEDIUM] = {12, 3.584962500721156},
    [OPTIMIZE_HEAVY] = {18, 4.169925001442312},
};

/* Four for each component and doubling, and at least 1.5 times the wanted candidates. */
static uint64_t optimize_budget_count_proposals(enum optimize_auto size, size_t component_count)
{
    double by_component = 4 * (double)component_count * sizes[size].doublings;
    double by_count = 1.5 * (double)sizes[size].candidates;

    return (uint64_t)(by_component > by_count ? by_component : by_count);
}

uint64_t optimize_budget_auto(const struct optimize_settings *s, enum optimize_auto size,
                              size_t component_count, size_t val_count)
{
    size_t merges = s->merge ? s->max_merges : 0;

    return val_count + 2 * s->minibatch * optimize_budget_count_proposals(size, component_count) +
           sizes[size].candidates * val_count + merges * (OPTIMIZE_MERGE_IDS + val_count);
}

uint64_t optimize_budget_floor(const struct optimize_settings *s, size_t val_count)
{
    return val_count + PROPOSALS_MIN * (2 * s->minibatch + val_count);
}

bool optimize_budget_note(const struct optimize_settings *s, size_t val_count,
                          struct optimize_budget_note *out)
{
    uint64_t floor = optimize_budget_floor(s, val_count);
    uint64_t each = 2 * s->minibatch + val_count;
    uint64_t left = s->metric_calls > val_count ? s->metric_calls - val_count : 0;

    if (s->metric_calls >= floor)
        return false;
    (void)snprintf(out->text,
                   sizeof out->text,
                   "a budget of %llu metric call%s is sure to be enough for %llu of 3 proposals; "
                   "%llu would be, and 15 to 30 times the validation examples are usual",
                   (unsigned long long)s->metric_calls,
                   s->metric_calls == 1 ? "" : "s",
                   (unsigned long long)(left / each),
                   (unsigned long long)floor);
    return true;
}
