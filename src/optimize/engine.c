/* The engine: creation, main loop, and adding of candidates.
 *
 * An iteration is a merge, if one is due and can be formed, or else a reflection. The scratch arena
 * has everything that lives for one iteration.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "optimize/budget.h"
#include "optimize/internal.h"

/* ---- life ---- */

struct optimize_settings optimize_defaults(void)
{
    return (struct optimize_settings){
        .epsilon = 0.1,
        .top_k = 5,
        .minibatch = 3,
        .skip_perfect = true,
        .perfect_score = 1,
        .max_merges = 5,
        .merge_overlap = 5,
        .parents = 1,
        .batches = 1,
    };
}

static bool optimize_engine_in_range(const char *what, uint64_t n, uint64_t low, uint64_t high,
                                     struct err *e)
{
    if (n >= low && n <= high)
        return true;
    return err_input(e,
                     "%s is %llu; it must be %llu to %llu",
                     what,
                     (unsigned long long)n,
                     (unsigned long long)low,
                     (unsigned long long)high);
}

static bool optimize_check_task(const struct optimize_task *t, struct err *e)
{
    const struct optimize_settings *s = &t->settings;

    if (!optimize_engine_in_range(
            "the number of components", t->component_count, 1, OPTIMIZE_COMPONENTS_MAX, e) ||
        !optimize_engine_in_range(
            "the number of objectives", t->objective_count, 0, OPTIMIZE_OBJECTIVES_MAX, e) ||
        !optimize_engine_in_range(
            "the number of training examples", t->train_count, 1, OPTIMIZE_EXAMPLES_MAX, e) ||
        !optimize_engine_in_range(
            "the number of validation examples", t->val_count, 1, OPTIMIZE_EXAMPLES_MAX, e) ||
        !optimize_engine_in_range("minibatch", s->minibatch, 1, OPTIMIZE_BATCH_MAX, e) ||
        !optimize_engine_in_range("parents", s->parents, 1, OPTIMIZE_TASKS_MAX, e) ||
        !optimize_engine_in_range("batches", s->batches, 1, OPTIMIZE_TASKS_MAX, e) ||
        !optimize_engine_in_range(
            "parents x batches", s->parents * s->batches, 1, OPTIMIZE_TASKS_MAX, e) ||
        !optimize_engine_in_range(
            "the number of stop conditions", s->stop_count, 0, OPTIMIZE_STOPS_MAX, e) ||
        !optimize_engine_in_range(
            "metric_calls", s->metric_calls, !s->reference, (uint64_t)1 << 53, e))
        return false;
    if (s->keep == OPTIMIZE_KEEP_TOP &&
        !optimize_engine_in_range("keep", s->keep_count, 1, (uint64_t)1 << 53, e))
        return false;
    for (size_t i = 0; i < s->stop_count; i++)
        if (s->stops[i].kind == OPTIMIZE_STOP_TIME && !t->adapter.elapsed_s)
            return err_input(e, "a run with a time limit needs a clock");
    if (s->frontier != OPTIMIZE_INSTANCE && t->objective_count == 0)
        return err_input(e, "this frontier needs objectives, and none are reported");
    if (!s->reference && s->metric_calls < t->val_count)
        return err_input(
            e,
            "a budget of %llu metric call%s does not even validate the seed, which takes "
            "%zu",
            (unsigned long long)s->metric_calls,
            s->metric_calls == 1 ? "" : "s",
            t->val_count);
    return true;
}

