/* Runs from files: those of the reference implementation, and damaged ones.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/file.h"
#include "optimize/event.h"
#include "optimize/problem.h"
#include "test.h"

#include <dirent.h>

static bool read_file(void *ctx, struct arena *a, str path, str *out, struct err *e)
{
    str full = arena_join(a, str_c(ctx), STR("/runs/"), path);

    return file_read(a, full.p, PROBLEM_FILE_MAX, out, e);
}

static void on_event(void *ctx, const struct optimize_event *ev)
{
    optimize_event_json(ev, ctx);
}

static void make_log(struct problem_run *run, struct buf *log)
{
    struct optimize_task task = problem_task(run);
    struct optimize *o;
    struct err e;

    task.sink = (struct optimize_sink){on_event, log};
    CHECK(optimize_new(&task, &o, &e));
    CHECK_F(optimize_run(o, &e), "%s", e.text);
    optimize_free(o);
}

static void check_run(char *root, const char *name)
{
    struct problem_source source = {read_file, root};
    struct problem_run run;
    struct arena a;
    struct buf log;
    struct err e;
    str text, want, stem = str_slice(str_c(name), 0, strlen(name) - 5);

    arena_init(&a, (size_t)512 << 20);
    buf_init(&log, (size_t)64 << 20);
    CHECK(read_file(root, &a, str_c(name), &text, &e));
    CHECK_F(problem_run_read(&a, text, source, &run, &e), "%s: %s", name, e.text);
    make_log(&run, &log);
    CHECK(file_read(
        &a,
        arena_join(&a, arena_join(&a, str_c(root), STR("/logs/"), stem), STR(".jsonl"), STR("")).p,
        (size_t)64 << 20,
        &want,
        &e));
    CHECK_F(str_eq(buf_str(&log), want), "%s differs", name);
    buf_release(&log);
    arena_release(&a);
}

TEST(every_log_of_the_reference_comes_out_byte_for_byte)
{
    const char *found = test_corpora("gepa");
    char root[4096], runs[4200];
    size_t n = 0;
    DIR *dir;

    if (!found)
        return;
    (void)snprintf(root, sizeof root, "%s", found);
    (void)snprintf(runs, sizeof runs, "%s/runs", found);
    dir = opendir(runs);
    CHECK(dir);
    for (struct dirent *d; (d = readdir(dir));)
        if (str_ends(str_c(d->d_name), STR(".json"))) {
            check_run(root, d->d_name);
            n++;
        }
    closedir(dir);
    CHECK(n >= 332);
}

/* ---- a run of our own, computed by hand ---- */

/* One component, one word that every example needs, and a reflector that adds it. */
#define PROBLEM                                                                                    \
    "{\"format\":\"gepa-problem/1\",\"name\":\"one word\",\"unit\":4,"                             \
    "\"components\":[{\"name\":\"ask\",\"seed\":\"Please\"}],"                                     \
    "\"objectives\":[{\"name\":\"right\",\"share\":1}],\"report_objectives\":true,"                \
    "\"length\":null,\"conflicts\":[],"                                                            \
    "\"train\":[{\"objectives\":[\"right\"],\"base\":{\"right\":1},\"needs\":["                    \
    "{\"component\":\"ask\",\"word\":\"sum\",\"weight\":2,\"objective\":\"right\"}],"              \
    "\"hurts\":[]}],"                                                                              \
    "\"val\":\"train\",\"reflector\":{\"salt\":\"x\",\"counter\":false,\"actions\":[\"add\"],"     \
    "\"noise\":[]}}"
#define SETTINGS                                                                                   \
    "{\"selection\":\"pareto\",\"frontier\":\"hybrid\",\"components\":\"all\",\"minibatch\":2,"    \
    "\"acceptance\":\"strict\",\"skip_perfect\":true,\"perfect_score\":0.75,\"merge\":false,"      \
    "\"max_merges\":5,\"merge_overlap\":5,\"cache\":true,\"parents\":1,\"batches\":1,"             \
    "\"keep\":\"all\",\"stop\":{\"metric_calls\":6,\"score\":null,\"no_improvement\":null}}"
#define RUN(seed)                                                                                  \
    "{\"format\":\"gepa-run/1\",\"problem\":" PROBLEM ",\"settings\":" SETTINGS ",\"seed\":" seed  \
    "}"

/* The child's validation comes from the cache, because its minibatch was the only example and
 * validation uses the training examples. */
