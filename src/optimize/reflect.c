/* Reflective mutation: runs parents on minibatches, gets new texts from the traces, and validates
 * children that score better.
 *
 * An iteration has P x N tasks, each a parent and a minibatch. They go through every step together,
 * so that an adapter can work on all of them at once.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "optimize/internal.h"

#include <math.h>

enum fate { FATE_NONE, FATE_KEPT, FATE_DUPLICATE, FATE_NOT_KEPT, FATE_NOT_BETTER, FATE_BUDGET };

struct job {
    uint32_t parent;
    uint32_t *ids; /* minibatch many */
    const struct trial *of_parent;
    uint32_t *components;
    size_t component_count;
    struct optimize_ask *asks; /* one for each component */
    uint32_t *text;            /* the child's; NULL: no child */
    const str *new_texts;
    struct trial of_child;
    double before, after;
    enum fate fate;
};

struct step {
    struct job *jobs;
    size_t n;
    struct job **kept; /* in the order of their addition */
    size_t kept_count;
};

static void optimize_reflect_report(struct optimize *o, enum optimize_event_kind kind,
                                    const struct job *j)
{
    const struct optimize_settings *s = &o->task.settings;
    struct optimize_event ev = {
        .kind = kind,
        .candidate = j->parent,
        .mean = o->means[j->parent],
        .ids = j->ids,
        .n = s->minibatch,
        .parents = {j->parent},
        .parent_count = 1,
        .before = {j->before},
        .after = j->after,
        .texts = j->new_texts,
    };

    assert(j->parent < o->count);
    if (kind == OPTIMIZE_EV_PARENT_SCORES)
        ev.scores = j->of_parent->scores;
    if (kind == OPTIMIZE_EV_CHILD_SCORES)
        ev.scores = j->of_child.scores;
    if (kind == OPTIMIZE_EV_COMPONENTS) {
        ev.ids = j->components;
        ev.n = j->component_count;
    }
    engine_report(o, ev);
}

/* ---- tasks ---- */

/* How many tasks the budget has room for, with one child validated. */
static size_t reflect_tasks_max(const struct optimize *o)
{
    const struct optimize_settings *s = &o->task.settings;
    uint64_t left = engine_left(o), tasks = s->parents * s->batches;

    if (left == UINT64_MAX)
        return (size_t)tasks;
    assert(left >= o->task.val_count + 2 * s->minibatch);
    left = (left - o->task.val_count) / (2 * s->minibatch);
    return (size_t)(left < tasks ? left : tasks);
}

static void reflect_draw_jobs(struct optimize *o, struct step *st)
{
    const struct optimize_settings *s = &o->task.settings;
    size_t max = reflect_tasks_max(o);

    st->jobs = arena_zero(&o->scratch, max, sizeof *st->jobs);
    st->kept = arena_zero(&o->scratch, max, sizeof *st->kept);
    for (size_t p = 0; p < s->parents && st->n < max; p++) {
        uint32_t parent = select_parent(o);

        for (size_t b = 0; b < s->batches && st->n < max; b++) {
            struct job *j = &st->jobs[st->n++];

            j->parent = parent;
            j->ids = arena_zero(&o->scratch, s->minibatch, sizeof *j->ids);
            batch_next(o, j->ids);
        }
    }
    for (size_t i = 0; i < st->n; i++) {
        optimize_reflect_report(o, OPTIMIZE_EV_SELECTED, &st->jobs[i]);
        optimize_reflect_report(o, OPTIMIZE_EV_MINIBATCH, &st->jobs[i]);
    }
}

/* ---- parents ---- */

static bool reflect_same_trial(const struct optimize *o, const struct trial *t, const struct job *j)
{
    assert(j->parent < o->count && t->n == o->task.settings.minibatch);
    return text_same(o, t->text, o->candidates[j->parent].text) &&
           memcmp(t->ids, j->ids, t->n * sizeof *t->ids) == 0;
}

