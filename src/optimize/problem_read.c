/* Problem and run files, read strictly into the structs of problem.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "optimize/problem.h"
#include "optimize/read.h"

#define UNIT_MAX ((int64_t)1 << 30)
#define SHARE_MAX ((int64_t)1 << 16)
#define LIST_MAX 1000000

static bool problem_is_power_of_two(int64_t n)
{
    return n > 0 && (n & (n - 1)) == 0;
}

static int64_t problem_member_integer(const struct read_at *at, const char *name, int64_t min,
                                      int64_t max)
{
    struct read_at m = read_member(at, name);

    return read_integer(&m, min, max);
}

static int64_t problem_member_amount(const struct read_at *at, const char *name)
{
    return problem_member_integer(at, name, -PROBLEM_NUMBER_MAX, PROBLEM_NUMBER_MAX);
}

static str problem_read_member_text(const struct read_at *at, const char *name)
{
    struct read_at m = read_member(at, name);

    return read_text(&m);
}

static bool problem_read_member_bool(const struct read_at *at, const char *name)
{
    struct read_at m = read_member(at, name);

    return read_bool(&m);
}

static void problem_check_format(const struct read_at *at, const char *want)
{
    struct read_at m = read_member(at, "format");

    (void)read_choice(&m, want);
}

/* ---- names ---- */

static uint32_t problem_find_component(const struct problem *p, struct read_at at)
{
    str name = read_text(&at);

    assert(p->component_count <= OPTIMIZE_COMPONENTS_MAX);
    for (size_t i = 0; i < p->component_count; i++)
        if (str_eq(p->components[i].name, name))
            return (uint32_t)i;
    read_fail(&at, "no component is called \"" STR_FMT "\"", STR_ARG(str_slice(name, 0, 80)));
    return 0;
}

static uint32_t problem_find_objective(const struct problem *p, struct read_at at)
{
    str name = read_text(&at);

    assert(p->objective_count <= OPTIMIZE_OBJECTIVES_MAX);
    for (size_t i = 0; i < p->objective_count; i++)
        if (str_eq(p->objectives[i], name))
            return (uint32_t)i;
    read_fail(&at, "no objective is called \"" STR_FMT "\"", STR_ARG(str_slice(name, 0, 80)));
    return 0;
}

static bool problem_has_objective(const struct problem_example *x, uint32_t objective)
{
    assert(x->objective_count <= OPTIMIZE_OBJECTIVES_MAX);
    for (uint32_t i = 0; i < x->objective_count; i++)
        if (x->objective[i] == objective)
            return true;
    return false;
}

/* [component, word] */
static struct problem_word problem_read_word(const struct problem *p, struct read_at at)
{
    struct problem_word out = {.word = STR("")};
    struct read_at x = {0};

    if (read_count(&at, 2, 2) != 2 || !read_next(&at, &x))
        return out;
    out.component = problem_find_component(p, x);
    if (read_next(&at, &x))
        out.word = read_text(&x);
    return out;
}

/* ---- the parts of a problem ---- */

static void problem_read_components(struct problem *p, struct read_at list)
{
    size_t n = read_count(&list, 1, OPTIMIZE_COMPONENTS_MAX);
    struct read_at x = {0};

    p->components = arena_zero(list.r->arena, n, sizeof *p->components);
    while (n > 0 && read_next(&list, &x)) {
        struct optimize_component *c = &p->components[p->component_count];
        struct read_at name;

        assert(p->component_count < n);
        read_members(&x, "name seed");
        name = read_member(&x, "name");
        c->name = read_text(&name);
        c->seed = problem_read_member_text(&x, "seed");
        for (size_t i = 0; i < p->component_count; i++)
            if (str_eq(p->components[i].name, c->name))
                read_fail(&name, "another component has this name");
        p->component_count++;
    }
}

static void problem_read_objectives(struct problem *p, struct read_at list)
{
    size_t n = read_count(&list, 1, OPTIMIZE_OBJECTIVES_MAX);
    struct read_at x = {0};

    while (n > 0 && read_next(&list, &x)) {
        struct read_at name;

        assert(p->objective_count < n);
        read_members(&x, "name share");
        name = read_member(&x, "name");
        p->objectives[p->objective_count] = read_text(&name);
        p->share[p->objective_count] = problem_member_integer(&x, "share", 0, SHARE_MAX);
        for (size_t i = 0; i < p->objective_count; i++)
            if (str_eq(p->objectives[i], p->objectives[p->objective_count]))
                read_fail(&name, "another objective has this name");
        p->objective_count++;
    }
}

