/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"
#include "test.h"

#include <limits.h>

TEST(clock_fake_moves_only_when_moved)
{
    struct clock c;

    clock_fake_init(&c, 1700000000000);
    CHECK(clock_mono_ns(&c) == clock_mono_ns(&c));
    CHECK_INT(clock_wall_ms(&c), 1700000000000);
    CHECK_INT(clock_mono_ms(&c), 1000);
    clock_fake_advance_ms(&c, 30000);
    CHECK_INT(clock_wall_ms(&c), 1700000030000);
    CHECK_INT(clock_mono_ms(&c), 31000);
    clock_fake_set_wall(&c, 5);
    CHECK_INT(clock_wall_ms(&c), 5);
    CHECK_INT(clock_mono_ms(&c), 31000);
}

TEST(clock_real_goes_forward)
{
    uint64_t before = clock_mono_ns(&clock_real);

    CHECK(clock_mono_ns(&clock_real) >= before && before > 0);
    CHECK(clock_wall_ms(&clock_real) > 1600000000000);
}

TEST(clock_deadlines_become_what_poll_takes)
{
    struct clock c;
    uint64_t at;

    clock_fake_init(&c, 0);
    at = clock_deadline_ns(&c, 250);
    CHECK_INT(clock_left_ms(&c, at), 250);
    CHECK_INT(clock_left_ms(&c, at + 1), 251); /* rounded up: the last fraction must not spin */
    clock_fake_advance_ms(&c, 249);
    CHECK_INT(clock_left_ms(&c, at), 1);
    clock_fake_advance_ms(&c, 1);
    CHECK_INT(clock_left_ms(&c, at), 0);
    clock_fake_advance_ms(&c, 1);
    CHECK_INT(clock_left_ms(&c, at), 0);
    CHECK(clock_deadline_ns(&c, -1) == CLOCK_NEVER);
    CHECK(clock_deadline_ns(&c, INT64_MAX) == CLOCK_NEVER);
    CHECK_INT(clock_left_ms(&c, CLOCK_NEVER), -1);
    CHECK_INT(clock_left_ms(&c, CLOCK_NEVER - 1), INT_MAX);
}

TEST(clock_formats_and_parses_the_same_times)
{
    static const struct {
        int64_t wall_ms;
        const char *text;
    } cases[] = {
        {0, "1970-01-01T00:00:00.000Z"},
        {-1, "1969-12-31T23:59:59.999Z"},
        {951827696007, "2000-02-29T12:34:56.007Z"},
        {-2203891200000, "1900-03-01T00:00:00.000Z"},
        {1735689599999, "2024-12-31T23:59:59.999Z"},
        {1709164800000, "2024-02-29T00:00:00.000Z"},
        {4107542399000, "2100-02-28T23:59:59.000Z"},
        {-62135596800000, "0001-01-01T00:00:00.000Z"},
        {CLOCK_WALL_MS_MIN, "0000-01-01T00:00:00.000Z"},
        {CLOCK_WALL_MS_MAX, "9999-12-31T23:59:59.999Z"},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char out[CLOCK_TEXT_SIZE];
        int64_t back = 42;

        CHECK_STR(clock_format(cases[i].wall_ms, out), cases[i].text);
        CHECK(clock_parse(str_c(cases[i].text), &back));
        CHECK_INT(back, cases[i].wall_ms);
    }
}

/* The calendar repeats after 400 years, so this covers every date. */
TEST(clock_counts_every_day_once)
{
    int64_t day_ms = 86400000, at, end, count = 0;

    CHECK(clock_parse(STR("1800-01-01T00:00:00.001Z"), &at));
    CHECK(clock_parse(STR("2200-01-01T00:00:00.001Z"), &end));
    for (; at < end; at += day_ms, count++) {
        char out[CLOCK_TEXT_SIZE];
        int64_t back;

        CHECK(clock_parse(clock_format(at, out), &back) && back == at);
    }
    CHECK_INT(count, 146097);
}

TEST(clock_format_stays_inside_four_digit_years)
{
    char out[CLOCK_TEXT_SIZE];

    CHECK_STR(clock_format(INT64_MAX, out), "9999-12-31T23:59:59.999Z");
    CHECK_STR(clock_format(INT64_MIN, out), "0000-01-01T00:00:00.000Z");
}

TEST(clock_format_next_gives_what_clock_format_gives)
{
    static const int64_t steps[] = {0, 1, 998, 1, 1000, -1, -2500, 86400000, -86400001, 60000};
    struct clock_text t = {.known = false};
    int64_t at = 1709210096789;
    char text[CLOCK_TEXT_SIZE];

    for (size_t i = 0; i < 1000; i++) {
        at += steps[i % COUNT_OF(steps)];
        CHECK(str_eq(clock_format_next(&t, at), clock_format(at, text)));
    }
    for (at = -2500; at < 2500; at++)
        CHECK(str_eq(clock_format_next(&t, at), clock_format(at, text)));
    CHECK(str_eq(clock_format_next(&t, INT64_MAX), clock_format(INT64_MAX, text)));
    CHECK(str_eq(clock_format_next(&t, INT64_MIN), clock_format(INT64_MIN, text)));
}

