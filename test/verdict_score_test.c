/* The four metrics of a policy verification, as numbers and as text.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/tune/judge.h"
#include "apps/tune/verdict_score.h"
#include "base/rand.h"
#include "test.h"

#include <math.h>

static const struct verdict_citation right = {STR_INIT("LCD"), STR_INIT("2.1 Imaging"), 4, 5};
static const struct verdict_citation other = {STR_INIT("LCD"), STR_INIT("3 Surgery"), 9, 0};
static const struct verdict_citation half = {STR_INIT("LCD"), STR_INIT("2.1 Imaging"), 0, 0};
static const struct verdict_step search = {STR_INIT("pi_search"),
                                           STR_INIT("{\"query\":\"imaging\"}"),
                                           STR_INIT("2.1 Imaging: six weeks"),
                                           false};
static const struct verdict_step facts = {
    STR_INIT("facts_get"), STR_INIT("{\"field_name\":\"age\"}"), STR_INIT("54"), false};
static const struct verdict_step broken = {
    STR_INIT("spans_tighten"), STR_INIT("{}"), STR_INIT("no such node"), true};

/* A label "met" with one citation, and a run that matches it. */
struct stage {
    struct verdict_truth truth;
    struct verdict_run run;
    struct verdict_citation said[4], wanted[4];
    struct verdict_step steps[40];
};

static void good_run(struct stage *s)
{
    *s =
        (struct stage){.truth = {.status = STR("met"), .citation_count = 1, .has_citations = true}};
    s->wanted[0] = s->said[0] = right;
    s->steps[0] = search;
    s->steps[1] = facts;
    s->truth.citations = s->wanted;
    s->run = (struct verdict_run){.status = STR("met"),
                                  .confidence = 0.9,
                                  .citations = s->said,
                                  .citation_count = 1,
                                  .steps = s->steps,
                                  .step_count = 2};
}

static double score(const struct stage *s, enum verdict_kind kind)
{
    struct verdict_score m;

    verdict_judge(&s->truth, &s->run, &m);
    for (size_t i = 0; i < VERDICT_COUNT; i++)
        CHECK(m.score[i] >= 0 && m.score[i] <= 1);
    CHECK(m.total >= 0 && m.total <= 1 + 1e-9);
    return m.score[kind];
}

static bool near(double a, double b)
{
    return fabs(a - b) < 1e-9;
}

TEST(weights_are_40_30_20_10)
{
    double sum = 0;
    struct stage s;
    struct verdict_score m;

    for (size_t i = 0; i < VERDICT_COUNT; i++)
        sum += verdict_weights[i];
    CHECK(near(sum, 1));
    good_run(&s);
    verdict_judge(&s.truth, &s.run, &m);
    CHECK(near(m.total, 1));
    s.run.status = STR("missing");
    verdict_judge(&s.truth, &s.run, &m);
    CHECK(near(m.total, 0.4 + 0.3 + 0.2 * 0.1)); /* wrong, with confidence 0.9 */
}

/* ---- citation ---- */

TEST(citations_are_measured_against_the_label)
{
    struct stage s;

    good_run(&s);
    CHECK(near(score(&s, VERDICT_CITATION), 1));
    s.said[0] = other;
    CHECK(near(score(&s, VERDICT_CITATION), 0));
    s.said[1] = right;
    s.run.citation_count = 2;
    CHECK(near(score(&s, VERDICT_CITATION), 2.0 / 3)); /* recall 1, precision 1/2 */
    s.said[0] = right;
    CHECK(near(score(&s, VERDICT_CITATION), 1)); /* duplicates count once */
    s.wanted[1] = other;
    s.truth.citation_count = 2;
    s.run.citation_count = 1;
    CHECK(near(score(&s, VERDICT_CITATION), 2.0 / 3));
    s.run.citation_count = 0;
    CHECK(near(score(&s, VERDICT_CITATION), 0));
    s.truth.citation_count = 0;
    CHECK(near(score(&s, VERDICT_CITATION), 1)); /* no citation was expected */
    s.run.citation_count = 1;
    CHECK(near(score(&s, VERDICT_CITATION), 0));
}

TEST(pages_must_meet_where_the_label_names_them)
{
    static const struct {
        uint32_t first, last;
        double want;
    } cases[] = {{4, 0, 1}, {5, 9, 1}, {1, 4, 1}, {6, 8, 0}, {1, 3, 0}, {0, 0, 0}};
    struct stage s;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        good_run(&s);
        s.said[0].page_first = cases[i].first;
        s.said[0].page_last = cases[i].last;
        CHECK_F(near(score(&s, VERDICT_CITATION), cases[i].want), "case %zu", i);
    }
    good_run(&s);
    s.wanted[0] = half;
    CHECK(near(score(&s, VERDICT_CITATION), 1));
}