static void problem_read_length(struct problem *p, struct read_at at)
{

    p->has_length = !read_is_null(&at);
    if (!p->has_length)
        return;
    read_members(&at, "limit cost objective");
    p->length_limit = problem_member_integer(&at, "limit", 0, PROBLEM_NUMBER_MAX);
    p->length_cost = problem_member_amount(&at, "cost");
    p->length_objective = problem_find_objective(p, read_member(&at, "objective"));
}

static void problem_read_conflicts(struct problem *p, struct read_at list)
{
    size_t n = read_count(&list, 0, LIST_MAX);
    struct read_at x = {0};

    p->conflicts = arena_zero(list.r->arena, n, sizeof *p->conflicts);
    while (n > 0 && read_next(&list, &x)) {
        struct problem_conflict *c = &p->conflicts[p->conflict_count++];
        struct read_at m;

        assert(p->conflict_count <= n);
        read_members(&x, "a b cost objective unless");
        c->a = problem_read_word(p, read_member(&x, "a"));
        c->b = problem_read_word(p, read_member(&x, "b"));
        c->cost = problem_member_amount(&x, "cost");
        c->objective = problem_find_objective(p, read_member(&x, "objective"));
        m = read_member(&x, "unless");
        c->has_unless = !read_is_null(&m);
        if (c->has_unless)
            c->unless = problem_read_word(p, m);
    }
}

/* ---- examples ---- */

static void problem_read_rules(const struct problem *p, const struct problem_example *x,
                               struct read_at list, struct problem_rule **out, size_t *count)
{
    size_t n = read_count(&list, 0, LIST_MAX);
    struct read_at at = {0};

    *out = arena_zero(list.r->arena, n, sizeof **out);
    while (n > 0 && read_next(&list, &at)) {
        struct problem_rule *rule = &(*out)[(*count)++];
        struct read_at m;

        assert(*count <= n);
        read_members(&at, "component word weight objective");
        rule->at.component = problem_find_component(p, read_member(&at, "component"));
        rule->at.word = problem_read_member_text(&at, "word");
        rule->weight = problem_member_amount(&at, "weight");
        m = read_member(&at, "objective");
        rule->objective = problem_find_objective(p, m);
        if (!problem_has_objective(x, rule->objective))
            read_fail(&m, "the example does not have this objective");
    }
}

static void problem_read_example_objectives(const struct problem *p, struct problem_example *x,
                                            struct read_at list)
{
    size_t n = read_count(&list, 1, OPTIMIZE_OBJECTIVES_MAX);
    struct read_at at = {0};

    while (n > 0 && read_next(&list, &at)) {
        uint32_t k = problem_find_objective(p, at);

        if (problem_has_objective(x, k))
            read_fail(&at, "this objective is listed twice");
        x->objective[x->objective_count++] = k;
        x->share_sum += p->share[k];
    }
    if (n > 0 && !problem_is_power_of_two(x->share_sum))
        read_fail(&list,
                  "the sum of the shares is %lld; it must be a power of two",
                  (long long)x->share_sum);
}

static void problem_read_base(const struct problem *p, struct problem_example *x, struct read_at at)
{
    str names[OPTIMIZE_OBJECTIVES_MAX];

    assert(x->objective_count <= OPTIMIZE_OBJECTIVES_MAX);
    for (uint32_t i = 0; i < x->objective_count; i++)
        names[i] = arena_dup(at.r->arena, p->objectives[x->objective[i]]);
    read_members_named(&at, names, x->objective_count);
    for (uint32_t i = 0; i < x->objective_count; i++)
        x->base[x->objective[i]] = problem_member_amount(&at, names[i].p);
}

static void problem_read_example(const struct problem *p, struct problem_example *x,
                                 const struct read_at *at)
{
    read_members(at, "objectives base needs hurts");
    problem_read_example_objectives(p, x, read_member(at, "objectives"));
    problem_read_base(p, x, read_member(at, "base"));
    problem_read_rules(p, x, read_member(at, "needs"), &x->needs, &x->need_count);
    problem_read_rules(p, x, read_member(at, "hurts"), &x->hurts, &x->hurt_count);
}

static void problem_read_examples(const struct problem *p, struct read_at list,
                                  struct problem_example **out, size_t *count)
{
    size_t n = read_count(&list, 1, OPTIMIZE_EXAMPLES_MAX);
    struct read_at at = {0};

    *out = arena_zero(list.r->arena, n, sizeof **out);
    while (n > 0 && !list.r->failed && read_next(&list, &at))
        problem_read_example(p, &(*out)[(*count)++], &at);
}

