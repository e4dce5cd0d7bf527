/* agent_run_test.c - the loop: tools, limits, approvals, replay.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent_help.h"
#include "store/db.h"
#include "store/store.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* In shared memory, so that the parent sees the child's counts. */
struct counts {
    _Atomic unsigned runs[16], effects;
};

static struct counts *counts;
static struct arena arena;
static struct toolbox *box;
static char dir[64];

static bool double_it(void *ctx, const struct tool_call *c, struct buf *out, struct err *e)
{
    char text[64]; /* the arguments need not end in NUL */
    int n = 0;

    (void)ctx, (void)e;
    (void)snprintf(text, sizeof text, STR_FMT, STR_ARG(c->arguments));
    (void)sscanf(text, "{\"n\":%d", &n);
    atomic_fetch_add(&counts->runs[n % 16], 1);
    buf_printf(out, "{\"result\":%d}", 2 * n);
    return true;
}

static bool slow(void *ctx, const struct tool_call *c, struct buf *out, struct err *e)
{
    (void)ctx, (void)e;
    for (int i = 0; i < 2000 && !atomic_load(c->cancel); i++)
        usleep(1000);
    buf_add(out, STR("late"));
    return true;
}

static bool shaky(void *ctx, const struct tool_call *c, struct buf *out, struct err *e)
{
    (void)ctx, (void)c;
    if (atomic_fetch_add(&counts->runs[0], 1) % 2 == 0)
        return err_set(e, ERR_UPSTREAM, "the line was cut");
    buf_add(out, STR("there"));
    return true;
}

static bool big(void *ctx, const struct tool_call *c, struct buf *out, struct err *e)
{
    (void)ctx, (void)c, (void)e;
    for (int i = 0; i < 5000; i++)
        buf_add(out, STR("0123456789"));
    return true;
}

static void add(const char *name,
                bool (*run)(void *, const struct tool_call *, struct buf *, struct err *),
                unsigned flags)
{
    struct tool t = {.name = str_c(name),
                     .description = STR("a tool"),
                     .schema = str_c(number_schema),
                     .flags = flags,
                     .timeout_ms = run == slow ? 150 : 0,
                     .retries = 1,
                     .run = run};
    struct err e;

    if (!toolbox_add(box, &t, &e))
        fail_msg("%s", e.text);
}

