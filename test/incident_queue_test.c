/* incident_queue_test.c - alerts from the request to their end: limits, duplicates, cancelling,
 * time-outs and restarts, on an engine that the test controls.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "incident_bench.h"

#include "base/file.h"

TEST(an_alert_is_taken_worked_on_and_told_of)
{
    char id[RAND_ID_SIZE];
    struct answer *a;
    struct bench b;

    bench_new(&b, "");
    CHECK_INT(sends(&b, 1, "queued", id), 202);
    waits_for_begun(1);
    waits_for(&b, id, "processing");
    a = asks(&b, status_processing, id, "");
    CHECK_ANSWER(a, 200, "current_agent", "KubernetesAgent");
    CHECK_ANSWER(a, 200, "assigned_mcp_servers.0", "kubernetes-server");
    done(a);
    a = asks(&b, status_one, id, "");
    CHECK_ANSWER(a, 200, "stages.0.status", "running");
    done(a);
    stub.open = true;
    waits_for_calm(&b);
    a = asks(&b, status_processing, id, "");
    CHECK_ANSWER(a, 200, "status", "completed");
    CHECK_ANSWER(a, 200, "result", "# Report\n\n{\"n\":1}");
    CHECK(at(a, "error")->kind == JSON_NULL);
    CHECK_STR(json_raw(&a->doc, at(a, "progress")), "100");
    done(a);
    a = asks(&b, status_one, id, "");
    CHECK_ANSWER(a, 200, "report", "# Report\n\n{\"n\":1}");
    CHECK_ANSWER(a, 200, "summary", "disk");
    CHECK_ANSWER(a, 200, "tools.0", "describe");
    CHECK_ANSWER(a, 200, "stages.0.status", "done");
    CHECK_STR(json_raw(&a->doc, at(a, "alert")), "{\"n\":1}");
    CHECK_STR(json_raw(&a->doc, at(a, "tokens.reasoning")), "3");
    done(a);
    a = asks(&b, status_list, "", "");
    CHECK_ANSWER(a, 200, "incidents.0.alert_id", id);
    CHECK_ANSWER(a, 200, "incidents.0.status", "completed");
    done(a);
    a = asks(&b, status_types, "", "");
    CHECK_ANSWER(a, 200, "1", "kubernetes");
    done(a);
    bench_end(&b);
}

TEST(a_refused_alert_says_what_where_and_why)
{
    static const struct {
        const char *body;
        int status;
        const char *path, *want;
    } cases[] = {
        {"{", 400, "detail.error", "invalid_json"},
        {"[]", 400, "detail.error", "invalid_json"},
        {"", 400, "detail.error", "invalid_json"},
        {"{}", 422, "detail.validation_errors.0.field", "alert_type"},
        {"{}", 422, "detail.required_fields.1", "runbook"},
        {"{}", 422, "detail.optional_fields.0", "data"},
        {"{\"alert_type\":\"disk\",\"runbook\":\"a.md\",\"data\":7}",
         422,
         "detail.validation_errors.0.expected_type",
         "object"},
        {"{\"alert_type\":\"x\",\"runbook\":\"a.md\"}", 400, "detail.error", "unknown_alert_type"},
        {"{\"alert_type\":\"disk\",\"runbook\":\"b.md\"}",
         422,
         "detail.validation_errors.0.field",
         "runbook"},
        {"{\"alert_type\":\"disk\",\"runbook\":\"../a.md\"}",
         422,
         "detail.validation_errors.0.field",
         "runbook"},
        {"{\"alert_type\":\"disk\",\"runbook\":\"b.md\"}",
         422,
         "detail.validation_errors.0.invalid_value",
         "b.md"},
        {"{\"alert_type\":\"disk\",\"runbook\":\"https://evil.example/a.md\"}",
         422,
         "detail.validation_errors.0.field",
         "runbook"},
        {"{\"alert_type\":\"disk\",\"runbook\":\"/etc/passwd\"}",
         422,
         "detail.validation_errors.0.field",
         "runbook"},
    };
    struct answer *a;
    struct bench b;

    bench_new(&b, "  runbook_domains: [good.example]\n");
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        a = asks(&b, intake_alert, "", cases[i].body);
        CHECK_ANSWER(a, cases[i].status, cases[i].path, cases[i].want);
        done(a);
    }
    a = asks(&b, intake_alert, "", "{\"alert_type\":\"x\",\"runbook\":\"a.md\"}");
    CHECK(str_find(buf_str(&a->reply.body), STR("known are disk, kubernetes")) != STR_NONE);
    done(a);
    a = asks(&b, status_list, "", "");
    CHECK_INT(json_count(&a->doc, at(a, "incidents")), 0);
    done(a);
    bench_end(&b);
}

/* Without a list of hosts no runbook may be fetched; the error comes when the alert arrives. */
TEST(a_runbook_that_may_not_be_fetched_is_refused)
{
    struct answer *a;
    struct bench b;

    bench_new(&b, "");
    a = asks(&b,
             intake_alert,
             "",
             "{\"alert_type\":\"disk\",\"runbook\":\"https://good.example/a.md\"}");
    CHECK_ANSWER(a, 422, "detail.validation_errors.0.field", "runbook");
    CHECK(str_find(buf_str(&a->reply.body), STR("incidents.runbook_domains")) != STR_NONE);
    done(a);
    bench_end(&b);
}