TEST(clock_parse_takes_what_rfc_3339_allows)
{
    static const struct {
        const char *text, *utc; /* NULL: refused */
    } cases[] = {
        {"1985-04-12T23:20:50.52Z", "1985-04-12T23:20:50.520Z"},
        {"1996-12-19T16:39:57-08:00", "1996-12-20T00:39:57.000Z"},
        {"1937-01-01T12:00:27.87+00:20", "1937-01-01T11:40:27.870Z"},
        {"2024-02-29t01:02:03z", "2024-02-29T01:02:03.000Z"},
        {"2024-02-29 01:02:03Z", "2024-02-29T01:02:03.000Z"},
        {"2024-02-29T01:02:03.1239999999999999999999Z", "2024-02-29T01:02:03.123Z"},
        {"2024-02-29T01:02:03-00:00", "2024-02-29T01:02:03.000Z"},
        {"1990-12-31T23:59:60Z", "1991-01-01T00:00:00.000Z"},
        {"1990-12-31T15:59:60-08:00", "1991-01-01T00:00:00.000Z"},
        {"1990-12-31T15:59:60Z", NULL},
        {"2023-02-29T01:02:03Z", NULL},
        {"1900-02-29T01:02:03Z", NULL},
        {"2024-13-01T01:02:03Z", NULL},
        {"2024-00-01T01:02:03Z", NULL},
        {"2024-01-00T01:02:03Z", NULL},
        {"2024-04-31T01:02:03Z", NULL},
        {"2024-01-01T24:00:00Z", NULL},
        {"2024-01-01T00:60:00Z", NULL},
        {"2024-01-01T00:00:61Z", NULL},
        {"2024-01-01T00:00:00", NULL},
        {"2024-01-01T00:00:00.Z", NULL},
        {"2024-01-01T00:00:00+24:00", NULL},
        {"2024-01-01T00:00:00+0100", NULL},
        {"2024-01-01T00:00:00+01", NULL},
        {"2024-01-01T00:00:00Zx", NULL},
        {"2024-01-01T00:00:00ZZ", NULL},
        {"2024-1-01T00:00:00Z", NULL},
        {"+024-01-01T00:00:00Z", NULL},
        {"2024-01-01", NULL},
        {"0000-01-01T00:00:00+00:01", NULL}, /* before the first year */
        {"9999-12-31T23:59:59-00:01", NULL}, /* after the last */
        {"9999-12-31T23:59:60Z", NULL},      /* a leap second after the last year */
        {"", NULL},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char out[CLOCK_TEXT_SIZE];
        int64_t at = 42;

        CHECK_F(
            clock_parse(str_c(cases[i].text), &at) == (cases[i].utc != NULL), "%s", cases[i].text);
        if (cases[i].utc)
            CHECK_STR(clock_format(at, out), cases[i].utc);
        else
            CHECK_INT(at, 42);
    }
    CHECK(!clock_parse((str){"2024-01-01\0"
                             "00:00:00Z",
                             20},
                       &(int64_t){0}));
}

TEST(clock_durations_are_said_in_the_unit_that_fits)
{
    static const struct {
        uint64_t ns;
        const char *text;
    } cases[] = {
        {0, "0 ns"},
        {999, "999 ns"},
        {1000, "1 us"},
        {999499, "999 us"},
        {999500, "1 ms"},
        {340000000, "340 ms"},
        {999499999, "999 ms"},
        {999500000, "1.0 s"},
        {1234567890, "1.2 s"},
        {59949999999, "59.9 s"},
        {59950000000, "1 min 0 s"},
        {125000000000, "2 min 5 s"},
        {3599499999999, "59 min 59 s"},
        {3599500000000, "1 h 0 min"},
        {11400000000000, "3 h 10 min"},
        {86400000000000, "1 d 0 h"},
        {UINT64_MAX, "213504 d 0 h"},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char out[CLOCK_DURATION_SIZE];

        CHECK_STR(clock_duration(cases[i].ns, out), cases[i].text);
    }
}

TEST(clock_durations_in_milliseconds_are_never_said_in_a_smaller_unit)
{
    static const struct {
        int64_t ms;
        const char *text;
    } cases[] = {{INT64_MIN, "0 ms"},
                 {-1, "0 ms"},
                 {0, "0 ms"},
                 {1, "1 ms"},
                 {999, "999 ms"},
                 {1200, "1.2 s"}};

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char out[CLOCK_DURATION_SIZE];

        CHECK_STR(clock_duration_ms(cases[i].ms, out), cases[i].text);
    }
}

TEST_MAIN(T(clock_fake_moves_only_when_moved), T(clock_real_goes_forward),
          T(clock_deadlines_become_what_poll_takes), T(clock_formats_and_parses_the_same_times),
          T(clock_counts_every_day_once), T(clock_format_stays_inside_four_digit_years),
          T(clock_format_next_gives_what_clock_format_gives),
          T(clock_parse_takes_what_rfc_3339_allows),
          T(clock_durations_are_said_in_the_unit_that_fits),
          T(clock_durations_in_milliseconds_are_never_said_in_a_smaller_unit))
