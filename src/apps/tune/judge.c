/* judge.c - see judge.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/tune/judge.h"

/* "pi_search(query='age')": the name, and the text in the brackets. */
static struct verdict_step tune_judge_step_of(const struct policy_step *s)
{
    str rest = s->action, name = str_cut(&rest, '(');

    if (str_ends(rest, STR(")")))
        rest.n--;
    return (struct verdict_step){.action = name,
                                 .arguments = rest,
                                 .observation = s->observation,
                                 .failed = str_find(s->observation, STR("\"success\":false")) !=
                                           STR_NONE};
}

struct verdict_run judge_run(const struct policy_result *r, struct arena *a)
{
    struct verdict_citation *c = arena_zero(a, 1, sizeof *c);
    struct verdict_step *steps = arena_zero(a, r->trace_count + 1, sizeof *steps);
    size_t count = 0;
    const struct policy_citation *from = &r->citation;

    assert((r->trace || !r->trace_count) && (from->pages || !from->page_count));
    *c = (struct verdict_citation){.doc = from->doc, .section = from->section};
    if (from->page_count > 0) {
        c->page_first = from->pages[0];
        c->page_last = from->pages[from->page_count - 1];
    }
    for (size_t i = 0; i < r->trace_count; i++) /* a thought reads nothing and repeats nothing */
        if (!str_eq(r->trace[i].action, STR("think")))
            steps[count++] = tune_judge_step_of(&r->trace[i]);
    return (struct verdict_run){.status = str_c(policy_status_name(r->status)),
                                .confidence = r->confidence,
                                .citations = c,
                                .citation_count = from->section.n > 0,
                                .steps = steps,
                                .step_count = count};
}

struct verdict_truth judge_truth(str status, str doc, str section, struct arena *a)
{
    struct verdict_citation *c = arena_zero(a, 1, sizeof *c);

    *c = (struct verdict_citation){.doc = doc, .section = section};
    return (struct verdict_truth){
        .status = status, .citations = c, .citation_count = 1, .has_citations = section.n > 0};
}
