/* The reflection prompt, the parsed answer, and the answers that the guards refuse.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "optimize/guard.h"
#include "optimize/prompt.h"
#include "optimize/reflector.h"
#include "test.h"

/* ---- the prompt ---- */

TEST(records_become_nested_headings)
{
    const str records[] = {
        STR("{\"Inputs\":{\"question\":\"2 + 2?\",\"pages\":[3,4]},"
            "\"Generated Outputs\":\" 5\\n\",\"Feedback\":\"4 is right.\"}"),
        STR("no JSON at all"),
        STR("{\"a\":{},\"b\":null,\"c\":[]}"),
    };
    struct buf b;

    buf_init(&b, 4096);
    prompt_records(records, COUNT_OF(records), &b);
    CHECK_STR(buf_str(&b),
              "# Example 1\n## Inputs\n### question\n2 + 2?\n\n### pages\n#### Item 1\n3\n\n"
              "#### Item 2\n4\n\n## Generated Outputs\n5\n\n## Feedback\n4 is right.\n\n"
              "# Example 2\nno JSON at all\n\n"
              "# Example 3\n## a\n(none)\n\n## b\nnull\n\n## c\n(none)\n\n");
    buf_release(&b);
}

TEST(headings_are_no_deeper_than_markdown_has_them)
{
    struct buf b;

    buf_init(&b, 4096);
    prompt_records(&STR("{\"a\":{\"b\":{\"c\":{\"d\":{\"e\":{\"f\":{\"g\":1}}}}}}}"), 1, &b);
    CHECK(str_find(buf_str(&b), STR("###### e\n###### f\n###### g\n1\n")) != STR_NONE);
    CHECK(str_find(buf_str(&b), STR("#######")) == STR_NONE);
    buf_release(&b);
}

TEST(a_template_gets_both_and_only_once)
{
    const str record = STR("says <current_text> and <records>");
    struct buf b;
    struct err e;

    buf_init(&b, 4096);
    CHECK(prompt_build(
        STR("A<current_text>B<records>C<current_text>"), STR("t<records>"), &record, 1, &b, &e));
    CHECK_STR(buf_str(&b),
              "At<records>B# Example 1\nsays <current_text> and <records>\n\nCt<records>");
    buf_release(&b);
}

TEST(a_template_without_a_place_is_refused)
{
    static const char *const bad[] = {
        "", "<records>", "<current_text>", "<current_text", "<RECORDS>"};
    struct buf b;
    struct err e;

    buf_init(&b, 4096);
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        CHECK(!prompt_build(str_c(bad[i]), STR("x"), NULL, 0, &b, &e));
        CHECK_INT(e.code, ERR_INPUT);
    }
    CHECK(prompt_build(str_c(prompt_template), STR("x"), NULL, 0, &b, &e));
    buf_release(&b);
    buf_init(&b, 10);
    CHECK(!prompt_build(str_c(prompt_template), STR("x"), NULL, 0, &b, &e));
    CHECK_INT(e.code, ERR_LIMIT);
    buf_release(&b);
}

/* ---- the answer ---- */

TEST(the_answer_is_between_the_first_and_the_last_fence)
{
    static const struct {
        const char *reply, *want;
    } cases[] = {
        {"Here:\n```\nDo this.\n```\nDone.", "Do this."},
        {"```text\nDo this.\n```", "Do this."},
        {"```markdown  \r\nDo this.\r\n```", "Do this."},
        {"```\nrun\n```sh\nls\n```\nend\n```", "run\n```sh\nls\n```\nend"},
        {"```Do this.```", "Do this."},
        {"``` Do this. ```", "Do this."},
        {"```Do\nthis```", "this"},           /* a single word after the fence is a language */
        {"```Do it\nthis```", "Do it\nthis"}, /* two words are text */
        {"```text\nnever closed", "never closed"},
        {"Well:\n```\nnever closed\n", "never closed"},
        {"never opened\n```", "never opened"},
        {"no fence at all\n", "no fence at all"},
        {"```", ""},
        {"``````", ""},
        {"```\n```", ""},
        {"", ""},
        {" \n ", ""},
        {"````\nfour\n````", "four\n`"},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++)
        CHECK_STR(prompt_answer(str_c(cases[i].reply)), cases[i].want);
}

/* ---- copies ---- */

static const str examples[] = {
    STR_INIT("The patient is 54 years old, with low back pain for eight weeks after a fall."),
    STR_INIT("Lumbar MRI, no contrast"),
    STR_INIT("MRI"),
};

TEST(words_of_an_example_in_a_row_are_a_copy)
{
    static const struct {
        const char *proposed, *current, *copied; /* NULL: no copy */
    } cases[] = {
        {"Check the age first.", "", NULL},
        {"E.g.: the patient is 54  years old,\nwith low-back pain for weeks.",
         "",
         "the patient is 54  years old,\nwith low"},
        {"Say THE PATIENT IS 54 YEARS OLD WITH LOW.", "", "THE PATIENT IS 54 YEARS OLD WITH LOW"},
        /* Seven equal words are one too few. */
        {"the patient is 54 years old, with back pain", "", NULL},
        /* Words that the current text already has are no copy. */
        {"the patient is 54 years old, with low back",
         "the patient is 54 years old with low back",
         NULL},
        /* An example shorter than eight words counts as copied only as a whole. */
        {"for lumbar MRI - no contrast - ask", "", "lumbar MRI - no contrast"},
        {"for lumbar MRI with contrast ask", "", NULL},
        {"an MRI", "", NULL},
        {"", "", NULL},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct guard_copy copy;
        bool found = guard_copies(
            str_c(cases[i].proposed), str_c(cases[i].current), examples, COUNT_OF(examples), &copy);

        CHECK_F(found == (cases[i].copied != NULL), "%s", cases[i].proposed);
        if (found)
            CHECK_STR(copy.text, cases[i].copied);
    }
}

