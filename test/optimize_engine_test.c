/* Invariants of every run, on generated problems.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "optimize/budget.h"
#include "optimize/internal.h"
#include "optimize_help.h"
#include "test.h"

#include <math.h>

#define RUNS 150

/* ---- invariants ---- */

struct seen {
    uint64_t accepted, merges, merges_accepted, rejected[2], notices;
};

static bool descends(const struct optimize *o, uint32_t from, uint32_t c)
{
    const struct candidate *x = &o->candidates[c];

    for (size_t i = 0; i < x->parent_count; i++)
        if (x->parents[i] == from || descends(o, from, x->parents[i]))
            return true;
    return false;
}

/* A candidate's score at a key, computed from the problem. */
static double score_at(const struct made *m, const struct optimize *o, const struct front_key *k,
                       uint32_t c)
{
    const struct candidate *x = &o->candidates[c];
    str texts[OPTIMIZE_COMPONENTS_MAX];
    struct optimize_grade g;

    if (k->example == FRONT_NONE)
        return x->sum_objective[k->objective] / x->count_objective[k->objective];
    for (size_t i = 0; i < o->task.component_count; i++)
        texts[i] = optimize_text(o, c, i);
    problem_grade(&m->run.problem, &m->run.problem.val[k->example], texts, &g);
    CHECK(g.score == x->scores[k->example]);
    for (uint32_t i = 0; i < g.objective_count; i++)
        if (g.objective[i] == k->objective)
            return g.value[i];
    CHECK(k->objective == FRONT_NONE);
    return g.score;
}

/* Each key's best score and candidates, computed from all scores. */
static void check_front(const struct made *m, const struct optimize *o)
{
    for (size_t k = 0; k < o->front.key_count; k++) {
        const struct front_key *key = &o->front.keys[k];

        for (uint32_t c = 0; c < o->count; c++) {
            double score = score_at(m, o, key, c);

            CHECK(score <= key->best);
            CHECK((front_next(&o->front, k, c) == c) == (score == key->best));
        }
        CHECK(front_next(&o->front, k, 0) != FRONT_NONE);
    }
}

static void look(struct made *m, const struct optimize_event *ev)
{
    struct seen *s = m->more;
    const struct optimize *o = ev->run;

    CHECK(o->task.settings.reference || ev->calls <= o->task.settings.metric_calls);
    switch (ev->kind) {
    case OPTIMIZE_EV_ACCEPTED:
        s->accepted++;
        CHECK(o->task.settings.acceptance == OPTIMIZE_STRICT ? ev->after > ev->before[0]
                                                             : ev->after >= ev->before[0]);
        break;
    case OPTIMIZE_EV_MERGE:
        s->merges++;
        CHECK(ev->parents[0] < ev->parents[1]);
        CHECK(!descends(o, ev->parents[0], ev->parents[1]));
        CHECK(descends(o, ev->ancestor, ev->parents[0]));
        CHECK(descends(o, ev->ancestor, ev->parents[1]));
        CHECK(o->means[ev->ancestor] <= o->means[ev->parents[0]]);
        CHECK(o->means[ev->ancestor] <= o->means[ev->parents[1]]);
        break;
    case OPTIMIZE_EV_MERGE_ACCEPTED:
        s->merges_accepted++;
        CHECK(ev->after >= ev->before[0] && ev->after >= ev->before[1]);
        break;
    case OPTIMIZE_EV_FRONT:
        check_front(m, o);
        break;
    case OPTIMIZE_EV_NOTICE:
        s->notices++;
        break;
    case OPTIMIZE_EV_FINISH:
        CHECK_INT(o->count, 1 + s->accepted + s->merges_accepted);
        for (size_t c = 0; c < o->count; c++)
            CHECK(o->means[c] < o->means[o->best] || c >= o->best);
        break;
    default:
        break;
    }
}

TEST(what_must_hold_in_every_run_holds)
{
    uint64_t merges = 0, accepted = 0;

    for (uint64_t n = 0; n < RUNS; n++) {
        struct seen seen = {0};
        struct made m;

        made_init(&m, n);
        m.task.settings.reference = n % 5 == 0;
        m.look = look;
        m.more = &seen;
        made_run(&m);
        merges += seen.merges_accepted;
        accepted += seen.accepted;
        made_release(&m);
    }
    CHECK(accepted > RUNS && merges > RUNS / 10);
}

static void look_at_calls(struct made *m, const struct optimize_event *ev)
{
    CHECK(ev->calls == m->graded || ev->kind == OPTIMIZE_EV_VALSET ||
          ev->kind == OPTIMIZE_EV_FRONT || ev->kind == OPTIMIZE_EV_ACCEPTED ||
          ev->kind == OPTIMIZE_EV_CHILD_SCORES);
}