TEST(a_body_of_more_than_ten_megabytes_is_413)
{
    size_t size = APP_BODY_MAX + 1;
    char *text = base_alloc(size);
    struct answer *a;
    struct bench b;

    bench_new(&b, "");
    memset(text, ' ', size);
    a = asks_as(&b, intake_alert, "", (str){text, size}, "", true);
    CHECK_ANSWER(a, 413, "detail.error", "too_large");
    done(a);
    free(text);
    bench_end(&b);
}

/* An alert storm is one investigation. */
TEST(defect_13_a_duplicate_is_told_the_firsts_id)
{
    char first[RAND_ID_SIZE], again[RAND_ID_SIZE], later[RAND_ID_SIZE];
    struct bench b;

    bench_new(&b, "");
    CHECK_INT(sends(&b, 1, "queued", first), 202);
    CHECK_INT(sends(&b, 1, "duplicate", again), 200);
    CHECK(strcmp(first, again) == 0);
    waits_for_begun(1);
    CHECK_INT(sends(&b, 1, "duplicate", again), 200);
    CHECK(strcmp(first, again) == 0);
    stub.open = true;
    waits_for_calm(&b);
    CHECK_INT(sends(&b, 1, "queued", later), 202);
    CHECK(strcmp(first, later) != 0);
    bench_end(&b);
}

TEST(duplicates_of_one_key_are_not_told_to_another)
{
    str body = STR("{\"alert_type\":\"disk\",\"runbook\":\"a.md\"}");
    struct answer *a, *c;
    struct bench b;
    char id[RAND_ID_SIZE];

    bench_new(&b, "");
    a = asks_as(&b, intake_alert, "", body, "one", false);
    c = asks_as(&b, intake_alert, "", body, "two", false);
    CHECK_ANSWER(a, 202, "status", "queued");
    CHECK_ANSWER(c, 202, "status", "queued");
    (void)snprintf(
        id, sizeof id, STR_FMT, STR_ARG(str_slice(json_raw(&a->doc, at(a, "alert_id")), 1, 37)));
    done(a);
    done(c);
    bench_end(&b);
}

/* A key sees its own alerts, an operator all. */
TEST(defect_19_a_key_sees_its_own_alerts_and_an_operator_all)
{
    str body = STR("{\"alert_type\":\"disk\",\"runbook\":\"a.md\"}");
    char id[RAND_ID_SIZE];
    struct answer *a;
    struct bench b;

    bench_new(&b, "");
    a = asks_as(&b, intake_alert, "", body, "one", false);
    (void)snprintf(
        id, sizeof id, STR_FMT, STR_ARG(str_slice(json_raw(&a->doc, at(a, "alert_id")), 1, 37)));
    done(a);
    for (size_t i = 0; i < 3; i++) {
        route *routes[] = {status_processing, status_one, status_cancel};

        a = asks_as(&b, routes[i], id, STR(""), "two", false);
        CHECK_ANSWER(a, 404, "detail.error", "alert_not_found");
        done(a);
    }
    a = asks_as(&b, status_list, "", STR(""), "two", false);
    CHECK_INT(json_count(&a->doc, at(a, "incidents")), 0);
    done(a);
    a = asks_as(&b, status_list, "", STR(""), "one", false);
    CHECK_INT(json_count(&a->doc, at(a, "incidents")), 1);
    done(a);
    a = asks_as(&b, status_one, id, STR(""), "boss", true);
    CHECK_ANSWER(a, 200, "alert_id", id);
    done(a);
    bench_end(&b);
}