static int setup(void **state)
{
    (void)state;
    arena_init(&arena, (size_t)1 << 30);
    box = toolbox_new(&clock_real);
    counts = mmap(NULL, sizeof *counts, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    add("double", double_it, TOOL_IDEMPOTENT | TOOL_PURE);
    add("twice", double_it, 0);
    add("kept", double_it, TOOL_CACHEABLE);
    add("slow", slow, 0);
    add("shaky", shaky, 0);
    add("big", big, TOOL_PURE);
    add("pay", double_it, TOOL_APPROVAL);
    add("finish", finish, TOOL_FINISH | TOOL_PURE);
    (void)snprintf(dir, sizeof dir, "%s/agent_test.XXXXXX", test_tmp());
    return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
    char command[128];

    (void)state;
    toolbox_free(box);
    munmap(counts, sizeof *counts);
    arena_release(&arena);
    (void)snprintf(command, sizeof command, "rm -rf %s", dir);
    return system(command);
}

TEST(calls_are_made_and_told_until_there_is_an_answer)
{
    struct script s = {.turns = {"!double {\"n\":2}\ntwice {\"n\":3}", "It is 10."}};
    struct agent_options o = script_options(&s, box);
    struct agent_result r = script_run(&o, &arena);

    CHECK(r.end == AGENT_FINISHED && r.iterations == 2 && r.tool_calls == 2);
    CHECK_STR(r.text, "It is 10.");
    CHECK(r.step_count == 3);
    CHECK_STR(r.steps[0].action, "double(n=2)");
    CHECK_STR(r.steps[0].observation, "{\"result\":4}");
    CHECK_STR(r.steps[1].observation, "{\"result\":6}");
    CHECK(r.input_tokens == 200 && r.output_tokens == 20 && r.cost_usd > 0.019);
}

TEST(what_is_wrong_with_a_call_goes_back_to_the_model)
{
    struct script s = {.turns = {"!double {\"n\":-1}\ndouble {\"n\":\ntriple {}\ndouble {\"m\":1}\n"
                                 "double [1]",
                                 "sorry"}};
    struct agent_options o = script_options(&s, box);
    struct agent_result r = script_run(&o, &arena);

    CHECK(r.step_count == 6 && !r.steps[0].ok && r.tool_calls == 0);
    CHECK(has(r.steps[0].observation, "/n"));
    CHECK(has(r.steps[1].observation, "not JSON"));
    CHECK(has(r.steps[2].observation, "there is no tool") &&
          has(r.steps[2].observation, "double, twice"));
    CHECK(has(r.steps[3].observation, "n"));
    CHECK(has(r.steps[4].observation, "object"));
}

TEST(a_tool_that_does_not_answer_is_given_up_and_one_that_stumbles_is_tried_again)
{
    struct script s = {.turns = {"!slow {\"n\":1}\nshaky {\"n\":1}\ndouble {\"n\":1}", "done"}};
    struct agent_options o = script_options(&s, box);
    struct agent_result r = script_run(&o, &arena);

    CHECK(has(r.steps[0].observation, "tool_timeout") && !r.steps[0].ok);
    CHECK_STR(r.steps[1].observation, "there");
    CHECK_STR(r.steps[2].observation, "{\"result\":2}");
}

TEST(equal_calls_of_a_tool_that_says_so_are_made_once)
{
    struct script s = {.turns = {"!kept {\"n\":5}",
                                 "!kept { \"n\" : 5 }",
                                 "!twice {\"n\":6}",
                                 "!twice {\"n\":6}",
                                 "done"}};
    struct agent_options o = script_options(&s, box);

    (void)script_run(&o, &arena);
    CHECK(counts->runs[5] == 1 && counts->runs[6] == 2);
}

TEST(finish_waits_for_its_siblings_and_may_be_refused)
{
    struct script s = {.turns = {"!finish {\"n\":13}\ntwice {\"n\":1}",
                                 "!finish {\"n\":7}\ntwice {\"n\":2}",
                                 "never said"}};
    struct agent_options o = script_options(&s, box);
    struct agent_result r = script_run(&o, &arena);

    CHECK(r.end == AGENT_FINISHED && r.iterations == 2);
    CHECK_STR(r.finish, "{\"n\":7}");
    CHECK(has(r.steps[0].observation, "citation_unknown_section") && r.steps[1].ok);
    CHECK(counts->runs[1] == 1 && counts->runs[2] == 1);
}

TEST(a_large_result_is_cut_for_the_model_with_a_note)
{
    struct script s = {.turns = {"!big {\"n\":1}", "done"}};
    struct agent_options o = script_options(&s, box);
    struct agent_result r = script_run(&o, &arena);

    CHECK(has(r.messages, "[cut: 16384 of 50000 bytes shown; the whole is on record]"));
    CHECK(r.steps[0].observation.n == AGENT_OBSERVATION);
    CHECK(str_ends(r.steps[0].observation, STR("...")));
}

TEST(each_limit_has_its_reason)
{
    struct script s = {.turns = {"!double {\"n\":1}",
                                 "!double {\"n\":2}",
                                 "!double {\"n\":3}",
                                 "!double {\"n\":4}",
                                 "!double {\"n\":5}"}};
    struct agent_options o = script_options(&s, box);
    struct agent_result r;

    o.limits = (struct agent_limits){.iterations = 2, .tokens = -1};
    r = script_run(&o, &arena);
    CHECK(r.end == AGENT_STOPPED);
    CHECK_STR(r.reason, "max_iterations_reached");
    o.limits = (struct agent_limits){.tokens = 150, .tokens_hard = true};
    r = script_run(&o, &arena);
    CHECK_STR(r.reason, "token_budget_exceeded");
    CHECK(r.iterations == 2 && r.over_budget);
    o.limits = (struct agent_limits){.tokens = 150, .iterations = 4};
    r = script_run(&o, &arena);
    CHECK_STR(r.reason, "max_iterations_reached"); /* a soft limit only notes the reason */
    CHECK(r.over_budget);
    o.limits = (struct agent_limits){.tokens = -1, .cost_usd = 0.015};
    r = script_run(&o, &arena);
    CHECK_STR(r.reason, "cost_limit_exceeded");
}

TEST(a_limit_can_end_in_a_conclusion_without_tools)
{
    struct script s = {.turns = {"!double {\"n\":1}", "So far: 2."}};
    struct agent_options o = script_options(&s, box);
    struct agent_result r;

    o.limits.iterations = 1;
    o.conclude = true;
    r = script_run(&o, &arena);
    CHECK(r.end == AGENT_STOPPED && r.concluded);
    CHECK_STR(r.reason, "max_iterations_reached");
    CHECK_STR(r.text, "So far: 2.");
}

TEST(the_same_calls_again_and_again_are_a_loop)
{
    struct script s = {.turns = {"!double {\"n\":1}",
                                 "!double {\"n\":1}",
                                 "!double { \"n\":1 }",
                                 "!double {\"n\":1}",
                                 "!double {\"n\":1}"}};
    struct agent_options o = script_options(&s, box);
    struct agent_result r = script_run(&o, &arena);

    CHECK_STR(r.reason, "loop_detected");
    CHECK(r.iterations == 4);
}

TEST(calls_that_take_turns_are_a_loop_too)
{
#define A "!double {\"n\":1}"
#define B "!double {\"n\":2}"
#define C "!double {\"n\":3}"
    struct script two = {.turns = {A, B, A, B, A, B, A, B, A}},
                  three = {.turns = {C, A, B, C, A, B, C, A, B, C, A, B, C}},
                  none = {.turns = {A, B, A, C, A, B, A, C, A, "done"}};
    struct agent_options o = script_options(&two, box);
    struct agent_result r;

    o.limits.iterations = 20;
    r = script_run(&o, &arena);
    CHECK_STR(r.reason, "loop_detected");
    CHECK_INT(r.iterations, 8);
    o = script_options(&three, box);
    o.limits.iterations = 20;
    r = script_run(&o, &arena);
    CHECK_STR(r.reason, "loop_detected");
    CHECK_INT(r.iterations, 12);
    o = script_options(&none, box);
    o.limits.iterations = 20;
    r = script_run(&o, &arena);
    CHECK_INT(r.end, AGENT_FINISHED);
}

TEST(a_model_that_cannot_be_asked_ends_the_run)
{
    struct script s = {.turns = {"!double {\"n\":1}", "#500"}}, limited = {.turns = {"#429"}};
    struct agent_options o = script_options(&s, box);
    struct agent_result r = script_run(&o, &arena);

    CHECK(r.end == AGENT_FAILED && r.step_count == 1);
    CHECK_STR(r.reason, "llm_error");
    o = script_options(&limited, box);
    r = script_run(&o, &arena);
    CHECK_STR(r.reason, "rate_limit_exceeded");
}

TEST(a_cancel_leaves_a_history_that_can_be_sent)
{
    struct script s = {.turns = {"!slow {\"n\":1}\nslow {\"n\":2}", "x"}};
    struct agent_options o = script_options(&s, box);
    _Atomic bool cancel = true;
    struct agent_result r;

    o.cancel = &cancel;
    r = script_run(&o, &arena);
    CHECK(r.end == AGENT_CANCELLED);
}

/* ---- with a log ---- */

static unsigned kill_at;

static void on_effect(void *ctx, const struct agent_effect *f)
{
    (void)ctx, (void)f;
    if (atomic_fetch_add(&counts->effects, 1) + 1 == kill_at)
        (void)kill(getpid(), SIGKILL);
}

TEST(a_recorded_run_is_replayed_to_the_same_trace)
{
    struct agent_options o = script_options(&ten_steps, box);
    struct agent_result first, again;
    struct err e;

    o.log = log_in(dir, &arena);
    first = script_run(&o, &arena);
    atomic_store(&ten_steps.asked, 0);
    memset(counts, 0, sizeof *counts);
    o.replay = true;
    again = script_run(&o, &arena);
    CHECK(atomic_load(&ten_steps.asked) == 0 && counts->runs[1] == 0);
    CHECK(first.step_count == again.step_count && str_eq(first.messages, again.messages));
    for (size_t i = 0; i < first.step_count; i++)
        CHECK(str_eq(first.steps[i].action, again.steps[i].action) &&
              str_eq(first.steps[i].observation, again.steps[i].observation));
    o.user = STR("Do something else.");
    CHECK(!agent_run(&o, &arena, &again, &e) && strstr(e.text, "replay_mismatch"));
    agent_log_close(o.log);
}

TEST(a_log_that_is_damaged_ends_the_run_with_an_error)
{
    struct agent_options o = script_options(&ten_steps, box);
    struct agent_result again;
    struct db *db;
    struct err e;

    o.log = log_in(dir, &arena);
    o.run = STR("damaged");
    atomic_store(&ten_steps.asked, 0);
    (void)script_run(&o, &arena);
    CHECK_F(db_open(arena_printf(&arena, "sqlite:%s/r.db", dir), DB_WRITE, &db, &e), "%s", e.text);
    CHECK_F(db_run(db, "UPDATE agent_effects SET result = '{' WHERE kind = 'model'", NULL, 0, &e),
            "%s",
            e.text);
    db_close(db);
    o.replay = true;
    CHECK(!agent_run(&o, &arena, &again, &e) && strstr(e.text, "damaged"));
    agent_log_close(o.log);
}

TEST(a_person_is_asked_first_and_their_word_counts)
{
    static const struct {
        enum agent_word word;
        const char *arguments, *observation;
    } rows[] = {
        {AGENT_APPROVE, "", "{\"result\":2}"},
        {AGENT_DENY, "", "{\"error\":\"denied: a person did not allow this call\"}"},
        {AGENT_CHANGE, "{\"n\":8}", "{\"result\":16}"},
    };
    struct script s = {.turns = {"!pay {\"n\":1}\ntwice {\"n\":3}", "Paid."}};
    struct agent_options o = script_options(&s, box);
    struct agent_result r;
    struct err e;

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        memset(counts, 0, sizeof *counts);
        o.run = arena_printf(&arena, "run-%zu", i);
        o.log = log_in(dir, &arena);
        r = script_run(&o, &arena);
        CHECK(r.end == AGENT_WAITING && counts->runs[1] == 0 && counts->runs[3] == 0);
        CHECK_STR(r.pending.tool, "pay");
        CHECK_STR(r.pending.arguments, "{\"n\":1}");
        agent_log_close(o.log);
        o.log = log_in(dir, &arena); /* the pending approval survives a restart */
        r = script_run(&o, &arena);
        CHECK(r.end == AGENT_WAITING);
        CHECK(agent_answer(o.log,
                           o.run,
                           r.pending.seq,
                           &(struct agent_decision){.word = rows[i].word,
                                                    .arguments = str_c(rows[i].arguments),
                                                    .who = STR("ada"),
                                                    .now_us = 1},
                           &e));
        CHECK(!agent_answer(
            o.log,
            o.run,
            r.pending.seq,
            &(struct agent_decision){.word = AGENT_DENY, .who = STR("bob"), .now_us = 2},
            &e));
        CHECK(!agent_answer(
            o.log,
            o.run,
            77,
            &(struct agent_decision){.word = AGENT_DENY, .who = STR("bob"), .now_us = 2},
            &e));
        r = script_run(&o, &arena);
        CHECK(r.end == AGENT_FINISHED);
        CHECK_STR(r.steps[0].observation, rows[i].observation);
        CHECK(counts->runs[3] == 1);
        agent_log_close(o.log);
    }
}

