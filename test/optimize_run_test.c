/* Runs that are stored, interrupted anywhere, and resumed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/file.h"
#include "optimize/run.h"
#include "optimize_help.h"
#include "test.h"

#include <math.h>
#include <unistd.h>

/* Lines in memory; `max` limits their number, like a full disk. */
struct lines {
    struct buf text;
    size_t n, max;
};

static bool add(void *ctx, str line, struct err *e)
{
    struct lines *l = ctx;

    CHECK(line.n > 0 && line.p[line.n - 1] == '\n');
    if (l->max > 0 && l->n == l->max)
        return err_set(e, ERR_SYSTEM, "the disk is full");
    l->n++;
    buf_add(&l->text, line);
    return true;
}

static void lines_init(struct lines *l)
{
    *l = (struct lines){.n = 0};
    buf_init(&l->text, (size_t)64 << 20);
}

/* Resumes after the stored lines; m->log gets the events. */
static bool go(struct made *m, str kept, struct lines *l, struct err *e)
{
    struct optimize_run *run = NULL;
    bool ok;

    m->graded = m->asked = 0;
    buf_reset(&m->log);
    ok = optimize_run_new(&m->task, kept, (struct optimize_keeper){add, NULL, l}, &run, e) &&
         optimize_run_go(run, e);
    optimize_run_free(run);
    return ok;
}

static void small(struct made *m, uint64_t number)
{
    made_init(m, number);
    m->task.settings.metric_calls = m->task.val_count + 80;
}

TEST(keeping_a_run_does_not_change_it)
{
    for (uint64_t n = 0; n < 50; n++) {
        struct made plain, kept;
        struct lines l;
        struct err e;

        small(&plain, n);
        small(&kept, n);
        lines_init(&l);
        made_run(&plain);
        CHECK_F(go(&kept, STR(""), &l, &e), "%s", e.text);
        CHECK(str_eq(buf_str(&plain.log), buf_str(&kept.log)));
        buf_release(&l.text);
        made_release(&plain);
        made_release(&kept);
    }
}

/* Interrupted after each line, the resumed run must write the same lines, emit the same events, and
 * evaluate nothing again. */
TEST(killed_behind_any_line_it_ends_the_same)
{
    for (uint64_t n = 0; n < 25; n++) {
        struct lines whole, rest;
        uint64_t graded;
        struct buf reported;
        struct made m;
        struct err e;

        small(&m, n);
        lines_init(&whole);
        CHECK(go(&m, STR(""), &whole, &e));
        graded = m.graded;
        buf_init(&reported, (size_t)64 << 20);
        buf_add(&reported, buf_str(&m.log));
        for (size_t cut = 0; cut <= whole.text.n; cut++) {
            str kept = str_slice(buf_str(&whole.text), 0, cut);

            if (optimize_kept_size(kept) != kept.n)
                continue;
            lines_init(&rest);
            CHECK_F(go(&m, kept, &rest, &e), "%s", e.text);
            CHECK(str_eq(buf_str(&m.log), buf_str(&reported)));
            CHECK(str_eq(buf_str(&rest.text), str_slice(buf_str(&whole.text), cut, SIZE_MAX)));
            CHECK(m.graded <= graded && (cut < whole.text.n || m.graded == 0));
            buf_release(&rest.text);
        }
        buf_release(&reported);
        buf_release(&whole.text);
        made_release(&m);
    }
}

TEST(a_torn_line_is_as_if_it_were_not_there)
{
    CHECK_INT(optimize_kept_size(STR("")), 0);
    CHECK_INT(optimize_kept_size(STR("abc")), 0);
    CHECK_INT(optimize_kept_size(STR("abc\n")), 4);
    CHECK_INT(optimize_kept_size(STR("abc\nde")), 4);
    CHECK_INT(optimize_kept_size(STR("\n\n{")), 2);
}