TEST(a_copy_is_found_wherever_it_stands)
{
    char text[200];

    for (size_t lead = 0; lead < 12; lead++) {
        struct guard_copy copy;
        size_t n = 0;

        for (size_t i = 0; i < lead; i++)
            n += (size_t)snprintf(text + n, sizeof text - n, "word%zu ", i);
        (void)snprintf(text + n, sizeof text - n, "low back pain for eight weeks after a fall");
        CHECK(guard_copies(str_c(text), STR(""), examples, COUNT_OF(examples), &copy));
        CHECK_INT(copy.example, 0);
    }
}

/* ---- names ---- */

TEST(a_name_that_was_there_must_stay)
{
    static const str names[] = {STR_INIT("met"), STR_INIT("missing"), STR_INIT("not_ready")};
    static const struct {
        const char *proposed, *current, *lost;
    } cases[] = {
        {"say met or missing", "met, missing", NULL},
        {"say Met or missing", "met, missing", "met"},
        {"the method is missing", "met, missing", "met"}, /* part of a word does not count */
        {"nothing", "method", NULL},                      /* part of a word before, too */
        {"\"met\"/\"missing\"", "`met` `missing`", NULL},
        {"not ready", "not_ready", "not_ready"},
        {"", "met", "met"},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        str lost = STR("");
        bool loses = guard_loses(
            str_c(cases[i].proposed), str_c(cases[i].current), names, COUNT_OF(names), &lost);

        CHECK_F(loses == (cases[i].lost != NULL), "%s", cases[i].proposed);
        if (loses)
            CHECK_STR(lost, cases[i].lost);
    }
}

/* ---- all together ---- */

struct model {
    const char *reply;
    enum reflector_verdict verdict;
    char what[80];
    bool fails;
    size_t asked;
};

static bool complete(void *ctx, const struct optimize_ask *ask, str prompt,
                     struct reflector_reply *reply, struct err *e)
{
    struct model *m = ctx;

    m->asked++;
    CHECK(str_find(prompt, ask->texts[ask->component]) != STR_NONE);
    CHECK(str_find(prompt, STR("## Feedback\nToo long.")) != STR_NONE);
    if (m->fails)
        return err_set(e, ERR_UPSTREAM, "no model");
    *reply = (struct reflector_reply){arena_dup(ask->arena, str_c(m->reply)), 0.25};
    return true;
}

static void on_verdict(void *ctx, const struct optimize_ask *ask, enum reflector_verdict v,
                       str what)
{
    struct model *m = ctx;

    (void)ask;
    m->verdict = v;
    (void)snprintf(m->what, sizeof m->what, STR_FMT, STR_ARG(what));
}

TEST(a_reflector_lets_through_what_is_good)
{
    static const struct {
        const char *reply, *text;
        enum reflector_verdict verdict;
    } cases[] = {
        {"Sure.\n```\nAnswer met or missing, briefly.\n```",
         "Answer met or missing, briefly.",
         REFLECTOR_GOOD},
        {"```\nAnswer yes or no.\n```", NULL, REFLECTOR_LOSES},
        {"```\nmet or missing. Lumbar MRI, no contrast: met.\n```", NULL, REFLECTOR_COPIES},
        {"```\n```", NULL, REFLECTOR_EMPTY},
    };
    static const str names[] = {STR_INIT("met"), STR_INIT("missing")};
    const struct optimize_grade grade = {.trace = STR("{\"Feedback\":\"Too long.\"}")};
    const str texts[] = {STR("Answer met or missing.")};
    struct arena a;
    struct err e;

    arena_init(&a, (size_t)16 << 20);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct model m = {.reply = cases[i].reply};
        struct reflector r = {.complete = complete, .on_verdict = on_verdict, .ctx = &m};
        struct optimize_ask asks[2] = {{.texts = texts, .grades = &grade, .n = 1, .arena = &a},
                                       {.done = true}};

        r.names = names;
        r.name_count = COUNT_OF(names);
        r.examples = examples;
        r.example_count = COUNT_OF(examples);
        CHECK(reflector_propose(&r, asks, 2, &e));
        CHECK_INT(m.asked, 1);
        CHECK_INT(m.verdict, cases[i].verdict);
        CHECK(asks[0].done && asks[0].cost == 0.25);
        CHECK(asks[0].has_text == (cases[i].text != NULL));
        if (cases[i].text)
            CHECK_STR(asks[0].text, cases[i].text);
        m.fails = true;
        asks[0].done = false;
        CHECK(!reflector_propose(&r, asks, 2, &e));
    }
    arena_release(&a);
}

TEST_MAIN(T(records_become_nested_headings), T(headings_are_no_deeper_than_markdown_has_them),
          T(a_template_gets_both_and_only_once), T(a_template_without_a_place_is_refused),
          T(the_answer_is_between_the_first_and_the_last_fence),
          T(words_of_an_example_in_a_row_are_a_copy), T(a_copy_is_found_wherever_it_stands),
          T(a_name_that_was_there_must_stay), T(a_reflector_lets_through_what_is_good))