/* The status is 503 because Alertmanager retries a 5xx only. */
TEST(defect_12_a_full_queue_is_503_with_retry_after)
{
    struct answer *a;
    struct bench b;

    bench_new(&b, "  max_concurrent_alerts: 1\n  max_queue_size: 2\n");
    for (int i = 0; i < 3; i++)
        CHECK_INT(sends(&b, i, "queued", NULL), 202);
    a = asks(&b, intake_alert, "", "{\"alert_type\":\"disk\",\"runbook\":\"a.md\"}");
    CHECK_ANSWER(a, 503, "detail.error", "queue_full");
    CHECK(a->reply.retry_after_s > 0);
    done(a);
    CHECK_INT(sends(&b, 1, "duplicate", NULL), 200);
    stub.open = true;
    waits_for_calm(&b);
    CHECK_INT(sends(&b, 9, "queued", NULL), 202);
    bench_end(&b);
}

struct sender {
    struct bench *bench;
    int from;
};

static void *send_many(void *arg)
{
    struct sender *s = arg;

    for (int i = 0; i < 20; i++)
        (void)sends(s->bench, s->from + i, NULL, NULL);
    return NULL;
}

/* Checking the limit and claiming a place are one step, so the limit holds for concurrent
 * requests. */
TEST(defect_10_no_more_than_the_limit_run_however_many_ask)
{
    struct sender senders[8];
    pthread_t threads[8];
    struct answer *a;
    struct bench b;

    bench_new(&b, "  max_concurrent_alerts: 3\n  max_queue_size: 40\n");
    for (int i = 0; i < 8; i++) {
        senders[i] = (struct sender){&b, 1000 * i};
        CHECK(pthread_create(&threads[i], NULL, send_many, &senders[i]) == 0);
    }
    for (int i = 0; i < 8; i++)
        pthread_join(threads[i], NULL);
    waits_for_begun(3);
    a = asks(&b, status_list, "", "");
    CHECK_INT(json_count(&a->doc, at(a, "incidents")), 43);
    done(a);
    stub.open = true;
    waits_for_calm(&b);
    CHECK_INT(stub.most, 3);
    CHECK_INT(stub.begun, 43);
    bench_end(&b);
}

/* Queued alerts can be cancelled too, not only those in progress. */
TEST(defect_11_an_alert_can_be_cancelled_at_any_state)
{
    char running[RAND_ID_SIZE], queued[RAND_ID_SIZE];
    struct answer *a;
    struct bench b;

    bench_new(&b, "  max_concurrent_alerts: 1\n");
    (void)sends(&b, 1, "queued", running);
    waits_for_begun(1);
    (void)sends(&b, 2, "queued", queued);
    a = asks(&b, status_cancel, queued, "");
    CHECK_ANSWER(a, 200, "status", "cancelled");
    done(a);
    waits_for(&b, queued, "cancelled");
    a = asks(&b, status_cancel, running, "");
    CHECK_ANSWER(a, 200, "status", "cancelling");
    done(a);
    waits_for(&b, running, "cancelled");
    CHECK_INT(stub.begun, 1);
    a = asks(&b, status_cancel, running, "");
    CHECK_ANSWER(a, 409, "detail.status", "cancelled");
    done(a);
    stub.open = true;
    (void)sends(&b, 3, "queued", running);
    waits_for(&b, running, "completed");
    a = asks(&b, status_cancel, running, "");
    CHECK_ANSWER(a, 409, "detail.status", "completed");
    done(a);
    a = asks(&b, status_cancel, "nothing", "");
    CHECK_ANSWER(a, 404, "detail.error", "alert_not_found");
    done(a);
    bench_end(&b);
}

