/* incident_attach_test.c - one incident per firing: which alerts attach to it, which end it, which
 * start a new one.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "incident_bench.h"

#include <stdlib.h>
#include <time.h>

#define AT1 "2026-05-01T10:00:00Z"
#define AT0 "2026-05-01T09:59:50Z"
#define AT2 "2026-05-01T11:00:00Z"
#define AT1_US 1777629600000000

/* Alerts in Alertmanager's format: fingerprint, status, start. */
#define ALERT(print, status, start)                                                                \
    "{\"status\":\"" status "\",\"labels\":{\"alertname\":\"disk\",\"n\":\"" print                 \
    "\"},\"annotations\":{\"summary\":\"% of " print "\"},\"startsAt\":\"" start                   \
    "\",\"endsAt\":\"2026-05-01T10:30:00Z\",\"fingerprint\":\"" print "\"}"
#define GROUP_OF(key, alerts)                                                                      \
    "{\"version\":\"4\",\"groupKey\":\"" key "\",\"receiver\":\"r\",\"alerts\":[" alerts "]}"
#define GROUP(alerts) GROUP_OF("g", alerts)
#define FIRES(print) ALERT(print, "firing", AT1)
#define ENDS(print) ALERT(print, "resolved", AT1)

static size_t incidents_known(struct bench *b)
{
    struct answer *a = asks(b, status_list, "", "");
    size_t n = json_count(&a->doc, at(a, "incidents"));

    done(a);
    return n;
}

TEST(repeats_attach_to_the_incident_and_start_nothing)
{
    char first[RAND_ID_SIZE], again[RAND_ID_SIZE];
    struct answer *a;
    struct bench b;

    bench_new(&b, "");
    CHECK_INT(posts(&b, GROUP(FIRES("f1")), 0, "queued", first), 202);
    waits_for_begun(1);
    CHECK_INT(posts(&b, GROUP(FIRES("f1")), 0, "attached", again), 200);
    CHECK(strcmp(first, again) == 0);
    stub.open = true;
    waits_for(&b, first, "completed");
    /* The alert is repeated at the next interval, and by the second Alertmanager of a pair. */
    CHECK_INT(posts(&b, GROUP(FIRES("f1")), 0, "attached", again), 200);
    CHECK_INT(posts(&b, GROUP(ALERT("f1", "firing", AT0)), 0, "attached", again), 200);
    CHECK(strcmp(first, again) == 0);
    CHECK_INT(stub.begun, 1);
    a = asks(&b, status_one, first, "");
    CHECK_ANSWER(a, 200, "alerts.0.fingerprint", "f1");
    CHECK_ANSWER(a, 200, "alerts.0.source", "alertmanager");
    CHECK_ANSWER(a, 200, "alerts.0.name", "disk");
    CHECK_ANSWER(a, 200, "alerts.0.data.labels.n", "f1");
    CHECK_INT(answer_number(a, "alerts.0.starts_at_us"), AT1_US);
    CHECK_INT(answer_number(a, "alerts.0.seen"), 4);
    CHECK_INT(answer_number(a, "seen_count"), 4);
    CHECK_INT(answer_number(a, "firing_count"), 1);
    CHECK(at(a, "alerts.0.ended_at_us")->kind == JSON_NULL);
    CHECK(at(a, "resolved_at_us")->kind == JSON_NULL);
    CHECK(answer_number(a, "alerts.0.last_seen_at_us") >=
          answer_number(a, "alerts.0.first_seen_at_us"));
    done(a);
    bench_end(&b);
}

/* The store keeps the identity of a firing, so a restart does not lose it. */
TEST(after_a_restart_a_repeat_still_attaches)
{
    char first[RAND_ID_SIZE], again[RAND_ID_SIZE];
    struct bench b;

    bench_new(&b, "");
    stub.open = true;
    CHECK_INT(posts(&b, GROUP(FIRES("f1")), 0, "queued", first), 202);
    waits_for(&b, first, "completed");
    bench_close(&b);
    bench_open(&b);
    CHECK_INT(posts(&b, GROUP(FIRES("f1")), 0, "attached", again), 200);
    CHECK(strcmp(first, again) == 0);
    alert_is(&b, first, 0, "firing", 2);
    CHECK_INT(incidents_known(&b), 1);
    bench_end(&b);
}

