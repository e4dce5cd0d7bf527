/* alert_test.c - alerts as they come in: our own form, and the webhooks of monitoring systems.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/incidents/webhook.h"
#include "test.h"

#include <time.h>

#define NOW 1700000000000000

struct got {
    struct json doc;
    struct arena arena;
    struct alert alert;
    struct alert_faults faults;
    bool ok;
};

static struct got *reads(const char *text)
{
    struct got *g = base_alloc(sizeof *g);
    struct err e;

    memset(g, 0, sizeof *g);
    json_init(&g->doc);
    arena_init(&g->arena, (size_t)256 << 20);
    CHECK_F(json_parse(&g->doc, str_c(text), &e), "%s", e.text);
    g->ok = alert_read(&g->doc, json_root(&g->doc), NOW, &g->arena, &g->alert, &g->faults);
    return g;
}

static void done(struct got *g)
{
    json_release(&g->doc);
    arena_release(&g->arena);
    free(g);
}

TEST(an_alert_has_defaults_for_what_it_does_not_say)
{
    struct got *g = reads("{\"alert_type\":\" kubernetes \",\"runbook\":\"a.md\"}");

    CHECK(g->ok);
    CHECK_STR(g->alert.alert_type, "kubernetes");
    CHECK_STR(g->alert.runbook, "a.md");
    CHECK_STR(g->alert.severity, "warning");
    CHECK_STR(g->alert.environment, "production");
    CHECK_STR(g->alert.data, "{}");
    CHECK_INT(g->alert.timestamp_us, NOW);
    done(g);
}

TEST(what_an_alert_says_is_kept)
{
    struct got *g =
        reads("{\"alert_type\":\"x\",\"runbook\":\"https://a/b\",\"severity\":\"critical\","
              "\"timestamp\":1600000000000001,\"cluster\":\"c1\",\"data\":"
              "{\"environment\":\"staging\",\"cluster\":\"own\",\"n\":1.50,\"l\":[null,"
              "true]}}");

    CHECK(g->ok);
    CHECK_STR(g->alert.severity, "critical");
    CHECK_STR(g->alert.environment, "staging");
    CHECK_INT(g->alert.timestamp_us, 1600000000000001);
    CHECK_STR(g->alert.data,
              "{\"environment\":\"staging\",\"cluster\":\"own\",\"n\":1.50,\"l\":[null,true]}");
    done(g);
}

TEST(what_stands_beside_the_data_belongs_to_it)
{
    struct got *g =
        reads("{\"alert_type\":\"x\",\"runbook\":\"r\",\"cluster\":\"c1\",\"data\":{}}");

    CHECK_STR(g->alert.data, "{\"cluster\":\"c1\"}");
    done(g);
}

static const struct {
    const char *body;
    const char *field, *expected, *message, *invalid;
} wrong[] = {
    {"{\"runbook\":\"r\"}", "alert_type", "string", "is required", ""},
    {"{\"alert_type\":\"a\"}", "runbook", "string", "is required", ""},
    {"{\"alert_type\":\"\",\"runbook\":\"r\"}", "alert_type", "string", "not be empty", "\"\""},
    {"{\"alert_type\":\" \\u0007\",\"runbook\":\"r\"}", "alert_type", "string", "not be empty", ""},
    {"{\"alert_type\":null,\"runbook\":\"r\"}", "alert_type", "string", "is null", "null"},
    {"{\"alert_type\":7,\"runbook\":\"r\"}", "alert_type", "string", "is a number", "7"},
    {"{\"alert_type\":\"a\",\"runbook\":[]}", "runbook", "string", "is a list", "[]"},
    {"{\"alert_type\":\"a\",\"runbook\":\"r\",\"data\":[1]}", "data", "object", "is a list", "[1]"},
    {"{\"alert_type\":\"a\",\"runbook\":\"r\",\"severity\":{}}",
     "severity",
     "string",
     "object",
     "{}"},
    {"{\"alert_type\":\"a\",\"runbook\":\"r\",\"timestamp\":1.5}",
     "timestamp",
     "integer",
     "microseconds",
     "1.5"},
    {"{\"alert_type\":\"a\",\"runbook\":\"r\",\"timestamp\":-1}",
     "timestamp",
     "integer",
     "microseconds",
     "-1"},
    {"{\"alert_type\":\"a\",\"runbook\":\"r\",\"timestamp\":\"soon\"}",
     "timestamp",
     "integer",
     "microseconds",
     "\"soon\""},
    {"{\"alert_type\":\"a\",\"runbook\":\"r\",\"timestamp\":true}",
     "timestamp",
     "integer",
     "microseconds",
     "true"},
};

TEST(a_wrong_field_is_named_with_its_value_and_what_it_should_be)
{
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        struct got *g = reads(wrong[i].body);

        CHECK_F(!g->ok, "%s", wrong[i].body);
        CHECK_F(g->faults.n == 1, "%s: %zu faults", wrong[i].body, g->faults.n);
        CHECK_STR(g->faults.at[0].field, wrong[i].field);
        CHECK_STR(g->faults.at[0].expected, wrong[i].expected);
        CHECK_F(str_find(g->faults.at[0].message, str_c(wrong[i].message)) != STR_NONE,
                STR_FMT,
                STR_ARG(g->faults.at[0].message));
        if (wrong[i].invalid[0])
            CHECK_STR(g->faults.at[0].invalid, wrong[i].invalid);
        done(g);
    }
}

TEST(all_that_is_wrong_is_said_at_once)
{
    struct got *g = reads("{\"data\":3,\"severity\":4,\"timestamp\":\"x\"}");

    CHECK(!g->ok);
    CHECK_INT(g->faults.n, 5);
    done(g);
}

TEST(a_long_wrong_value_is_shown_in_part)
{
    struct buf body;
    struct got *g;

    buf_init(&body, 1 << 20);
    buf_add(&body, STR("{\"alert_type\":\"a\",\"runbook\":\"r\",\"data\":["));
    for (int i = 0; i < 1000; i++)
        buf_add(&body, STR("\"\xc3\xa9\","));
    buf_add(&body, STR("1]}"));
    buf_add_c(&body, '\0');
    g = reads(body.p);
    CHECK(!g->ok && g->faults.at[0].invalid.n < 1000);
    CHECK(g->faults.at[0].invalid.p[0] == '"');
    done(g);
    buf_release(&body);
}

/* P0 took quotes and brackets out of what it was told. */
TEST(sanitising_takes_control_characters_and_nothing_else)
{
    struct got *g =
        reads("{\"alert_type\":\"x\",\"runbook\":\"r\",\"data\":{\"m\":\"<b>\\\"it's\\\" "
              "[1] {2}</b> & \\u0000\\u0007\\u001b[31mred\\u007f\\u0085\\n\\tdone\"}}");

    CHECK(g->ok);
    CHECK_STR(g->alert.data, "{\"m\":\"<b>\\\"it's\\\" [1] {2}</b> & [31mred\\n\\tdone\"}");
    CHECK_INT(g->alert.cut, 0);
    done(g);
}

