/* incident_life_test.c - investigations killed at any effect, cancelled at any, stopped and
 * resumed.
 *
 * Each attempt is a process, as in production.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/file.h"
#include "incident_help.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static const char tools[] =
    "[{\"name\":\"pods_get\",\"annotations\":{\"readOnlyHint\":true},\"text\":\"pod of {}\"},"
    "{\"name\":\"restart\",\"text\":\"restarted\"}]";

static const char reading[] =
    "agents:\n"
    "  Look: {mcp_servers: [k], strategy: classic}\n"
    "  Loop: {mcp_servers: [k], strategy: native}\n"
    "chains:\n"
    "  c:\n"
    "    alert_types: [t]\n"
    "    stages: [{name: one, agents: [Look, Loop]}, {name: two, agent: Look}]\n"
    "    executive_summary: true\n";

static const char writing[] = "agents: {A: {alert_types: [t], mcp_servers: [k]}}";

static const char *says(str system, str p, size_t replies)
{
    (void)system;
    if (str_starts(p, STR("# Choose")))
        return "[{\"server\":\"k\",\"tool\":\"pods_get\",\"parameters\":{\"name\":\"a\"},"
               "\"reason\":\"r\"},{\"server\":\"k\",\"tool\":\"pods_get\",\"parameters\":"
               "{\"name\":\"b\"},\"reason\":\"r\"}]";
    if (str_starts(p, STR("# Go on")))
        return "{\"continue\": false, \"reasoning\": \"enough\"}";
    if (str_starts(p, STR("# Investigate")))
        return "!k__pods_get {\"name\":\"c\"}";
    if (str_starts(p, STR("# Make one")))
        return "Joined.";
    if (str_starts(p, STR("# Summarise")))
        return "In short.";
    return replies ? "Loop found it." : "Look found it.";
}

static const char *writes(str system, str p, size_t replies)
{
    (void)system, (void)replies;
    if (str_starts(p, STR("# Choose")))
        return "[{\"server\":\"k\",\"tool\":\"restart\",\"parameters\":{},\"reason\":\"r\"}]";
    return str_starts(p, STR("# Go on")) ? "{\"continue\": false}" : "Done.";
}

/* One process: runs until it is killed or has written its report to a file. */
struct attempt {
    const char *dir, *agents;
    model_says *says;
    int kill_at, cancel_at, leave_at;
};

static void live(const struct attempt *at)
{
    struct scene s;
    struct incident_options o;
    struct incident_report r;
    struct err e;
    str end;

    side_open(&s, at->dir, at->agents, at->says);
    s.effects_left = at->kill_at;
    s.cancel_at = at->cancel_at;
    s.leave_at = at->leave_at;
    o = side_options(&s, "t");
    if (!incident_run(&o, &s.arena, &r, &e))
        base_die("%s", e.text);
    end = arena_printf(&s.arena, "%d\n" STR_FMT, (int)r.end, STR_ARG(r.markdown));
    if (!file_write_atomic(arena_printf(&s.arena, "%s/report", at->dir).p, end, 0600, &e))
        base_die("%s", e.text);
    side_close(&s);
}

/* Returns whether the process reached its end. */
static bool attempt(const struct attempt *at)
{
    int status;
    pid_t pid = fork();

    CHECK(pid >= 0);
    if (pid == 0) {
        live(at);
        _exit(0);
    }
    CHECK(waitpid(pid, &status, 0) == pid);
    CHECK_F(WIFSIGNALED(status) ? WTERMSIG(status) == SIGKILL : WEXITSTATUS(status) == 0,
            "status %x",
            (unsigned)status);
    return !WIFSIGNALED(status);
}

/* Creates a folder with the tools in it. */
static void folder(char dir[64], struct arena *a)
{
    struct err e;

    (void)snprintf(dir, 64, "%s/incident_life.XXXXXX", test_tmp());
    CHECK(mkdtemp(dir));
    CHECK(file_write_atomic(arena_printf(a, "%s/tools.json", dir).p, str_c(tools), 0600, &e));
    CHECK(file_write_atomic(arena_printf(a, "%s/book.md", dir).p, STR("# Look.\n"), 0600, &e));
    CHECK(file_write_atomic(arena_printf(a, "%s/log", dir).p, STR(""), 0600, &e));
}

static void sweep(const char *dir)
{
    char command[128];

    (void)snprintf(command, sizeof command, "rm -rf %s", dir);
    CHECK(system(command) == 0);
}

static str file_of(struct arena *a, const char *dir, const char *name)
{
    struct err e;
    str text;

    if (!file_read(a, arena_printf(a, "%s/%s", dir, name).p, 1 << 20, &text, &e))
        fail_msg("%s", e.text);
    return text;
}

