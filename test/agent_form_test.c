/* agent_form_test.c - strict schemas of tools and answers, repeated requests for the right form,
 * success or failure.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent_help.h"

static struct arena arena;
static struct toolbox *box;

static int setup(void **state)
{
    struct tool t = {.name = STR("finish"),
                     .description = STR("a tool"),
                     .schema = STR(""),
                     .flags = TOOL_FINISH | TOOL_PURE,
                     .run = finish};
    struct err e;

    (void)state;
    arena_init(&arena, (size_t)1 << 30);
    box = toolbox_new(&clock_real);
    return toolbox_add(box, &t, &e) ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    toolbox_free(box);
    arena_release(&arena);
    return 0;
}

TEST(a_text_without_a_call_is_not_the_end_where_a_call_is_insisted_on)
{
    struct script s = {.turns = {"It is met.", "!finish {\"n\":7}"}},
                  stubborn = {.turns = {"a", "b", "c"}};
    struct agent_options o = script_options(&s, box);
    struct agent_result r;

    o.insist = "Call finish.";
    r = script_run(&o, &arena);
    CHECK(r.end == AGENT_FINISHED && r.iterations == 2 && r.finish.n > 0);
    CHECK(has(r.messages, "It is met.") && has(r.messages, "Call finish."));
    o = script_options(&stubborn, box);
    o.insist = "Call finish.";
    r = script_run(&o, &arena);
    CHECK(r.end == AGENT_FINISHED && r.iterations == 3 && r.finish.n == 0);
    CHECK_STR(r.text, "c");
}

TEST(errors_say_that_there_was_no_success_where_that_is_the_form)
{
    struct script s = {.turns = {"!finish {\"n\":13}\nnone {}", "sorry"}};
    struct agent_options o = script_options(&s, box);
    struct agent_result r;

    o.say_success = true;
    r = script_run(&o, &arena);
    CHECK(str_starts(r.steps[0].observation, STR("{\"success\":false,\"error\":\"citation_")));
    CHECK(str_starts(r.steps[1].observation, STR("{\"success\":false,\"error\":\"there is no")));
}

TEST(a_strict_schema_is_told_and_a_lenient_one_checked)
{
    struct tool t = {
        .name = STR("strict"),
        .description = STR("d"),
        .schema = STR("{\"type\":\"object\",\"properties\":{\"n\":{\"type\":[\"integer\","
                      "\"null\"]}},\"required\":[\"n\"],\"additionalProperties\":false}"),
        .accepts = STR("{\"type\":\"object\",\"properties\":{\"n\":{\"type\":[\"integer\","
                       "\"null\"]}},\"additionalProperties\":false}"),
        .flags = TOOL_SAYS_STRICT | TOOL_PURE,
        .run = finish};
    struct toolbox *b = toolbox_new(&clock_real);
    struct buf out;
    struct err e;

    buf_init(&out, 4096);
    CHECK(toolbox_add(b, &t, &e));
    toolbox_write(b, &out);
    CHECK(has(buf_str(&out), "\"strict\":true") && has(buf_str(&out), "\"required\":[\"n\"]"));
    buf_reset(&out);
    CHECK(toolbox_check(b, toolbox_find(b, STR("strict")), STR("{}"), &out));
    CHECK(!toolbox_check(b, toolbox_find(b, STR("strict")), STR("{\"m\":1}"), &out));
    buf_release(&out);
    toolbox_free(b);
}

#define S(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        S(a_text_without_a_call_is_not_the_end_where_a_call_is_insisted_on),
        S(errors_say_that_there_was_no_success_where_that_is_the_form),
        S(a_strict_schema_is_told_and_a_lenient_one_checked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