static void problem_read_validation(struct problem *p, struct read_at at)
{
    p->val_is_train = read_is_text(&at);
    if (!p->val_is_train) {
        problem_read_examples(p, at, &p->val, &p->val_count);
        return;
    }
    (void)read_choice(&at, "train");
    p->val = p->train;
    p->val_count = p->train_count;
}

/* ---- the reflector ---- */

static void problem_read_reflector(struct problem *p, struct read_at at)
{
    static const char actions[] = "add add_all swap cut drop noise echo none"; /* problem_action */
    struct read_at list, noise, x = {0};
    size_t n;

    read_members(&at, "salt counter actions noise");
    p->salt = problem_read_member_text(&at, "salt");
    p->counter = problem_read_member_bool(&at, "counter");
    noise = read_member(&at, "noise");
    n = read_count(&noise, 0, LIST_MAX);
    p->noise = arena_zero(at.r->arena, n, sizeof *p->noise);
    while (n > 0 && read_next(&noise, &x))
        p->noise[p->noise_count++] = read_text(&x);
    list = read_member(&at, "actions");
    n = read_count(&list, 1, LIST_MAX);
    p->actions = arena_zero(at.r->arena, n, sizeof *p->actions);
    x = (struct read_at){0};
    while (n > 0 && read_next(&list, &x)) {
        enum problem_action a = (enum problem_action)read_choice(&x, actions);

        assert(p->action_count < n);
        p->actions[p->action_count++] = a;
        if (a == PROBLEM_NOISE && p->noise_count == 0)
            read_fail(&x, "\"noise\" needs a word in noise");
    }
}

/* ---- problems ---- */

static void problem_read_parts(struct problem *p, const struct read_at *at)
{
    struct read_at m;

    *p = (struct problem){.name = STR("")};
    read_members(at,
                 "format name unit components objectives "
                 "report_objectives length conflicts train val reflector");
    problem_check_format(at, "gepa-problem/1");
    p->name = problem_read_member_text(at, "name");
    m = read_member(at, "unit");
    p->unit = read_integer(&m, 1, UNIT_MAX);
    if (!problem_is_power_of_two(p->unit))
        read_fail(&m, "must be a power of two, not %lld", (long long)p->unit);
    problem_read_components(p, read_member(at, "components"));
    problem_read_objectives(p, read_member(at, "objectives"));
    p->report_objectives = problem_read_member_bool(at, "report_objectives");
    problem_read_length(p, read_member(at, "length"));
    problem_read_conflicts(p, read_member(at, "conflicts"));
    problem_read_examples(p, read_member(at, "train"), &p->train, &p->train_count);
    problem_read_validation(p, read_member(at, "val"));
    problem_read_reflector(p, read_member(at, "reflector"));
}

bool problem_read(struct arena *a, str text, struct problem *out, struct err *e)
{
    struct json doc;
    struct read r;
    bool ok;

    ok = json_open(&doc, text, e);
    if (ok) {
        struct read_at root = read_root(&r, &doc, a);

        problem_read_parts(out, &root);
        ok = read_ok(&r, e);
    }
    json_release(&doc);
    return ok;
}

/* ---- runs ---- */

static void problem_read_stop(struct optimize_settings *s, struct read_at at)
{
    static const struct {
        const char *name;
        enum optimize_stop_kind kind;
    } rows[] = {
        {"score", OPTIMIZE_STOP_SCORE},
        {"no_improvement", OPTIMIZE_STOP_NO_IMPROVEMENT},
    };

    read_members(&at, "metric_calls score no_improvement");
    s->metric_calls = (uint64_t)problem_member_integer(&at, "metric_calls", 0, (int64_t)1 << 53);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct read_at m = read_member(&at, rows[i].name);

        if (read_is_null(&m))
            continue;
        s->stops[s->stop_count].kind = rows[i].kind;
        s->stops[s->stop_count++].limit = rows[i].kind == OPTIMIZE_STOP_SCORE
                                              ? read_number(&m)
                                              : (double)read_integer(&m, 0, (int64_t)1 << 53);
    }
}

static size_t problem_member_choice(const struct read_at *at, const char *name, const char *words)
{
    struct read_at m = read_member(at, name);

    return read_choice(&m, words);
}