TEST(killed_at_any_effect_it_goes_on_to_the_same_report)
{
    struct arena a;
    char dir[64];
    str whole;
    int n;

    arena_init(&a, 1 << 28);
    folder(dir, &a);
    CHECK(attempt(&(struct attempt){dir, reading, says, -1, -1, -1}));
    whole = file_of(&a, dir, "report");
    CHECK(whole.p[0] == '0' && has(whole, "In short."));
    sweep(dir);
    for (n = 0;; n++) {
        bool lived;

        folder(dir, &a);
        lived = attempt(&(struct attempt){dir, reading, says, n, -1, -1});
        if (!lived)
            CHECK(attempt(&(struct attempt){dir, reading, says, -1, -1, -1}));
        CHECK_F(str_eq(file_of(&a, dir, "report"), whole),
                "killed at %d:\n" STR_FMT,
                n,
                STR_ARG(file_of(&a, dir, "report")));
        sweep(dir);
        if (lived)
            break;
    }
    CHECK(n > 30);
    arena_release(&a);
}

TEST(killed_again_and_again_it_still_ends)
{
    struct arena a;
    char dir[64];
    int times = 0;

    arena_init(&a, 1 << 28);
    folder(dir, &a);
    while (!attempt(&(struct attempt){dir, reading, says, 3, -1, -1}))
        CHECK(++times < 100);
    CHECK(times > 5 && has(file_of(&a, dir, "report"), "In short."));
    sweep(dir);
    arena_release(&a);
}

TEST(a_tool_that_changes_something_is_never_run_twice)
{
    struct arena a;
    char dir[64];

    arena_init(&a, 1 << 28);
    for (int n = 0;; n++) {
        bool lived;
        size_t calls;
        str report;

        folder(dir, &a);
        lived = attempt(&(struct attempt){dir, writing, writes, n, -1, -1});
        if (!lived)
            CHECK(attempt(&(struct attempt){dir, writing, writes, -1, -1, -1}));
        calls = count_of(file_of(&a, dir, "log"), "restart");
        report = file_of(&a, dir, "report");
        /* If the outcome of a call is unknown, the call is not repeated, and the report mentions
         * it. */
        CHECK_F(calls <= 1 && (calls == 1 || has(report, "its end is unknown")),
                "killed at %d: %zu calls",
                n,
                calls);
        CHECK(report.p[0] == '0');
        sweep(dir);
        if (lived)
            break;
    }
    arena_release(&a);
}

TEST(cancelled_at_any_effect_it_ends_as_cancelled)
{
    struct arena a;
    char dir[64];

    arena_init(&a, 1 << 28);
    for (int n = 0; n < 12; n += 3) {
        folder(dir, &a);
        CHECK(attempt(&(struct attempt){dir, reading, says, -1, n, -1}));
        CHECK(file_of(&a, dir, "report").p[0] == (char)('0' + INCIDENT_CANCELLED) ||
              has(file_of(&a, dir, "report"), "In short."));
        sweep(dir);
    }
    arena_release(&a);
}

TEST(left_at_any_effect_it_goes_on_where_it_was)
{
    struct arena a;
    char dir[64];
    str whole;

    arena_init(&a, 1 << 28);
    folder(dir, &a);
    CHECK(attempt(&(struct attempt){dir, reading, says, -1, -1, -1}));
    whole = file_of(&a, dir, "report");
    sweep(dir);
    for (int n = 0; n < 24; n += 2) {
        folder(dir, &a);
        CHECK(attempt(&(struct attempt){dir, reading, says, -1, -1, n}));
        if (file_of(&a, dir, "report").p[0] == (char)('0' + INCIDENT_LEFT))
            CHECK(attempt(&(struct attempt){dir, reading, says, -1, -1, -1}));
        CHECK_F(str_eq(file_of(&a, dir, "report"), whole),
                "left at %d:\n" STR_FMT,
                n,
                STR_ARG(file_of(&a, dir, "report")));
        sweep(dir);
    }
    arena_release(&a);
}

TEST(another_setup_in_the_place_of_the_old_one_fails_the_run_and_says_why)
{
    struct arena a;
    char dir[64];

    arena_init(&a, 1 << 28);
    folder(dir, &a);
    CHECK(!attempt(&(struct attempt){dir, writing, writes, 8, -1, -1}));
    CHECK(attempt(&(struct attempt){
        dir,
        "agents: {A: {alert_types: [t], mcp_servers: [k], custom_instructions: New.}}",
        writes,
        -1,
        -1,
        -1}));
    CHECK(file_of(&a, dir, "report").p[0] == (char)('0' + INCIDENT_FAILED));
    CHECK(has(file_of(&a, dir, "report"), "replay_mismatch"));
    sweep(dir);
    arena_release(&a);
}

TEST_MAIN(T(killed_at_any_effect_it_goes_on_to_the_same_report),
          T(killed_again_and_again_it_still_ends),
          T(a_tool_that_changes_something_is_never_run_twice),
          T(cancelled_at_any_effect_it_ends_as_cancelled),
          T(left_at_any_effect_it_goes_on_where_it_was),
          T(another_setup_in_the_place_of_the_old_one_fails_the_run_and_says_why))