TEST(a_resolve_annotates_an_investigation_and_a_new_start_is_a_new_incident)
{
    char first[RAND_ID_SIZE], again[RAND_ID_SIZE], next[RAND_ID_SIZE];
    struct answer *a;
    struct bench b;

    bench_new(&b, "");
    CHECK_INT(posts(&b, GROUP(FIRES("f1")), 0, "queued", first), 202);
    waits_for_begun(1);
    CHECK_INT(posts(&b, GROUP(ENDS("f1")), 0, "resolved", again), 200);
    CHECK(strcmp(first, again) == 0);
    waits_for(&b, first, "processing");
    a = asks(&b, status_one, first, "");
    CHECK_ANSWER(a, 200, "alerts.0.state", "resolved");
    CHECK_INT(answer_number(a, "resolved_at_us"), AT1_US + (int64_t)1800 * 1000000);
    CHECK_INT(answer_number(a, "firing_count"), 0);
    done(a);
    stub.open = true;
    waits_for(&b, first, "completed");
    /* The second Alertmanager of a pair sends the same resolve. */
    CHECK_INT(posts(&b, GROUP(ENDS("f1")), 0, "resolved", again), 200);
    CHECK(strcmp(first, again) == 0);
    CHECK_INT(posts(&b, GROUP(ALERT("f1", "firing", AT2)), 0, "queued", next), 202);
    CHECK(strcmp(first, next) != 0);
    waits_for(&b, next, "completed");
    CHECK_INT(stub.begun, 2);
    bench_end(&b);
}

TEST(a_late_resolve_of_an_earlier_firing_does_not_end_the_new_one)
{
    char first[RAND_ID_SIZE], next[RAND_ID_SIZE], id[RAND_ID_SIZE];
    struct bench b;

    bench_new(&b, "");
    stub.open = true;
    CHECK_INT(posts(&b, GROUP(FIRES("f1")), 0, "queued", first), 202);
    waits_for(&b, first, "completed");
    CHECK_INT(posts(&b, GROUP(ALERT("f1", "firing", AT2)), 0, "queued", next), 202);
    waits_for(&b, next, "completed");
    CHECK_INT(posts(&b, GROUP(ENDS("f1")), 0, "resolved", id), 200); /* endsAt is 10:30 */
    CHECK(!id[0]);
    alert_is(&b, first, 0, "resolved", 1);
    alert_is(&b, next, 0, "firing", 1);
    CHECK_INT(incidents_known(&b), 2);
    bench_end(&b);
}

/* A start far in the future does not identify a firing: the next firing starts earlier. */
TEST(a_start_far_in_the_future_hides_no_later_firing)
{
    static const char future[] = GROUP(ALERT("f1", "firing", "2999-05-01T10:00:00Z"));
    static const char ends[] =
        GROUP("{\"status\":\"resolved\",\"labels\":{},\"fingerprint\":\"f1\"}");
    time_t later = time(NULL) + 60;
    char first[RAND_ID_SIZE], id[RAND_ID_SIZE], body[400], start[40];
    struct bench b;
    struct tm tm;

    (void)strftime(start, sizeof start, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&later, &tm));
    (void)snprintf(body,
                   sizeof body,
                   GROUP("{\"labels\":{\"alertname\":\"disk\"},\"startsAt\":\"%s\","
                         "\"fingerprint\":\"f1\"}"),
                   start);
    bench_new(&b, "");
    stub.open = true;
    CHECK_INT(posts(&b, future, 0, "queued", first), 202);
    waits_for(&b, first, "completed");
    CHECK_INT(posts(&b, future, 0, "attached", id), 200);
    CHECK(strcmp(first, id) == 0);
    CHECK_INT(posts(&b, ends, 0, "resolved", id), 200);
    CHECK(strcmp(first, id) == 0);
    alert_is(&b, first, 0, "resolved", 2);
    CHECK_INT(posts(&b, body, 0, "queued", id), 202);
    CHECK(strcmp(first, id) != 0);
    waits_for(&b, id, "completed");
    CHECK_INT(posts(&b, body, 0, "attached", id), 200);
    CHECK_INT(posts(&b, ends, 0, "resolved", id), 200);
    CHECK_INT(posts(&b, future, 0, "queued", id), 202);
    bench_end(&b);
}

