/* Who may watch which calls, the limits of viewers and calls, and the list of running calls.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/rand.h"
#include "live_side.h"
#include "test.h"

#include <time.h>

static struct clock fake;
static struct hub *hub;
static struct loop *loop;
static struct hub_port *port;

static void begin(void)
{
    struct err e;

    clock_fake_init(&fake, 1700000000000);
    hub = hub_new(&fake);
    loop = loop_new(&fake, &e);
    CHECK(loop != NULL);
    port = hub_port_new(hub, loop);
}

static void end(void)
{
    loop_free(loop);
    hub_port_free(port);
    hub_free(hub);
}

static void subscribe(struct seen *s, const char *channel)
{
    struct err e;

    CHECK(hub_subscribe(s->viewer, str_c(channel), 0, &e));
}

static struct hub_call *call(const char *id, const char *session, const char *key)
{
    struct hub_begin b = side_begin(id, session, key);
    struct hub_call *c = hub_call_begin(hub, port, &b);

    CHECK(c != NULL);
    return c;
}

static void finish(struct hub_call *c)
{
    struct hub_end e = side_end();

    hub_call_end(c, &e);
}

static void become(struct hub_call *c, enum hub_state s)
{
    hub_call_state(c, &(struct hub_progress){s, 10, 20, false});
}

static void pass(uint64_t ms)
{
    for (uint64_t left = ms; left > 0;) { /* a late timer may set another timer */
        uint64_t step = left > 500 ? 500 : left > 5 ? 5 : left;

        clock_fake_advance_ms(&fake, step);
        side_turn(loop);
        left -= step;
    }
    side_turn(loop);
}

TEST(channels_that_are_none_and_too_many_are_refused)
{
    static const char *const bad[] = {"", "x", "session_", "dashboard", "session", "Session_1"};
    struct seen s;
    struct err e;
    char name[32];

    begin();
    seen_begin(&s, port, SIDE_ALL);
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        CHECK(!hub_subscribe(s.viewer, str_c(bad[i]), 0, &e));
        CHECK_INT(e.code, ERR_NOT_FOUND);
        CHECK(!hub_channel_known(str_c(bad[i])));
    }
    for (int i = 0; i < HUB_SUBS_MAX; i++) {
        snprintf(name, sizeof name, "session_%d", i);
        subscribe(&s, name);
    }
    subscribe(&s, "session_0");
    CHECK(!hub_subscribe(s.viewer, STR("system_health"), 0, &e));
    CHECK_INT(e.code, ERR_LIMIT);
    CHECK(hub_unsubscribe(s.viewer, STR("session_0")));
    CHECK(!hub_health_watched(hub));
    subscribe(&s, "system_health");
    CHECK(hub_health_watched(hub));
    hub_health(hub, STR("\"status\":\"healthy\",\"services\":{}"));
    side_turn(loop);
    CHECK(seen_has(&s, "{\"type\":\"system_health\",\"channel\":\"system_health\",\"status\":"));
    seen_end(&s);
    end();
}

TEST(there_are_only_so_many_viewers_and_calls)
{
    static struct hub_call *calls[HUB_CALLS_MAX];
    static const struct hub_viewer_ops none = {HUB_BY_STREAM, NULL, NULL, NULL, NULL, NULL};
    static struct hub_viewer *viewers[HUB_VIEWERS_MAX];
    struct hub_begin b = side_begin("1", "s", "");

    begin();
    for (size_t i = 0; i < COUNT_OF(viewers); i++)
        CHECK((viewers[i] = hub_viewer_new(port, SIDE_ALL, &none, NULL)) != NULL);
    CHECK(hub_viewer_new(port, SIDE_ALL, &none, NULL) == NULL);
    for (size_t i = 0; i < COUNT_OF(viewers); i++)
        hub_viewer_free(viewers[i]);
    for (size_t i = 0; i < COUNT_OF(calls); i++)
        CHECK((calls[i] = hub_call_begin(hub, port, &b)) != NULL);
    CHECK(hub_call_begin(hub, port, &b) == NULL);
    hub_call_text(NULL, HUB_ANSWER, STR("x")); /* NULL has no effect */
    become(NULL, HUB_THINKING);
    finish(NULL);
    for (size_t i = 0; i < COUNT_OF(calls); i++)
        finish(calls[i]);
    end();
}

