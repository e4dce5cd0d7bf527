/* agents_memory_test.c - runs append their messages to their thread, each run once.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agents/runner_state.h"
#include "gateway/gateway.h"

#include "store_help.h"

struct world {
    struct place place;
    struct setup setup;
    struct agents_runner runner;
    struct arena arena;
};

static void begin(struct world *w)
{
    struct err e;

    memset(w, 0, sizeof *w);
    place_init(&w->place);
    w->runner.host.clock = &clock_real;
    CHECK_F(threads_open(str_c(w->place.url), &w->runner.host.threads, &e), "%s", e.text);
    arena_init(&w->arena, (size_t)1 << 30);
}

static void finish(struct world *w)
{
    threads_close(w->runner.host.threads);
    arena_release(&w->arena);
    place_release(&w->place);
}

static struct agents_job job(struct world *w, const char *run, const char *thread)
{
    return (struct agents_job){
        .runner = &w->runner,
        .setup = &w->setup,
        .q = {.run = str_c(run), .name = STR("a"), .thread = str_c(thread), .key = STR("alice")}};
}

static void add(struct world *w, const char *run, const char *thread)
{
    struct agents_job j = job(w, run, thread);
    struct err e;

    CHECK_F(agents_memory_add(&j, STR("q"), str_c(run), &w->arena, &e), "%s", e.text);
}

static void check(struct world *w, const char *thread, const char *want)
{
    struct agents_job j = job(w, "reader", thread);
    struct err e;
    str messages;

    CHECK_F(agents_memory_read(&j, &w->arena, &messages, &e), "%s", e.text);
    CHECK_STR(messages, want);
}

#define TURN(run)                                                                                  \
    "{\"role\":\"user\",\"content\":\"q\"},{\"role\":\"assistant\",\"content\":\"" run "\"}"

TEST(a_run_adds_its_messages_once_whatever_runs_come_between)
{
    struct world w;

    begin(&w);
    add(&w, "one", "t");
    add(&w, "one", "t");
    check(&w, "t", TURN("one"));
    add(&w, "two", "t");
    add(&w, "three", "t");
    add(&w, "one", "t");
    add(&w, "two", "t");
    check(&w, "t", TURN("one") "," TURN("two") "," TURN("three"));
    finish(&w);
}

TEST(threads_do_not_mix)
{
    struct world w;

    begin(&w);
    add(&w, "one", "t");
    add(&w, "one", "u");
    check(&w, "t", TURN("one"));
    check(&w, "u", TURN("one"));
    finish(&w);
}

TEST(messages_that_are_no_json_list_are_left_out)
{
    static const char *const values[] = {
        "[{\"role\":\"user\",\"content\":\"x\"}],\"model\":\"another\",\"x\":[{}]",
        "{\"role\":\"user\"}",
        "[",
        "[}",
        ""};
    struct world w;

    begin(&w);
    for (size_t i = 0; i < COUNT_OF(values); i++) {
        char thread[2] = {(char)('a' + i), 0};
        struct thread_asker who = {.key = STR("alice")};
        struct thread_value v = {
            .channel = STR("messages"), .type = STR("json"), .bytes = str_c(values[i])};
        struct thread_tuple t = {.thread = str_c(thread),
                                 .ns = STR(""),
                                 .id = STR("1"),
                                 .parent = STR(""),
                                 .checkpoint = STR("{\"channel_versions\":{\"messages\":1}}"),
                                 .metadata = STR("{}"),
                                 .values = &v,
                                 .value_count = 1};
        struct err e;

        CHECK_F(threads_put(w.runner.host.threads, &who, &t, &e), "%s", e.text);
        check(&w, thread, "");
    }
    finish(&w);
}

TEST_MAIN(T(messages_that_are_no_json_list_are_left_out),
          T(a_run_adds_its_messages_once_whatever_runs_come_between), T(threads_do_not_mix))