bool optimize_new(const struct optimize_task *task, struct optimize **out, struct err *e)
{
    struct twister_seed seed;
    struct optimize *o;

    if (!optimize_check_task(task, e) || !twister_seed_read(task->seed, &seed, e))
        return false;
    o = base_alloc(sizeof *o);
    *o = (struct optimize){.task = *task};
    twister_init(&o->chance, seed.word, seed.n);
    arena_init(&o->texts_arena, OPTIMIZE_TEXTS_SIZE_MAX);
    arena_init(&o->cache_arena, OPTIMIZE_CACHE_SIZE_MAX);
    arena_init(&o->scratch, OPTIMIZE_ITERATION_SIZE_MAX);
    map_init(&o->text_ids, NULL, MAP_COUNT_MAX);
    map_init(&o->cache, &o->cache_arena, MAP_COUNT_MAX);
    map_init(&o->merges, &o->texts_arena, MAP_COUNT_MAX);
    map_init(&o->triples, &o->texts_arena, MAP_COUNT_MAX);
    front_init(&o->front);
    front_reduced_init(&o->reduced);
    o->key_of = base_alloc((task->val_count * task->objective_count + task->objective_count + 1) *
                           sizeof *o->key_of);
    memset(o->key_of,
           0,
           (task->val_count * task->objective_count + task->objective_count) * sizeof *o->key_of);
    *out = o;
    return true;
}

void optimize_free(struct optimize *o)
{
    if (!o)
        return;
    for (size_t i = 0; i < o->count; i++) {
        free(o->candidates[i].text);
        free(o->candidates[i].scores);
        free(o->candidates[i].ancestors);
    }
    free(o->candidates);
    free(o->means);
    free(o->texts);
    free(o->key_of);
    free(o->batches.list);
    front_release(&o->front);
    front_reduced_release(&o->reduced);
    map_release(&o->text_ids);
    map_release(&o->cache);
    map_release(&o->merges);
    map_release(&o->triples);
    arena_release(&o->texts_arena);
    arena_release(&o->cache_arena);
    arena_release(&o->scratch);
    free(o);
}

/* ---- telling ---- */

void engine_report(struct optimize *o, struct optimize_event ev)
{
    ev.run = o;
    ev.iteration = o->iteration;
    ev.calls = o->calls;
    if (o->task.sink.on_event)
        o->task.sink.on_event(o->task.sink.ctx, &ev);
}

void engine_report_added(struct optimize *o, uint32_t candidate)
{
    const struct candidate *c = &o->candidates[candidate];
    struct optimize_event ev = {.candidate = candidate, .parent_count = c->parent_count};

    assert(candidate < o->count);
    memcpy(ev.parents, c->parents, sizeof ev.parents);
    ev.kind = OPTIMIZE_EV_FRONT;
    if (c->parent_count > 0)
        engine_report(o, ev);
    ev.kind = OPTIMIZE_EV_VALSET;
    ev.scores = c->scores;
    ev.n = o->task.val_count;
    ev.mean = o->means[candidate];
    ev.yes = o->best == candidate;
    engine_report(o, ev);
}

/* ---- taking in ---- */

uint64_t engine_left(const struct optimize *o)
{
    const struct optimize_settings *s = &o->task.settings;

    if (s->reference)
        return UINT64_MAX;
    return s->metric_calls > o->calls ? s->metric_calls - o->calls : 0;
}

bool engine_room(struct optimize *o, struct err *e)
{
    assert(o->count <= o->cap);
    if (o->count >= OPTIMIZE_CANDIDATES_MAX ||
        (o->count + 1) * o->task.val_count > OPTIMIZE_SCORES_MAX)
        return err_set(e, ERR_LIMIT, "the run has %zu candidates, and no room for more", o->count);
    if (o->count < o->cap)
        return true;
    o->cap = o->cap ? o->cap * 2 : 32;
    o->candidates = base_realloc(o->candidates, o->cap * sizeof *o->candidates);
    o->means = base_realloc(o->means, o->cap * sizeof *o->means);
    return true;
}

/* The key of a place in key_of, created on first use. */
static size_t optimize_key_at(struct optimize *o, size_t place, uint32_t example,
                              uint32_t objective)
{
    assert(objective < o->task.objective_count);
    if (o->key_of[place] == 0)
        o->key_of[place] = 1 + front_key_add(&o->front, example, objective);
    return o->key_of[place] - 1;
}

static void optimize_offer_instances(struct optimize *o, uint32_t n)
{
    assert(n < o->count);
    for (uint32_t i = 0; i < o->task.val_count; i++) {
        if (i >= o->front.key_count)
            (void)front_key_add(&o->front, i, FRONT_NONE);
        front_offer(&o->front, i, n, o->candidates[n].scores[i]);
    }
}

