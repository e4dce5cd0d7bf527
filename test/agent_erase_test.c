/* agent_erase_test.c - deletion of threads and runs: together with their session, and from a
 * process that does not own the store.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <unistd.h>

#include "agent/log.h"
#include "agent/thread.h"
#include "base/clock.h"

#include "erase_help.h"

#define HOUR_US ((int64_t)3600 * 1000000)

struct world {
    struct place place;
    struct store *store;
    struct threads *threads;
    struct agent_log *log;
    int64_t now_us;
};

static void begin(struct world *w, uint64_t age_ms)
{
    struct store_options o;
    struct err e;

    place_init(&w->place);
    o = options(&w->place);
    o.retention_age_ms = age_ms;
    o.retention_every_ms = 50;
    w->now_us = clock_wall_ms(&clock_real) * 1000;
    CHECK_F(store_open(&o, &w->store, &e), "%s", e.text);
    CHECK_F(threads_open(str_c(w->place.url), &w->threads, &e), "%s", e.text);
    CHECK_F(agent_log_open(str_c(w->place.url), &w->log, &e), "%s", e.text);
}

static void finish(struct world *w)
{
    agent_log_close(w->log);
    threads_close(w->threads);
    store_close(w->store);
    place_release(&w->place);
}

static void put_thread(struct world *w, const char *id, const char *key, int64_t at_us)
{
    struct thread_asker who = {.key = str_c(key), .now_us = at_us};
    struct thread_value v = {
        .channel = STR("a"), .type = STR("json"), .bytes = STR("\"zanzibarvalue\"")};
    struct thread_write write = {.task = STR("t"),
                                 .channel = STR("a"),
                                 .type = STR("json"),
                                 .bytes = STR("\"zanzibarwrite\"")};
    struct thread_tuple t = {.thread = str_c(id),
                             .id = STR("1"),
                             .checkpoint = STR("{\"channel_versions\":{\"a\":1}}"),
                             .metadata = STR("{}"),
                             .values = &v,
                             .value_count = 1,
                             .writes = &write,
                             .write_count = 1};
    struct err e;

    CHECK_F(threads_put(w->threads, &who, &t, &e), "%s", e.text);
    CHECK_F(threads_put_writes(w->threads, &who, &t, &e), "%s", e.text);
}

static void put_run(struct world *w, const char *id, const char *session, const char *status,
                    int64_t at_us)
{
    struct agent_row row = {.id = str_c(id),
                            .app = STR("test"),
                            .session_id = str_c(session),
                            .status = str_c(status),
                            .input = STR("{\"zanzibarinput\":1}"),
                            .created_us = at_us,
                            .updated_us = at_us};
    struct agent_effect f = {.run = str_c(id),
                             .kind = STR("tool"),
                             .name = STR("t"),
                             .key = STR("k"),
                             .request = STR("zanzibarrequest"),
                             .state = AGENT_INTENT,
                             .started_us = at_us};
    struct err e;

    CHECK_F(agent_log_run_put(w->log, &row, &e), "%s", e.text);
    CHECK_F(agent_log_put(w->log, &f, 1, &e), "%s", e.text);
}

static void put_call(struct world *w, const char *session, const char *key, const char *subject,
                     int64_t at_us)
{
    struct store_call row = store_call_none;

    row.id = row.session_id = str_c(session);
    row.key_name = str_c(key);
    row.subject = str_c(subject);
    row.started_ms = row.ended_ms = at_us / 1000;
    store_call_put(w->store, &row, NULL);
}

/* Counts the rows of a thread in all tables of threads. */
static long long threads_left(struct world *w, const char *id)
{
    static const char *const tables[] = {
        "threads", "thread_checkpoints", "thread_values", "thread_writes"};
    long long n = 0;
    char sql[120];

    for (size_t i = 0; i < COUNT_OF(tables); i++) {
        snprintf(sql, sizeof sql, "SELECT count(*) FROM %s WHERE thread_id = '%s'", tables[i], id);
        n += ask(&w->place, sql);
    }
    return n;
}

static long long runs_left(struct world *w, const char *id)
{
    char sql[200];

    snprintf(sql,
             sizeof sql,
             "SELECT (SELECT count(*) FROM agent_runs WHERE run_id = '%s') +"
             " (SELECT count(*) FROM agent_effects WHERE run_id = '%s')",
             id,
             id);
    return ask(&w->place, sql);
}

TEST(threads_and_runs_are_written_beside_the_owner_of_the_store)
{
    struct world w;

    begin(&w, 0);
    put_thread(&w, "one", "alice", 1);
    put_run(&w, "r", "s", "running", 1);
    put_call(&w, "s", "alice", "alice", 1000);
    settle(w.store);
    CHECK_INT(threads_left(&w, "one"), 4);
    CHECK_INT(runs_left(&w, "r"), 2);
    CHECK_INT(ask(&w.place, "SELECT count(*) FROM llm_interactions"), 1);
    finish(&w);
}

TEST(a_server_that_came_back_is_asked_again)
{
    struct world w;

    begin(&w, 0);
    put_thread(&w, "one", "alice", 1);
    if (w.place.postgres) {
        postgres_away(&w.place, true);
        postgres_away(&w.place, false);
    }
    put_thread(&w, "two", "alice", 1);
    put_run(&w, "r", "s", "running", 1);
    CHECK_INT(threads_left(&w, "two"), 4);
    finish(&w);
}

