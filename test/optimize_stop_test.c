/* The conditions that end a run.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "optimize_help.h"
#include "test.h"

static void stop_at(struct made *m, enum optimize_stop_kind kind, double limit)
{
    struct optimize_settings *s = &m->task.settings;

    s->stops[s->stop_count++] = (struct optimize_stop){kind, limit};
}

static uint64_t finish_of(struct made *m, const char *field)
{
    str log = buf_str(&m->log);
    char key[40];
    size_t at;
    uint64_t out;

    (void)snprintf(key, sizeof key, "\"%s\":", field);
    log = str_slice(log, str_find(log, STR("{\"event\":\"finish\"")), log.n);
    at = str_find(log, str_c(key));
    CHECK(at != STR_NONE);
    log = str_slice(log, at + strlen(key), log.n);
    for (at = 0; at < log.n && log.p[at] >= '0' && log.p[at] <= '9'; at++)
        ;
    CHECK(str_u64(str_slice(log, 0, at), &out));
    return out;
}

static void big(struct made *m)
{
    made_init(m, 8);
    m->task.settings.metric_calls = 2000;
    m->task.settings.parents = m->task.settings.batches = 1;
}

TEST(each_condition_stops_a_run)
{
    struct made m;

    big(&m);
    stop_at(&m, OPTIMIZE_STOP_ITERATIONS, 7);
    made_run(&m);
    CHECK_INT(finish_of(&m, "iterations"), 7);
    made_release(&m);

    big(&m);
    stop_at(&m, OPTIMIZE_STOP_CANDIDATES, 3);
    made_run(&m);
    CHECK_INT(finish_of(&m, "candidates"), 3);
    made_release(&m);

    big(&m);
    stop_at(&m, OPTIMIZE_STOP_CALLS, 100);
    made_run(&m);
    CHECK(finish_of(&m, "calls") >= 100 && finish_of(&m, "calls") < 200);
    made_release(&m);

    big(&m);
    stop_at(&m, OPTIMIZE_STOP_SCORE, 0);
    made_run(&m);
    CHECK_INT(finish_of(&m, "iterations"), 0);
    made_release(&m);

    big(&m);
    stop_at(&m, OPTIMIZE_STOP_NO_IMPROVEMENT, 3);
    made_run(&m);
    CHECK(finish_of(&m, "iterations") >= 3 && finish_of(&m, "calls") < 1000);
    made_release(&m);
}

TEST(all_conditions_or_any)
{
    for (int all = 0; all < 2; all++) {
        struct made m;

        big(&m);
        stop_at(&m, OPTIMIZE_STOP_ITERATIONS, 4);
        stop_at(&m, OPTIMIZE_STOP_ITERATIONS, 9);
        m.task.settings.stop_all = all;
        made_run(&m);
        CHECK_INT(finish_of(&m, "iterations"), all ? 9 : 4);
        made_release(&m);
    }
}

static double second_a_look(void *ctx)
{
    struct made *m = ctx;

    return (double)m->asked;
}

static bool evaluate_at_cost(void *ctx, struct optimize_batch *b, size_t n, struct err *e)
{
    struct made *m = ctx;
    struct optimize_adapter plain = problem_adapter(&m->run.problem);
    bool ok = plain.evaluate(plain.ctx, b, n, e);

    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < b[i].n; k++)
            b[i].grades[k].cost = 0.5;
    return ok;
}

TEST(time_and_cost_stop_a_run)
{
    struct made m;

    big(&m);
    m.task.adapter.elapsed_s = second_a_look;
    stop_at(&m, OPTIMIZE_STOP_TIME, 20);
    made_run(&m);
    CHECK(m.asked >= 20 && m.asked < 30);
    made_release(&m);

    big(&m);
    m.task.adapter.evaluate = evaluate_at_cost;
    stop_at(&m, OPTIMIZE_STOP_COST, 50);
    made_run(&m);
    CHECK(finish_of(&m, "calls") >= 100 && finish_of(&m, "calls") < 200);
    made_release(&m);
}

static bool after_30(void *ctx)
{
    struct made *m = ctx;

    return m->graded >= 30;
}

TEST(somebody_may_ask_it_to_stop)
{
    struct made m;

    big(&m);
    m.task.adapter.asked_to_stop = after_30;
    made_run(&m);
    CHECK(m.graded >= 30 && m.graded < 80);
    made_release(&m);
}

TEST_MAIN(T(each_condition_stops_a_run), T(all_conditions_or_any), T(time_and_cost_stop_a_run),
          T(somebody_may_ask_it_to_stop))
