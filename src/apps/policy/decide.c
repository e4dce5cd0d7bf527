/* decide.c - what the rules that were read come to. See heuristic_in.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/heuristic_in.h"

#define WEAKLY 0.85 /* of a permission that no fact was needed for */

static double policy_decide_score_of(const struct run *x, const struct judged *j)
{
    return x->scores.score[j->r - x->scope.all];
}

static const struct judged *policy_decide_first_of(const struct run *x, enum finding found,
                                                   bool weak)
{
    const struct judged *best = NULL;

    for (size_t i = 0; i < x->n; i++)
        if (x->rules[i].v.found == found && x->rules[i].v.weak == weak &&
            (!best || policy_decide_score_of(x, &x->rules[i]) > policy_decide_score_of(x, best)))
            best = &x->rules[i];
    return best;
}

/* A requirement is lifted by a waiver in its own block or section. */
static const struct judged *waiver_of(const struct run *x, const struct judged *of)
{
    for (size_t i = 0; i < x->n; i++)
        if (x->rules[i].v.found == FOUND_WAIVES && x->rules[i].r->node == of->r->node)
            return &x->rules[i];
    return NULL;
}

/* Waivers of a section count though they are not about the criterion in words. */
static void add_waivers(struct run *x)
{
    size_t n = x->n;

    for (size_t i = 0; i < x->scope.n; i++) {
        const struct reading *r = &x->scope.all[i];
        const struct clause *c = r->alone;
        bool here = false;

        for (size_t k = 0; k < n && !here; k++)
            here = x->rules[k].v.found == FOUND_BROKEN && x->rules[k].r->node == r->node;
        for (size_t k = 0; here && k < r->alone_n; k++) {
            struct verdict v;

            if (c[k].kind != CLAUSE_WAIVE)
                continue;
            if (heuristic_is_list(r, &c[k]))
                judge_group(&x->judge, r, &c[k], &v);
            else
                judge_clause(&x->judge, r, &c[k], &v);
            heuristic_add(x, r, &c[k], &v);
        }
    }
}

static const struct judged *broken(const struct run *x, const struct judged **waiver)
{
    for (size_t i = 0; i < x->n; i++) {
        if (x->rules[i].v.found != FOUND_BROKEN)
            continue;
        *waiver = waiver_of(x, &x->rules[i]);
        if (!*waiver)
            return &x->rules[i];
    }
    return NULL;
}

static const struct judged *open_rule(const struct run *x)
{
    const struct judged *j = policy_decide_first_of(x, FOUND_OPEN, false);

    if (j || x->scores.open)
        return j;
    /* A rule for which there is no fact at all counts if it says what it is about itself. */
    for (size_t i = 0; i < x->n; i++)
        if (x->rules[i].v.found == FOUND_OPEN && x->rules[i].c.verb &&
            x->scores.own[x->rules[i].r - x->scope.all])
            return &x->rules[i];
    return NULL;
}

static struct decision policy_decide_decide(const struct run *x)
{
    const struct judged *waiver = NULL, *asks, *j;

    if ((j = policy_decide_first_of(x, FOUND_DISAGREES, false)))
        return (struct decision){POLICY_UNCERTAIN, j, "conformal_ambiguity"};
    if ((j = broken(x, &waiver)))
        return (struct decision){POLICY_MISSING, j, ""};
    if (waiver)
        return (struct decision){POLICY_MET, waiver, ""};
    if ((j = policy_decide_first_of(x, FOUND_REFUSES, false)) && j->c.only &&
        !policy_decide_first_of(x, FOUND_PERMITS, false) &&
        !policy_decide_first_of(x, FOUND_ASKS, false))
        return (struct decision){POLICY_MISSING, j, ""}; /* whatever else is open */
    if ((j = open_rule(x)))
        return (struct decision){POLICY_UNCERTAIN, j, "missing_evidence"};
    if ((j = policy_decide_first_of(x, FOUND_PERMITS, false)))
        return (struct decision){POLICY_MET, j, ""};
    asks = policy_decide_first_of(x, FOUND_ASKS, false);
    if ((j = policy_decide_first_of(x, FOUND_REFUSES, false)) &&
        !(asks && policy_decide_score_of(x, asks) >= policy_decide_score_of(x, j)))
        return (struct decision){POLICY_MISSING, j, ""};
    if (asks)
        return (struct decision){POLICY_UNCERTAIN, asks, "missing_evidence"};
    if ((j = policy_decide_first_of(x, FOUND_HOLDS, false)) ||
        (x->unmet == 0 && (j = policy_decide_first_of(x, FOUND_PERMITS, true))) ||
        (j = policy_decide_first_of(x, FOUND_HOLDS, true)) ||
        (j = policy_decide_first_of(x, FOUND_WAIVES, false)))
        return (struct decision){POLICY_MET, j, ""};
    return (struct decision){POLICY_UNCERTAIN,
                             policy_decide_first_of(x, FOUND_OPEN, true),
                             x->read > 0 ? "missing_evidence" : "insufficient_policy_context"};
}

/* Facts that cannot be relied on make what rests on them uncertain. */
static void doubt(const struct run *x, struct decision *d)
{
    for (size_t i = 0; i < x->n && d->by; i++) {
        const struct used *u = &x->rules[i].v.used;
        bool counts = &x->rules[i] == d->by || !x->rules[i].v.weak;

        for (size_t k = 0; k < u->n && counts; k++) {
            if (!u->facts[k]->conflict && !u->facts[k]->unsure)
                continue;
            d->status = POLICY_UNCERTAIN;
            d->by = &x->rules[i];
            d->reason = u->facts[k]->conflict ? "conformal_ambiguity" : "low_confidence";
            return;
        }
    }
}

struct decision heuristic_decide(struct run *x)
{
    struct decision d;

    add_waivers(x);
    heuristic_tell_read(x);
    d = policy_decide_decide(x);
    doubt(x, &d);
    return d;
}

/* How it was linked, and how sure the least sure fact is. */
double heuristic_span(const struct run *x, const struct decision *d)
{
    double least = 1, quality = 1;

    for (size_t i = 0; i < x->n && d->by; i++) {
        const struct verdict *v = &x->rules[i].v;
        bool same = &x->rules[i] == d->by ||
                    (d->status == POLICY_MET && v->found == FOUND_HOLDS && !v->weak);

        for (size_t k = 0; k < v->used.n && same; k++)
            if (v->used.facts[k]->field->confidence < least)
                least = v->used.facts[k]->field->confidence;
        if (same && v->used.n > 0 && v->used.quality < quality)
            quality = v->used.quality;
    }
    if (!d->by)
        return 0;
    return least * quality * (d->by->v.used.n == 0 ? WEAKLY : 1);
}