static bool reflect_run_parents(struct optimize *o, struct step *st, struct err *e)
{
    struct trial *trials = arena_zero(&o->scratch, st->n, sizeof *trials);
    size_t n = 0;

    for (size_t i = 0; i < st->n; i++) {
        struct job *j = &st->jobs[i];
        size_t same = 0;

        while (same < n && !reflect_same_trial(o, &trials[same], j))
            same++;
        if (same == n)
            trials[n++] = (struct trial){
                .text = o->candidates[j->parent].text,
                .split = OPTIMIZE_TRAIN,
                .ids = j->ids,
                .n = o->task.settings.minibatch,
                .traces = true,
            };
        j->of_parent = &trials[same];
    }
    if (!trial_run(o, trials, n, e))
        return false;
    for (size_t i = 0; i < n; i++)
        o->calls += trials[i].made;
    for (size_t i = 0; i < st->n; i++) {
        struct job *j = &st->jobs[i];

        j->before = trial_sum(j->of_parent->scores, j->of_parent->n);
        optimize_reflect_report(o, OPTIMIZE_EV_PARENT_SCORES, j);
    }
    return true;
}

/* ---- proposals ---- */

static bool reflect_is_perfect(const struct optimize *o, const struct job *j)
{
    for (size_t i = 0; i < j->of_parent->n; i++)
        if (!(j->of_parent->scores[i] >= o->task.settings.perfect_score))
            return false;
    return o->task.settings.skip_perfect;
}

static bool reflect_was_used(const struct optimize *o, const struct job *j, size_t component)
{
    const struct optimize_adapter *a = &o->task.adapter;

    assert(component < o->task.component_count);
    for (size_t i = 0; i < j->of_parent->n; i++)
        if (!a->uses || a->uses(a->ctx, &j->of_parent->grades[i], component))
            return true;
    return false;
}

/* The first component if no run used any. */
static uint32_t reflect_pick_used(const struct optimize *o, const struct job *j)
{
    size_t best = o->task.component_count;

    for (size_t i = 0; i < o->task.component_count; i++)
        if (reflect_was_used(o, j, i) &&
            (best == o->task.component_count || o->proposed[i] < o->proposed[best]))
            best = i;
    return best < o->task.component_count ? (uint32_t)best : 0;
}

static void reflect_pick_components(struct optimize *o, struct job *j)
{
    struct candidate *parent = &o->candidates[j->parent];
    bool all = o->task.settings.pick == OPTIMIZE_ALL_COMPONENTS;

    assert(j->parent < o->count && !j->components);
    j->component_count = all ? o->task.component_count : 1;
    j->components = arena_zero(&o->scratch, j->component_count, sizeof *j->components);
    for (size_t i = 0; all && i < j->component_count; i++)
        j->components[i] = (uint32_t)i;
    if (o->task.settings.pick == OPTIMIZE_USED_COMPONENTS) {
        j->components[0] = reflect_pick_used(o, j);
        o->proposed[j->components[0]]++;
    } else if (!all) {
        j->components[0] = (uint32_t)parent->place;
        parent->place = (parent->place + 1) % o->task.component_count;
    }
    optimize_reflect_report(o, OPTIMIZE_EV_COMPONENTS, j);
}

static void reflect_prepare_asks(struct optimize *o, struct job *j, struct optimize_ask *asks)
{
    const str *texts = text_list(o, o->candidates[j->parent].text);

    assert(j->of_parent);
    j->asks = asks;
    for (size_t i = 0; i < j->component_count; i++)
        asks[i] = (struct optimize_ask){
            .component = j->components[i],
            .texts = texts,
            .ids = j->ids,
            .grades = j->of_parent->grades,
            .n = j->of_parent->n,
            .arena = &o->scratch,
            .serial = o->asked++,
        };
}

