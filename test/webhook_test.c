/* webhook_test.c - alerts in the webhooks of monitoring systems.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/incidents/webhook.h"
#include "test.h"

#define NOW 1700000000000000
#define DAY ((int64_t)24 * 3600 * 1000000)

struct got {
    struct json doc;
    struct arena arena;
    struct alert_faults faults;
    bool ok;
};

/* ---- Alertmanager ---- */

#define GROUP(alerts)                                                                              \
    "{\"version\":\"4\",\"groupKey\":\"{}:{alertname=\\\"A\\\"}\",\"truncatedAlerts\":0,"          \
    "\"status\":\"firing\",\"receiver\":\"rationale\",\"groupLabels\":{\"alertname\":\"A\"},"      \
    "\"commonLabels\":{},\"commonAnnotations\":{},\"externalURL\":\"http://"                       \
    "am:9093\",\"alerts\":[" alerts "]}"
#define FIRING                                                                                     \
    "{\"status\":\"firing\",\"labels\":{\"alertname\":\"KubePodCrashLooping\",\"severity\":"       \
    "\"critical\",\"env\":\"staging\",\"pod\":\"p\"},\"annotations\":{\"summary\":\"5 restarts\"," \
    "\"runbook_url\":\"https://r/x\"},\"startsAt\":\"2023-11-14T22:13:20Z\",\"endsAt\":"           \
    "\"0001-01-01T00:00:00Z\",\"generatorURL\":\"http://p\",\"fingerprint\":\"c1f\"}"

static size_t group_at(const char *text, int64_t now_us, struct got *g, struct webhook *out)
{
    struct err e;

    memset(g, 0, sizeof *g);
    json_init(&g->doc);
    arena_init(&g->arena, (size_t)64 << 20);
    CHECK_F(json_parse(&g->doc, str_c(text), &e), "%s", e.text);
    CHECK(webhook_source(&g->doc) != ALERT_API);
    g->ok = webhook_read(&g->doc, now_us, &g->arena, out, &g->faults);
    return out->n;
}

static size_t group(const char *text, struct got *g, struct webhook *out)
{
    return group_at(text, NOW, g, out);
}

static void group_done(struct got *g)
{
    json_release(&g->doc);
    arena_release(&g->arena);
}

/* A group of Alertmanager's webhook becomes one alert per member. */
TEST(defect_13_a_group_of_alertmanager_is_one_alert_each)
{
    struct webhook w;
    struct got g;

    CHECK_INT(
        group(GROUP(FIRING ",{\"status\":\"resolved\",\"labels\":{\"alertname\":\"B\"}}"), &g, &w),
        2);
    CHECK(g.ok && w.source == ALERT_ALERTMANAGER && w.group[0]);
    CHECK_STR(w.alerts[0].alert_type, "KubePodCrashLooping");
    CHECK_STR(w.alerts[0].severity, "critical");
    CHECK_STR(w.alerts[0].environment, "staging");
    CHECK_STR(w.alerts[0].runbook, "https://r/x");
    CHECK_STR(w.alerts[0].fingerprint, "c1f");
    CHECK_INT(w.alerts[0].timestamp_us, NOW);
    CHECK_INT(w.alerts[0].starts_us, NOW);
    CHECK(!w.alerts[0].resolved && w.alerts[1].resolved);
    CHECK(str_find(w.alerts[0].data, STR("\"pod\":\"p\"")) != STR_NONE);
    CHECK(str_find(w.alerts[0].data, STR("\"groupKey\":\"{}:{alertname=\\\"A\\\"}\"")) != STR_NONE);
    CHECK_STR(w.alerts[1].severity, "warning");
    CHECK_STR(w.alerts[1].runbook, "");
    CHECK(webhook_first_firing(&w) == &w.alerts[0]);
    group_done(&g);
}

TEST(a_start_more_than_a_day_ahead_is_unknown_unless_no_clock_is_given)
{
    static const struct {
        const char *start;
        int64_t now_us, starts_us, timestamp_us;
    } cases[] = {
        {"2023-11-15T22:13:20Z", NOW, NOW + DAY, NOW + DAY},
        {"2023-11-15T22:13:21Z", NOW, 0, NOW},
        {"9999-12-31T23:59:59Z", NOW, 0, NOW},
        {"2023-11-15T22:13:21Z", 0, NOW + DAY + 1000000, NOW + DAY + 1000000},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char text[600];
        struct webhook w;
        struct got g;

        (void)snprintf(
            text, sizeof text, GROUP("{\"labels\":{},\"startsAt\":\"%s\"}"), cases[i].start);
        CHECK_INT(group_at(text, cases[i].now_us, &g, &w), 1);
        CHECK(g.ok);
        CHECK_INT(w.alerts[0].starts_us, cases[i].starts_us);
        CHECK_INT(w.alerts[0].timestamp_us, cases[i].timestamp_us);
        group_done(&g);
    }
}

