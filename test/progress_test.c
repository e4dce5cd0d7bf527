/* SPDX-License-Identifier: Apache-2.0 */
#include "base/progress.h"
#include "test.h"

TEST(progress_says_the_rate_and_the_time_left)
{
    static const struct {
        struct progress_work work;
        uint64_t ms;
        const char *line;
    } cases[] = {
        {{"export", "sessions", 0, 0}, 2000, "export: 2 s"},
        {{"export", "sessions", 0, 50000}, 2000, "export: 0 of 50,000 sessions, 2 s"},
        {{"export", "sessions", 12400, 50000},
         4000,
         "export: 12,400 of 50,000 sessions, 3,100/s, 12 s left"},
        {{"export", "sessions", 1234567, 0}, 100000, "export: 1,234,567 sessions, 12,345/s"},
        {{"eval", "cases", 2, 20}, 20000, "eval: 2 of 20 cases, 6.0/min, 3 min 0 s left"},
        {{"eval", "cases", 20, 20}, 10000, "eval: 20 of 20 cases, 2.0/s"},
        {{"eval", "cases", 21, 20}, 10000, "eval: 21 of 20 cases, 2.1/s"},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char line[PROGRESS_LINE_MAX];

        CHECK_STR(progress_line(&cases[i].work, cases[i].ms * 1000000, line), cases[i].line);
    }
}

TEST(progress_lines_fit_a_terminal)
{
    const struct progress_work w = {"a piece of work with quite a long name that goes on",
                                    "of these things there are many",
                                    UINT64_MAX - 1,
                                    UINT64_MAX};
    char line[PROGRESS_LINE_MAX];
    str s = progress_line(&w, 1, line);

    CHECK(s.n < PROGRESS_LINE_MAX && strlen(line) == s.n);
}

TEST(progress_is_silent_without_a_terminal)
{
    struct progress p;

    progress_disable();
    p = progress_begin("nothing", "things", 3);
    CHECK(!p.shown);
    progress_set(&p, 1);
    progress_clear();
    progress_end(&p);
}

TEST_MAIN(T(progress_says_the_rate_and_the_time_left), T(progress_lines_fit_a_terminal),
          T(progress_is_silent_without_a_terminal))