TEST(calls_are_the_examples_that_were_graded)
{
    for (uint64_t n = 0; n < RUNS; n++) {
        struct made m;

        made_init(&m, n);
        m.look = look_at_calls;
        made_run(&m);
        made_release(&m);
    }
}

/* V + 2b per proposal + V per accepted child, when nothing is shared, cached or merged. */
TEST(calls_add_up)
{
    for (uint64_t n = 0; n < RUNS; n++) {
        struct seen seen = {0};
        uint64_t v, b, parents = 0, children = 0, finish;
        struct made m;
        str log;

        made_init(&m, n);
        m.task.settings.merge = m.task.settings.cache = false;
        m.task.settings.parents = m.task.settings.batches = 1;
        m.look = look;
        m.more = &seen;
        made_run(&m);
        v = m.task.val_count;
        b = m.task.settings.minibatch;
        log = buf_str(&m.log);
        for (size_t at; (at = str_find(log, STR("\"event\":\""))) != STR_NONE;) {
            log = str_slice(log, at + 9, log.n);
            parents += str_starts(log, STR("parent_scores"));
            children += str_starts(log, STR("child_scores"));
        }
        finish = v + b * parents + b * children + v * seen.accepted;
        CHECK(m.graded == finish && finish <= m.task.settings.metric_calls);
        made_release(&m);
    }
}

TEST(the_same_seed_is_the_same_run)
{
    for (uint64_t n = 0; n < RUNS; n++) {
        struct made a, b;

        made_init(&a, n);
        made_init(&b, n);
        made_run(&a);
        made_run(&b);
        CHECK(str_eq(buf_str(&a.log), buf_str(&b.log)));
        made_release(&a);
        made_release(&b);
    }
}

TEST(another_seed_is_another_run)
{
    struct made a, b;

    made_init(&a, 4);
    made_init(&b, 4);
    b.task.seed = STR("99999");
    a.task.settings.metric_calls = b.task.settings.metric_calls = 500;
    made_run(&a);
    made_run(&b);
    CHECK(!str_eq(buf_str(&a.log), buf_str(&b.log)));
    made_release(&a);
    made_release(&b);
}

/* ---- budgets ---- */

TEST(only_reference_mode_overshoots)
{
    size_t over = 0;

    for (uint64_t n = 0; n < RUNS; n++)
        for (int reference = 0; reference < 2; reference++) {
            struct made m;

            made_init(&m, n);
            m.task.settings.reference = reference;
            made_run(&m);
            CHECK(reference || m.graded <= m.task.settings.metric_calls);
            over += m.graded > m.task.settings.metric_calls;
            made_release(&m);
        }
    CHECK(over > RUNS / 4);
}

/* The calls left at the end are too few for one more proposal. */
TEST(a_budget_is_spent)
{
    for (uint64_t n = 0; n < RUNS; n++) {
        struct made m;

        made_init(&m, n);
        made_run(&m);
        CHECK(m.graded + 2 * m.task.settings.minibatch + m.task.val_count >
              m.task.settings.metric_calls);
        made_release(&m);
    }
}

TEST(a_budget_below_the_seeds_validation_is_refused)
{
    struct made m;
    struct err e;

    made_init(&m, 3);
    m.task.settings.metric_calls = m.task.val_count - 1;
    CHECK(!made_try(&m, &e));
    CHECK_INT(e.code, ERR_INPUT);
    CHECK(m.graded == 0);
    made_release(&m);
}

TEST(a_budget_too_small_for_three_proposals_is_said_first)
{
    for (int enough = 0; enough < 2; enough++) {
        struct made m;
        size_t said;

        made_init(&m, 3);
        m.task.settings.metric_calls =
            optimize_budget_floor(&m.task.settings, m.task.val_count) - !enough;
        made_run(&m);
        said = str_find(buf_str(&m.log), STR("{\"event\":\"notice\",\"text\":\"a budget of "));
        CHECK(enough ? said == STR_NONE : said < str_find(buf_str(&m.log), STR("valset")));
        made_release(&m);
    }
}