TEST(an_alert_without_a_fingerprint_is_known_by_its_labels)
{
    struct webhook first, again, other;
    struct got a, b, c;

    (void)group(GROUP("{\"labels\":{\"alertname\":\"A\",\"pod\":\"p\"}}"), &a, &first);
    (void)group(GROUP("{\"annotations\":{\"summary\":\"6 restarts\"},\"labels\":{\"pod\":\"p\","
                      "\"alertname\":\"A\"},\"startsAt\":\"2024-11-14T22:13:20Z\"}"),
                &b,
                &again);
    (void)group(GROUP("{\"labels\":{\"alertname\":\"A\"}}"), &c, &other);
    CHECK(first.alerts[0].fingerprint.n > 0);
    CHECK(str_eq(first.alerts[0].fingerprint, again.alerts[0].fingerprint));
    CHECK(!str_eq(first.alerts[0].fingerprint, other.alerts[0].fingerprint));
    group_done(&a);
    group_done(&b);
    group_done(&c);
}

/* ---- Grafana, PagerDuty, Opsgenie ---- */

#define GRAFANA                                                                                    \
    "{\"receiver\":\"rationale\",\"status\":\"firing\",\"orgId\":1,\"alerts\":[{\"status\":"       \
    "\"firing\",\"labels\":{\"alertname\":\"DatasourceError\",\"rulename\":\"HighMemory\","        \
    "\"env\":"                                                                                     \
    "\"blue\"},\"annotations\":{\"runbook_url\":\"https://r/1\"},\"startsAt\":"                    \
    "\"2023-11-14T23:13:20.000001+01:00\",\"endsAt\":\"0001-01-01T00:00:00Z\",\"generatorURL\":"   \
    "\"http://g\",\"fingerprint\":\"c6ea\",\"silenceURL\":\"http://g/s\",\"dashboardURL\":\"\","   \
    "\"panelURL\":\"\",\"values\":{\"B\":44.2}}],\"groupLabels\":{},\"commonLabels\":{},"          \
    "\"commonAnnotations\":{},\"externalURL\":\"http://g\",\"version\":\"1\",\"groupKey\":"        \
    "\"{}:{}\",\"truncatedAlerts\":0,\"title\":\"[FIRING:1]\",\"state\":\"alerting\",\"message\":" \
    "\"**Firing**\"}"
#define PAGERDUTY(type, more)                                                                      \
    "{\"event\":{\"id\":\"01E\",\"event_type\":\"" type                                            \
    "\",\"resource_type\":\"incident\",\"occurred_at\":\"2023-11-14T22:14:20.000Z\",\"agent\":"    \
    "null,\"client\":{\"name\":\"Monitoring\"},\"data\":{\"id\":\"PT4KHLK\",\"type\":"             \
    "\"incident\","                                                                                \
    "\"number\":1234,\"status\":\"triggered\",\"incident_key\":\"baf7\",\"created_at\":"           \
    "\"2023-11-14T22:13:20Z\",\"title\":\"The disk is full\",\"service\":{\"id\":\"PIJ\","         \
    "\"summary\":\"Mail\"},\"priority\":null,\"urgency\":\"high\"" more "}}}"
#define OPSGENIE(action)                                                                           \
    "{\"source\":{\"name\":\"web\",\"type\":\"API\"},\"alert\":{\"updatedAt\":"                    \
    "1420452193166002000,"                                                                         \
    "\"tags\":[\"t\"],\"message\":\"The disk is full\",\"username\":\"u\",\"alertId\":\"0526-a\"," \
    "\"source\":\"u\",\"alias\":\"disk\",\"tinyId\":\"23\",\"createdAt\":1700000000000,"           \
    "\"userId\":\"x\",\"entity\":\"db-3\",\"priority\":\"P2\",\"details\":{\"alertname\":"         \
    "\"DiskFull\",\"env\":\"staging\",\"runbook\":\"disk.md\"}},\"action\":\"" action              \
    "\",\"integrationId\":\"37c8\",\"integrationName\":\"hook\"}"