/* The time of the end counts, not the order of the two in the body. */
TEST(an_alert_that_fires_and_ends_in_one_request_is_not_investigated)
{
    static const char *const bodies[] = {
        GROUP(FIRES("f1") "," ENDS("f1")),
        GROUP_OF("h", ENDS("f2") "," FIRES("f2")),
    };
    char id[RAND_ID_SIZE], queued[RAND_ID_SIZE];
    struct answer *a;
    struct bench b;

    bench_new(&b, "");
    stub.open = true;
    for (int i = 0; i < 2; i++) {
        CHECK_INT(posts(&b, bodies[i], 1 - i, "resolved", id), 202);
        waits_for(&b, id, "cancelled");
        a = asks(&b, status_one, id, "");
        CHECK_ANSWER(a, 200, "reason", "resolved");
        CHECK_ANSWER(a, 200, "alerts.0.state", "resolved");
        CHECK_INT(answer_number(a, "firing_count"), 0);
        done(a);
    }
    CHECK_INT(stub.begun, 0);
    /* In a group with one resolved alert the other alert is investigated. An end before the start
     * of a firing does not resolve it. */
    CHECK_INT(
        posts(&b, GROUP_OF("i", FIRES("f3") "," FIRES("f4") "," ENDS("f3")), 2, "resolved", id),
        202);
    waits_for(&b, id, "completed");
    alert_is(&b, id, 0, "resolved", 1);
    alert_is(&b, id, 1, "firing", 1);
    CHECK_INT(
        posts(&b, GROUP_OF("j", ALERT("f5", "firing", AT2) "," ENDS("f5")), 0, "queued", queued),
        202);
    waits_for(&b, queued, "completed");
    alert_is(&b, queued, 0, "firing", 1);
    CHECK_INT(stub.begun, 2);
    bench_end(&b);
}

/* A group of n alerts with this status. */
static void group_write(struct buf *out, size_t n, const char *status)
{
    buf_add(out, STR("{\"version\":\"4\",\"groupKey\":\"g\",\"receiver\":\"r\",\"alerts\":["));
    for (size_t i = 0; i < n; i++)
        buf_printf(out,
                   "%s{\"status\":\"%s\",\"labels\":{\"alertname\":\"disk\"},\"startsAt\":\"" AT1
                   "\",\"endsAt\":\"2026-05-01T10:30:00Z\",\"fingerprint\":\"f%zu\"}",
                   i ? "," : "",
                   status,
                   i);
    buf_add(out, STR("]}"));
    buf_add_c(out, '\0');
}

/* All resolves of a group read the incident with its report once, not once each. */
TEST(a_large_group_with_a_large_report_is_resolved_in_one_request)
{
    enum { ALERTS = 900, REPORT = 2 << 20 };
    char id[RAND_ID_SIZE], last[RAND_ID_SIZE];
    struct alert_table_row row;
    struct arena a;
    struct answer *r;
    struct buf body;
    struct bench b;
    struct err e;
    char *report = base_alloc(REPORT);

    bench_new(&b, "");
    stub.open = true;
    buf_init(&body, (size_t)1 << 20);
    group_write(&body, ALERTS, "firing");
    CHECK_INT(posts(&b, body.p, ALERTS - 1, "queued", id), 202);
    waits_for(&b, id, "completed");
    arena_init(&a, (size_t)64 << 20);
    CHECK_F(alert_table_get(b.in->alert_table, str_c(id), &a, &row, &e), "%s", e.text);
    memset(report, 'r', REPORT);
    row.report = (str){report, REPORT};
    CHECK_F(alert_table_put(b.in->alert_table, &row, true, &e), "%s", e.text);
    buf_reset(&body);
    group_write(&body, ALERTS, "resolved");
    CHECK_INT(posts(&b, body.p, ALERTS - 1, "resolved", last), 200);
    CHECK(strcmp(id, last) == 0);
    r = asks(&b, status_one, id, "");
    CHECK_INT(answer_number(r, "firing_count"), 0);
    done(r);
    bench_end(&b);
    buf_release(&body);
    arena_release(&a);
    free(report);
}