TEST(without_a_label_citations_must_be_whole)
{
    struct stage s;

    good_run(&s);
    s.truth.has_citations = false;
    s.said[1] = half;
    s.run.citation_count = 2;
    CHECK(near(score(&s, VERDICT_CITATION), 0.5));
    s.run.citation_count = 0;
    CHECK(near(score(&s, VERDICT_CITATION), 0));
}

/* ---- coherence ---- */

TEST(coherence_asks_what_the_conclusion_rests_on)
{
    struct stage s;

    good_run(&s);
    CHECK(near(score(&s, VERDICT_COHERENCE), 1));
    s.said[0] = other; /* not in any observation */
    CHECK(near(score(&s, VERDICT_COHERENCE), 0.6));
    s.run.step_count = 0;
    CHECK(near(score(&s, VERDICT_COHERENCE), 0));
    good_run(&s);
    s.steps[2] = broken;
    s.run.step_count = 3;
    CHECK(near(score(&s, VERDICT_COHERENCE), 1 - 0.3 * 0.25));
    s.steps[2] = search;
    CHECK(near(score(&s, VERDICT_COHERENCE), 1 - 0.3 * 0.25));
}

/* The score must not rise with added steps that do not show a cited section. */
TEST(a_longer_trace_is_not_a_better_one)
{
    static const struct verdict_step more[] = {
        {STR_INIT("facts_get"), STR_INIT("{\"field_name\":\"sex\"}"), STR_INIT("f"), false},
        {STR_INIT("facts_get"), STR_INIT("{\"field_name\":\"icd10\"}"), STR_INIT("M54.5"), false},
        {STR_INIT("facts_get"), STR_INIT("{\"field_name\":\"age\"}"), STR_INIT("54"), false},
        {STR_INIT("think"), STR_INIT("longer and longer"), STR_INIT("a very long thought"), false},
        {STR_INIT("spans_tighten"), STR_INIT("{}"), STR_INIT(""), false},
        {STR_INIT("pi_search"), STR_INIT("{}"), STR_INIT("timeout"), true},
    };
    struct rand r;

    rand_init(&r, 5);
    for (size_t n = 0; n < 200; n++) {
        struct stage s;
        double before;

        good_run(&s);
        if (n % 2)
            s.said[0] = other;
        s.steps[1] = n % 3 ? facts : broken;
        before = score(&s, VERDICT_COHERENCE);
        while (s.run.step_count < COUNT_OF(s.steps)) {
            double now;

            s.steps[s.run.step_count++] = more[rand_below(&r, COUNT_OF(more))];
            now = score(&s, VERDICT_COHERENCE);
            CHECK(now <= before);
            before = now;
        }
    }
}

/* ---- calibration and status ---- */

TEST(confidence_should_fit_the_answer)
{
    static const struct {
        const char *truth, *said;
        double confidence, want;
    } cases[] = {
        {"met", "met", 0.9, 1},
        {"met", "met", 0.75, 1},
        {"met", "met", 0.5, 0.5},
        {"met", "met", 0.1, 0},
        {"missing", "missing", 0.7, 1},
        {"missing", "missing", 1, 0.8},
        {"uncertain", "uncertain", 0.4, 1},
        {"uncertain", "uncertain", 0.9, 0.5},
        {"ready", "ready", 0.9, 1},
        {"not_ready", "not_ready", 0.5, 0.8},
        {"met", "missing", 0.9, 0.1}, /* confident but wrong */
        {"met", "uncertain", 0.2, 0.8},
        {"", "met", 0.9, 1}, /* unlabelled */
        {"met", "met", -0.1, 0},
        {"met", "met", 1.5, 0},
        {"met", "perhaps", 0.5, 0},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct stage s;

        good_run(&s);
        s.truth.status = str_c(cases[i].truth);
        s.run.status = str_c(cases[i].said);
        s.run.confidence = cases[i].confidence;
        CHECK_F(near(score(&s, VERDICT_CALIBRATION), cases[i].want), "case %zu", i);
    }
}

TEST(a_confidence_that_is_no_number_is_worth_nothing)
{
    struct stage s;

    good_run(&s);
    s.run.confidence = (double)NAN;
    CHECK(near(score(&s, VERDICT_CALIBRATION), 0));
}