static void problem_read_keep(struct optimize_settings *s, const struct read_at *at)
{
    struct read_at m = read_member(at, "keep");

    if (read_is_text(&m)) {
        s->keep = read_choice(&m, "all best") ? OPTIMIZE_KEEP_BEST : OPTIMIZE_KEEP_ALL;
        return;
    }
    s->keep = OPTIMIZE_KEEP_TOP;
    s->keep_count = (size_t)read_integer(&m, 1, PROBLEM_NUMBER_MAX);
}

static void problem_read_tasks(struct optimize_settings *s, const struct read_at *at)
{
    struct read_at m;

    s->minibatch = (size_t)problem_member_integer(at, "minibatch", 1, OPTIMIZE_BATCH_MAX);
    s->parents = (size_t)problem_member_integer(at, "parents", 1, OPTIMIZE_TASKS_MAX);
    m = read_member(at, "batches");
    s->batches = (size_t)read_integer(&m, 1, OPTIMIZE_TASKS_MAX);
    if (s->parents * s->batches > OPTIMIZE_TASKS_MAX)
        read_fail(&m, "parents x batches is at most %d", OPTIMIZE_TASKS_MAX);
}

static void problem_read_settings(struct optimize_settings *s, const struct read_at *at)
{
    struct read_at m;

    *s = optimize_defaults();
    s->reference = true;
    read_members(at,
                 "selection frontier components minibatch acceptance skip_perfect perfect_score "
                 "merge max_merges merge_overlap cache parents batches keep stop");
    s->selection = (enum optimize_selection)problem_member_choice(
        at, "selection", "pareto current_best epsilon_greedy top_k_pareto");
    s->frontier = (enum optimize_frontier)problem_member_choice(
        at, "frontier", "instance objective hybrid cartesian");
    s->pick = (enum optimize_pick)problem_member_choice(at, "components", "round_robin all");
    s->acceptance =
        (enum optimize_acceptance)problem_member_choice(at, "acceptance", "strict or_equal");
    s->skip_perfect = problem_read_member_bool(at, "skip_perfect");
    m = read_member(at, "perfect_score");
    s->perfect_score = read_number(&m);
    s->merge = problem_read_member_bool(at, "merge");
    s->max_merges = (size_t)problem_member_integer(at, "max_merges", 0, PROBLEM_NUMBER_MAX);
    s->merge_overlap = (size_t)problem_member_integer(at, "merge_overlap", 0, PROBLEM_NUMBER_MAX);
    s->cache = problem_read_member_bool(at, "cache");
    problem_read_tasks(s, at);
    problem_read_keep(s, at);
    problem_read_stop(s, read_member(at, "stop"));
}

/* The problem is an object in the run, or a file. */
static void problem_read_source(struct problem_run *run, struct read_at at,
                                struct problem_source source)
{
    struct read *r = at.r;
    str path, text;

    if (read_is_object(&at)) {
        problem_read_parts(&run->problem, &at);
        return;
    }
    if (!read_is_text(&at))
        read_fail(&at, "must be a path, or the problem itself");
    path = read_text(&at);
    if (r->failed)
        return;
    if (!source.read) {
        read_fail(&at, "must be the problem itself: there are no files here");
        return;
    }
    r->failed = !source.read(source.ctx, r->arena, path, &text, &r->err);
    if (!r->failed && !problem_read(r->arena, text, &run->problem, &r->err)) {
        err_prefix(&r->err, STR_FMT ": ", STR_ARG(path));
        r->failed = true;
    }
}

static void problem_read_run(struct problem_run *run, const struct read_at *at,
                             struct problem_source source)
{
    struct read_at settings, m;

    read_members(at, "format problem settings seed");
    problem_check_format(at, "gepa-run/1");
    settings = read_member(at, "settings");
    problem_read_settings(&run->settings, &settings);
    m = read_member(at, "seed");
    run->seed = arena_dup(at->r->arena, read_integer_text(&m));
    if (run->seed.n > 600)
        read_fail(&m, "has more than 600 digits");
    problem_read_source(run, read_member(at, "problem"), source);
    m = read_member(&settings, "frontier");
    if (run->settings.frontier != OPTIMIZE_INSTANCE && !run->problem.report_objectives)
        read_fail(&m, "this frontier needs a problem with report_objectives");
}

bool problem_run_read(struct arena *a, str text, struct problem_source source,
                      struct problem_run *out, struct err *e)
{
    struct json doc;
    struct read r;
    bool ok;

    *out = (struct problem_run){.seed = STR("0")};
    ok = json_open(&doc, text, e);
    if (ok) {
        struct read_at root = read_root(&r, &doc, a);

        problem_read_run(out, &root, source);
        ok = read_ok(&r, e);
    }
    json_release(&doc);
    return ok;
}