struct decider {
    pthread_t thread;
    pthread_barrier_t *start;
    struct agent_options *o;
    int64_t seq;
    bool counts;
};

static void *decide(void *ctx)
{
    struct decider *d = ctx;
    struct err e;

    pthread_barrier_wait(d->start);
    d->counts = agent_answer(
        d->o->log,
        d->o->run,
        d->seq,
        &(struct agent_decision){.word = AGENT_APPROVE, .who = STR("ada"), .now_us = 1},
        &e);
    return NULL;
}

TEST(one_of_several_equal_decisions_of_one_moment_counts)
{
    struct script s = {.turns = {"!pay {\"n\":1}", "Paid."}};
    struct agent_options o = script_options(&s, box);
    struct decider all[4];
    pthread_barrier_t start;

    CHECK_INT(pthread_barrier_init(&start, NULL, COUNT_OF(all)), 0);
    o.log = log_in(dir, &arena);
    for (size_t i = 0; i < 20; i++) {
        struct agent_result r;
        unsigned counted = 0;

        o.run = arena_printf(&arena, "equal-%zu", i);
        r = script_run(&o, &arena);
        CHECK(r.end == AGENT_WAITING);
        for (size_t k = 0; k < COUNT_OF(all); k++) {
            all[k] = (struct decider){.start = &start, .o = &o, .seq = r.pending.seq};
            CHECK_INT(pthread_create(&all[k].thread, NULL, decide, &all[k]), 0);
        }
        for (size_t k = 0; k < COUNT_OF(all); k++) {
            CHECK_INT(pthread_join(all[k].thread, NULL), 0);
            counted += all[k].counts;
        }
        CHECK_INT(counted, 1);
    }
    agent_log_close(o.log);
    pthread_barrier_destroy(&start);
}

