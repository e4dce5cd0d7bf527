/* incident_answer_test.c - reasoning that a model writes into its text never appears in a report.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "incident_help.h"

static const char tools[] = "[{\"name\":\"events\",\"text\":\"none\"}]";
static const char one[] = "agents: {A: {alert_types: [t], mcp_servers: [k]}}";

static const char *analysis_now, *analysis_then;

static const char *analysed(str system, str p, size_t replies)
{
    (void)system, (void)replies;
    if (str_starts(p, STR("# Choose the first tools")))
        return "[]";
    return has(p, "had no answer") ? analysis_then : analysis_now;
}

TEST(a_report_has_the_answer_and_not_the_reasoning_whatever_its_markers_are)
{
    static const char *const replies[] = {
        "<thinking>SECRET</thinking>The disk is full.",
        "<think>SECRET</think>\nThe disk is full.",
        "\n\n<think>\nSECRET\n</think>\n\nThe disk is full.",
        "<seed:think>SECRET</seed:think>The disk is full.",
        "[THINK]SECRET[/THINK]The disk is full.",
        "<mm:think>SECRET</mm:think>The disk is full.",
        "\xE2\x97\x81think\xE2\x96\xB7SECRET\xE2\x97\x81/think\xE2\x96\xB7The disk is full.",
        ("<|channel|>analysis<|message|>SECRET<|end|><|start|>assistant<|channel|>final<|message|>"
         "The disk is full."),
        "<think>SECRET</think>The disk is<thinking>SECRET</thinking> full.",
        "The disk is full.<reasoning>SECRET</reasoning>",
    };

    for (size_t i = 0; i < COUNT_OF(replies); i++) {
        struct scene s;
        struct incident_options o;
        struct incident_report r;

        analysis_now = replies[i];
        scene_init(&s, tools, one, analysed);
        o = side_options(&s, "t");
        r = side_run(&s, &o);
        CHECK_F(str_eq(r.final_analysis, STR("The disk is full.")),
                "%s: " STR_FMT,
                replies[i],
                STR_ARG(r.final_analysis));
        CHECK_F(!has(r.markdown, "SECRET"), "%s", replies[i]);
        CHECK_F(s.prompt_count == 2, "%s: %zu prompts", replies[i], s.prompt_count);
        scene_release(&s);
    }
}

TEST(reasoning_that_is_never_closed_is_asked_about_again_and_is_no_analysis)
{
    static const struct {
        const char *now, *then;
        bool answered;
    } cases[] = {
        {"<thinking>SECRET and more", "The disk is full.", true},
        {"<think>SECRET and more", "<think>SECRET</think>The disk is full.", true},
        {"<thinking>SECRET", "<thinking>SECRET", false},
        {"<thinking>SECRET</thinking>", "[THINK]SECRET", false},
        {"", "", false},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct scene s;
        struct incident_options o;
        struct incident_report r;

        analysis_now = cases[i].now;
        analysis_then = cases[i].then;
        scene_init(&s, tools, one, analysed);
        o = side_options(&s, "t");
        r = side_run(&s, &o);
        CHECK_F(s.prompt_count == 3, "%zu: %zu prompts", i, s.prompt_count);
        CHECK_F(!has(r.markdown, "SECRET"), "%zu", i);
        CHECK(has(s.prompts[2], "# Analyse") && !has(s.prompts[2], "SECRET"));
        CHECK_F((r.end == INCIDENT_COMPLETED) == cases[i].answered, "%zu: %d", i, (int)r.end);
        if (cases[i].answered)
            CHECK_STR(r.final_analysis, "The disk is full.");
        else
            CHECK(has(r.markdown, "the model gave no answer"));
        scene_release(&s);
    }
}

TEST(calls_are_on_record_under_the_alerts_name_and_service)
{
    static const struct {
        const char *data, *title;
    } cases[] = {
        {"{\"service\":\"checkout\"}", "t \xC2\xB7 checkout"},
        {"{\"labels\":{\"pod\":\"web-1\",\"app\":\"web\"}}", "t \xC2\xB7 web"},
        {"{\"alerts\":[{\"labels\":{\"namespace\":\"shop\"}}]}", "t \xC2\xB7 shop"},
        {"{\"service\":{},\"value\":3}", "t"},
        {"", "t"},
    };

    analysis_now = "The disk is full.";
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct scene s;
        struct incident_options o;

        scene_init(&s, tools, one, analysed);
        o = side_options(&s, "t");
        o.alert.data = str_c(cases[i].data);
        (void)side_run(&s, &o);
        CHECK_STR(s.title, cases[i].title);
        scene_release(&s);
    }
}

TEST_MAIN(T(a_report_has_the_answer_and_not_the_reasoning_whatever_its_markers_are),
          T(reasoning_that_is_never_closed_is_asked_about_again_and_is_no_analysis),
          T(calls_are_on_record_under_the_alerts_name_and_service))