TEST(a_session_that_is_erased_takes_its_runs_and_its_thread_along)
{
    struct store_receipt got;
    struct world w;

    begin(&w, 0);
    put_call(&w, "gone", "alice", "jane", 1000);
    put_call(&w, "taken", "alice", "jane", 1000);
    settle(w.store);
    put_thread(&w, "gone", "alice", 1);
    put_thread(&w, "taken", "bob", 1); /* the name of a deleted session, but another key's thread */
    put_thread(&w, "stays", "alice", 1);
    put_run(&w, "r1", "gone", "running", 1);
    put_run(&w, "r2", "gone", "done", 1);
    put_run(&w, "r3", "stays", "done", 1);
    erase_as_counted(&w.place, w.store, STORE_ERASE_SESSION, "gone", &got);
    CHECK_INT(got.sessions, 1);
    CHECK_INT(got.threads, 1);
    CHECK_INT(got.runs, 2);
    CHECK_INT(threads_left(&w, "gone"), 0);
    CHECK_INT(threads_left(&w, "stays"), 4);
    CHECK_INT(runs_left(&w, "r1") + runs_left(&w, "r2"), 0);
    CHECK_INT(runs_left(&w, "r3"), 2);
    erase_as_counted(&w.place, w.store, STORE_ERASE_SESSION, "taken", &got);
    CHECK_INT(got.threads, 0);
    CHECK_INT(threads_left(&w, "taken"), 4);
    finish(&w);
}

TEST(a_subject_that_is_erased_takes_its_threads_and_runs_along)
{
    struct store_receipt got;
    struct world w;

    begin(&w, 0);
    put_call(&w, "s1", "app", "jane", 1000);
    put_call(&w, "s2", "jane", "jane", 1000);
    settle(w.store);
    put_thread(&w, "s1", "app", 1);
    put_thread(&w, "other", "jane", 1);
    put_thread(&w, "stays", "app", 1);
    put_run(&w, "r1", "s1", "done", 1);
    erase_as_counted(&w.place, w.store, STORE_ERASE_SUBJECT, "jane", &got);
    CHECK_INT(got.sessions, 2);
    CHECK_INT(got.threads, 2);
    CHECK_INT(got.runs, 1);
    CHECK_INT(threads_left(&w, "s1") + threads_left(&w, "other") + runs_left(&w, "r1"), 0);
    CHECK_INT(threads_left(&w, "stays"), 4);
    CHECK_INT(ask(&w.place,
                  "SELECT count(*) FROM audit_log WHERE detail LIKE '%\"threads\":2,\"runs\":1}'"),
              1);
    finish(&w);
}

TEST(threads_and_runs_whose_time_is_over_go_and_what_is_unfinished_stays)
{
    int64_t old;
    struct world w;

    begin(&w, 3600000);
    old = w.now_us - 2 * HOUR_US;
    put_call(&w, "waits", "alice", "alice", old);
    put_call(&w, "ended", "alice", "alice", old);
    put_run(&w, "asks", "waits", "waiting", old);
    put_run(&w, "runs", "", "running", old);
    put_run(&w, "done", "", "done", old);
    put_run(&w, "new", "", "done", w.now_us);
    put_thread(&w, "old", "alice", old);
    put_thread(&w, "new", "alice", w.now_us);
    put_thread(&w, "used", "alice", old);
    put_thread(&w, "used", "alice", w.now_us);
    settle(w.store);
    for (int ms = 0; ms < 60000 && (threads_left(&w, "old") + runs_left(&w, "done") ||
                                    ask(&w.place, "SELECT count(*) FROM alert_sessions") > 1);
         ms += 20)
        usleep(20000);
    CHECK_INT(threads_left(&w, "old"), 0);
    CHECK_INT(threads_left(&w, "new") + threads_left(&w, "used"), 8);
    CHECK_INT(runs_left(&w, "done"), 0);
    CHECK_INT(runs_left(&w, "new"), 2);
    CHECK_INT(runs_left(&w, "asks") + runs_left(&w, "runs"), 4);
    CHECK_INT(ask(&w.place, "SELECT count(*) FROM alert_sessions WHERE session_id = 'waits'"), 1);
    finish(&w);
}

/* The arena is too small for the input of the other run. */
TEST(the_parts_of_a_run_are_read_without_the_other_runs_of_the_session)
{
    static char large[1 << 20];
    struct agent_row other = {.id = STR("root2"),
                              .app = STR("test"),
                              .session_id = STR("talk"),
                              .status = STR("done"),
                              .input = {large, sizeof large}};
    struct agent_rows parts;
    struct arena a;
    struct world w;
    struct err e;

    memset(large, 'x', sizeof large);
    begin(&w, 0);
    put_run(&w, "root", "talk", "running", 1);
    put_run(&w, "root/b", "talk", "waiting", 3);
    put_run(&w, "root/a", "talk", "done", 2);
    put_run(&w, "root2/a", "talk", "done", 4);
    put_run(&w, "root/", "elsewhere", "done", 5);
    CHECK_F(agent_log_run_put(w.log, &other, &e), "%s", e.text);
    arena_init(&a, sizeof large / 2);
    CHECK_F(agent_log_parts(w.log, STR("root"), STR("talk"), &a, &parts, &e), "%s", e.text);
    CHECK_INT(parts.n, 2);
    CHECK_STR(parts.at[0].id, "root/a");
    CHECK_STR(parts.at[1].id, "root/b");
    arena_release(&a);
    finish(&w);
}

TEST_MAIN(T(the_parts_of_a_run_are_read_without_the_other_runs_of_the_session),
          T(threads_and_runs_are_written_beside_the_owner_of_the_store),
          T(a_server_that_came_back_is_asked_again),
          T(a_session_that_is_erased_takes_its_runs_and_its_thread_along),
          T(a_subject_that_is_erased_takes_its_threads_and_runs_along),
          T(threads_and_runs_whose_time_is_over_go_and_what_is_unfinished_stays))