TEST(texts_are_cut_at_ten_thousand_characters_and_lists_at_a_thousand)
{
    struct buf body;
    struct json doc;
    struct got *g;
    struct err e;
    str text;

    buf_init(&body, 1 << 20);
    buf_add(&body, STR("{\"alert_type\":\"x\",\"runbook\":\"r\",\"data\":{\"t\":\""));
    for (int i = 0; i < 10001; i++)
        buf_add(&body, STR("\xc3\xa9"));
    buf_add(&body, STR("\",\"l\":[0"));
    for (int i = 1; i < 1001; i++)
        buf_printf(&body, ",%d", i);
    buf_add(&body, STR("]}}"));
    buf_add_c(&body, '\0');
    g = reads(body.p);
    CHECK(g->ok);
    CHECK_INT(g->alert.cut, 2);
    json_init(&doc);
    CHECK_F(json_parse(&doc, g->alert.data, &e), "%s", e.text);
    CHECK(json_text(&doc, json_find(&doc, json_root(&doc), STR("t")), &g->arena, &text));
    CHECK_INT(text.n, 20000);
    CHECK_INT(json_count(&doc, json_find(&doc, json_root(&doc), STR("l"))), 1000);
    json_release(&doc);
    done(g);
    buf_release(&body);
}

static void same(const char *a, const char *b, bool want)
{
    struct got *x = reads(a), *y = reads(b);

    CHECK(x->ok && y->ok);
    CHECK_F((strcmp(x->alert.digest, y->alert.digest) == 0) == want, "%s\n%s", a, b);
    done(x);
    done(y);
}

