/* The fronts and their reduction, compared with a plain reference implementation.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/rand.h"
#include "optimize/front.h"
#include "optimize/optimize.h"
#include "test.h"

#define KEYS_MAX 80
#define CANDIDATES_MAX 150

/* Scores of each candidate at each key; NaN: no score. */
struct plain {
    size_t keys, candidates;
    double score[CANDIDATES_MAX][KEYS_MAX];
    double mean[CANDIDATES_MAX];
    bool has[KEYS_MAX][CANDIDATES_MAX]; /* the sets, by definition */
};

static void make(struct plain *p, uint64_t number)
{
    struct rand r;
    uint64_t levels;

    rand_init(&r, number);
    memset(p, 0, sizeof *p);
    levels = 1 + rand_below(&r, 6);
    p->keys = 1 + rand_below(&r, KEYS_MAX);
    p->candidates = 1 + rand_below(&r, CANDIDATES_MAX);
    for (size_t c = 0; c < p->candidates; c++) {
        for (size_t k = 0; k < p->keys; k++)
            p->score[c][k] = (double)rand_below(&r, levels);
        p->mean[c] = (double)rand_below(&r, 4);
    }
    for (size_t k = 0; k < p->keys; k++) {
        double best = -1;

        for (size_t c = 0; c < p->candidates; c++)
            best = p->score[c][k] > best ? p->score[c][k] : best;
        for (size_t c = 0; c < p->candidates; c++)
            p->has[k][c] = p->score[c][k] == best;
    }
}

static void fill(struct front *f, const struct plain *p)
{
    front_init(f);
    for (uint32_t k = 0; k < p->keys; k++)
        CHECK_INT(front_key_add(f, k, FRONT_NONE), k);
    for (uint32_t c = 0; c < p->candidates; c++)
        for (size_t k = 0; k < p->keys; k++)
            front_offer(f, k, c, p->score[c][k]);
}

TEST(fronts_are_what_brute_force_finds)
{
    static struct plain p;
    struct front f;

    for (uint64_t n = 0; n < 60; n++) {
        make(&p, n);
        fill(&f, &p);
        for (size_t k = 0; k < p.keys; k++) {
            uint32_t next = front_next(&f, k, 0);

            for (uint32_t c = 0; c < p.candidates; c++) {
                CHECK((next == c) == p.has[k][c]);
                if (next == c)
                    next = front_next(&f, k, c + 1);
            }
            CHECK(next == FRONT_NONE);
        }
        front_release(&f);
    }
}

/* ---- reduction by definition: remove one candidate, start again ---- */

static size_t appearance(const struct plain *p, const bool *alive, uint32_t *out)
{
    bool seen[CANDIDATES_MAX] = {false};
    size_t n = 0;

    for (size_t k = 0; k < p->keys; k++)
        for (uint32_t c = 0; c < p->candidates; c++)
            if (p->has[k][c] && alive[c] && !seen[c]) {
                seen[c] = true;
                out[n++] = c;
            }
    return n;
}

static bool is_dominated(const struct plain *p, const bool *alive, uint32_t y)
{
    for (size_t k = 0; k < p->keys; k++) {
        bool other = false;

        for (uint32_t c = 0; c < p->candidates; c++)
            other |= c != y && alive[c] && p->has[k][c];
        if (p->has[k][y] && !other)
            return false;
    }
    return true;
}

static size_t reduce(const struct plain *p, bool *alive, uint32_t *out)
{
    uint32_t order[CANDIDATES_MAX];
    size_t n = appearance(p, alive, order), i = 0;

    for (size_t a = 1; a < n; a++) /* stable, by mean */
        for (size_t b = a; b > 0 && p->mean[order[b - 1]] > p->mean[order[b]]; b--) {
            uint32_t held = order[b];

            order[b] = order[b - 1];
            order[b - 1] = held;
        }
    while (i < n) {
        bool gone = alive[order[i]] && is_dominated(p, alive, order[i]);

        if (gone)
            alive[order[i]] = false;
        i = gone ? 0 : i + 1;
    }
    return appearance(p, alive, out);
}

static void check_reduced(const struct plain *p, const struct front *f, bool filtered)
{
    uint64_t only[CANDIDATES_MAX / 64 + 1] = {0};
    uint32_t want[CANDIDATES_MAX];
    bool alive[CANDIDATES_MAX];
    struct front_reduced r;
    uint64_t total = 0;
    size_t n;

    for (size_t c = 0; c < p->candidates; c++) {
        alive[c] = !filtered || c % 7 < 2;
        only[c / 64] |= (uint64_t)alive[c] << c % 64;
    }
    n = reduce(p, alive, want);
    front_reduced_init(&r);
    front_reduce(f, p->mean, filtered ? only : NULL, &r);
    CHECK_INT(r.n, n);
    for (size_t i = 0; i < n; i++) {
        uint32_t held = 0;

        for (size_t k = 0; k < p->keys; k++)
            held += p->has[k][want[i]];
        CHECK_INT(r.order[i], want[i]);
        CHECK_INT(r.count[i], held);
        total += held;
    }
    CHECK(r.total == total);
    front_reduced_release(&r);
}

