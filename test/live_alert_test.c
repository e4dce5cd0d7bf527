/* live_alert_test.c - alerts are published to their viewers at once and at every change.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "live_side.h"
#include "test.h"

static struct clock fake;
static struct hub *hub;
static struct loop *loop;
static struct hub_port *port;

static int begin(void **state)
{
    struct err e;

    (void)state;
    clock_fake_init(&fake, 1700000000000);
    hub = hub_new(&fake);
    loop = loop_new(&fake, &e);
    port = loop ? hub_port_new(hub, loop) : NULL;
    return port ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    loop_free(loop);
    hub_port_free(port);
    hub_free(hub);
    return 0;
}

static void tell(const char *id, const char *key, const char *status)
{
    char json[200], members[200];

    (void)snprintf(json, sizeof json, "{\"alert_id\":\"%s\",\"status\":\"%s\"}", id, status);
    (void)snprintf(members, sizeof members, "\"alert_id\":\"%s\",\"status\":\"%s\"", id, status);
    hub_alert(hub, str_c(id), str_c(key), str_c(json), str_c(members));
}

static void subscribe(struct seen *s, const char *channel)
{
    struct err e;

    CHECK_F(hub_subscribe(s->viewer, str_c(channel), 0, &e), "%s", e.text);
}

/* A late subscriber gets the last state, then each change. */
TEST(defect_17_who_comes_late_is_told_the_last_state_and_then_each_change)
{
    struct seen s;

    tell("a", "k", "queued");
    tell("a", "k", "processing");
    tell("b", "k", "queued");
    seen_begin(&s, port, SIDE_ALL);
    subscribe(&s, "alert_a");
    CHECK_INT(s.messages, 1);
    CHECK(seen_has(&s,
                   "{\"type\":\"status_update\",\"channel\":\"alert_a\",\"data\":"
                   "{\"alert_id\":\"a\",\"status\":\"processing\"}"));
    tell("b", "k", "processing");
    tell("a", "k", "completed");
    side_turn(loop);
    CHECK_INT(s.messages, 2);
    CHECK(seen_has(&s, "\"status\":\"completed\""));
    seen_end(&s);
}

TEST(a_key_is_told_of_its_own_alerts_only)
{
    struct hub_scope other = {.key = STR("other")}, own = {.key = STR("k")};
    struct seen s;

    tell("a", "k", "queued");
    CHECK(hub_alert_known(hub, STR("a"), SIDE_ALL));
    CHECK(hub_alert_known(hub, STR("a"), &own));
    CHECK(!hub_alert_known(hub, STR("a"), &other));
    CHECK(!hub_alert_known(hub, STR("x"), SIDE_ALL));
    seen_begin(&s, port, &other);
    subscribe(&s, "alert_a");
    subscribe(&s, "dashboard_updates");
    tell("a", "k", "completed");
    side_turn(loop);
    clock_fake_advance_ms(&fake, 1000);
    side_turn(loop);
    CHECK_INT(s.messages, 0);
    seen_end(&s);
}

TEST(the_dashboard_is_told_in_brief)
{
    struct seen s;

    seen_begin(&s, port, SIDE_ALL);
    subscribe(&s, "dashboard_updates");
    tell("a", "k", "queued");
    side_turn(loop);
    clock_fake_advance_ms(&fake, 1000);
    side_turn(loop);
    CHECK(seen_has(&s, "{\"type\":\"alert_status\",\"channel\":\"dashboard_updates\""));
    CHECK(seen_has(&s, "\"alert_id\":\"a\",\"status\":\"queued\"}"));
    seen_end(&s);
}

TEST(a_session_and_an_alert_of_one_name_are_two_channels)
{
    struct seen s;

    seen_begin(&s, port, SIDE_ALL);
    subscribe(&s, "session_a");
    tell("a", "k", "queued");
    side_turn(loop);
    CHECK_INT(s.messages, 0);
    subscribe(&s, "alert_a");
    CHECK_INT(s.messages, 1);
    CHECK(hub_unsubscribe(s.viewer, STR("alert_a")));
    tell("a", "k", "completed");
    side_turn(loop);
    CHECK_INT(s.messages, 1);
    seen_end(&s);
}

TEST(of_the_oldest_nothing_is_kept_once_they_are_too_many)
{
    char id[32];

    for (int i = 0; i < HUB_ALERTS_MAX + 10; i++) {
        (void)snprintf(id, sizeof id, "alert-%d", i);
        tell(id, "", "completed");
    }
    CHECK(!hub_alert_known(hub, STR("alert-9"), SIDE_ALL));
    CHECK(hub_alert_known(hub, STR("alert-10"), SIDE_ALL));
}

#define TD(name) cmocka_unit_test_setup_teardown(name, begin, end)

TEST_MAIN(TD(defect_17_who_comes_late_is_told_the_last_state_and_then_each_change),
          TD(a_key_is_told_of_its_own_alerts_only), TD(the_dashboard_is_told_in_brief),
          TD(a_session_and_an_alert_of_one_name_are_two_channels),
          TD(of_the_oldest_nothing_is_kept_once_they_are_too_many))