static void optimize_offer_objectives(struct optimize *o, uint32_t n)
{
    const struct candidate *c = &o->candidates[n];
    size_t base = o->task.val_count * o->task.objective_count;

    assert(n < o->count);
    for (size_t i = 0; i < o->objective_seen; i++) {
        uint32_t k = o->objective_order[i];

        if (c->count_objective[k] > 0)
            front_offer(&o->front,
                        optimize_key_at(o, base + k, FRONT_NONE, k),
                        n,
                        c->sum_objective[k] / c->count_objective[k]);
    }
}

static void optimize_offer_products(struct optimize *o, uint32_t n,
                                    const struct optimize_grade *grades)
{
    assert(n < o->count);
    for (uint32_t i = 0; i < o->task.val_count; i++)
        for (uint32_t j = 0; j < grades[i].objective_count; j++) {
            uint32_t k = grades[i].objective[j];
            size_t key = optimize_key_at(o, i * o->task.objective_count + k, i, k);

            front_offer(&o->front, key, n, grades[i].value[j]);
        }
}

/* Objectives are in the order of their first report. */
static void optimize_meet_objective(struct optimize *o, uint32_t objective)
{
    for (size_t i = 0; i < o->objective_seen; i++)
        if (o->objective_order[i] == objective)
            return;
    assert(o->objective_seen < COUNT_OF(o->objective_order));
    o->objective_order[o->objective_seen++] = objective;
}

static void optimize_set_scores(struct optimize *o, struct candidate *c,
                                const struct optimize_grade *grades)
{
    c->scores = base_alloc(o->task.val_count * sizeof *c->scores);
    for (size_t i = 0; i < o->task.val_count; i++) {
        c->scores[i] = grades[i].score;
        for (uint32_t j = 0; j < grades[i].objective_count; j++) {
            uint32_t k = grades[i].objective[j];

            optimize_meet_objective(o, k);
            c->sum_objective[k] += grades[i].value[j];
            c->count_objective[k]++;
        }
    }
    o->means[c - o->candidates] =
        trial_sum(c->scores, o->task.val_count) / (double)o->task.val_count;
}

static void optimize_set_parents(struct optimize *o, struct candidate *c, const uint32_t *parents,
                                 size_t n)
{
    size_t words = (o->count + 63) / 64 + 1;

    assert(n <= COUNT_OF(c->parents));
    c->parent_count = n;
    c->ancestors = base_alloc(words * sizeof *c->ancestors);
    memset(c->ancestors, 0, words * sizeof *c->ancestors);
    for (size_t i = 0; i < n; i++) {
        assert(parents[i] < o->count);
        const struct candidate *p = &o->candidates[parents[i]];

        c->parents[i] = parents[i];
        c->place = p->place > c->place ? p->place : c->place;
        for (size_t w = 0; w < (parents[i] + 63u) / 64; w++)
            c->ancestors[w] |= p->ancestors[w];
        c->ancestors[parents[i] / 64] |= (uint64_t)1 << parents[i] % 64;
    }
}

uint32_t engine_add(struct optimize *o, const uint32_t *text, const uint32_t *parents,
                    size_t parent_count, const struct optimize_grade *grades)
{
    uint32_t n = (uint32_t)o->count;
    struct candidate *c = &o->candidates[n];
    enum optimize_frontier f = o->task.settings.frontier;
    size_t size = o->task.component_count * sizeof *text;

    assert(o->count < o->cap);
    *c = (struct candidate){.text = base_alloc(size)};
    memcpy(c->text, text, size);
    optimize_set_parents(o, c, parents, parent_count);
    optimize_set_scores(o, c, grades);
    o->count++;
    if (n == 0 || o->means[n] > o->means[o->best])
        o->best = n;
    if (f == OPTIMIZE_INSTANCE || f == OPTIMIZE_HYBRID)
        optimize_offer_instances(o, n);
    if (f == OPTIMIZE_OBJECTIVE || f == OPTIMIZE_HYBRID)
        optimize_offer_objectives(o, n);
    if (f == OPTIMIZE_CARTESIAN)
        optimize_offer_products(o, n, grades);
    o->reduced_valid = false;
    return n;
}