static const char log_by_hand[] =
    "{\"event\":\"start\",\"problem\":\"one word\",\"seed\":0,\"components\":[\"ask\"],\"train\":1,"
    "\"val\":1}\n"
    "{\"event\":\"valset\",\"iteration\":0,\"candidate\":0,\"parents\":[],\"scores\":[0.25],"
    "\"objectives\":{\"right\":0.25},\"mean\":0.25,\"best\":true,\"calls\":1}\n"
    "{\"event\":\"iteration\",\"iteration\":1}\n"
    "{\"event\":\"selected\",\"iteration\":1,\"candidate\":0,\"mean\":0.25}\n"
    "{\"event\":\"minibatch\",\"iteration\":1,\"ids\":[0,0]}\n"
    "{\"event\":\"parent_scores\",\"iteration\":1,\"candidate\":0,\"scores\":[0.25,0.25]}\n"
    "{\"event\":\"components\",\"iteration\":1,\"names\":[\"ask\"]}\n"
    "{\"event\":\"proposed\",\"iteration\":1,\"texts\":{\"ask\":\"Please sum\"}}\n"
    "{\"event\":\"child_scores\",\"iteration\":1,\"parents\":[0],\"scores\":[0.75,0.75]}\n"
    "{\"event\":\"front\",\"iteration\":1,\"front\":[[\"val:0\",0.75,[1]],"
    "[\"objective:right\",0.75,[1]]]}\n"
    "{\"event\":\"valset\",\"iteration\":1,\"candidate\":1,\"parents\":[0],\"scores\":[0.75],"
    "\"objectives\":{\"right\":0.75},\"mean\":0.75,\"best\":true,\"calls\":5}\n"
    "{\"event\":\"accepted\",\"iteration\":1,\"candidate\":1,\"parents\":[0],\"before\":0.5,"
    "\"after\":1.5}\n"
    "{\"event\":\"end\",\"iteration\":1,\"accepted\":true,\"calls\":5}\n"
    "{\"event\":\"iteration\",\"iteration\":2}\n"
    "{\"event\":\"selected\",\"iteration\":2,\"candidate\":1,\"mean\":0.75}\n"
    "{\"event\":\"minibatch\",\"iteration\":2,\"ids\":[0,0]}\n"
    "{\"event\":\"parent_scores\",\"iteration\":2,\"candidate\":1,\"scores\":[0.75,0.75]}\n"
    "{\"event\":\"skipped\",\"iteration\":2,\"candidate\":1}\n"
    "{\"event\":\"end\",\"iteration\":2,\"accepted\":false,\"calls\":7}\n"
    "{\"event\":\"finish\",\"best\":1,\"mean\":0.75,\"texts\":{\"ask\":\"Please sum\"},"
    "\"candidates\":2,\"iterations\":2,\"calls\":7}\n";

TEST(a_run_worked_out_by_hand)
{
    struct problem_run run;
    struct arena a;
    struct buf log;
    struct err e;

    arena_init(&a, (size_t)1 << 20);
    buf_init(&log, (size_t)1 << 20);
    CHECK_F(
        problem_run_read(&a, STR(RUN("0")), (struct problem_source){0}, &run, &e), "%s", e.text);
    make_log(&run, &log);
    CHECK_STR(buf_str(&log), log_by_hand);
    buf_release(&log);
    arena_release(&a);
}

/* ---- damaged runs ---- */

TEST(a_run_that_is_cut_is_refused)
{
    static const char whole[] = RUN("12");
    struct problem_run run;
    struct arena a;
    struct err e;

    for (size_t n = 0; n + 1 < sizeof whole; n++) {
        arena_init(&a, (size_t)1 << 20);
        CHECK(!problem_run_read(&a, (str){whole, n}, (struct problem_source){0}, &run, &e));
        arena_release(&a);
    }
}

TEST(a_byte_changed_is_refused_or_read)
{
    static char text[] = RUN("12");
    static const char with[] = "\"{}[],:0-9.xn\\ ";
    struct problem_run run;
    struct arena a;
    struct err e;

    for (size_t i = 0; i + 1 < sizeof text; i++)
        for (size_t k = 0; k + 1 < sizeof with; k++) {
            char was = text[i];

            text[i] = with[k];
            arena_init(&a, (size_t)1 << 20);
            if (!problem_run_read(&a, str_c(text), (struct problem_source){0}, &run, &e))
                CHECK(e.text[0] != '\0');
            arena_release(&a);
            text[i] = was;
        }
}