TEST(a_call_whose_end_is_unknown_follows_its_tool)
{
    struct script s = {.turns = {"!twice {\"n\":3}", "Over."}};
    struct agent_options o = script_options(&s, box);
    struct agent_result r;
    int status;
    pid_t pid;

    pid = fork();
    if (pid == 0) {
        struct err e;

        o.log = log_in(dir, &arena);
        o.on_effect = on_effect;
        kill_at = 4; /* the intent of the tool is on disk */
        (void)!agent_run(&o, &arena, &r, &e);
        _exit(1);
    }
    CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status));
    o.log = log_in(dir, &arena);
    r = script_run(&o, &arena);
    CHECK(r.end == AGENT_FINISHED && r.resumed);
    CHECK(has(r.steps[0].observation, "its end is unknown") && counts->runs[3] == 0);
    agent_log_close(o.log);
}

static bool on_count(void *ctx, const struct db_value *c, size_t n)
{
    (void)n;
    *(int64_t *)ctx = c[0].i;
    return true;
}

static int64_t count(struct db *db, const char *sql)
{
    int64_t n = -1;
    struct err e;

    if (!db_query(db, sql, NULL, 0, (struct db_rows){on_count, &n}, &e))
        fail_msg("%s", e.text);
    return n;
}

TEST(the_record_is_told_of_the_session_and_of_each_tool)
{
    struct script s = {.turns = {"!twice {\"n\":3}\nslow {\"n\":1}", "Six."}};
    struct agent_options o = script_options(&s, box);
    struct store_options so = {.url = arena_printf(&arena, "sqlite:%s/s.db", dir)};
    struct db *db;
    struct err e;

    if (!store_open(&so, &o.store, &e))
        fail_msg("%s", e.text);
    (void)script_run(&o, &arena);
    store_close(o.store);
    CHECK(db_open(so.url, DB_READ, &db, &e));
    CHECK(count(db,
                "SELECT count(*) FROM alert_sessions WHERE session_id = 's' AND"
                " status = 'completed' AND agent_type = 'test' AND final_analysis = 'Six.'") == 1);
    CHECK(count(db,
                "SELECT count(*) FROM mcp_communications WHERE session_id = 's' AND"
                " tool_name = 'twice' AND success = 1 AND tool_result LIKE '%6%'") == 1);
    CHECK(count(db,
                "SELECT count(*) FROM mcp_communications WHERE tool_name = 'slow' AND"
                " success = 0 AND error_message LIKE '%tool_timeout%'") == 1);
    db_close(db);
}

#define S(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        S(calls_are_made_and_told_until_there_is_an_answer),
        S(what_is_wrong_with_a_call_goes_back_to_the_model),
        S(a_tool_that_does_not_answer_is_given_up_and_one_that_stumbles_is_tried_again),
        S(equal_calls_of_a_tool_that_says_so_are_made_once),
        S(finish_waits_for_its_siblings_and_may_be_refused),
        S(a_large_result_is_cut_for_the_model_with_a_note),
        S(each_limit_has_its_reason),
        S(a_limit_can_end_in_a_conclusion_without_tools),
        S(the_same_calls_again_and_again_are_a_loop),
        S(calls_that_take_turns_are_a_loop_too),
        S(a_model_that_cannot_be_asked_ends_the_run),
        S(a_cancel_leaves_a_history_that_can_be_sent),
        S(a_recorded_run_is_replayed_to_the_same_trace),
        S(a_log_that_is_damaged_ends_the_run_with_an_error),
        S(a_person_is_asked_first_and_their_word_counts),
        S(one_of_several_equal_decisions_of_one_moment_counts),
        S(a_call_whose_end_is_unknown_follows_its_tool),
        S(the_record_is_told_of_the_session_and_of_each_tool),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
