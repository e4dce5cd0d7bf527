/* test.h - how to write a test: its name is the claim, its cases are a table.
 *
 *     TEST(str_trim_takes_white_space_off_both_ends)
 *     {
 *         CHECK_STR(str_trim(STR(" a ")), "a");
 *     }
 *
 *     TEST_MAIN(T(str_trim_takes_white_space_off_both_ends))
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/str.h"

#include <setjmp.h>

#include <cmocka.h>

#define TEST(name) static void name(void **state __attribute__((unused)))
#define T(name) cmocka_unit_test(name)
#define TEST_MAIN(...)                                                                             \
    int main(void)                                                                                 \
    {                                                                                              \
        const struct CMUnitTest tests[] = {__VA_ARGS__};                                           \
                                                                                                   \
        return cmocka_run_group_tests(tests, NULL, NULL);                                          \
    }

/* A failed check prints the claim; CHECK_F adds a message. */
#define CHECK(claim)                                                                               \
    do {                                                                                           \
        if (!(claim))                                                                              \
            fail_msg("%s", #claim);                                                                \
    } while (0)
#define CHECK_F(claim, ...)                                                                        \
    do {                                                                                           \
        if (!(claim)) {                                                                            \
            print_error("%s\n", #claim);                                                           \
            fail_msg(__VA_ARGS__);                                                                 \
        }                                                                                          \
    } while (0)
#define CHECK_STR(got, want)                                                                       \
    do {                                                                                           \
        str got_ = (got), want_ = str_c(want);                                                     \
                                                                                                   \
        if (!str_eq(got_, want_))                                                                  \
            fail_msg("%s is \"" STR_FMT "\", not \"" STR_FMT "\"",                                 \
                     #got,                                                                         \
                     STR_ARG(got_),                                                                \
                     STR_ARG(want_));                                                              \
    } while (0)
#define CHECK_INT(got, want)                                                                       \
    do {                                                                                           \
        long long got_ = (long long)(got), want_ = (long long)(want);                              \
                                                                                                   \
        if (got_ != want_)                                                                         \
            fail_msg("%s is %lld, not %lld", #got, got_, want_);                                   \
    } while (0)

/* The folder of public test data. If it does not exist, prints that it is skipped and returns
 * NULL. */
const char *test_corpora(const char *name);

/* The folder for files of a test: TMPDIR, or /tmp if TMPDIR is not set or longer than TEST_TMP_MAX.
 * A path below it fits in 64 bytes. */
#define TEST_TMP_MAX 32
const char *test_tmp(void);