/* For an Alertmanager with send_resolved: false. */
TEST(a_later_start_after_the_end_of_the_investigation_is_a_new_incident)
{
    char first[RAND_ID_SIZE], again[RAND_ID_SIZE], next[RAND_ID_SIZE];
    struct bench b;

    bench_new(&b, "");
    CHECK_INT(posts(&b, GROUP(FIRES("f1")), 0, "queued", first), 202);
    waits_for_begun(1);
    CHECK_INT(posts(&b, GROUP(ALERT("f1", "firing", "2026-05-01T10:00:07Z")), 0, "attached", again),
              200);
    stub.open = true;
    waits_for(&b, first, "completed");
    CHECK_INT(posts(&b, GROUP(ALERT("f1", "firing", "2026-05-01T10:00:07Z")), 0, "attached", again),
              200);
    CHECK_INT(posts(&b, GROUP(FIRES("f1")), 0, "attached", again), 200);
    CHECK(strcmp(first, again) == 0);
    CHECK_INT(posts(&b, GROUP(ALERT("f1", "firing", AT2)), 0, "queued", next), 202);
    CHECK(strcmp(first, next) != 0);
    alert_is(&b, first, 0, "resolved", 4);
    alert_is(&b, next, 0, "firing", 1);
    bench_end(&b);
}

TEST(a_resolve_ends_an_incident_that_nobody_has_begun_with)
{
    char running[RAND_ID_SIZE], queued[RAND_ID_SIZE], id[RAND_ID_SIZE];
    struct answer *a;
    struct bench b;

    bench_new(&b, "  max_concurrent_alerts: 1\n");
    (void)sends(&b, 1, "queued", running);
    waits_for_begun(1);
    CHECK_INT(posts(&b, GROUP(FIRES("f1") "," FIRES("f2")), 1, "queued", queued), 202);
    CHECK_INT(posts(&b, GROUP(ENDS("f1")), 0, "resolved", id), 200);
    waits_for(&b, queued, "queued"); /* because the other alert still fires */
    CHECK_INT(posts(&b, GROUP(ENDS("f2")), 0, "resolved", id), 200);
    CHECK(strcmp(queued, id) == 0);
    waits_for(&b, queued, "cancelled");
    a = asks(&b, status_one, queued, "");
    CHECK_ANSWER(a, 200, "reason", "resolved");
    CHECK_ANSWER(a, 200, "error", "resolved before it was started");
    done(a);
    /* The incident was never investigated, so the same firing is queued when reported again. */
    CHECK_INT(posts(&b, GROUP(FIRES("f1")), 0, "queued", id), 202);
    CHECK(strcmp(queued, id) != 0);
    stub.open = true;
    waits_for(&b, id, "completed");
    CHECK_INT(stub.begun, 2);
    bench_end(&b);
}

/* The state after a kill between two writes: the end of the alerts is stored, the end of their
 * incident is not. */
TEST(a_restart_ends_an_incident_that_was_resolved_before_it_was_begun)
{
    char running[RAND_ID_SIZE], queued[RAND_ID_SIZE], half[RAND_ID_SIZE];
    struct alert_table_alert *alerts;
    struct arena a;
    struct bench b;
    struct err e;
    size_t n;

    bench_new(&b, "  max_concurrent_alerts: 1\n");
    (void)sends(&b, 1, "queued", running);
    waits_for_begun(1);
    CHECK_INT(posts(&b, GROUP(FIRES("f1")), 0, "queued", queued), 202);
    CHECK_INT(posts(&b, GROUP_OF("h", FIRES("f2") "," FIRES("f3")), 0, "queued", half), 202);
    arena_init(&a, (size_t)1 << 20);
    for (int i = 0; i < 2; i++) {
        CHECK(alert_table_alerts(b.in->alert_table, str_c(i ? half : queued), &a, &alerts, &n, &e));
        alerts[0].ended_us = AT1_US;
        CHECK_F(alert_table_add(b.in->alert_table,
                                &(struct alert_table_intake){.alerts = alerts, .alert_count = 1},
                                &e),
                "%s",
                e.text);
    }
    arena_release(&a);
    bench_close(&b);
    stub.open = true;
    bench_open(&b);
    waits_for(&b, queued, "cancelled");
    waits_for(&b, running, "completed");
    waits_for(&b, half, "completed"); /* because one of its alerts fires */
    CHECK_INT(stub.begun, 3);
    bench_end(&b);
}

