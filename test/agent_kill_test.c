/* agent_kill_test.c - a run is killed at every moment, and resumes.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent_help.h"

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

static void add(const char *name,
                bool (*run)(void *, const struct tool_call *, struct buf *, struct err *),
                unsigned flags, enum tool_unknown unknown)
{
    struct tool t = {.name = str_c(name),
                     .description = STR("a tool"),
                     .schema = str_c(number_schema),
                     .flags = flags,
                     .unknown = unknown,
                     .run = run};
    struct err e;

    if (!toolbox_add(box, &t, &e))
        fail_msg("%s", e.text);
}

static unsigned kill_at;

static void on_effect(void *ctx, const struct agent_effect *f)
{
    (void)ctx, (void)f;
    if (atomic_fetch_add(&counts->effects, 1) + 1 == kill_at)
        (void)kill(getpid(), SIGKILL);
}

/* Runs in a child process, which may be killed. True if the run ended. */
static bool run_child(unsigned at)
{
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        struct agent_options o = script_options(&ten_steps, box);
        struct agent_result r;
        struct err e;

        kill_at = at;
        o.log = log_in(dir, &arena);
        o.on_effect = on_effect;
        if (!agent_run(&o, &arena, &r, &e) || r.end != AGENT_FINISHED ||
            !str_eq(r.text, STR("All done.")) || r.step_count != 13)
            _exit(2);
        agent_log_close(o.log);
        _exit(0);
    }
    CHECK(waitpid(pid, &status, 0) == pid);
    CHECK(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
    return WIFEXITED(status);
}

TEST(a_run_killed_at_any_effect_goes_on_and_does_nothing_twice)
{
    char path[128];

    for (unsigned at = 1;; at++) {
        bool whole;

        memset(counts, 0, sizeof *counts);
        (void)snprintf(path, sizeof path, "%s/r.db", dir);
        (void)unlink(path);
        (void)snprintf(path, sizeof path, "%s/r.db-wal", dir);
        (void)unlink(path);
        (void)snprintf(path, sizeof path, "%s/r.db-shm", dir);
        (void)unlink(path);
        whole = run_child(at);
        if (!whole)
            CHECK(run_child(0));
        for (int n = 1; n <= 12; n++)
            CHECK(counts->runs[n] == 1);
        if (whole)
            break;
    }
    CHECK(kill_at == 0 && counts->effects == 2 * (10 + 12) + 1);
}

/* ---- killed at any moment, with tools that may not run twice ---- */

/* Kills the process at the chosen moment. Moments: before and after each model call and each tool
 * call, and after each row of the log. */
static void moment(void)
{
    if (atomic_fetch_add(&counts->effects, 1) + 1 == kill_at)
        (void)kill(getpid(), SIGKILL);
}

static void on_row(void *ctx, const struct agent_effect *f)
{
    (void)ctx, (void)f;
    moment();
}

static bool once_only(void *ctx, const struct tool_call *c, struct buf *out, struct err *e)
{
    bool ok;

    moment();
    ok = double_it(ctx, c, out, e);
    moment();
    return ok;
}

static bool ask_between(void *ctx, const struct ask_request *q, const _Atomic bool *cancel,
                        struct arena *a, struct ask_reply *reply)
{
    bool ok;

    moment();
    ok = script_ask(ctx, q, cancel, a, reply);
    moment();
    return ok;
}

static struct script once_steps = {
    .turns = {"!once {\"n\":1}",
              "!once {\"n\":2}\nonce {\"n\":3}",
              "!once {\"n\":4}",
              "!once {\"n\":5}\nonce_asked {\"n\":6}",
              "!once {\"n\":7}\nonce {\"n\":8}\nonce {\"n\":9}\nonce {\"n\":10}",
              "!once {\"n\":11}",
              "!once {\"n\":12}",
              "!once {\"n\":13}",
              "!once {\"n\":14}\nonce {\"n\":15}",
              "All done."}};

/* Runs in a child process. If a call's outcome is unknown, the run waits for a person's decision;
 * the child rejects the call. */
static void once_child(unsigned at)
{
    struct agent_options o = script_options(&once_steps, box);
    struct agent_result r = {.end = AGENT_FAILED};
    struct err e;

    kill_at = at;
    o.log = log_in(dir, &arena);
    o.on_effect = on_row;
    o.ask.ask = ask_between;
    for (int i = 0; i < 3; i++) {
        if (!agent_run(&o, &arena, &r, &e))
            _exit(2);
        if (r.end == AGENT_WAITING &&
            !agent_answer(
                o.log,
                o.run,
                r.pending.seq,
                &(struct agent_decision){.word = AGENT_DENY, .who = STR("me"), .now_us = 1},
                &e))
            _exit(3);
        if (r.end != AGENT_WAITING)
            break;
    }
    if (r.end != AGENT_FINISHED || !str_eq(r.text, STR("All done.")) || r.step_count != 16)
        _exit(4);
    check_history(r.messages);
    o.replay = true;
    if (!agent_run(&o, &arena, &r, &e) || !str_eq(r.text, STR("All done.")))
        _exit(5);
    agent_log_close(o.log);
    _exit(0);
}

/* True if the child was not killed. */
static bool once_run(unsigned at)
{
    int status;
    pid_t pid = fork();

    if (pid == 0)
        once_child(at);
    CHECK(waitpid(pid, &status, 0) == pid);
    CHECK_F(WIFSIGNALED(status) || WEXITSTATUS(status) == 0, "exit %d", WEXITSTATUS(status));
    return WIFEXITED(status);
}

TEST(a_run_killed_at_any_moment_ends_the_same_and_no_tool_runs_twice)
{
    unsigned at = 0, unfinished = 0;
    bool whole = false;
    char path[128];

    while (!whole) {
        memset(counts, 0, sizeof *counts);
        for (int i = 0; i < 3; i++) {
            (void)snprintf(path, sizeof path, "%s/r.db%s", dir, &"\0-wal\0-shm"[i ? 5 * i - 4 : 0]);
            (void)unlink(path);
        }
        whole = once_run(++at);
        if (!whole)
            CHECK(once_run(0));
        for (int n = 1; n <= 15; n++) {
            CHECK_F(counts->runs[n] <= 1, "%d ran twice, killed at %u", n, at);
            unfinished += counts->runs[n] == 0;
        }
    }
    /* ten model calls and fifteen tool calls, each with two rows and two moments, and one row for
     * the run's input */
    CHECK_INT(at, 4 * (10 + 15) + 2);
    CHECK(unfinished > 0 && unfinished < 200);
}

static int setup(void **state)
{
    (void)state;
    arena_init(&arena, (size_t)1 << 30);
    box = toolbox_new(&clock_real);
    counts = mmap(NULL, sizeof *counts, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    add("double", double_it, TOOL_IDEMPOTENT | TOOL_PURE, TOOL_UNKNOWN_FAIL);
    add("once", once_only, 0, TOOL_UNKNOWN_FAIL);
    add("once_asked", once_only, 0, TOOL_UNKNOWN_ASK);
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

#define S(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

TEST_MAIN(S(a_run_killed_at_any_effect_goes_on_and_does_nothing_twice),
          S(a_run_killed_at_any_moment_ends_the_same_and_no_tool_runs_twice))