/* The child of a job that got at least one text. */
static bool reflect_make_child(struct optimize *o, struct job *j, struct err *e)
{
    size_t n = o->task.component_count;
    uint32_t *text = arena_zero(&o->scratch, n, sizeof *text);
    str *news = arena_zero(&o->scratch, n, sizeof *news);

    assert(j->parent < o->count && !j->text);
    memcpy(text, o->candidates[j->parent].text, n * sizeof *text);
    for (size_t i = 0; i < j->component_count; i++) {
        const struct optimize_ask *ask = &j->asks[i];

        if (!ask->done)
            return err_set(e, ERR_UPSTREAM, "the reflector left a question open");
        if (!isfinite(ask->cost) || ask->cost < 0)
            return err_set(e, ERR_UPSTREAM, "the cost of a proposal is no number");
        o->cost += ask->cost;
        if (!ask->has_text)
            continue;
        if (!text_intern(o, ask->text, &text[ask->component], e))
            return false;
        news[ask->component] = o->texts[text[ask->component]];
        j->text = text;
    }
    j->new_texts = news;
    if (j->text)
        optimize_reflect_report(o, OPTIMIZE_EV_PROPOSED, j);
    return true;
}

static bool optimize_reflect_propose(struct optimize *o, struct step *st, struct err *e)
{
    struct optimize_ask *asks;
    size_t n = 0, at = 0;

    for (size_t i = 0; i < st->n; i++) {
        struct job *j = &st->jobs[i];

        if (reflect_is_perfect(o, j))
            optimize_reflect_report(o, OPTIMIZE_EV_SKIPPED, j);
        else
            reflect_pick_components(o, j);
        n += j->component_count;
    }
    if (n == 0)
        return true;
    asks = arena_zero(&o->scratch, n, sizeof *asks);
    for (size_t i = 0; i < st->n; i++) {
        reflect_prepare_asks(o, &st->jobs[i], asks + at);
        at += st->jobs[i].component_count;
    }
    assert(at == n);
    if (!o->task.adapter.propose(o->task.adapter.ctx, asks, n, e))
        return false;
    for (size_t i = 0; i < st->n; i++)
        if (!reflect_make_child(o, &st->jobs[i], e))
            return false;
    return true;
}

/* ---- children ---- */

static bool reflect_run_children(struct optimize *o, struct step *st, struct err *e)
{
    struct trial *trials = arena_zero(&o->scratch, st->n, sizeof *trials);
    size_t n = 0, at = 0;

    for (size_t i = 0; i < st->n; i++)
        if (st->jobs[i].text)
            trials[n++] = (struct trial){
                .text = st->jobs[i].text,
                .split = OPTIMIZE_TRAIN,
                .ids = st->jobs[i].ids,
                .n = o->task.settings.minibatch,
            };
    if (!trial_run(o, trials, n, e))
        return false;
    for (size_t i = 0; i < st->n; i++) {
        struct job *j = &st->jobs[i];

        if (!j->text)
            continue;
        j->of_child = trials[at++];
        o->calls += j->of_child.made;
        j->after = trial_sum(j->of_child.scores, j->of_child.n);
        optimize_reflect_report(o, OPTIMIZE_EV_CHILD_SCORES, j);
    }
    assert(at == n);
    return true;
}

static bool optimize_reflect_is_accepted(const struct optimize *o, const struct job *j)
{
    assert(j->text);
    if (o->task.settings.acceptance == OPTIMIZE_OR_EQUAL)
        return j->after >= j->before;
    return j->after > j->before;
}

/* By descending gain; stable. */
static void reflect_sort_by_gain(struct job **list, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        struct job *j = list[i];
        size_t at = i;

        for (; at > 0 && list[at - 1]->after - list[at - 1]->before < j->after - j->before; at--)
            list[at] = list[at - 1];
        list[at] = j;
    }
}

/* Removes children whose texts equal those of an earlier one. */
static void reflect_drop_duplicates(struct optimize *o, struct step *st)
{
    size_t n = 0;

    assert(st->kept_count <= st->n);
    for (size_t i = 0; i < st->kept_count; i++) {
        size_t same = 0;

        while (same < n && !text_same(o, st->kept[same]->text, st->kept[i]->text))
            same++;
        if (same < n)
            st->kept[i]->fate = FATE_DUPLICATE;
        else
            st->kept[n++] = st->kept[i];
    }
    st->kept_count = n;
}