TEST(status_is_right_or_wrong)
{
    struct stage s;

    good_run(&s);
    CHECK(score(&s, VERDICT_STATUS) == 1);
    s.run.status = STR("missing");
    CHECK(score(&s, VERDICT_STATUS) == 0);
    s.truth.status = STR("");
    CHECK(score(&s, VERDICT_STATUS) == 1);
    s.run.status = STR("maybe");
    CHECK(score(&s, VERDICT_STATUS) == 0);
}

/* ---- as text ---- */

static void says(const struct stage *s, enum verdict_kind kind, const char *words)
{
    struct buf b;

    buf_init(&b, 4096);
    verdict_feedback(&s->truth, &s->run, kind, &b);
    CHECK_F(str_find(buf_str(&b), str_c(words)) != STR_NONE, STR_FMT, STR_ARG(buf_str(&b)));
    buf_release(&b);
}

TEST(feedback_says_what_was_wrong_and_what_would_be_right)
{
    struct stage s;

    good_run(&s);
    says(&s, VERDICT_CITATION, "The citations are right.");
    says(&s, VERDICT_COHERENCE, "Each step served the conclusion.");
    says(&s, VERDICT_CALIBRATION, "The confidence fits the answer.");
    says(&s, VERDICT_STATUS, "The status is right.");
    s.said[0] = other;
    s.steps[2] = broken;
    s.steps[3] = search;
    s.run.step_count = 4;
    s.run.status = STR("missing");
    says(
        &s, VERDICT_CITATION, "Not cited, but decisive: \"2.1 Imaging\" of \"LCD\", pages 4 to 5.");
    says(&s, VERDICT_CITATION, "Cited, but not what decides: \"3 Surgery\" of \"LCD\", page 9.");
    says(&s, VERDICT_COHERENCE, "Cited, but never looked at: \"3 Surgery\"");
    says(&s, VERDICT_COHERENCE, "Step 3 (spans_tighten) brought nothing.");
    says(&s, VERDICT_COHERENCE, "Step 4 (pi_search) was done before.");
    says(&s, VERDICT_CALIBRATION, "The answer is wrong and its confidence is 0.90");
    says(&s, VERDICT_STATUS, "The status is \"missing\"; \"met\" is right.");
    s.run.status = STR("perhaps");
    says(&s, VERDICT_STATUS, "\"perhaps\" is not a status.");
    says(&s, VERDICT_CALIBRATION, "a status that is none");
    good_run(&s);
    s.run.confidence = 0.5;
    says(&s, VERDICT_CALIBRATION, "0.50 should lie between 0.75 and 1.00");
    s.run.confidence = 7;
    says(&s, VERDICT_CALIBRATION, "no number from 0 to 1");
    s.said[0] = half;
    says(&s, VERDICT_CITATION, "lacks its document, section or pages");
    s.run.step_count = 0;
    says(&s, VERDICT_COHERENCE, "rests on nothing");
    s.truth.has_citations = false;
    s.run.citation_count = 0;
    says(&s, VERDICT_CITATION, "Nothing is cited");
}

TEST(thoughts_are_no_steps)
{
    struct policy_step trace[] = {
        {.action = STR("think"), .observation = STR("It should be in section 2.1.")},
        {.action = STR("pi_search(query='age')"), .observation = STR("{\"node\":\"1.4\"}")},
        {.action = STR("think"), .observation = STR("")},
    };
    struct policy_result r = {.citation = {.doc = STR("p"), .section = STR("2.1")},
                              .trace = trace,
                              .trace_count = COUNT_OF(trace)};
    struct verdict_truth t = {.status = STR("")};
    struct verdict_run run;
    struct verdict_score m;
    struct arena a;

    arena_init(&a, 65536);
    run = judge_run(&r, &a);
    CHECK_INT(run.step_count, 1);
    CHECK_STR(run.steps[0].action, "pi_search");
    verdict_judge(&t, &run, &m);
    CHECK(m.score[VERDICT_COHERENCE] > 0.3 && m.score[VERDICT_COHERENCE] < 0.8); /* unread */
    r.trace_count = 1;
    run = judge_run(&r, &a);
    verdict_judge(&t, &run, &m);
    CHECK(m.score[VERDICT_COHERENCE] == 0);
    arena_release(&a);
}

TEST_MAIN(T(weights_are_40_30_20_10), T(citations_are_measured_against_the_label),
          T(pages_must_meet_where_the_label_names_them), T(without_a_label_citations_must_be_whole),
          T(coherence_asks_what_the_conclusion_rests_on), T(a_longer_trace_is_not_a_better_one),
          T(confidence_should_fit_the_answer), T(a_confidence_that_is_no_number_is_worth_nothing),
          T(status_is_right_or_wrong), T(feedback_says_what_was_wrong_and_what_would_be_right),
          T(thoughts_are_no_steps))