TEST(a_resolve_of_what_was_never_known_is_acknowledged)
{
    char id[RAND_ID_SIZE];
    struct bench b;

    bench_new(&b, "");
    CHECK_INT(posts(&b, GROUP(ENDS("f")), 0, "resolved", id), 200);
    CHECK(!id[0]);
    waits_for_calm(&b);
    CHECK_INT(stub.begun, 0);
    CHECK_INT(incidents_known(&b), 0);
    bench_end(&b);
}

TEST(a_group_is_one_incident_and_alerts_that_join_it_attach)
{
    char first[RAND_ID_SIZE], id[RAND_ID_SIZE], other[RAND_ID_SIZE];
    struct answer *a;
    struct bench b;

    bench_new(&b, "  max_concurrent_alerts: 1\n");
    (void)sends(&b, 1, "queued", id);
    waits_for_begun(1);
    CHECK_INT(posts(&b, GROUP(FIRES("f1") "," FIRES("f2") "," FIRES("f1")), 0, "queued", first),
              202);
    CHECK_INT(posts(&b, GROUP(FIRES("f1") "," FIRES("f2") "," FIRES("f3")), 2, "attached", id),
              200);
    CHECK(strcmp(first, id) == 0);
    CHECK_INT(posts(&b, GROUP_OF("h", FIRES("f9")), 0, "queued", other), 202);
    CHECK(strcmp(first, other) != 0);
    /* The last alert ends in the request in which another joins, so the group never was without a
     * firing alert. */
    CHECK_INT(
        posts(
            &b, GROUP(ENDS("f1") "," ENDS("f2") "," ENDS("f3") "," FIRES("f4")), 3, "attached", id),
        200);
    CHECK(strcmp(first, id) == 0);
    stub.open = true;
    waits_for(&b, first, "completed");
    a = asks(&b, status_one, first, "");
    CHECK_INT(json_count(&a->doc, at(a, "alerts")), 4);
    CHECK_INT(answer_number(a, "alert_count"), 4);
    CHECK_INT(answer_number(a, "firing_count"), 1);
    CHECK_INT(answer_number(a, "alerts.0.seen"), 2);
    CHECK_ANSWER(a, 200, "alerts.3.fingerprint", "f4");
    /* An alert that joined before the start is investigated with the others. */
    {
        str report;

        CHECK(json_text(&a->doc, at(a, "report"), &a->arena, &report));
        CHECK_F(str_find(report, STR("\"alerts\":[{\"status\":\"firing\"")) != STR_NONE &&
                    str_find(report, STR("% of f4")) != STR_NONE,
                STR_FMT,
                STR_ARG(report));
    }
    done(a);
    CHECK_INT(posts(&b, GROUP(ENDS("f4")), 0, "resolved", id), 200);
    CHECK_INT(posts(&b, GROUP(ALERT("f1", "firing", AT2)), 0, "queued", id), 202);
    CHECK(strcmp(first, id) != 0);
    bench_end(&b);
}

TEST(a_setting_makes_each_alert_of_a_group_an_incident)
{
    char one[RAND_ID_SIZE], two[RAND_ID_SIZE];
    struct bench b;

    bench_new(&b, "  group_alerts: false\n");
    CHECK_INT(posts(&b, GROUP(FIRES("f1") "," FIRES("f2")), 0, "queued", one), 202);
    CHECK_INT(posts(&b, GROUP(FIRES("f1") "," FIRES("f2")), 1, "attached", two), 200);
    CHECK(strcmp(one, two) != 0);
    CHECK_INT(incidents_known(&b), 2);
    bench_end(&b);
}