static void reflect_cut_kept(struct step *st, size_t max, enum fate fate)
{
    for (size_t i = max; i < st->kept_count; i++)
        st->kept[i]->fate = fate;
    if (st->kept_count > max)
        st->kept_count = max;
}

static void optimize_reflect_judge(struct optimize *o, struct step *st)
{
    const struct optimize_settings *s = &o->task.settings;

    assert(st->kept_count == 0);
    for (size_t i = 0; i < st->n; i++) {
        struct job *j = &st->jobs[i];

        if (!j->text)
            continue;
        j->fate = optimize_reflect_is_accepted(o, j) ? FATE_KEPT : FATE_NOT_BETTER;
        if (j->fate == FATE_KEPT)
            st->kept[st->kept_count++] = j;
    }
    if (s->keep != OPTIMIZE_KEEP_ALL) {
        reflect_sort_by_gain(st->kept, st->kept_count);
        reflect_cut_kept(st, s->keep == OPTIMIZE_KEEP_BEST ? 1 : s->keep_count, FATE_NOT_KEPT);
    }
    reflect_drop_duplicates(o, st);
    if (!s->reference)
        reflect_cut_kept(st, (size_t)(engine_left(o) / o->task.val_count), FATE_BUDGET);
}

static void optimize_report_rejected(struct optimize *o, const struct step *st)
{
    static const char *const reasons[] = {
        [FATE_DUPLICATE] = "duplicate",
        [FATE_NOT_KEPT] = "not_kept",
        [FATE_NOT_BETTER] = "not_better",
        [FATE_BUDGET] = "budget",
    };

    for (size_t i = 0; i < st->n; i++) {
        const struct job *j = &st->jobs[i];

        if (j->fate >= FATE_DUPLICATE)
            engine_report(o,
                          (struct optimize_event){
                              .kind = OPTIMIZE_EV_REJECTED,
                              .before = {j->before},
                              .after = j->after,
                              .reason = reasons[j->fate],
                          });
    }
}

/* In reference mode each candidate makes a merge due while fewer than the maximum were accepted;
 * otherwise never more than the maximum. */
static void reflect_owe_merge(struct optimize *o)
{
    const struct optimize_settings *s = &o->task.settings;

    if (o->merged + (s->reference ? 0 : o->due) < s->max_merges)
        o->due++;
}

static bool reflect_take_in(struct optimize *o, struct step *st, struct err *e)
{
    struct trial *trials = arena_zero(&o->scratch, st->kept_count, sizeof *trials);
    const uint32_t *ids = trial_val_ids(o);

    assert(st->kept_count <= st->n);
    for (size_t i = 0; i < st->kept_count; i++)
        trials[i] = (struct trial){
            .text = st->kept[i]->text,
            .split = OPTIMIZE_VAL,
            .ids = ids,
            .n = o->task.val_count,
            .cached = true,
        };
    if (!trial_run(o, trials, st->kept_count, e))
        return false;
    for (size_t i = 0; i < st->kept_count; i++) {
        const struct job *j = st->kept[i];
        uint32_t n;

        if (!engine_room(o, e))
            return false;
        o->calls += trials[i].made;
        n = engine_add(o, j->text, &j->parent, 1, trials[i].grades);
        engine_report_added(o, n);
        engine_report(o,
                      (struct optimize_event){
                          .kind = OPTIMIZE_EV_ACCEPTED,
                          .candidate = n,
                          .parents = {j->parent},
                          .parent_count = 1,
                          .before = {j->before},
                          .after = j->after,
                      });
        reflect_owe_merge(o);
    }
    return true;
}

bool reflect_step(struct optimize *o, bool *accepted, struct err *e)
{
    struct step st = {0};

    reflect_draw_jobs(o, &st);
    if (!reflect_run_parents(o, &st, e) || !optimize_reflect_propose(o, &st, e) ||
        !reflect_run_children(o, &st, e))
        return false;
    optimize_reflect_judge(o, &st);
    optimize_report_rejected(o, &st);
    if (!reflect_take_in(o, &st, e))
        return false;
    o->found = *accepted = st.kept_count > 0;
    return true;
}
