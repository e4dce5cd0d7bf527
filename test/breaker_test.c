/* The breaker stops calls to a provider's model that keeps failing, and tries again later.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/breaker.h"

#include "test.h"

#include <pthread.h>

#define NAME STR("a/m")

static bool pass(struct breaker *b, str name)
{
    uint64_t left;

    return breaker_pass(b, name, 3, 1000, &left);
}

static struct breaker *opened(struct clock *clock)
{
    struct breaker *b;

    clock_fake_init(clock, 1700000000000);
    b = breaker_new(clock);
    for (int i = 0; i < 3; i++) {
        CHECK(pass(b, NAME));
        breaker_done(b, NAME, false);
    }
    return b;
}

TEST(it_opens_after_failures_in_a_row_and_says_how_long)
{
    struct clock clock;
    struct breaker *b = opened(&clock);
    uint64_t left = 0;

    CHECK(!breaker_pass(b, NAME, 3, 1000, &left));
    CHECK_INT(left, 1000);
    clock_fake_advance_ms(&clock, 300);
    CHECK(!breaker_pass(b, NAME, 3, 1000, &left));
    CHECK_INT(left, 700);
    CHECK(pass(b, STR("a/other")));
    breaker_free(b);
}

TEST(what_says_nothing_neither_opens_nor_mends)
{
    struct clock clock;
    struct breaker *b;

    clock_fake_init(&clock, 0);
    b = breaker_new(&clock);
    for (int i = 0; i < 20; i++) {
        CHECK(pass(b, NAME));
        breaker_undecided(b, NAME);
    }
    for (int i = 0; i < 3; i++) {
        CHECK(pass(b, NAME));
        breaker_done(b, NAME, false);
        breaker_undecided(b, NAME);
    }
    CHECK(!pass(b, NAME));
    breaker_free(b);
}

TEST(a_success_between_failures_keeps_it_closed)
{
    struct clock clock;
    struct breaker *b;

    clock_fake_init(&clock, 0);
    b = breaker_new(&clock);
    for (int i = 0; i < 20; i++) {
        CHECK(pass(b, NAME));
        breaker_done(b, NAME, i % 3 == 2);
    }
    CHECK(pass(b, NAME));
    breaker_free(b);
}

TEST(after_a_while_one_call_is_let_through_and_decides)
{
    struct clock clock;
    struct breaker *b = opened(&clock);

    clock_fake_advance_ms(&clock, 1000);
    CHECK(pass(b, NAME));
    CHECK(!pass(b, NAME));
    breaker_done(b, NAME, false);
    CHECK(!pass(b, NAME));
    clock_fake_advance_ms(&clock, 999);
    CHECK(!pass(b, NAME));
    clock_fake_advance_ms(&clock, 1);
    CHECK(pass(b, NAME));
    breaker_done(b, NAME, true);
    CHECK(pass(b, NAME));
    CHECK(pass(b, NAME));
    breaker_done(b, NAME, false);
    CHECK(pass(b, NAME));
    breaker_free(b);
}

TEST(a_call_that_says_nothing_lets_the_next_one_try)
{
    struct clock clock;
    struct breaker *b = opened(&clock);

    breaker_undecided(b, NAME);
    CHECK(!pass(b, NAME));
    clock_fake_advance_ms(&clock, 1000);
    CHECK(pass(b, NAME));
    breaker_undecided(b, NAME);
    CHECK(pass(b, NAME));
    CHECK(!pass(b, NAME));
    clock_fake_advance_ms(&clock, 1000); /* the pending call never reports a result */
    CHECK(pass(b, NAME));
    breaker_undecided(b, STR("unknown"));
    breaker_free(b);
}

TEST(calls_from_before_it_opened_decide_nothing)
{
    struct clock clock;
    struct breaker *b = opened(&clock);

    clock_fake_advance_ms(&clock, 900);
    breaker_done(b, NAME, true);
    CHECK(!pass(b, NAME));
    breaker_done(b, NAME, false);
    clock_fake_advance_ms(&clock, 100);
    CHECK(pass(b, NAME));
    breaker_free(b);
}

TEST(many_failing_names_are_forgotten_in_turn)
{
    struct clock clock;
    struct breaker *b = opened(&clock);

    for (int i = 0; i < 10000; i++) {
        char name[32];

        snprintf(name, sizeof name, "a/%d", i);
        breaker_done(b, str_c(name), false);
    }
    CHECK(pass(b, NAME));
    breaker_free(b);
}

static void *work(void *arg)
{
    struct breaker *b = arg;

    for (int i = 0; i < 5000; i++) {
        char name[16];

        snprintf(name, sizeof name, "p/%d", i % 7);
        if (pass(b, str_c(name))) {
            if (i % 11 == 0)
                breaker_undecided(b, str_c(name));
            else
                breaker_done(b, str_c(name), i % 3 == 0);
        }
    }
    return NULL;
}

TEST(any_thread_may_ask)
{
    struct breaker *b = breaker_new(&clock_real);
    pthread_t threads[4];

    for (size_t i = 0; i < COUNT_OF(threads); i++)
        CHECK(pthread_create(&threads[i], NULL, work, b) == 0);
    for (size_t i = 0; i < COUNT_OF(threads); i++)
        pthread_join(threads[i], NULL);
    breaker_free(b);
    breaker_free(NULL);
}

TEST_MAIN(T(it_opens_after_failures_in_a_row_and_says_how_long),
          T(what_says_nothing_neither_opens_nor_mends),
          T(a_success_between_failures_keeps_it_closed),
          T(after_a_while_one_call_is_let_through_and_decides),
          T(a_call_that_says_nothing_lets_the_next_one_try),
          T(calls_from_before_it_opened_decide_nothing),
          T(many_failing_names_are_forgotten_in_turn), T(any_thread_may_ask))