TEST(a_disk_that_is_full_ends_the_run_and_no_more)
{
    struct lines whole, first, rest;
    struct made m;
    struct err e;

    small(&m, 6);
    lines_init(&whole);
    CHECK(go(&m, STR(""), &whole, &e));
    for (size_t max = 1; max < whole.n; max += 5) {
        lines_init(&first);
        first.max = max;
        CHECK(!go(&m, STR(""), &first, &e));
        CHECK_STR(str_c(e.text), "the disk is full");
        lines_init(&rest);
        CHECK(go(&m, buf_str(&first.text), &rest, &e));
        buf_add(&first.text, buf_str(&rest.text));
        CHECK(str_eq(buf_str(&first.text), buf_str(&whole.text)));
        buf_release(&rest.text);
        buf_release(&first.text);
    }
    buf_release(&whole.text);
    made_release(&m);
}

TEST(lines_of_another_run_are_refused)
{
    struct lines l, none;
    struct made m, other;
    struct err e;

    small(&m, 6);
    small(&other, 6);
    other.task.settings.epsilon = 0.25;
    lines_init(&l);
    lines_init(&none);
    CHECK(go(&m, STR(""), &l, &e));
    CHECK(!go(&other, buf_str(&l.text), &none, &e));
    CHECK(str_find(str_c(e.text), STR("started with another task")) != STR_NONE);
    CHECK(none.n == 0 && other.graded == 0);
    buf_release(&l.text);
    buf_release(&none.text);
    made_release(&m);
    made_release(&other);
}

/* Each line is removed, repeated or damaged in turn: the result is an error, never a different
 * run. */
TEST(lines_that_do_not_follow_are_refused)
{
    struct lines whole, none;
    struct made m;
    struct err e;
    str text;

    small(&m, 9);
    lines_init(&whole);
    lines_init(&none);
    CHECK(go(&m, STR(""), &whole, &e));
    text = buf_str(&whole.text);
    for (size_t from = 0; from < text.n;) {
        size_t to = from + str_find(str_slice(text, from, text.n), STR("\n")) + 1;

        for (int how = 0; how < 3; how++) {
            struct buf b;
            bool ok;

            buf_init(&b, text.n * 2 + 64);
            buf_add(&b, str_slice(text, 0, how ? to : from));
            buf_add(&b, how == 1 ? str_slice(text, from, to) : how == 2 ? STR("{}\n") : STR(""));
            buf_add(&b, str_slice(text, to, text.n));
            ok = go(&m, buf_str(&b), &none, &e);
            /* A repeated grade line has the same value, so it is accepted. */
            CHECK(!ok || (how == 1 && (text.p[from + 2] == 'g' || text.p[from + 2] == 'a')) ||
                  (how == 0 && to == text.n));
            buf_release(&b);
        }
        from = to;
    }
    buf_release(&whole.text);
    buf_release(&none.text);
    made_release(&m);
}

/* ---- stopped and resumed ---- */

static bool after_20(void *ctx)
{
    struct made *m = ctx;

    return m->graded >= 20;
}

TEST(a_run_that_was_stopped_can_be_gone_on_with)
{
    struct lines whole, parts;
    struct made m;
    struct err e;
    size_t sessions = 0;

    small(&m, 12);
    m.task.settings.metric_calls = 400;
    lines_init(&whole);
    lines_init(&parts);
    CHECK(go(&m, STR(""), &whole, &e));
    m.task.adapter.asked_to_stop = after_20;
    do {
        struct buf kept;

        buf_init(&kept, (size_t)64 << 20);
        buf_add(&kept, buf_str(&parts.text));
        CHECK(go(&m, buf_str(&kept), &parts, &e));
        buf_release(&kept);
        sessions++;
    } while (m.graded >= 20);
    CHECK(sessions > 3);
    CHECK(str_eq(buf_str(&parts.text), buf_str(&whole.text)));
    buf_release(&whole.text);
    buf_release(&parts.text);
    made_release(&m);
}

static double by_grades(void *ctx)
{
    struct made *m = ctx;

    return (double)m->graded / 8;
}