TEST(a_request_is_taken_whole_or_not_at_all)
{
    char id[RAND_ID_SIZE];
    struct answer *a;
    struct bench b;

    bench_new(&b, "  max_concurrent_alerts: 1\n  max_queue_size: 2\n  group_alerts: false\n");
    CHECK_INT(posts(&b, GROUP(FIRES("f1")), 0, "queued", id), 202);
    waits_for_begun(1);
    /* The queue has room for two alerts but not for three. A refused request has no effect, so its
     * repeat and its resolve are not recorded either. */
    a = asks(
        &b, intake_alert, "", GROUP(FIRES("f1") "," FIRES("f2") "," FIRES("f3") "," FIRES("f4")));
    CHECK_ANSWER(a, 503, "detail.error", "queue_full");
    CHECK(a->reply.retry_after_s > 0);
    done(a);
    a = asks(
        &b, intake_alert, "", GROUP(FIRES("f2") "," FIRES("f3") "," FIRES("f4") "," ENDS("f1")));
    CHECK_ANSWER(a, 503, "detail.error", "queue_full");
    done(a);
    alert_is(&b, id, 0, "firing", 1);
    CHECK_INT(incidents_known(&b), 1);
    CHECK_INT(posts(&b, GROUP(FIRES("f2") "," FIRES("f3")), 0, "queued", id), 202);
    /* A full queue accepts requests that need no place in it. */
    CHECK_INT(posts(&b, GROUP(FIRES("f1") "," FIRES("f2")), 0, "attached", id), 200);
    CHECK_INT(posts(&b, GROUP(ENDS("f1")), 0, "resolved", id), 200);
    a = asks(
        &b, intake_alert, "", GROUP(FIRES("f5") "," FIRES("f6") "," FIRES("f7") "," FIRES("f8")));
    CHECK_ANSWER(a, 413, "detail.error", "too_many_alerts");
    done(a);
    bench_end(&b);
}

TEST(a_type_that_nobody_takes_needs_a_default)
{
    static const char body[] =
        GROUP("{\"labels\":{\"alertname\":\"KubePodCrashLooping\"},\"fingerprint\":\"k\"}");
    static const char mixed[] =
        GROUP("{\"labels\":{\"alertname\":\"Odd\"},\"fingerprint\":\"o\"}," FIRES("f1"));
    struct answer *a;
    struct bench b;

    bench_new(&b, "");
    a = asks(&b, intake_alert, "", body);
    CHECK_ANSWER(a, 400, "detail.error", "unknown_alert_type");
    CHECK(str_find(buf_str(&a->reply.body), STR("KubePodCrashLooping")) != STR_NONE);
    CHECK(str_find(buf_str(&a->reply.body), STR("incidents.default_alert_type")) != STR_NONE);
    done(a);
    CHECK_INT(incidents_known(&b), 0);
    a = asks(&b, intake_alert, "", mixed);
    CHECK_ANSWER(a, 202, "alerts.0.status", "queued");
    CHECK_ANSWER(a, 202, "alerts.1.alert_type", "disk");
    done(a);
    a = asks(&b, status_list, "", "");
    CHECK_ANSWER(a, 200, "incidents.0.alert_type", "disk");
    done(a);
    bench_end(&b);
    bench_new(&b, "  default_alert_type: disk\n");
    a = asks(&b, intake_alert, "", body);
    CHECK_ANSWER(a, 202, "alerts.0.alert_type", "disk");
    CHECK_ANSWER(a,
                 202,
                 "alerts.0.message",
                 "queued as disk: no agent takes alerts of the type \"KubePodCrashLooping\"");
    done(a);
    a = asks(&b, intake_alert, "", "{\"alert_type\":\"odd\",\"runbook\":\"a.md\"}");
    CHECK_ANSWER(a, 202, "status", "queued");
    done(a);
    bench_end(&b);
    bench_new(&b, "  default_alert_type: nobodys\n");
    a = asks(&b, intake_alert, "", body);
    CHECK_ANSWER(a, 400, "detail.error", "unknown_alert_type");
    done(a);
    bench_end(&b);
}

TEST_MAIN(T(repeats_attach_to_the_incident_and_start_nothing),
          T(after_a_restart_a_repeat_still_attaches),
          T(a_resolve_annotates_an_investigation_and_a_new_start_is_a_new_incident),
          T(a_late_resolve_of_an_earlier_firing_does_not_end_the_new_one),
          T(a_start_far_in_the_future_hides_no_later_firing),
          T(an_alert_that_fires_and_ends_in_one_request_is_not_investigated),
          T(a_large_group_with_a_large_report_is_resolved_in_one_request),
          T(a_later_start_after_the_end_of_the_investigation_is_a_new_incident),
          T(a_resolve_ends_an_incident_that_nobody_has_begun_with),
          T(a_restart_ends_an_incident_that_was_resolved_before_it_was_begun),
          T(a_resolve_of_what_was_never_known_is_acknowledged),
          T(a_group_is_one_incident_and_alerts_that_join_it_attach),
          T(a_setting_makes_each_alert_of_a_group_an_incident),
          T(a_request_is_taken_whole_or_not_at_all), T(a_type_that_nobody_takes_needs_a_default))
