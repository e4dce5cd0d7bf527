/* Rate, token and spending limits of a key.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/limits.h"

#include "base/clock.h"
#include "test.h"

#include <math.h> /* NAN */
#include <pthread.h>

static struct config_key key_of(int64_t rpm, int64_t tpm, double usd)
{
    return (struct config_key){.name = STR("ci"), .rpm = rpm, .tpm = tpm, .spend_usd = usd};
}

static const struct clock *now; /* the clock of the current test */

static struct limits *limits_at(const struct clock *clock)
{
    now = clock;
    return limits_new();
}

static bool take(struct limits *l, const struct config_key *k, int64_t tokens, int64_t *wait)
{
    struct err e = {0};
    bool ok = limits_take(l, k, &(struct limits_want){tokens, clock_mono_ns(now), 0}, wait, &e);

    CHECK(ok || (e.code == ERR_LIMIT && strstr(e.text, "\"ci\"")));
    return ok;
}

static void settle(struct limits *l, const struct config_key *k, int64_t estimated, int64_t tokens,
                   double usd)
{
    limits_settle(l, k, &(struct limits_want){estimated, 0, 0}, tokens, usd);
}

TEST(a_key_without_limits_is_never_stopped)
{
    struct config_key k = key_of(-1, -1, -1);
    struct limits *l = limits_at(&clock_real);
    int64_t wait;

    for (int i = 0; i < 1000; i++)
        CHECK(take(l, &k, INT64_MAX, &wait));
    settle(l, &k, INT64_MAX, INT64_MIN, 1e9);
    CHECK(take(l, &k, -5, &wait));
    limits_free(l);
}

TEST(a_minutes_requests_may_come_at_once_and_flow_back_evenly)
{
    struct config_key k = key_of(60, -1, -1);
    struct clock clock;
    struct limits *l;
    int64_t wait = 0;

    clock_fake_init(&clock, 0);
    l = limits_at(&clock);
    for (int i = 0; i < 60; i++)
        CHECK(take(l, &k, 1, &wait));
    CHECK(!take(l, &k, 1, &wait));
    CHECK_INT(wait, 1000);
    clock_fake_advance_ms(&clock, 400);
    CHECK(!take(l, &k, 1, &wait));
    CHECK_INT(wait, 600);
    clock_fake_advance_ms(&clock, 600);
    CHECK(take(l, &k, 1, &wait));
    CHECK(!take(l, &k, 1, &wait));
    clock_fake_advance_ms(&clock, 3600000);
    for (int i = 0; i < 60; i++)
        CHECK(take(l, &k, 1, &wait));
    CHECK(!take(l, &k, 1, &wait));
    limits_free(l);
}

TEST(what_a_wait_says_is_enough)
{
    for (int64_t rpm = 1; rpm < 5000; rpm = rpm * 3 + 1) {
        struct config_key k = key_of(rpm, -1, -1);
        struct clock clock;
        struct limits *l;
        int64_t wait = 0;

        clock_fake_init(&clock, 0);
        l = limits_at(&clock);
        while (take(l, &k, 1, &wait))
            ;
        CHECK(wait > 0 && wait <= 60000);
        clock_fake_advance_ms(&clock, (uint64_t)wait);
        CHECK(take(l, &k, 1, &wait));
        limits_free(l);
    }
}

TEST(who_is_behind_the_others_gets_nothing_twice)
{
    struct config_key k = key_of(2, -1, -1);
    struct limits *l = limits_new();
    struct limits_want late = {1, 5000000000, 0}, early = {1, 1000000000, 0};
    int64_t wait;
    struct err e;

    CHECK(limits_take(l, &k, &late, &wait, &e));
    CHECK(limits_take(l, &k, &early, &wait, &e));
    CHECK(!limits_take(l, &k, &early, &wait, &e));
    CHECK(!limits_take(l, &k, &late, &wait, &e));
    CHECK_INT(wait, 30000);
    limits_free(l);
}

TEST(tokens_are_corrected_when_they_are_known)
{
    struct config_key k = key_of(-1, 6000, -1);
    struct clock clock;
    struct limits *l;
    int64_t wait = 0;

    clock_fake_init(&clock, 0);
    l = limits_at(&clock);
    CHECK(take(l, &k, 1000, &wait));
    settle(l, &k, 1000, 7000, 0); /* 1000 more than the bucket had */
    CHECK(!take(l, &k, 100, &wait));
    CHECK_INT(wait, 11000);
    clock_fake_advance_ms(&clock, 11000);
    CHECK(take(l, &k, 100, &wait));
    CHECK(!take(l, &k, 1, &wait));
    settle(l, &k, 100, 0, 0);
    CHECK(take(l, &k, 100, &wait));
    settle(l, &k, 1000000, 0, 0); /* a refund cannot exceed the bucket: one minute's tokens */
    CHECK(take(l, &k, 6000, &wait));
    CHECK(!take(l, &k, 1, &wait));
    limits_free(l);
}