/* The time limit covers all sessions: the second has only what the first left. */
TEST(time_is_that_of_all_sessions)
{
    struct lines first, second;
    struct made m;
    struct err e;

    small(&m, 12);
    m.task.settings.metric_calls = 4000;
    m.task.settings.stops[0] = (struct optimize_stop){OPTIMIZE_STOP_TIME, 30};
    m.task.settings.stop_count = 1;
    m.task.adapter.elapsed_s = by_grades;
    m.task.adapter.asked_to_stop = after_20;
    lines_init(&first);
    lines_init(&second);
    CHECK(go(&m, STR(""), &first, &e));
    m.task.adapter.asked_to_stop = NULL;
    CHECK(go(&m, buf_str(&first.text), &second, &e));
    CHECK(m.graded > 150 && m.graded < 240);
    buf_release(&first.text);
    buf_release(&second.text);
    made_release(&m);
}

/* ---- stored data besides scores ---- */

static bool evaluate_with_traces(void *ctx, struct optimize_batch *b, size_t n, struct err *e)
{
    struct made *m = ctx;
    struct optimize_adapter plain = problem_adapter(&m->run.problem);

    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < b[i].n; k++) {
            struct optimize_grade *g = &b[i].grades[k];

            if (g->done)
                continue;
            problem_grade(&m->run.problem, &m->run.problem.train[0], b[i].texts, g);
            g->cost = 0.125;
            g->trace = arena_printf(b[i].arena, "saw \"%u\"\n\xff%s", b[i].ids[k], b[i].texts[0].p);
            m->graded++;
            optimize_graded(&b[i], k);
        }
    return plain.evaluate(plain.ctx, b, n, e);
}

/* The proposal contains the traces, so the test sees whether they were restored. */
static bool propose_from_traces(void *ctx, struct optimize_ask *asks, size_t n, struct err *e)
{
    struct made *m = ctx;

    (void)e;
    for (size_t i = 0; i < n; i++) {
        if (asks[i].done)
            continue;
        m->asked++;
        asks[i].has_text = asks[i].serial % 3 != 0;
        asks[i].text = arena_printf(asks[i].arena,
                                    "w%u \xfe " STR_FMT,
                                    (unsigned)(asks[i].serial % 8),
                                    STR_ARG(str_slice(asks[i].grades[0].trace, 0, 9)));
        asks[i].cost = 1;
        optimize_answered(&asks[i]);
    }
    return true;
}

TEST(traces_costs_and_texts_that_are_not_utf8_come_back)
{
    struct lines whole, rest;
    struct made m;
    struct err e;

    small(&m, 21);
    m.task.adapter.evaluate = evaluate_with_traces;
    m.task.adapter.propose = propose_from_traces;
    m.task.settings.stops[0] = (struct optimize_stop){OPTIMIZE_STOP_COST, 25};
    m.task.settings.stop_count = 1;
    lines_init(&whole);
    CHECK_F(go(&m, STR(""), &whole, &e), "%s", e.text);
    CHECK(m.asked > 3);
    for (size_t cut = 0; cut < whole.text.n; cut++) {
        str kept = str_slice(buf_str(&whole.text), 0, cut);

        if (optimize_kept_size(kept) != kept.n)
            continue;
        lines_init(&rest);
        CHECK_F(go(&m, kept, &rest, &e), "%s", e.text);
        CHECK(str_eq(buf_str(&rest.text), str_slice(buf_str(&whole.text), cut, SIZE_MAX)));
        buf_release(&rest.text);
    }
    buf_release(&whole.text);
    made_release(&m);
}

static bool evaluate_without_number(void *ctx, struct optimize_batch *b, size_t n, struct err *e)
{
    struct made *m = ctx;

    (void)e;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < b[i].n; k++) {
            struct optimize_grade *g = &b[i].grades[k];

            if (g->done)
                continue;
            g->score = m->graded++ == 0 ? *(double *)m->more : 0.5;
            g->cost = m->graded == 1 ? ((double *)m->more)[1] : 0;
            optimize_graded(&b[i], k);
        }
    return true;
}

