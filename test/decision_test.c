/* decision_test.c - entries of the decision log, and values in Python's notation.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "chat/decision.h"

#include "base/json.h"
#include "chat/repr.h"
#include "test.h"

#include <time.h>

static struct buf out, tools;

static str entry(str why, str answer, str calls)
{
    struct decision d = {why, answer, calls};

    buf_release(&out);
    buf_release(&tools);
    buf_init(&out, 1 << 20);
    buf_init(&tools, 1 << 20);
    decision_write(&out, &tools, &d);
    return buf_str(&out);
}

static str repr(str text)
{
    struct json doc;
    struct err e;

    json_init(&doc);
    CHECK(json_parse(&doc, text, &e));
    buf_release(&out);
    buf_init(&out, 1 << 20);
    repr_json(&out, &doc, json_root(&doc));
    json_release(&doc);
    return buf_str(&out);
}

TEST(an_entry_says_the_tools_and_why)
{
    str calls = STR("[{\"id\":\"1\",\"name\":\"lookup\",\"arguments\":\"{}\"},"
                    "{\"id\":\"2\",\"name\":\"add\",\"arguments\":\"{}\"}]");

    CHECK_STR(entry(STR(" asked for an egg\n"), STR("Sure"), calls),
              "[TOOL_CALL] lookup, add: asked for an egg");
    CHECK_STR(buf_str(&tools), "[\"lookup\",\"add\"]");
    CHECK_STR(entry(STR("a greeting"), STR("Hello!"), STR("")), "[DIRECT] a greeting");
    CHECK(tools.n == 0);
}

TEST(without_a_reason_it_says_the_arguments_or_the_answer)
{
    str calls = STR("[{\"id\":\"1\",\"name\":\"add\",\"arguments\":"
                    "\"{\\\"item\\\": \\\"Egg's\\\", \\\"n\\\": 2, \\\"hot\\\": true}\"},"
                    "{\"id\":\"2\",\"name\":\"now\",\"arguments\":\"\"}]");

    CHECK_STR(entry(STR(" \n"), STR("x"), calls),
              "[TOOL_CALL] add, now: add(item=\"Egg's\", n=2, hot=True); now()");
    CHECK_STR(entry(STR(""), STR("  Hi there  "), STR("")), "[DIRECT] Hi there");
    CHECK_STR(entry(STR(""), STR(""), STR("[]")), "[DIRECT] ");
}

TEST(an_answer_is_cut_at_eighty_characters_not_bytes)
{
    char text[400] = "", want[400] = "[DIRECT] ";

    for (int i = 0; i < 100; i++)
        (void)snprintf(text + strlen(text), sizeof text - strlen(text), "\xC3\xA9");
    for (int i = 0; i < 80; i++)
        (void)snprintf(want + strlen(want), sizeof want - strlen(want), "\xC3\xA9");
    CHECK_STR(entry(STR(""), str_c(text), STR("")), want);
}

TEST(arguments_that_are_no_object_stand_as_they_came)
{
    CHECK_STR(entry(STR(""), STR(""), STR("[{\"name\":\"f\",\"arguments\":\"{\\\"a\\\": \"}]")),
              "[TOOL_CALL] f: f({\"a\": )");
}

TEST(values_are_written_as_python_writes_them)
{
    static const char *const rows[][2] = {
        {"\"a\"", "'a'"},
        {"\"it's\"", "\"it's\""},
        {"\"it's \\\"so\\\"\"", "'it\\'s \"so\"'"},
        {"\"a\\\\b\\n\\t\\r\\u0000\\u007f\"", "'a\\\\b\\n\\t\\r\\x00\\x7f'"},
        {"\"\\u00a0\\u00ad\\u00e9\\u200b\\u2028\\ud83d\\ude00\\udb40\\udc01\"",
         "'\\xa0\\xad\xC3\xA9\\u200b\\u2028\xF0\x9F\x98\x80\\U000e0001'"},
        {"1", "1"},
        {"-0", "0"},
        {"-0.0", "-0.0"},
        {"123456789012345678901234567890", "123456789012345678901234567890"},
        {"1.0", "1.0"},
        {"1e5", "100000.0"},
        {"1e16", "1e+16"},
        {"1e15", "1000000000000000.0"},
        {"9999999999999998.0", "9999999999999998.0"},
        {"0.0001", "0.0001"},
        {"0.00001", "1e-05"},
        {"1.5e-7", "1.5e-07"},
        {"0.1", "0.1"},
        {"2.675", "2.675"},
        {"1e400", "inf"},
        {"5e-324", "5e-324"},
        {"1.7976931348623157e308", "1.7976931348623157e+308"},
        {"123456.789", "123456.789"},
        {"null", "None"},
        {"[true,false,null]", "[True, False, None]"},
        {"[]", "[]"},
        {"{}", "{}"},
        {"{\"a\":1,\"b\":[{\"c\":\"d\"}],\"a\":2}", "{'a': 2, 'b': [{'c': 'd'}]}"},
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++)
        CHECK_STR(repr(str_c(rows[i][0])), rows[i][1]);
    buf_release(&out);
    buf_release(&tools);
}

/* Each number needs the slowest path of shortest-digit printing; printing all would take
 * seconds. */
TEST(arguments_that_are_not_shown_cost_no_time)
{
    enum { NUMBERS = 300000 };
    struct timespec from, to;
    struct buf text;

    buf_init(&text, (size_t)64 << 20);
    buf_add(&text, STR("[{\"name\":\"f\",\"arguments\":\"{\\\"a\\\":[0"));
    for (int i = 0; i < NUMBERS; i++)
        buf_add(&text, STR(",0.12345678901234567"));
    buf_add(&text, STR("]}\"}]"));
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
    CHECK(str_ends(entry(STR(""), STR(""), buf_str(&text)), STR("...)")));
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
    CHECK((to.tv_sec - from.tv_sec) * 1000 + (to.tv_nsec - from.tv_nsec) / 1000000 < 1000);
    buf_release(&text);
    buf_release(&out);
    buf_release(&tools);
}

TEST_MAIN(T(an_entry_says_the_tools_and_why),
          T(without_a_reason_it_says_the_arguments_or_the_answer),
          T(an_answer_is_cut_at_eighty_characters_not_bytes),
          T(arguments_that_are_no_object_stand_as_they_came),
          T(values_are_written_as_python_writes_them), T(arguments_that_are_not_shown_cost_no_time))