TEST(the_same_alert_is_the_same_whatever_its_order_and_time)
{
    same("{\"alert_type\":\"x\",\"runbook\":\"r\",\"timestamp\":1,\"data\":{\"a\":1,\"b\":"
         "\"\\u00e9\"}}",
         "{\"data\":{\"b\":\"\xc3\xa9\",\"a\":1},\"timestamp\":2,\"runbook\":\"r\",\"alert_type\":"
         "\"x\"}",
         true);
    same("{\"alert_type\":\"x\",\"runbook\":\"r\",\"data\":{\"timestamp\":1,\"a\":1}}",
         "{\"alert_type\":\"x\",\"runbook\":\"r\",\"data\":{\"timestamp\":2,\"a\":1}}",
         true);
    same("{\"alert_type\":\"x\",\"runbook\":\"r\"}",
         "{\"alert_type\":\"x\",\"runbook\":\"r\",\"severity\":\"warning\",\"data\":{}}",
         true);
    same("{\"alert_type\":\"x\",\"runbook\":\"r\",\"data\":{\"a\":1}}",
         "{\"alert_type\":\"x\",\"runbook\":\"r\",\"data\":{\"a\":2}}",
         false);
    same("{\"alert_type\":\"x\",\"runbook\":\"r\"}",
         "{\"alert_type\":\"y\",\"runbook\":\"r\"}",
         false);
    same("{\"alert_type\":\"x\",\"runbook\":\"r\"}",
         "{\"alert_type\":\"x\",\"runbook\":\"s\"}",
         false);
}

static double cpu_seconds(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Each member beside the data is looked up in the data: comparing all pairs takes 7 s. */
TEST(many_members_beside_many_in_the_data_take_linear_time)
{
    enum { MEMBERS = 120000 };
    double begun = cpu_seconds();
    struct buf body;
    struct got *g;

    buf_init(&body, (size_t)16 << 20);
    buf_add(&body, STR("{\"alert_type\":\"x\",\"runbook\":\"r\",\"data\":{\"b000007\":7"));
    for (int i = 0; i < MEMBERS; i++)
        buf_printf(&body, ",\"a%06d\":1", i);
    buf_add_c(&body, '}');
    for (int i = 0; i < MEMBERS; i++)
        buf_printf(&body, ",\"b%06d\":2", i);
    buf_add(&body, STR("}"));
    buf_add_c(&body, '\0');
    CHECK(!buf_full(&body));
    g = reads(body.p);
    CHECK(g->ok);
    CHECK(str_find(g->alert.data, STR("\"b000007\":7")) != STR_NONE);
    CHECK(str_find(g->alert.data, STR("\"b000007\":2")) == STR_NONE);
    CHECK(str_find(g->alert.data, STR("\"b119999\":2")) != STR_NONE);
    CHECK(cpu_seconds() - begun < 3);
    done(g);
    buf_release(&body);
}

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

static size_t group(const char *text, struct got *g, struct webhook *out)
{
    struct err e;

    memset(g, 0, sizeof *g);
    json_init(&g->doc);
    arena_init(&g->arena, (size_t)64 << 20);
    CHECK_F(json_parse(&g->doc, str_c(text), &e), "%s", e.text);
    CHECK(webhook_source(&g->doc) != ALERT_API);
    g->ok = webhook_read(&g->doc, NOW, &g->arena, out, &g->faults);
    return out->n;
}

static void group_done(struct got *g)
{
    json_release(&g->doc);
    arena_release(&g->arena);
}

/* Weak point 13: no version had a receiver for Alertmanager's webhook. */
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
    /* Opened again, it fires anew: at the time of the event. */
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

/* Found by fuzz/alert_fuzz.c: the names of members kept them. */
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

/* Each alert gets a copy of its group's members: a thousand copies of a large one do not fit. */
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

TEST_MAIN(T(an_alert_has_defaults_for_what_it_does_not_say), T(what_an_alert_says_is_kept),
          T(what_stands_beside_the_data_belongs_to_it),
          T(a_wrong_field_is_named_with_its_value_and_what_it_should_be),
          T(all_that_is_wrong_is_said_at_once), T(a_long_wrong_value_is_shown_in_part),
          T(sanitising_takes_control_characters_and_nothing_else),
          T(texts_are_cut_at_ten_thousand_characters_and_lists_at_a_thousand),
          T(the_same_alert_is_the_same_whatever_its_order_and_time),
          T(defect_13_a_group_of_alertmanager_is_one_alert_each),
          T(an_alert_without_a_fingerprint_is_known_by_its_labels),
          T(each_sender_is_known_by_the_shape_of_its_webhook),
          T(names_of_members_have_no_control_characters),
          T(an_event_that_neither_begins_nor_ends_an_alert_is_ignored),
          T(a_group_that_is_wrong_says_which_alert_and_which_field),
          T(an_empty_group_and_an_alert_without_a_name_are_fine),
          T(many_members_beside_many_in_the_data_take_linear_time),
          T(large_members_of_a_group_are_not_copied_into_each_of_many_alerts))