TEST(the_automatic_budget_is_what_the_loop_costs)
{
    struct optimize_settings s = optimize_defaults();

    /* V + 2bT + AV: 20 + 6 * max(4 * 1 * log2(6), 9) + 6 * 20 */
    CHECK_INT(optimize_budget_auto(&s, OPTIMIZE_LIGHT, 1, 20), 20 + 6 * 10 + 6 * 20);
    CHECK_INT(optimize_budget_auto(&s, OPTIMIZE_MEDIUM, 1, 20), 20 + 6 * 18 + 12 * 20);
    CHECK_INT(optimize_budget_auto(&s, OPTIMIZE_HEAVY, 3, 20), 20 + 6 * 50 + 18 * 20);
    s.merge = true;
    s.minibatch = 5;
    CHECK_INT(optimize_budget_auto(&s, OPTIMIZE_LIGHT, 1, 20), 20 + 10 * 10 + 6 * 20 + 5 * 25);
    CHECK_INT(optimize_budget_floor(&s, 20), 20 + 3 * 30);
}

/* ---- a seed that scores nothing ---- */

static void count_zero_merges(struct made *m, const struct optimize_event *ev)
{
    if (ev->kind == OPTIMIZE_EV_MERGE && ev->run->means[ev->ancestor] == 0)
        ++*(size_t *)m->more;
}

TEST(an_ancestor_of_mean_0_is_merged_over)
{
    size_t merged = 0;

    for (uint64_t n = 0; n < RUNS; n++) {
        struct made m;

        made_init(&m, n);
        m.task.settings.merge = true;
        m.task.settings.metric_calls = 800;
        m.look = count_zero_merges;
        m.more = &merged;
        made_run(&m); /* base scores are 0 in all generated problems */
        made_release(&m);
    }
    CHECK(merged > 10);
}

static void look_at_owed(struct made *m, const struct optimize_event *ev)
{
    (void)m;
    CHECK(ev->run->merged + ev->run->due <= ev->run->task.settings.max_merges);
}

TEST(no_more_merges_than_the_maximum)
{
    for (uint64_t n = 0; n < RUNS; n++) {
        struct made m;

        made_init(&m, n);
        m.task.settings.merge = true;
        m.task.settings.max_merges = n % 4;
        m.look = look_at_owed;
        made_run(&m);
        made_release(&m);
    }
}

/* ---- an adapter that fails ---- */

static void big(struct made *m)
{
    made_init(m, 8);
    m->task.settings.metric_calls = 2000;
    m->task.settings.parents = m->task.settings.batches = 1;
}

TEST(an_adapter_that_fails_ends_the_run)
{
    for (uint64_t at = 1; at < 60; at += 7) {
        struct err e = {.text = ""};
        struct made m;

        big(&m);
        m.fail_at = at;
        CHECK(!made_try(&m, &e));
        CHECK_STR(str_c(e.text), "the model is gone");
        made_release(&m);
    }
}

static void spoil(struct optimize_grade *g, int how)
{
    g->done = how != 0;
    g->score = how == 1 ? (double)NAN : how == 2 ? (double)INFINITY : g->score;
    g->cost = how == 3 ? -1 : 0;
    g->objective_count = how == 4 ? 99 : how == 5 || how == 6 ? 2 : g->objective_count;
    g->objective[0] = how == 5 ? 77 : 0;
    g->objective[1] = 0;
}

static bool evaluate_badly(void *ctx, struct optimize_batch *b, size_t n, struct err *e)
{
    struct made *m = ctx;
    struct optimize_adapter plain = problem_adapter(&m->run.problem);
    bool ok = plain.evaluate(plain.ctx, b, n, e);

    spoil(&b[n - 1].grades[b[n - 1].n - 1], *(int *)m->more);
    return ok;
}

TEST(grades_that_make_no_sense_are_refused)
{
    for (int how = 0; how <= 6; how++) {
        struct made m;
        struct err e;

        big(&m);
        m.task.adapter.evaluate = evaluate_badly;
        m.more = &how;
        CHECK(!made_try(&m, &e));
        CHECK_INT(e.code, ERR_UPSTREAM);
        made_release(&m);
    }
}

/* ---- the component to propose ---- */

static bool all_but_the_second(void *ctx, const struct optimize_grade *g, size_t component)
{
    (void)ctx, (void)g;
    return component != 1;
}

static void count_turns(struct made *m, const struct optimize_event *ev)
{
    uint64_t *turns = m->more;

    if (ev->kind == OPTIMIZE_EV_COMPONENTS)
        for (size_t i = 0; i < ev->n; i++)
            turns[ev->ids[i]]++;
}