/* ---- the loop ---- */

static bool optimize_take_seed(struct optimize *o, struct err *e)
{
    uint32_t *text = arena_alloc(&o->scratch, o->task.component_count * sizeof *text);
    struct trial t = {.text = text, .split = OPTIMIZE_VAL, .n = o->task.val_count};

    assert(o->count == 0);
    for (size_t i = 0; i < o->task.component_count; i++)
        if (!text_intern(o, o->task.components[i].seed, &text[i], e))
            return false;
    t.ids = trial_val_ids(o);
    if (!engine_room(o, e) || !trial_run(o, &t, 1, e))
        return false;
    o->calls += t.made;
    engine_report_added(o, engine_add(o, text, NULL, 0, t.grades));
    if (o->front.key_count == 0)
        return err_set(e, ERR_UPSTREAM, "no validation example reported an objective");
    return true;
}

static bool engine_run_iteration(struct optimize *o, struct err *e)
{
    const struct optimize_settings *s = &o->task.settings;
    bool accepted = false, formed = false, found = o->found;

    assert(o->count > 0);
    o->iteration++;
    o->batches.given = 0;
    o->found = false;
    engine_report(o, (struct optimize_event){.kind = OPTIMIZE_EV_ITERATION});
    if (s->merge && o->due > 0 && found &&
        engine_left(o) >= OPTIMIZE_MERGE_IDS + o->task.val_count &&
        !merge_step(o, &formed, &accepted, e))
        return false;
    if (!formed && !reflect_step(o, &accepted, e))
        return false;
    engine_report(o, (struct optimize_event){.kind = OPTIMIZE_EV_END, .yes = accepted});
    return true;
}

static void optimize_report_budget(struct optimize *o)
{
    struct optimize_budget_note note;

    if (!o->task.settings.reference &&
        optimize_budget_note(&o->task.settings, o->task.val_count, &note))
        engine_report(o, (struct optimize_event){.kind = OPTIMIZE_EV_NOTICE, .reason = note.text});
}

bool optimize_run(struct optimize *o, struct err *e)
{
    engine_report(o, (struct optimize_event){.kind = OPTIMIZE_EV_START});
    optimize_report_budget(o);
    if (!optimize_take_seed(o, e))
        return false;
    for (;;) {
        arena_reset(&o->scratch);
        if (stop_now(o))
            break;
        if (!engine_run_iteration(o, e))
            return false;
    }
    engine_report(o,
                  (struct optimize_event){
                      .kind = OPTIMIZE_EV_FINISH,
                      .candidate = (uint32_t)o->best,
                      .mean = o->means[o->best],
                      .texts = text_list(o, o->candidates[o->best].text),
                  });
    return true;
}

/* ---- looking ---- */

bool optimize_interrupted(const struct optimize *o)
{
    return o->interrupted;
}

size_t optimize_count(const struct optimize *o)
{
    return o->count;
}

size_t optimize_best(const struct optimize *o)
{
    return o->best;
}

str optimize_text(const struct optimize *o, size_t candidate, size_t component)
{
    assert(candidate < o->count && component < o->task.component_count);
    return o->texts[o->candidates[candidate].text[component]];
}

double optimize_mean(const struct optimize *o, size_t candidate)
{
    assert(candidate < o->count);
    return o->means[candidate];
}

double optimize_objective(const struct optimize *o, size_t candidate, size_t objective)
{
    const struct candidate *c = &o->candidates[candidate];

    assert(candidate < o->count && objective < o->task.objective_count);
    return c->count_objective[objective]
               ? c->sum_objective[objective] / c->count_objective[objective]
               : -1;
}

uint64_t optimize_calls(const struct optimize *o)
{
    return o->calls;
}

uint64_t optimize_calls_max(const struct optimize *o)
{
    return o->task.settings.metric_calls;
}