static bool list(void *ctx, const struct hub_running *r)
{
    buf_printf(ctx, STR_FMT "/" STR_FMT "/%d ", STR_ARG(r->id), STR_ARG(r->session), r->state);
    return true;
}

TEST(what_runs_is_listed_newest_first)
{
    struct hub_call *a, *b, *c;
    struct buf out;

    begin();
    buf_init(&out, 4096);
    a = call("1", "x", "k");
    b = call("2", "y", "k");
    c = call("3", "x", "k");
    become(b, HUB_THINKING);
    CHECK_INT(hub_running(hub, STR(""), list, &out), 3);
    CHECK_INT(hub_running(hub, STR("x"), list, &out), 2);
    CHECK_INT(hub_running(hub, STR("z"), list, &out), 0);
    CHECK_STR(buf_str(&out), "3/x/0 2/y/1 1/x/0 3/x/0 1/x/0 ");
    finish(a);
    finish(c);
    CHECK_INT(hub_running(hub, STR("x"), list, &out), 0);
    finish(b);
    buf_release(&out);
    end();
}

TEST(a_call_on_no_loop_tells_too)
{
    struct hub_begin b = side_begin("1", "s", "");
    struct hub_call *c;
    struct seen s;

    begin();
    seen_begin(&s, port, SIDE_ALL);
    subscribe(&s, "session_s");
    c = hub_call_begin(hub, NULL, &b);
    for (int i = 0; i < 100; i++) {
        hub_call_text(c, HUB_ANSWER, STR("w "));
        pass(10);
    }
    CHECK(s.count[HUB_ANSWER] >= 15 && s.count[HUB_ANSWER] <= 21);
    finish(c);
    side_turn(loop);
    CHECK_INT(s.text[HUB_ANSWER].n, 200);
    seen_end(&s);
    end();
}

TEST(a_session_ends_with_its_last_call)
{
    struct hub_call *a, *b;
    struct seen s;

    begin();
    seen_begin(&s, port, SIDE_ALL);
    subscribe(&s, "dashboard_updates");
    a = call("1", "s", "");
    b = call("2", "s", "");
    pass(60);
    finish(a);
    pass(60);
    CHECK(
        seen_has(&s, "\"session_status_change\",\"session_id\":\"s\",\"status\":\"in_progress\""));
    CHECK(!seen_has(&s, "\"session_status_change\",\"session_id\":\"s\",\"status\":\"completed\""));
    finish(b);
    pass(60);
    CHECK(seen_has(&s, "\"session_status_change\",\"session_id\":\"s\",\"status\":\"completed\""));
    seen_end(&s);
    end();
}

/* So many viewers that the hub serves them in several rounds. */
TEST(many_viewers_of_one_session_get_all_of_it)
{
    enum { MANY = 100 };
    static struct seen seen[MANY];
    struct hub_call *c;

    begin();
    for (size_t i = 0; i < MANY; i++) {
        seen_begin(&seen[i], port, SIDE_ALL);
        subscribe(&seen[i], "session_s");
    }
    c = call("1", "s", "");
    for (int i = 0; i < 50; i++) {
        hub_call_text(c, HUB_ANSWER, STR("word "));
        pass((uint64_t)i % 7);
        if (i == 25)
            seen_end(&seen[0]);
    }
    finish(c);
    pass(100);
    for (size_t i = 1; i < MANY; i++) {
        CHECK_INT(seen[i].text[HUB_ANSWER].n, 250);
        CHECK_INT(seen[i].ended, 1);
        CHECK(!seen[i].gaps && !seen[i].torn);
        seen_end(&seen[i]);
    }
    end();
}