/* The time-outs are settings. */
TEST(defect_22_the_timeout_of_an_alert_is_a_setting)
{
    char id[RAND_ID_SIZE];
    struct answer *a;
    struct bench b;

    bench_new(&b, "  timeout: 80ms\n");
    (void)sends(&b, 1, "queued", id);
    waits_for(&b, id, "error");
    a = asks(&b, status_processing, id, "");
    CHECK_ANSWER(a, 200, "error", "timed out after 80 ms (incidents.timeout)");
    done(a);
    bench_end(&b);
}

/* The engine decides to wait for an answer, and the time-out expires before the queue knows. */
TEST(a_timeout_at_the_moment_of_a_question_does_not_end_the_resumed_investigation)
{
    char id[RAND_ID_SIZE];
    struct bench b;

    bench_new(&b, "  timeout: 1s\n");
    stub.waits = true;
    CHECK_INT(sends(&b, 1, "queued", id), 202);
    waits_for(&b, id, "waiting");
    stub.waits = false;
    stub.open = true;
    CHECK(queue_resume(b.in->queue, str_c(id)));
    waits_for_calm(&b);
    waits_for(&b, id, "completed");
    bench_end(&b);
}

TEST(a_failed_investigation_is_an_error_with_its_reason)
{
    char id[RAND_ID_SIZE];
    struct answer *a;
    struct bench b;

    bench_new(&b, "");
    stub.open = stub.fails = true;
    (void)sends(&b, 1, "queued", id);
    waits_for(&b, id, "error");
    a = asks(&b, status_one, id, "");
    CHECK_ANSWER(a, 200, "error", "the model said no");
    CHECK_ANSWER(a, 200, "reason", "llm_error");
    done(a);
    bench_end(&b);
}

/* A restart resumes all alerts that the previous process left. */
TEST(defect_9_what_was_queued_or_running_goes_on_after_a_restart)
{
    char running[RAND_ID_SIZE], queued[RAND_ID_SIZE], cancelled[RAND_ID_SIZE], again[RAND_ID_SIZE];
    struct answer *a;
    struct bench b;

    bench_new(&b, "  max_concurrent_alerts: 1\n");
    (void)sends(&b, 1, "queued", running);
    waits_for_begun(1);
    (void)sends(&b, 2, "queued", queued);
    (void)sends(&b, 3, "queued", cancelled);
    a = asks(&b, status_cancel, cancelled, "");
    done(a);
    bench_close(&b);
    CHECK_INT(stub.begun, 1);
    bench_open(&b);
    CHECK_INT(sends(&b, 2, "duplicate", again), 200);
    CHECK(strcmp(again, queued) == 0);
    waits_for_begun(2);
    CHECK(strcmp(stub.last, running) == 0);
    stub.open = true;
    waits_for(&b, running, "completed");
    waits_for(&b, queued, "completed");
    waits_for(&b, cancelled, "cancelled");
    CHECK_INT(stub.begun, 3);
    bench_end(&b);
}

TEST(a_cancel_that_was_acknowledged_holds_after_a_crash)
{
    struct alert_table_row row;
    struct arena arena;
    char id[RAND_ID_SIZE];
    struct bench b;
    struct err e;

    bench_new(&b, "");
    (void)sends(&b, 1, "queued", id);
    waits_for_begun(1);
    bench_close(&b);
    /* Simulates a process that died between the answer to the cancel and the end of the run. */
    bench_open(&b);
    waits_for_begun(2);
    bench_close(&b);
    arena_init(&arena, 1 << 20);
    {
        struct alert_table *alert_table;

        CHECK_F(alert_table_open(str_c(b.place.url), &alert_table, &e), "%s", e.text);
        CHECK_F(alert_table_get(alert_table, str_c(id), &arena, &row, &e), "%s", e.text);
        CHECK_STR(row.state, "processing");
        row.cancelled = true;
        CHECK_F(alert_table_put(alert_table, &row, true, &e), "%s", e.text);
        alert_table_close(alert_table);
    }
    bench_open(&b);
    waits_for(&b, id, "cancelled");
    CHECK_INT(stub.begun, 2);
    arena_release(&arena);
    bench_end(&b);
}