static const struct {
    const char *body;
    enum alert_source source;
    const char *type, *other, *severity, *environment, *runbook, *fingerprint;
    int64_t starts_us;
    bool resolved;
} hooks[] = {
    {GRAFANA,
     ALERT_GRAFANA,
     "DatasourceError",
     "HighMemory",
     "warning",
     "blue",
     "https://r/1",
     "c6ea",
     NOW,
     false},
    {PAGERDUTY("incident.triggered", ""),
     ALERT_PAGERDUTY,
     "Mail",
     "The disk is full",
     "high",
     "production",
     "",
     "PT4KHLK",
     NOW,
     false},
    /* A reopened incident fires again, with the time of the event. */
    {PAGERDUTY("incident.reopened", ",\"priority\":{\"summary\":\"P1\"}"),
     ALERT_PAGERDUTY,
     "Mail",
     "The disk is full",
     "P1",
     "production",
     "",
     "PT4KHLK",
     NOW + 60000000,
     false},
    {PAGERDUTY("incident.resolved", ""),
     ALERT_PAGERDUTY,
     "Mail",
     "The disk is full",
     "high",
     "production",
     "",
     "PT4KHLK",
     0,
     true},
    {OPSGENIE("Create"),
     ALERT_OPSGENIE,
     "DiskFull",
     "The disk is full",
     "P2",
     "staging",
     "disk.md",
     "0526-a",
     NOW,
     false},
    {OPSGENIE("Close"),
     ALERT_OPSGENIE,
     "DiskFull",
     "The disk is full",
     "P2",
     "staging",
     "disk.md",
     "0526-a",
     0,
     true},
};

TEST(each_sender_is_known_by_the_shape_of_its_webhook)
{
    for (size_t i = 0; i < COUNT_OF(hooks); i++) {
        struct webhook w;
        struct got g;

        CHECK_INT(group(hooks[i].body, &g, &w), 1);
        CHECK_F(g.ok && w.source == hooks[i].source && !w.ignored.n, "%s", hooks[i].body);
        CHECK_STR(w.alerts[0].alert_type, hooks[i].type);
        CHECK_STR(w.alerts[0].other_types[0], hooks[i].other);
        CHECK_STR(w.alerts[0].severity, hooks[i].severity);
        CHECK_STR(w.alerts[0].environment, hooks[i].environment);
        CHECK_STR(w.alerts[0].runbook, hooks[i].runbook);
        CHECK_STR(w.alerts[0].fingerprint, hooks[i].fingerprint);
        CHECK_INT(w.alerts[0].starts_us, hooks[i].starts_us);
        CHECK(w.alerts[0].resolved == hooks[i].resolved);
        CHECK((w.group[0] != 0) == (w.source == ALERT_GRAFANA));
        group_done(&g);
    }
}

/* Control characters are removed from member names too (found by fuzz/alert_fuzz.c). */
TEST(names_of_members_have_no_control_characters)
{
    struct webhook w;
    struct got g;

    CHECK_INT(group(GROUP("{\"labels\":{},\"a\\u0007b\":1}"), &g, &w), 1);
    CHECK(str_find(w.alerts[0].data, STR("\"ab\":1")) != STR_NONE);
    group_done(&g);
}

TEST(an_event_that_neither_begins_nor_ends_an_alert_is_ignored)
{
    static const char *const bodies[] = {
        PAGERDUTY("incident.acknowledged", ""),
        PAGERDUTY("incident.annotated", ""),
        "{\"event\":{\"event_type\":\"pagey.ping\",\"data\":{\"type\":\"ping\"}}}",
        OPSGENIE("Acknowledge"),
        OPSGENIE("AddNote"),
    };

    for (size_t i = 0; i < COUNT_OF(bodies); i++) {
        struct webhook w;
        struct got g;

        CHECK_INT(group(bodies[i], &g, &w), 0);
        CHECK_F(g.ok && w.ignored.n, "%s", bodies[i]);
        group_done(&g);
    }
}

static const struct {
    const char *body, *field;
} wrong_groups[] = {
    {"{\"alerts\":{}}", "alerts"},
    {"{\"version\":\"3\",\"alerts\":[]}", "version"},
    {GROUP("1"), "alerts[0]"},
    {GROUP(FIRING ",{\"status\":\"firing\"}"), "alerts[1].labels"},
    {GROUP("{\"labels\":[]}"), "alerts[0].labels"},
    {GROUP("{\"labels\":{},\"status\":\"maybe\"}"), "alerts[0].status"},
    {GROUP("{\"labels\":{},\"startsAt\":\"yesterday\"}"), "alerts[0].startsAt"},
    {GROUP("{\"labels\":{},\"startsAt\":7}"), "alerts[0].startsAt"},
    {GROUP("{\"labels\":{},\"fingerprint\":7}"), "alerts[0].fingerprint"},
    {"{\"orgId\":1,\"version\":\"4\",\"alerts\":[]}", "version"},
    {"{\"event\":{}}", "event.event_type"},
    {"{\"event\":{\"event_type\":7}}", "event.event_type"},
    {"{\"event\":{\"event_type\":\"incident.triggered\"}}", "event.data"},
    {"{\"event\":{\"event_type\":\"incident.triggered\",\"data\":[]}}", "event.data"},
    {"{\"event\":{\"event_type\":\"incident.triggered\",\"data\":{}}}", "event.data.id"},
    {"{\"event\":{\"event_type\":\"incident.triggered\",\"data\":{\"id\":\"P\",\"created_at\":"
     "\"x\"}}}",
     "event.data.created_at"},
    {"{\"action\":7,\"alert\":{}}", "action"},
    {"{\"action\":\"Create\",\"alert\":{}}", "alert.alertId"},
    {"{\"action\":\"Create\",\"alert\":{\"alertId\":\"a\",\"createdAt\":\"x\"}}",
     "alert.createdAt"},
};