TEST(a_path_without_files_is_refused)
{
    struct problem_run run;
    struct arena a;
    struct err e;

    arena_init(&a, (size_t)1 << 20);
    CHECK(!problem_run_read(
        &a,
        STR("{\"format\":\"gepa-run/1\",\"problem\":\"p.json\",\"settings\":" SETTINGS
            ",\"seed\":0}"),
        (struct problem_source){0},
        &run,
        &e));
    CHECK_STR(str_c(e.text), "problem: must be the problem itself: there are no files here");
    arena_release(&a);
}

/* ---- the reflector's actions ---- */

static str reflect(struct problem *p, enum problem_action action, const char *text, struct arena *a)
{
    struct optimize_ask ask = {.texts = (const str[]){str_c(text)}, .arena = a, .n = 2};
    enum problem_action only[] = {action};
    str out;

    ask.ids = (const uint32_t[]){0, 0};
    p->actions = only;
    p->action_count = 1;
    return problem_reflect(p, &ask, &out) ? out : STR("(none)");
}

TEST(every_action_does_what_it_says)
{
    static struct problem_rule needs[] = {
        {{0, STR_INIT("a")}, 1, 0}, {{0, STR_INIT("b")}, 1, 0}, {{0, STR_INIT("a")}, 1, 0}};
    static struct problem_rule hurts[] = {{{0, STR_INIT("x")}, 1, 0}, {{0, STR_INIT("y")}, 1, 0}};
    struct problem_example x = {.needs = needs, .hurts = hurts, .need_count = 3, .hurt_count = 2};
    struct optimize_component c = {STR("c"), STR("")};
    str noise = STR("um");
    struct problem p = {.salt = STR("s"), .components = &c, .component_count = 1};
    static const struct {
        enum problem_action action;
        const char *text, *want;
    } cases[] = {
        {PROBLEM_ADD, "go", "go a"},
        {PROBLEM_ADD, " go  a ", "go a b"},
        {PROBLEM_ADD, "a b", "(none)"},
        {PROBLEM_ADD, "", "a"},
        {PROBLEM_ADD_ALL, "go", "go a b"},
        {PROBLEM_ADD_ALL, "b a", "(none)"},
        {PROBLEM_SWAP, "go b", "go a"},
        {PROBLEM_SWAP, "go", "go a"},
        {PROBLEM_SWAP, "a b", "(none)"},
        {PROBLEM_CUT, "go y x x", "go y x"},
        {PROBLEM_CUT, "x go", "x go a"}, /* never blames the first word */
        {PROBLEM_CUT, "x y", "x"},
        {PROBLEM_DROP, "go", "(none)"},
        {PROBLEM_DROP, "go on", "go"},
        {PROBLEM_NOISE, "go", "go um"},
        {PROBLEM_NOISE, "um", "(none)"},
        {PROBLEM_ECHO, " as  is", " as  is"},
        {PROBLEM_ECHO, "", ""},
        {PROBLEM_NONE, "go", "(none)"},
    };
    struct arena a;

    p.train = &x;
    p.train_count = 1;
    p.noise = &noise;
    p.noise_count = 1;
    arena_init(&a, (size_t)1 << 20);
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        CHECK_STR(reflect(&p, cases[i].action, cases[i].text, &a), cases[i].want);
    arena_release(&a);
}

TEST(numbers_have_no_exponent)
{
    static const struct {
        double v;
        const char *want;
    } cases[] = {{0, "0"},
                 {-0.0, "0"},
                 {1, "1"},
                 {-3, "-3"},
                 {0.5, "0.5"},
                 {0.1, "0.1"},
                 {1.0 / 3, "0.3333333333333333"},
                 {6.103515625e-05, "0.00006103515625"},
                 {-1e-7, "-0.0000001"},
                 {1e21, "1000000000000000000000"},
                 {1.5e20, "150000000000000000000"},
                 {0.7317708333333334, "0.7317708333333334"},
                 {123456.789, "123456.789"}};
    struct buf b;

    buf_init(&b, 4096);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        buf_reset(&b);
        optimize_number(&b, cases[i].v);
        CHECK_STR(buf_str(&b), cases[i].want);
    }
    buf_reset(&b);
    optimize_number(&b, 5e-324);
    CHECK(b.n == 326 && str_starts(buf_str(&b), STR("0.000")) && b.p[325] == '5');
    buf_release(&b);
}

TEST_MAIN(T(every_log_of_the_reference_comes_out_byte_for_byte), T(a_run_worked_out_by_hand),
          T(a_run_that_is_cut_is_refused), T(a_byte_changed_is_refused_or_read),
          T(a_path_without_files_is_refused), T(every_action_does_what_it_says),
          T(numbers_have_no_exponent))