/* The events of an alert remain readable after its end. */
TEST(defect_18_an_alert_that_ended_long_ago_is_still_told_of)
{
    char id[RAND_ID_SIZE];
    struct hub_scope all = {.all = true, .key = STR("")}, other = {.key = STR("x")};
    struct answer *a;
    struct bench b;

    bench_new(&b, "");
    stub.open = true;
    (void)sends(&b, 1, "queued", id);
    waits_for(&b, id, "completed");
    bench_close(&b);
    bench_open(&b);
    a = asks(&b, status_processing, id, "");
    CHECK_ANSWER(a, 200, "result", "# Report\n\n{\"n\":1}");
    done(a);
    if (b.local.host.gateway->hub) {
        CHECK(hub_alert_known(b.local.host.gateway->hub, str_c(id), &all));
        CHECK(!hub_alert_known(b.local.host.gateway->hub, str_c(id), &other));
    }
    bench_end(&b);
}

TEST(an_alert_can_be_asked_about_once_it_has_ended)
{
    char id[RAND_ID_SIZE];
    struct answer *a;
    struct bench b;

    bench_new(&b, "");
    (void)sends(&b, 1, "queued", id);
    waits_for_begun(1);
    a = asks(&b, status_chat, id, "{\"question\":\"why?\"}");
    CHECK_ANSWER(a, 409, "detail.status", "processing");
    done(a);
    stub.open = true;
    waits_for(&b, id, "completed");
    a = asks(&b, status_chat, id, "{\"question\":\"why?\"}");
    CHECK(a->reply.status == 200 && at(a, "answer"));
    done(a);
    a = asks(&b, status_chat, id, "{\"question\":\"  \"}");
    CHECK_ANSWER(a, 422, "detail.error", "validation_failed");
    done(a);
    bench_end(&b);
}

TEST(without_a_store_alerts_live_as_long_as_the_process)
{
    char path[512], text[512], id[RAND_ID_SIZE];
    struct bench b;
    struct err e;

    bench_new(&b, "");
    bench_close(&b);
    (void)snprintf(path, sizeof path, "%s/rationale.yaml", b.place.dir);
    (void)snprintf(text,
                   sizeof text,
                   "store: none\nproviders:\n  none:\n    kind: openai\n"
                   "    base_url: http://127.0.0.1:9/v1\n    models: {m: m}\n"
                   "incidents:\n  runbooks: %s\n",
                   b.place.dir);
    CHECK_F(file_write_atomic(path, str_c(text), 0600, &e), "%s", e.text);
    bench_open(&b);
    stub.open = true;
    CHECK_INT(sends(&b, 1, "queued", id), 202);
    waits_for(&b, id, "completed");
    bench_end(&b);
}

TEST_MAIN(T(a_timeout_at_the_moment_of_a_question_does_not_end_the_resumed_investigation),
          T(an_alert_is_taken_worked_on_and_told_of), T(a_refused_alert_says_what_where_and_why),
          T(a_runbook_that_may_not_be_fetched_is_refused),
          T(a_body_of_more_than_ten_megabytes_is_413),
          T(defect_13_a_duplicate_is_told_the_firsts_id),
          T(duplicates_of_one_key_are_not_told_to_another),
          T(defect_19_a_key_sees_its_own_alerts_and_an_operator_all),
          T(defect_12_a_full_queue_is_503_with_retry_after),
          T(defect_10_no_more_than_the_limit_run_however_many_ask),
          T(defect_11_an_alert_can_be_cancelled_at_any_state),
          T(defect_22_the_timeout_of_an_alert_is_a_setting),
          T(a_failed_investigation_is_an_error_with_its_reason),
          T(defect_9_what_was_queued_or_running_goes_on_after_a_restart),
          T(a_cancel_that_was_acknowledged_holds_after_a_crash),
          T(defect_18_an_alert_that_ended_long_ago_is_still_told_of),
          T(an_alert_can_be_asked_about_once_it_has_ended),
          T(without_a_store_alerts_live_as_long_as_the_process))