TEST(a_group_that_is_wrong_says_which_alert_and_which_field)
{
    for (size_t i = 0; i < COUNT_OF(wrong_groups); i++) {
        struct webhook w;
        struct got g;

        (void)group(wrong_groups[i].body, &g, &w);
        CHECK_F(!g.ok && g.faults.n == 1, "%s", wrong_groups[i].body);
        CHECK_STR(g.faults.at[0].field, wrong_groups[i].field);
        group_done(&g);
    }
}

TEST(an_empty_group_and_an_alert_without_a_name_are_fine)
{
    struct webhook w;
    struct got g;

    CHECK_INT(group(GROUP(""), &g, &w), 0);
    CHECK(g.ok);
    group_done(&g);
    CHECK_INT(group(GROUP("{\"labels\":{}}"), &g, &w), 1);
    CHECK(g.ok);
    CHECK_STR(w.alerts[0].alert_type, "");
    group_done(&g);
}

/* Each alert gets a copy of its group's members. A thousand copies of a large one would not fit, so
 * it is left out. */
TEST(large_members_of_a_group_are_not_copied_into_each_of_many_alerts)
{
    struct buf body;
    struct webhook w;
    struct got g;

    buf_init(&body, (size_t)16 << 20);
    buf_add(&body, STR("{\"version\":\"4\",\"receiver\":\"r\",\"groupLabels\":{"));
    for (int i = 0; i < 100; i++)
        buf_printf(&body, "%s\"l%d\":\"%09000d\"", i ? "," : "", i, i);
    buf_add(&body, STR("},\"status\":\"firing\",\"alerts\":["));
    for (int i = 0; i < WEBHOOK_ALERTS_MAX; i++)
        buf_printf(&body, "%s{\"labels\":{\"n\":\"%d\"}}", i ? "," : "", i);
    buf_add(&body, STR("]}"));
    buf_add_c(&body, '\0');
    CHECK(!buf_full(&body));
    CHECK_INT(group(body.p, &g, &w), WEBHOOK_ALERTS_MAX);
    CHECK(g.ok);
    CHECK_STR(w.alerts[7].data, "{\"labels\":{\"n\":\"7\"},\"receiver\":\"r\"}");
    CHECK_INT(w.alerts[7].cut, 1);
    group_done(&g);
    buf_release(&body);
}

/* Alertmanager drops what a 4xx refuses, so the error says which of its settings prevents that. */
TEST(too_many_alerts_of_a_group_are_refused_with_their_number)
{
    struct buf body;
    struct webhook w;
    struct got g;

    buf_init(&body, (size_t)1 << 20);
    buf_add(&body, STR("{\"version\":\"4\",\"alerts\":["));
    for (int i = 0; i <= WEBHOOK_ALERTS_MAX; i++)
        buf_printf(&body, "%s{}", i ? "," : "");
    buf_add(&body, STR("]}"));
    buf_add_c(&body, '\0');
    (void)group(body.p, &g, &w);
    CHECK(!g.ok);
    CHECK_STR(g.faults.at[0].message,
              "may have 1000 alerts, and has 1001: set max_alerts of the sender's webhook");
    group_done(&g);
    buf_release(&body);
}

TEST_MAIN(T(defect_13_a_group_of_alertmanager_is_one_alert_each),
          T(a_start_more_than_a_day_ahead_is_unknown_unless_no_clock_is_given),
          T(an_alert_without_a_fingerprint_is_known_by_its_labels),
          T(each_sender_is_known_by_the_shape_of_its_webhook),
          T(names_of_members_have_no_control_characters),
          T(an_event_that_neither_begins_nor_ends_an_alert_is_ignored),
          T(a_group_that_is_wrong_says_which_alert_and_which_field),
          T(an_empty_group_and_an_alert_without_a_name_are_fine),
          T(large_members_of_a_group_are_not_copied_into_each_of_many_alerts),
          T(too_many_alerts_of_a_group_are_refused_with_their_number))