/* More events than a round delivers: all viewers miss the same number and get a gap message. */
TEST(what_is_too_much_for_many_viewers_is_a_gap_for_all)
{
    struct hub_counts counts;
    struct seen a, b;
    char id[16];

    begin();
    seen_begin(&a, port, SIDE_ALL);
    seen_begin(&b, port, SIDE_ALL);
    subscribe(&a, "dashboard_updates");
    subscribe(&b, "dashboard_updates");
    for (int i = 0; i < 500; i++) {
        snprintf(id, sizeof id, "%d", i);
        finish(call(id, id, ""));
    }
    side_turn(loop);
    pass(60);
    CHECK_INT(a.gaps, 1);
    CHECK_INT(b.gaps, 1);
    CHECK(a.missed > 500 && a.missed == b.missed && a.started > 5);
    hub_counts(hub, &counts);
    CHECK_INT(counts.dropped[HUB_BY_SOCKET], a.missed + b.missed);
    finish(call("last", "last", ""));
    pass(60);
    CHECK(seen_has(&a, "\"interaction_id\":\"last\""));
    CHECK_INT(a.gaps, 1);
    seen_end(&a);
    seen_end(&b);
    end();
}

/* Attempts to catch up while a viewer has no room must not consume its replay. */
TEST(a_viewer_that_was_full_gets_the_running_calls_after_its_gap)
{
    struct hub_call *running;
    struct seen s;

    begin();
    seen_begin(&s, port, SIDE_ALL);
    subscribe(&s, "dashboard_updates");
    pass(3000);
    s.full = true;
    running = call("running", "a", "");
    pass(60);
    finish(call("short", "b", "")); /* the viewer has missed events and is still full */
    pass(1000);
    CHECK_INT(s.started, 0);
    s.full = false;
    pass(600);
    CHECK_INT(s.gaps, 1);
    CHECK(seen_has(&s, "\"interaction_id\":\"running\""));
    CHECK_INT(s.started, 1);
    finish(running);
    pass(60);
    seen_end(&s);
    end();
}

/* A viewer may subscribe to one session after the other, none of which needs to exist. Some of the
 * visited channels remain for a while. */
TEST(many_visited_sessions_are_forgotten_in_linear_time)
{
    struct seen s;
    clock_t from;
    char name[32];

    begin();
    seen_begin(&s, port, SIDE_ALL);
    from = clock();
    for (int i = 0; i < 70000; i++) {
        snprintf(name, sizeof name, "session_%d", i);
        subscribe(&s, name);
        CHECK(hub_unsubscribe(s.viewer, str_c(name)));
    }
    for (int i = 0; i < 70000; i++) { /* visit all again before they expire */
        snprintf(name, sizeof name, "session_%d", i);
        subscribe(&s, name);
        CHECK(hub_unsubscribe(s.viewer, str_c(name)));
    }
    pass(HUB_LINGER_MS + 1000);
    CHECK(!hub_awake(hub));
    CHECK(clock() - from < 5 * CLOCKS_PER_SEC);
    seen_end(&s);
    end();
}

/* All calls publish text, on their own channel and to viewers of all calls. */
TEST(many_calls_end_in_linear_time)
{
    static struct hub_call *all[HUB_CALLS_MAX];
    struct seen s;
    clock_t from;
    char id[32];

    begin();
    seen_begin(&s, port, SIDE_ALL);
    subscribe(&s, "dashboard_updates");
    subscribe(&s, "session_one");
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        snprintf(id, sizeof id, "%zu", i);
        all[i] = call(id, "one", "");
    }
    side_turn(loop);
    s.full = true;
    for (size_t i = 0; i < COUNT_OF(all); i++)
        hub_call_text(all[i], HUB_ANSWER, STR("x"));
    from = clock();
    for (size_t i = 0; i < COUNT_OF(all); i++)
        finish(all[i]);
    CHECK(clock() - from < 5 * CLOCKS_PER_SEC);
    pass(100);
    seen_end(&s);
    end();
}

TEST_MAIN(T(many_viewers_of_one_session_get_all_of_it),
          T(what_is_too_much_for_many_viewers_is_a_gap_for_all),
          T(channels_that_are_none_and_too_many_are_refused),
          T(there_are_only_so_many_viewers_and_calls), T(what_runs_is_listed_newest_first),
          T(a_call_on_no_loop_tells_too),
          T(a_viewer_that_was_full_gets_the_running_calls_after_its_gap),
          T(a_session_ends_with_its_last_call),
          T(many_visited_sessions_are_forgotten_in_linear_time), T(many_calls_end_in_linear_time))
