/* Measures the optimiser without evaluator and reflector: an iteration with 1,000 validation
 * examples and 200 candidates.
 *
 * The adapter measures its own time, which is subtracted. Scores are of two kinds: in 1,000 steps,
 * so that most examples have one best candidate, and right or wrong, so that most sets hold many.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/rand.h"
#include "optimize/event.h"

#define VAL 1000
#define TRAIN 300
#define CANDIDATES 200
#define MEASURED 200 /* iterations, the last of a run that begins to count when there are so many */

struct world {
    struct rand rand;
    uint64_t levels;
    uint64_t outside_ns, began_ns, worst_ns, sum_ns;
    size_t texts, measured;
    struct buf line;
    bool logs;
};

/* The processor time of this thread, because other processes may use the machine. */
static uint64_t now_ns(void)
{
    struct timespec t;

    if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t) != 0)
        return 0;
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static bool evaluate(void *ctx, struct optimize_batch *b, size_t n, struct err *e)
{
    struct world *w = ctx;
    uint64_t began_ns = now_ns();

    (void)e;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < b[i].n; k++) {
            struct optimize_grade *g = &b[i].grades[k];

            g->score = (double)rand_below(&w->rand, w->levels) / (double)w->levels;
            g->objective_count = 2;
            g->objective[1] = 1;
            g->value[0] = g->value[1] = g->score;
            /* Every child beats its parent, so that every iteration accepts one. */
            if (b[i].split == OPTIMIZE_TRAIN)
                g->score = b[i].traces ? 0 : 1;
            optimize_graded(&b[i], k);
        }
    w->outside_ns += now_ns() - began_ns;
    return true;
}

static bool propose(void *ctx, struct optimize_ask *asks, size_t n, struct err *e)
{
    struct world *w = ctx;

    (void)e;
    for (size_t i = 0; i < n; i++) {
        asks[i].text = arena_printf(asks[i].arena, "text %zu", w->texts++);
        asks[i].has_text = true;
        optimize_answered(&asks[i]);
    }
    return true;
}

static void on_event(void *ctx, const struct optimize_event *ev)
{
    struct world *w = ctx;

    if (w->logs) {
        buf_reset(&w->line);
        optimize_event_json(ev, &w->line);
    }
    if (ev->kind == OPTIMIZE_EV_ITERATION) {
        w->outside_ns = 0;
        w->began_ns = now_ns();
    }
    if (ev->kind == OPTIMIZE_EV_END && optimize_count(ev->run) > CANDIDATES) {
        uint64_t took_ns = now_ns() - w->began_ns - w->outside_ns;

        w->worst_ns = took_ns > w->worst_ns ? took_ns : w->worst_ns;
        w->sum_ns += took_ns;
        w->measured++;
    }
}

static bool measure(enum optimize_frontier frontier, const char *name, uint64_t levels, bool logs)
{
    static const struct optimize_component components[] = {
        {STR_INIT("system_prompt"), STR_INIT("text")},
        {STR_INIT("tools"), STR_INIT("text")},
    };
    static const str objectives[] = {STR_INIT("one"), STR_INIT("two")};
    struct world w = {.levels = levels, .logs = logs};
    struct optimize_task t = {.settings = optimize_defaults(), .name = STR("bench")};
    struct optimize *o = NULL;
    struct err e;
    bool ok;

    rand_init(&w.rand, 1);
    buf_init(&w.line, (size_t)64 << 20);
    t.settings.frontier = frontier;
    t.settings.merge = true;
    t.settings.metric_calls = (uint64_t)1 << 40;
    t.settings.stops[0] = (struct optimize_stop){OPTIMIZE_STOP_CANDIDATES, CANDIDATES + MEASURED};
    t.settings.stop_count = 1;
    t.components = components;
    t.component_count = COUNT_OF(components);
    t.objectives = objectives;
    t.objective_count = COUNT_OF(objectives);
    t.train_count = TRAIN;
    t.val_count = VAL;
    t.seed = STR("1");
    t.adapter = (struct optimize_adapter){.evaluate = evaluate, .propose = propose, .ctx = &w};
    t.sink = (struct optimize_sink){on_event, &w};
    ok = optimize_new(&t, &o, &e) && optimize_run(o, &e);
    if (ok)
        printf("%-10s %4llu score levels%s %9.1f us an iteration, %9.1f us the longest\n",
               name,
               (unsigned long long)levels,
               logs ? ", events as JSON" : ",               ",
               (double)w.sum_ns / 1e3 / (double)(w.measured ? w.measured : 1),
               (double)w.worst_ns / 1e3);
    else
        fprintf(stderr, "%s\n", e.text);
    optimize_free(o);
    buf_release(&w.line);
    return ok;
}

int main(void)
{
    printf(
        "optimize: %d validation examples, %d to %d candidates, one more each iteration; the bar "
        "is 1 ms\n",
        VAL,
        CANDIDATES,
        CANDIDATES + MEASURED);
    return measure(OPTIMIZE_INSTANCE, "instance", 1000, false) &&
                   measure(OPTIMIZE_INSTANCE, "instance", 2, false) &&
                   measure(OPTIMIZE_HYBRID, "hybrid", 2, false) &&
                   measure(OPTIMIZE_CARTESIAN, "cartesian", 2, false) &&
                   measure(OPTIMIZE_INSTANCE, "instance", 1000, true)
               ? 0
               : 1;
}