TEST(a_request_larger_than_a_minute_is_told_that_waiting_does_not_help)
{
    struct config_key k = key_of(-1, 6000, -1);
    struct limits *l = limits_at(&clock_real);
    int64_t wait = 0;

    CHECK(!take(l, &k, 6001, &wait));
    CHECK_INT(wait, LIMITS_NEVER);
    CHECK(take(l, &k, 6000, &wait));
    limits_free(l);
}

TEST(a_refusal_takes_nothing)
{
    struct config_key k = key_of(2, 100, -1);
    struct clock clock;
    struct limits *l;
    int64_t wait = 0;

    clock_fake_init(&clock, 0);
    l = limits_at(&clock);
    for (int i = 0; i < 10; i++)
        CHECK(!take(l, &k, 101, &wait));
    CHECK(take(l, &k, 50, &wait));
    CHECK(take(l, &k, 50, &wait));
    CHECK(!take(l, &k, 1, &wait));
    limits_free(l);
}

TEST(what_was_spent_adds_up_and_ends_it)
{
    struct config_key k = key_of(-1, -1, 1.0), none = key_of(-1, -1, 0);
    struct limits *l = limits_at(&clock_real);
    int64_t wait = 0;

    CHECK(take(l, &k, 1, &wait));
    settle(l, &k, 1, 1, 0.6);
    settle(l, &k, 1, 1, -1); /* unknown cost */
    settle(l, &k, 1, 1, (double)NAN);
    CHECK(take(l, &k, 1, &wait));
    limits_spent_add(l, STR("ci"), 0.5);
    CHECK(limits_spent(l, STR("ci")) > 1.09 && limits_spent(l, STR("ci")) < 1.11);
    CHECK(!take(l, &k, 1, &wait));
    CHECK_INT(wait, LIMITS_SPENT);
    CHECK(limits_spent(l, STR("other")) < 0.001);
    CHECK(!take(l, &none, 1, &wait));
    limits_free(l);
}

TEST(calls_at_once_spend_no_more_than_one_after_the_other)
{
    struct config_key k = key_of(-1, -1, 1.0);
    struct limits *l = limits_at(&clock_real);
    struct limits_want dear = {1, 0, 0.4}, vast = {1, 0, 1e9}, odd = {1, 0, (double)NAN};
    int64_t wait = 0;
    struct err e;

    for (int i = 0; i < 3; i++) /* the last one starts with 0.2 left */
        CHECK(limits_take(l, &k, &dear, &wait, &e));
    CHECK(!limits_take(l, &k, &dear, &wait, &e));
    CHECK_INT(wait, 1000); /* retry soon: they may cost less than reserved */
    limits_settle(l, &k, &dear, 1, 0.1);
    CHECK(limits_take(l, &k, &odd, &wait, &e));
    limits_settle(l, &k, &odd, 1, 0);
    for (int i = 0; i < 2; i++)
        limits_settle(l, &k, &dear, 1, 0.4);
    CHECK(limits_take(l, &k, &vast, &wait, &e)); /* allowed when no other call is running */
    CHECK(!limits_take(l, &k, &dear, &wait, &e));
    limits_settle(l, &k, &vast, 1, -1); /* the call failed */
    CHECK(limits_take(l, &k, &dear, &wait, &e));
    limits_settle(l, &k, &dear, 1, 0.2);
    CHECK(!limits_take(l, &k, &dear, &wait, &e));
    CHECK_INT(wait, LIMITS_SPENT);
    limits_free(l);
}

TEST(a_reload_changes_the_limit_and_keeps_the_count)
{
    struct config_key k = key_of(10, -1, -1), more = key_of(60, -1, -1);
    struct clock clock;
    struct limits *l;
    int64_t wait = 0;

    clock_fake_init(&clock, 0);
    l = limits_at(&clock);
    for (int i = 0; i < 10; i++)
        CHECK(take(l, &k, 1, &wait));
    CHECK(!take(l, &more, 1, &wait));
    CHECK_INT(wait, 1000);
    limits_free(l);
    limits_free(NULL);
}

struct job {
    struct limits *l;
    int taken;
};

static void *work(void *arg)
{
    struct job *j = arg;
    struct config_key k = key_of(1000, -1, -1);

    for (int i = 0; i < 1000; i++) {
        struct err e;
        int64_t wait;

        j->taken +=
            limits_take(j->l, &k, &(struct limits_want){1, clock_mono_ns(now), 0}, &wait, &e);
        settle(j->l, &k, 1, 1, 0.5);
    }
    return NULL;
}