TEST(components_that_no_run_used_get_no_turn_and_the_others_as_many_each)
{
    uint64_t runs = 0;

    for (uint64_t number = 1; number <= 60; number++) {
        uint64_t turns[OPTIMIZE_COMPONENTS_MAX] = {0}, least = UINT64_MAX, most = 0;
        struct made m;

        made_init(&m, number);
        m.task.settings.pick = OPTIMIZE_USED_COMPONENTS;
        m.task.adapter.uses = all_but_the_second;
        m.look = count_turns;
        m.more = turns;
        made_run(&m);
        for (size_t i = 0; i < m.task.component_count; i++) {
            least = i != 1 && turns[i] < least ? turns[i] : least;
            most = turns[i] > most ? turns[i] : most;
        }
        CHECK_INT(turns[1], 0);
        CHECK(most - least <= 1);
        runs += m.task.component_count > 2 && most > 2;
        made_release(&m);
    }
    CHECK(runs > 5);
}

static bool answer_too_much(void *ctx, struct optimize_ask *asks, size_t n, struct err *e)
{
    (void)ctx, (void)e;
    for (size_t i = 0; i < n; i++) {
        asks[i].text =
            (str){arena_zero(asks[i].arena, 1, OPTIMIZE_TEXT_MAX + 1), OPTIMIZE_TEXT_MAX + 1};
        asks[i].has_text = true;
        optimize_answered(&asks[i]);
    }
    return true;
}

static bool answer_nothing(void *ctx, struct optimize_ask *asks, size_t n, struct err *e)
{
    (void)ctx, (void)asks, (void)n, (void)e;
    return true;
}

static bool answer_at_no_cost(void *ctx, struct optimize_ask *asks, size_t n, struct err *e)
{
    struct made *m = ctx;

    (void)e;
    for (size_t i = 0; i < n; i++) {
        asks[i].cost = *(double *)m->more;
        optimize_answered(&asks[i]);
    }
    return true;
}

/* A cost that is NaN, infinite or negative would disable the limit on the sum of costs. */
TEST(a_proposal_whose_cost_is_no_number_is_refused)
{
    static const double costs[] = {(double)NAN, (double)INFINITY, -1};

    for (size_t i = 0; i < COUNT_OF(costs); i++) {
        double cost = costs[i];
        struct made m;
        struct err e;

        big(&m);
        m.task.adapter.propose = answer_at_no_cost;
        m.more = &cost;
        CHECK(!made_try(&m, &e));
        CHECK_INT(e.code, ERR_UPSTREAM);
        made_release(&m);
    }
}

TEST(answers_that_make_no_sense_are_refused)
{
    struct made m;
    struct err e;

    big(&m);
    m.task.adapter.propose = answer_too_much;
    CHECK(!made_try(&m, &e));
    CHECK_INT(e.code, ERR_LIMIT);
    made_release(&m);
    big(&m);
    m.task.adapter.propose = answer_nothing;
    CHECK(!made_try(&m, &e));
    CHECK_INT(e.code, ERR_UPSTREAM);
    made_release(&m);
}

TEST(settings_out_of_range_are_refused)
{
    for (int what = 0; what < 9; what++) {
        struct made m;
        struct err e;

        big(&m);
        switch (what) {
        case 0:
            m.task.settings.minibatch = 0;
            break;
        case 1:
            m.task.settings.parents = 0;
            break;
        case 2:
            m.task.settings.batches = OPTIMIZE_TASKS_MAX + 1;
            break;
        case 3:
            m.task.component_count = 0;
            break;
        case 4:
            m.task.train_count = 0;
            break;
        case 5:
            m.task.seed = STR("seven");
            break;
        case 6:
            m.task.settings.metric_calls = 0;
            break;
        case 7:
            m.task.settings.stops[0].kind = OPTIMIZE_STOP_TIME;
            m.task.settings.stop_count = 1;
            break;
        default:
            m.task.objective_count = 0;
            m.task.settings.frontier = OPTIMIZE_HYBRID;
        }
        CHECK(!made_try(&m, &e));
        CHECK(m.graded == 0);
        made_release(&m);
    }
}

TEST_MAIN(T(what_must_hold_in_every_run_holds), T(calls_are_the_examples_that_were_graded),
          T(calls_add_up), T(the_same_seed_is_the_same_run), T(another_seed_is_another_run),
          T(only_reference_mode_overshoots), T(a_budget_is_spent),
          T(a_budget_below_the_seeds_validation_is_refused),
          T(a_budget_too_small_for_three_proposals_is_said_first),
          T(the_automatic_budget_is_what_the_loop_costs), T(an_ancestor_of_mean_0_is_merged_over),
          T(no_more_merges_than_the_maximum), T(an_adapter_that_fails_ends_the_run),
          T(components_that_no_run_used_get_no_turn_and_the_others_as_many_each),
          T(grades_that_make_no_sense_are_refused), T(answers_that_make_no_sense_are_refused),
          T(a_proposal_whose_cost_is_no_number_is_refused), T(settings_out_of_range_are_refused))
