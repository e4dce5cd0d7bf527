/* SPDX-License-Identifier: Apache-2.0 */
#include "optimize_help.h"

#include "test.h"

static const char *const words[] = {"w0", "w1", "w2", "w3", "w4", "w5", "w6", "w7"};

static struct problem_rule *make_rules(struct arena *a, struct rand *r, const struct problem *p,
                                       const struct problem_example *x, size_t n)
{
    struct problem_rule *rules = arena_zero(a, n, sizeof *rules);

    for (size_t i = 0; i < n; i++)
        rules[i] = (struct problem_rule){
            .at = {(uint32_t)rand_below(r, p->component_count), str_c(words[rand_below(r, 8)])},
            .weight = 1 + (int64_t)rand_below(r, 5),
            .objective = x->objective[rand_below(r, x->objective_count)],
        };
    return rules;
}

static struct problem_example *make_examples(struct arena *a, struct rand *r,
                                             const struct problem *p, size_t n)
{
    struct problem_example *list = arena_zero(a, n, sizeof *list);

    for (size_t i = 0; i < n; i++) {
        struct problem_example *x = &list[i];

        x->objective_count = (uint32_t)(rand_below(r, 2) ? p->objective_count : 1);
        for (uint32_t k = 0; k < x->objective_count; k++)
            x->objective[k] = x->objective_count == 1 ? (uint32_t)rand_below(r, p->objective_count)
                                                      : x->objective_count - 1 - k;
        x->share_sum = x->objective_count;
        x->need_count = 1 + rand_below(r, 5);
        x->hurt_count = rand_below(r, 3);
        x->needs = make_rules(a, r, p, x, x->need_count);
        x->hurts = make_rules(a, r, p, x, x->hurt_count);
    }
    return list;
}

static void make_problem(struct arena *a, struct rand *r, struct problem *p)
{
    static const char *const names[] = {"alpha", "beta", "gamma", "delta"};
    static enum problem_action actions[] = {
        PROBLEM_ADD, PROBLEM_ADD_ALL, PROBLEM_SWAP, PROBLEM_CUT, PROBLEM_DROP, PROBLEM_NONE};

    *p = (struct problem){.name = STR("made"), .unit = 8, .salt = STR("s"), .counter = true};
    p->component_count = 1 + rand_below(r, 4);
    p->components = arena_zero(a, p->component_count, sizeof *p->components);
    for (size_t i = 0; i < p->component_count; i++)
        p->components[i] = (struct optimize_component){str_c(names[i]), STR("Go")};
    p->objective_count = rand_below(r, 2) ? 2 : 1;
    p->objectives[0] = STR("first");
    p->objectives[1] = STR("second");
    p->share[0] = p->share[1] = 1;
    p->report_objectives = true;
    p->train_count = 1 + rand_below(r, 12);
    p->val_count = 1 + rand_below(r, 20);
    p->train = make_examples(a, r, p, p->train_count);
    p->val = make_examples(a, r, p, p->val_count);
    p->actions = actions;
    p->action_count = COUNT_OF(actions);
}

static void make_settings(struct rand *r, const struct problem *p, struct optimize_settings *s)
{
    *s = optimize_defaults();
    s->selection = (enum optimize_selection)rand_below(r, 4);
    s->frontier = (enum optimize_frontier)rand_below(r, 4);
    s->pick = (enum optimize_pick)rand_below(r, 2);
    s->minibatch = 1 + rand_below(r, 5);
    s->acceptance = (enum optimize_acceptance)rand_below(r, 2);
    s->merge = rand_below(r, 3) > 0;
    s->merge_overlap = 0;
    s->cache = rand_below(r, 2);
    s->parents = 1 + rand_below(r, 3);
    s->batches = 1 + rand_below(r, 3);
    s->keep = (enum optimize_keep)rand_below(r, 3);
    s->keep_count = 2;
    s->metric_calls = p->val_count + rand_below(r, 600);
}

/* The problem's adapter, with counters. */
static bool evaluate(void *ctx, struct optimize_batch *b, size_t n, struct err *e)
{
    struct made *m = ctx;
    struct optimize_adapter plain = problem_adapter(&m->run.problem);

    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < b[i].n; k++)
            if (!b[i].grades[k].done && ++m->graded == m->fail_at)
                return err_set(e, ERR_UPSTREAM, "the model is gone");
    return plain.evaluate(plain.ctx, b, n, e);
}

static bool propose(void *ctx, struct optimize_ask *asks, size_t n, struct err *e)
{
    struct made *m = ctx;
    struct optimize_adapter plain = problem_adapter(&m->run.problem);

    m->asked += n;
    return plain.propose(plain.ctx, asks, n, e);
}

static void on_event(void *ctx, const struct optimize_event *ev)
{
    struct made *m = ctx;

    optimize_event_json(ev, &m->log);
    if (m->look)
        m->look(m, ev);
}

void made_init(struct made *m, uint64_t number)
{
    struct rand r;

    *m = (struct made){.graded = 0};
    rand_init(&r, number);
    arena_init(&m->arena, (size_t)64 << 20);
    buf_init(&m->log, (size_t)64 << 20);
    make_problem(&m->arena, &r, &m->run.problem);
    make_settings(&r, &m->run.problem, &m->run.settings);
    m->run.seed = arena_printf(&m->arena, "%u", (unsigned)number);
    m->task = problem_task(&m->run);
    m->task.adapter = (struct optimize_adapter){.evaluate = evaluate, .propose = propose, .ctx = m};
    m->task.sink = (struct optimize_sink){on_event, m};
}

void made_release(struct made *m)
{
    arena_release(&m->arena);
    buf_release(&m->log);
}

bool made_try(struct made *m, struct err *e)
{
    struct optimize *o = NULL;
    bool ok = optimize_new(&m->task, &o, e) && optimize_run(o, e);

    optimize_free(o);
    return ok;
}

void made_run(struct made *m)
{
    struct err e = {.text = ""};

    if (!made_try(m, &e))
        fail_msg("%s", e.text);
}