TEST(threads_together_get_no_more_than_one)
{
    struct clock clock;
    struct job jobs[4];
    pthread_t threads[4];
    int taken = 0;

    clock_fake_init(&clock, 0);
    jobs[0].l = limits_at(&clock);
    for (size_t i = 0; i < COUNT_OF(threads); i++) {
        jobs[i] = (struct job){jobs[0].l, 0};
        CHECK(pthread_create(&threads[i], NULL, work, &jobs[i]) == 0);
    }
    for (size_t i = 0; i < COUNT_OF(threads); i++) {
        pthread_join(threads[i], NULL);
        taken += jobs[i].taken;
    }
    CHECK_INT(taken, 1000);
    CHECK_INT(limits_spent(jobs[0].l, STR("ci")), 2000);
    limits_free(jobs[0].l);
}

static void nothing(void *ctx)
{
    (void)ctx;
}

/* Reports the use of one daemon to another, which subtracts it. */
static void report_to(void *ctx, const struct limits_use *u)
{
    limits_peer_used(ctx, 1, false, u);
}

static void base_to(void *ctx, const struct limits_use *u)
{
    limits_peer_used(ctx, 1, true, u);
}

TEST(the_use_by_other_daemons_counts_once)
{
    struct config_key k = key_of(60, 1000, 10);
    struct limits *a, *b;
    struct clock clock;
    int64_t wait;

    clock_fake_init(&clock, 1700000000000);
    a = limits_at(&clock);
    b = limits_new();
    limits_share(a, nothing, NULL);
    for (int i = 0; i < 5; i++)
        CHECK(take(a, &k, 10, &wait));
    limits_report(a, true, base_to, b); /* use from before the daemons connected */
    limits_report(a, false, report_to, b);
    for (int i = 0; i < 50; i++)
        CHECK(take(a, &k, 10, &wait));
    settle(a, &k, 10, 110, 4);
    limits_report(a, false, report_to, b);
    limits_report(a, false, report_to, b); /* no change */
    limits_report(a, true, report_to, b);  /* the same totals: no change */
    CHECK(limits_spent(b, STR("ci")) == 4);
    for (int i = 0; i < 10; i++)
        CHECK(take(b, &k, 1, &wait));
    CHECK(!take(b, &k, 1, &wait)); /* 50 + 10 requests */
    k.rpm = -1;
    CHECK(take(b, &k, 380, &wait));
    CHECK(!take(b, &k, 20, &wait)); /* 600 + 10 + 380 tokens */
    limits_free(a);
    limits_free(b);
}

TEST(the_reservations_of_a_daemon_that_is_gone_are_free)
{
    struct config_key k = key_of(-1, -1, 10);
    struct limits *b = limits_at(&clock_real);
    int64_t wait;

    limits_peer_used(b, 1, true, &(struct limits_use){STR("ci"), 1, 1, 3, 0});
    limits_peer_used(b, 1, false, &(struct limits_use){STR("ci"), 2, 2, 3, 10});
    CHECK(!take(b, &k, 1, &wait) && wait > 0);
    limits_peer_gone(b, 1);
    CHECK(take(b, &k, 1, &wait));
    CHECK(limits_spent(b, STR("ci")) == 0);
    limits_free(b);
}

/* A NaN or an infinity would stay in the bucket for ever. */
TEST(a_report_that_is_no_number_is_ignored)
{
    struct config_key k = key_of(60, 1000, 10);
    struct limits *b = limits_at(&clock_real);
    int64_t wait;

    for (int i = 0; i < 3; i++) {
        double bad = (const double[]){NAN, INFINITY, -INFINITY}[i];

        limits_peer_used(b, 1, false, &(struct limits_use){STR("ci"), bad, 1, 1, 0});
        limits_peer_used(b, 1, false, &(struct limits_use){STR("ci"), 1, bad, 1, 0});
        limits_peer_used(b, 1, false, &(struct limits_use){STR("ci"), 1, 1, bad, 0});
        CHECK(take(b, &k, 10, &wait));
    }
    CHECK(limits_spent(b, STR("ci")) == 0);
    limits_peer_used(b, 1, false, &(struct limits_use){STR("ci"), 57, 0, 0, 0});
    CHECK(!take(b, &k, 10, &wait)); /* 3 + 57 requests */
    limits_free(b);
}

TEST_MAIN(T(a_key_without_limits_is_never_stopped),
          T(a_minutes_requests_may_come_at_once_and_flow_back_evenly),
          T(what_a_wait_says_is_enough), T(who_is_behind_the_others_gets_nothing_twice),
          T(tokens_are_corrected_when_they_are_known),
          T(a_request_larger_than_a_minute_is_told_that_waiting_does_not_help),
          T(a_refusal_takes_nothing), T(what_was_spent_adds_up_and_ends_it),
          T(calls_at_once_spend_no_more_than_one_after_the_other),
          T(a_reload_changes_the_limit_and_keeps_the_count),
          T(threads_together_get_no_more_than_one), T(the_use_by_other_daemons_counts_once),
          T(the_reservations_of_a_daemon_that_is_gone_are_free),
          T(a_report_that_is_no_number_is_ignored))