/* A stored NaN or negative cost would be read as 0 when the run resumes, so it must not be
 * stored. */
TEST(a_grade_that_ended_the_run_is_asked_for_again)
{
    static const double bad[][2] = {{(double)NAN, 0}, {(double)INFINITY, 0}, {0.5, -1}};

    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct lines first, second;
        double now[2] = {bad[i][0], bad[i][1]};
        struct made m;
        struct err e;

        small(&m, 12);
        m.task.settings.frontier = OPTIMIZE_INSTANCE;
        m.task.adapter.evaluate = evaluate_without_number;
        m.more = now;
        lines_init(&first);
        lines_init(&second);
        CHECK(!go(&m, STR(""), &first, &e));
        CHECK_INT(e.code, ERR_UPSTREAM);
        now[0] = 0.5;
        now[1] = 0;
        CHECK_F(go(&m, buf_str(&first.text), &second, &e), "%s", e.text);
        CHECK(str_find(buf_str(&second.text), STR("{\"grade\":[0,0],\"score\":0.5}\n")) == 0);
        buf_release(&first.text);
        buf_release(&second.text);
        made_release(&m);
    }
}

/* ---- in a folder ---- */

TEST(a_folder_is_held_by_one)
{
    char dir[] = "/tmp/optimize_run.XXXXXX", path[64];
    struct optimize_folder a, b;
    struct optimize_keeper k;
    struct arena arena;
    struct err e;
    str kept;

    CHECK(mkdtemp(dir));
    (void)snprintf(path, sizeof path, "%s/x/y", dir);
    arena_init(&arena, OPTIMIZE_KEPT_MAX + ((size_t)1 << 20));
    CHECK_F(optimize_folder_open(path, &arena, &a, &kept, &e), "%s", e.text);
    CHECK_INT(kept.n, 0);
    CHECK(!optimize_folder_open(path, &arena, &b, &kept, &e));
    CHECK(str_find(str_c(e.text), STR("another process")) != STR_NONE);
    k = optimize_folder_keeper(&a);
    CHECK(k.add(k.ctx, STR("one\n"), &e) && k.add(k.ctx, STR("two\n"), &e));
    CHECK(k.add(k.ctx, STR("torn"), &e) && k.sync(k.ctx, &e));
    optimize_folder_close(&a);
    CHECK(optimize_folder_open(path, &arena, &a, &kept, &e));
    CHECK_STR(kept, "one\ntwo\n");
    k = optimize_folder_keeper(&a);
    CHECK(k.add(k.ctx, STR("three\n"), &e));
    optimize_folder_close(&a);
    CHECK(optimize_folder_open(path, &arena, &a, &kept, &e));
    CHECK_STR(kept, "one\ntwo\nthree\n");
    optimize_folder_close(&a);
    arena_release(&arena);
    (void)snprintf(path, sizeof path, "%s/x/y/run.jsonl", dir);
    CHECK(unlink(path) == 0);
    for (const char *const *under = (const char *const[]){"/x/y", "/x", "", NULL}; *under;
         under++) {
        (void)snprintf(path, sizeof path, "%s%s", dir, *under);
        CHECK(rmdir(path) == 0);
    }
}

TEST_MAIN(T(keeping_a_run_does_not_change_it), T(a_grade_that_ended_the_run_is_asked_for_again),
          T(killed_behind_any_line_it_ends_the_same), T(a_torn_line_is_as_if_it_were_not_there),
          T(a_disk_that_is_full_ends_the_run_and_no_more), T(lines_of_another_run_are_refused),
          T(lines_that_do_not_follow_are_refused), T(a_run_that_was_stopped_can_be_gone_on_with),
          T(time_is_that_of_all_sessions), T(traces_costs_and_texts_that_are_not_utf8_come_back),
          T(a_folder_is_held_by_one))
