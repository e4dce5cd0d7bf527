/* incident_sender_test.c - incidents of alerts in our own format and in PagerDuty's; signatures.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "incident_bench.h"

#include <stdlib.h>

#define AT1 "2026-05-01T10:00:00Z"
#define AT2 "2026-05-01T11:00:00Z"

TEST(an_alert_in_our_own_form_counts_its_repeats_while_it_is_alive)
{
    char first[RAND_ID_SIZE], later[RAND_ID_SIZE];
    struct bench b;

    bench_new(&b, "");
    (void)sends(&b, 1, "queued", first);
    (void)sends(&b, 1, "duplicate", later);
    alert_is(&b, first, 0, "firing", 2);
    stub.open = true;
    waits_for(&b, first, "completed");
    (void)sends(&b, 1, "queued", later);
    CHECK(strcmp(first, later) != 0);
    alert_is(&b, later, 0, "firing", 1);
    bench_end(&b);
}

/* An alert's timestamp does not decide which of its incidents is open. */
TEST(repeats_of_an_alert_whose_last_incident_was_of_a_later_time_are_counted)
{
    char id[RAND_ID_SIZE], again[RAND_ID_SIZE];
    struct bench b;

    bench_new(&b, "");
    stub.may = 1;
    done(asks(&b,
              intake_alert,
              "",
              "{\"alert_type\":\"disk\",\"runbook\":\"a.md\",\"data\":{\"n\":1},"
              "\"timestamp\":\"2999-01-01T00:00:00Z\"}"));
    waits_for_begun(1);
    waits_for_calm(&b);
    (void)sends(&b, 1, "queued", id);
    (void)sends(&b, 1, "duplicate", again);
    CHECK(strcmp(id, again) == 0);
    alert_is(&b, id, 0, "firing", 2);
    bench_end(&b);
}

#define PAGERDUTY(type, at)                                                                        \
    "{\"event\":{\"event_type\":\"" type "\",\"occurred_at\":\"" at                                \
    "\",\"data\":{\"id\":\"PT4\",\"created_at\":\"" AT1                                            \
    "\",\"title\":\"t\",\"service\":{\"summary\":\"disk\"},\"urgency\":\"high\"}}}"

TEST(an_incident_of_pagerduty_fires_ends_and_is_opened_again)
{
    char first[RAND_ID_SIZE], id[RAND_ID_SIZE];
    struct answer *a;
    struct bench b;

    bench_new(&b, "");
    stub.open = true;
    CHECK_INT(posts(&b, PAGERDUTY("incident.triggered", AT1), 0, "queued", first), 202);
    CHECK_INT(posts(&b, PAGERDUTY("incident.triggered", AT1), 0, "attached", id), 200);
    waits_for(&b, first, "completed");
    a = asks(&b, intake_alert, "", PAGERDUTY("incident.acknowledged", AT2));
    CHECK_ANSWER(a, 200, "status", "ignored");
    done(a);
    CHECK_INT(posts(&b, PAGERDUTY("incident.resolved", AT2), 0, "resolved", id), 200);
    CHECK(strcmp(first, id) == 0);
    alert_is(&b, first, 0, "resolved", 2);
    CHECK_INT(posts(&b, PAGERDUTY("incident.reopened", "2026-05-01T12:00:00Z"), 0, "queued", id),
              202);
    CHECK(strcmp(first, id) != 0);
    bench_end(&b);
}

/* The HMAC-SHA256 was computed by openssl dgst -sha256 -hmac s3cret. */
#define SIGNED_BODY "{\"event\":{\"event_type\":\"pagey.ping\"}}"
#define ALERTMANAGER                                                                               \
    "{\"version\":\"4\",\"alerts\":[{\"labels\":{\"alertname\":\"disk\"},\"fingerprint\":\"f1\"}]" \
    "}"
#define SIGNED_HEX "e18f4e162a9ed6df61d6240c7b21270ae8169e49a28a49b488e65cb7b919c819"

TEST(a_webhook_is_taken_with_the_right_signature_alone)
{
    static const struct {
        const char *signature;
        int status;
        const char *says;
    } cases[] = {
        {"v1=" SIGNED_HEX, 200, "ignored"},
        {"v1=00,v1=" SIGNED_HEX, 200, "ignored"},
        {"", 401, "X-PagerDuty-Signature is missing"},
        {SIGNED_HEX, 401, "does not match"},
        {"v1=" SIGNED_HEX "0", 401, "does not match"},
        {"v1=0000000000000000000000000000000000000000000000000000000000000000",
         401,
         "does not match"},
    };
    struct bench b;

    CHECK(setenv("TEST_PAGERDUTY_SECRET", "s3cret", 1) == 0);
    bench_new(&b, "  pagerduty_secret_env: TEST_PAGERDUTY_SECRET\n");
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct answer *a = asks_signed(&b, SIGNED_BODY, cases[i].signature);

        CHECK_F(a->reply.status == cases[i].status &&
                    str_find(buf_str(&a->reply.body), str_c(cases[i].says)) != STR_NONE,
                "%s: %d " STR_FMT,
                cases[i].signature,
                a->reply.status,
                STR_ARG(buf_str(&a->reply.body)));
        done(a);
    }
    CHECK_INT(posts(&b, ALERTMANAGER, 0, "queued", stub.last), 202);
    CHECK(unsetenv("TEST_PAGERDUTY_SECRET") == 0);
    {
        struct answer *a = asks_signed(&b, SIGNED_BODY, "v1=" SIGNED_HEX);

        CHECK_ANSWER(a, 401, "detail.error", "bad_signature");
        done(a);
    }
    bench_end(&b);
}

TEST_MAIN(T(an_alert_in_our_own_form_counts_its_repeats_while_it_is_alive),
          T(repeats_of_an_alert_whose_last_incident_was_of_a_later_time_are_counted),
          T(an_incident_of_pagerduty_fires_ends_and_is_opened_again),
          T(a_webhook_is_taken_with_the_right_signature_alone))