TEST(a_reduction_is_what_its_definition_gives)
{
    static struct plain p;
    struct front f;

    for (uint64_t n = 100; n < 160; n++) {
        make(&p, n);
        fill(&f, &p);
        check_reduced(&p, &f, false);
        check_reduced(&p, &f, true);
        front_release(&f);
    }
}

TEST(a_reduction_leaves_someone_at_every_key)
{
    static struct plain p;
    struct front_reduced r;
    struct front f;

    front_reduced_init(&r);
    for (uint64_t n = 200; n < 260; n++) {
        make(&p, n);
        fill(&f, &p);
        front_reduce(&f, p.mean, NULL, &r);
        for (size_t k = 0; k < p.keys; k++) {
            size_t left = 0;

            for (size_t i = 0; i < r.n; i++)
                left += front_next(&f, k, r.order[i]) == r.order[i];
            CHECK(left > 0);
        }
        front_release(&f);
    }
    front_reduced_release(&r);
}

TEST(keys_may_come_late)
{
    const double means[] = {0, 1, 2};
    struct front_reduced r;
    struct front f;

    front_init(&f);
    front_reduced_init(&r);
    front_offer(&f, front_key_add(&f, 0, FRONT_NONE), 0, 1);
    front_offer(&f, 0, 1, 1);
    for (uint32_t k = 1; k < 200; k++)
        front_offer(&f, front_key_add(&f, k, 3), 2, 0);
    CHECK(front_next(&f, 0, 1) == 1 && front_next(&f, 0, 2) != 2 && front_next(&f, 199, 2) == 2);
    CHECK(front_next(&f, 0, 99) == FRONT_NONE);
    front_reduce(&f, means, NULL, &r);
    CHECK_INT(r.n, 2);
    CHECK(r.order[0] == 1 && r.order[1] == 2 && r.count[1] == 199);
    front_reduced_release(&r);
    front_release(&f);
}

TEST(a_front_of_nothing_reduces_to_nothing)
{
    struct front_reduced r;
    struct front f;

    front_init(&f);
    front_reduced_init(&r);
    front_reduce(&f, NULL, NULL, &r);
    CHECK(r.n == 0 && r.total == 0);
    front_reduced_release(&r);
    front_release(&f);
}

/* ---- candidates without reported objectives ---- */

/* A longer text has a higher score. Only the seed reports objectives. */
static bool evaluate_by_size(void *ctx, struct optimize_batch *b, size_t n, struct err *e)
{
    (void)ctx, (void)e;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < b[i].n; k++) {
            struct optimize_grade *g = &b[i].grades[k];

            g->score = (double)b[i].texts[0].n;
            g->objective_count = b[i].texts[0].n < 10;
            optimize_graded(&b[i], k);
        }
    return true;
}

static bool answer_longer(void *ctx, struct optimize_ask *asks, size_t n, struct err *e)
{
    (void)ctx, (void)e;
    for (size_t i = 0; i < n; i++) {
        asks[i].text = arena_printf(asks[i].arena, "0123456789%0*u", (int)asks[i].serial + 1, 0u);
        asks[i].has_text = true;
        optimize_answered(&asks[i]);
    }
    return true;
}

TEST(the_top_candidates_are_found_among_those_that_no_front_has)
{
    const struct optimize_component component = {STR("prompt"), STR("seed")};
    const str objective = STR("speed");
    struct optimize_task task = {
        .settings = optimize_defaults(),
        .name = STR("fronts"),
        .components = &component,
        .component_count = 1,
        .objectives = &objective,
        .objective_count = 1,
        .train_count = 1,
        .val_count = 1,
        .seed = STR("1"),
        .adapter = {.evaluate = evaluate_by_size, .propose = answer_longer}};
    struct optimize *o;
    struct err e;

    task.settings.frontier = OPTIMIZE_OBJECTIVE;
    task.settings.selection = OPTIMIZE_TOP_K_PARETO;
    task.settings.top_k = 1000;
    task.settings.minibatch = 1;
    task.settings.perfect_score = 1e9;
    task.settings.metric_calls = 1000;
    CHECK_F(optimize_new(&task, &o, &e), "%s", e.text);
    CHECK_F(optimize_run(o, &e), "%s", e.text);
    CHECK(optimize_count(o) > 300);
    optimize_free(o);
}

TEST_MAIN(T(the_top_candidates_are_found_among_those_that_no_front_has),
          T(fronts_are_what_brute_force_finds), T(a_reduction_is_what_its_definition_gives),
          T(a_reduction_leaves_someone_at_every_key), T(keys_may_come_late),
          T(a_front_of_nothing_reduces_to_nothing))
