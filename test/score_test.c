/* score_test.c - finds expected facts in reports.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/incidents/score.h"
#include "base/buf.h"
#include "test.h"

static const struct {
    const char *report, *fact;
    bool met;
} cases[] = {
    {"The pod `logging-agent` is in CrashLoopBackOff.",
     "Pod logging-agent is experiencing a CrashLoopBackOff",
     true},
    {"It runs `wge`, which is not found: probably a typo of `wget`.",
     "Mention `wge` might be a typo and the intended command may be `wget`",
     true},
    {"It runs `wge`, a typo.",
     "Mention `wge` might be a typo and the intended command may be `wget`",
     false},
    {"I would raise the limit of CPU.", "Suggest increasing the CPU limit", false},
    {"Increase the CPU limits.", "Suggest increasing the CPU limit", true},
    {"Requests to `/checkout` of customer-orders take more than three seconds: longer than allowed "
     "to complete by the HTTP endpoint of the application.",
     "HTTP requests to the `/checkout` endpoint in the `customer-orders` application which are "
     "taking longer than 3 seconds to complete",
     true},
    {"It began on 2025-08-25 at 05:50.", "This must mention the date 2025-08-25", true},
    {"The date is 2025-08-25.", "This must mention the date 2025-08-25", true},
    {"The date is 2025-08-26.", "This must mention the date 2025-08-25", false},
    {"on the date 2025-8-25", "This must mention the date 2025-08-25", true},
    {"A policy, default-deny-egress, stops it: a network policy of that name.",
     "point to a network policy named `default-deny-egress`",
     true},
    {"This is not an issue.", "This is not an issue", true},
    {"This is an issue.", "This is not an issue", false},
    {"The disk is not full.", "The disk is full", false},
    {"The disk is full.", "The disk is full", true},
    {"THE DISK; IS FULL!", "the disk is full", true},
    {"no premature_conclusion", "premature_conclusion", false},
    {"premature_conclusion", "premature_conclusion", true},
    {"The command wasn't found", "The command was found", false},
    {"", "something", false},
    {"anything", "", true},
    {"anything", "the", false},
    {"the", "the", false},
    {"Pods were crashing and the images could be pulled", "pod crashes, image pull", true},
};

TEST(a_fact_is_there_if_its_words_are)
{
    struct score_fact one;
    struct arena a;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        arena_init(&a, 1 << 20);
        score_fact(str_c(cases[i].report), str_c(cases[i].fact), &a, &one);
        CHECK_F(one.met == cases[i].met,
                "%s | %s: %.2f, without " STR_FMT,
                cases[i].report,
                cases[i].fact,
                one.share,
                STR_ARG(one.missing));
        arena_release(&a);
    }
}

/* A denied tag must not count as found. */
TEST(defect_21_what_is_denied_is_not_found)
{
    str tag = STR("premature_conclusion");

    CHECK(score_facts(STR("There is no premature_conclusion here."), &tag, 1, NULL) < 0.5);
    CHECK(score_facts(STR("It ends without a premature conclusion."), &tag, 1, NULL) < 0.5);
    CHECK(score_facts(STR("It shows a premature conclusion."), &tag, 1, NULL) > 0.5);
}

TEST(words_that_are_far_apart_do_not_make_a_fact)
{
    struct buf report;
    struct score_fact one;
    struct arena a;

    buf_init(&report, 1 << 20);
    buf_add(&report, STR("The database "));
    for (int i = 0; i < 300; i++)
        buf_add(&report, STR("and so on "));
    buf_add(&report, STR("lost its connection"));
    arena_init(&a, 1 << 20);
    score_fact(buf_str(&report), STR("database connection lost"), &a, &one);
    CHECK(!one.met);
    CHECK_STR(one.missing, "databas");
    arena_release(&a);
    buf_release(&report);
}

TEST(the_share_of_facts_is_the_score)
{
    str facts[] = {STR("disk full"), STR("network down"), STR("pod restarted 5 times"), STR("x y")};
    bool found[4];

    CHECK(score_facts(
              STR("The disk is full. The pod was restarted five times."), facts, 4, found) == 0.5);
    CHECK(found[0] && !found[1] && found[2] && !found[3]);
    CHECK(score_facts(STR("a"), facts, 0, NULL) == 1);
}

TEST(any_bytes_are_scored)
{
    char bytes[512];
    str fact = {bytes, sizeof bytes};

    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)(i * 7);
    CHECK(score_facts(fact, &fact, 1, NULL) >= 0);
}

/* Each mark ends a clause: thousands of clauses, all without a word. */
TEST(an_analysis_of_marks_alone_states_nothing)
{
    static const char *const marks[] = {"!", "?", ".", "\"", "`", ">", "\n", "! "};
    str cause = STR("disk full"), object = STR("`db-3`"), fact = STR("the disk is full");
    struct score_expected x = {{&fact, 1}, {&cause, 1}, {&object, 1}, {&cause, 0}};
    struct score_result r;
    struct buf text;
    struct arena a;

    for (size_t i = 0; i < COUNT_OF(marks); i++) {
        buf_init(&text, 1 << 20);
        arena_init(&a, (size_t)64 << 20);
        for (int n = 0; n < 8192; n++)
            buf_add(&text, str_c(marks[i]));
        score_analysis(buf_str(&text), STR(""), &x, &a, &r);
        CHECK(r.verdict == SCORE_VERDICT_SILENT && r.score == 0);
        score_analysis(buf_str(&text), buf_str(&text), &x, &a, &r);
        CHECK(r.verdict == SCORE_VERDICT_SILENT && r.score == 0);
        arena_release(&a);
        buf_release(&text);
    }
}

TEST_MAIN(T(an_analysis_of_marks_alone_states_nothing), T(a_fact_is_there_if_its_words_are),
          T(defect_21_what_is_denied_is_not_found), T(words_that_are_far_apart_do_not_make_a_fact),
          T(the_share_of_facts_is_the_score), T(any_bytes_are_scored))
