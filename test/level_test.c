/* level_test.c - which level a call has, its cap and its words; and when to try again.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/level.h"
#include "gateway/retry.h"
#include "test.h"

static struct config *config(const char *models)
{
    struct config *c;
    struct err e;
    struct buf yaml;

    buf_init(&yaml, 65536);
    buf_printf(&yaml,
               "providers:\n  one: {kind: openai, base_url: \"http://127.0.0.1:1/v1\"%s}\n",
               models);
    CHECK_F(config_parse(buf_str(&yaml), "test.yaml", &c, &e), "%s", e.text);
    buf_release(&yaml);
    return c;
}

static struct chat_request request(const char *model)
{
    return (struct chat_request){.model = str_c(model), .budget_tokens = -1, .max_tokens = STR("")};
}

TEST(a_level_is_asked_for_in_three_ways)
{
    static const struct {
        const char *model;
        enum chat_level body;
        const char *header;
        enum chat_level want;
        const char *model_want;
        int64_t cap;
    } rows[] = {
        {"m", CHAT_LEVEL_NOT_GIVEN, "", CHAT_LEVEL_NOT_GIVEN, "m", -1},
        {"m", CHAT_LEVEL_LOW, "", CHAT_LEVEL_LOW, "m", 128},
        {"m", CHAT_LEVEL_ON, "", CHAT_LEVEL_MEDIUM, "m", 256},
        {"m", CHAT_LEVEL_NONE, "", CHAT_LEVEL_NONE, "m", -1},
        {"m", CHAT_LEVEL_MINIMAL, "", CHAT_LEVEL_MINIMAL, "m", 128},
        {"m", CHAT_LEVEL_MAX, "", CHAT_LEVEL_MAX, "m", 512},
        {"m-high", CHAT_LEVEL_NOT_GIVEN, "", CHAT_LEVEL_HIGH, "m", 512},
        {"m:low", CHAT_LEVEL_NOT_GIVEN, "", CHAT_LEVEL_LOW, "m", 128},
        {"m-high", CHAT_LEVEL_LOW, "", CHAT_LEVEL_LOW, "m", 128},
        {"m-high", CHAT_LEVEL_ON, "", CHAT_LEVEL_HIGH, "m", 512},
        {"m-high", CHAT_LEVEL_NONE, "", CHAT_LEVEL_NONE, "m", -1},
        {"m", CHAT_LEVEL_LOW, "high", CHAT_LEVEL_HIGH, "m", 512},
        {"real-low", CHAT_LEVEL_NOT_GIVEN, "", CHAT_LEVEL_NOT_GIVEN, "real-low", -1},
    };
    struct config *c = config(", models: [m, real-low]");

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct chat_request r = request(rows[i].model);
        struct level l;
        struct err e;

        r.level = rows[i].body;
        CHECK(level_choose(c, &r, str_c(rows[i].header), &l, &e));
        CHECK_F(l.asked == rows[i].want && l.cap == rows[i].cap, "row %zu", i);
        CHECK(str_eq(l.model, str_c(rows[i].model_want)));
    }
    config_release(c);
}

TEST(what_nobody_serves_and_what_is_no_level_is_said)
{
    struct config *c = config(", models: [m]");
    struct chat_request r = request("other");
    struct level l;
    struct err e;

    CHECK(!level_choose(c, &r, STR(""), &l, &e));
    CHECK(e.code == ERR_NOT_FOUND && strstr(e.text, "\"other\""));
    r = request("other-high");
    CHECK(!level_choose(c, &r, STR(""), &l, &e));
    CHECK(strstr(e.text, "other-high"));
    r = request("m");
    CHECK(!level_choose(c, &r, STR("huge"), &l, &e));
    CHECK(e.code == ERR_INPUT && strstr(e.text, "huge"));
    config_release(c);
}

TEST(names_that_only_look_like_levels_stay_whole)
{
    struct config *c = config("");
    struct chat_request r = request("qwen-max");
    struct level l;
    struct err e;

    CHECK(level_choose(c, &r, STR(""), &l, &e));
    CHECK(str_eq(l.model, STR("qwen-max")) && l.asked == CHAT_LEVEL_NOT_GIVEN);
    config_release(c);
}

TEST(an_amount_is_a_cap_without_a_preset)
{
    struct config *c = config(", models: [m]");
    struct chat_request r = request("m");
    struct level l;
    struct err e;

    r.budget_tokens = 2000;
    r.level = CHAT_LEVEL_ON;
    CHECK(level_choose(c, &r, STR(""), &l, &e));
    CHECK(l.cap == 2000 && !l.preset);
    CHECK(l.asked == CHAT_LEVEL_LOW && l.weight == CHAT_LEVEL_HIGH);
    r.budget_tokens = 128;
    CHECK(level_choose(c, &r, STR(""), &l, &e) && l.weight == CHAT_LEVEL_LOW);
    r.level = CHAT_LEVEL_MAX;
    CHECK(level_choose(c, &r, STR(""), &l, &e) && l.weight == CHAT_LEVEL_MAX);
    CHECK(level_choose(c, &r, STR("low"), &l, &e) && l.weight == CHAT_LEVEL_LOW && l.by_header);
    config_release(c);
}

TEST(room_is_kept_for_the_answer)
{
    CHECK(level_room(512, STR("")) == 512);
    CHECK(level_room(512, STR("4096")) == 512);
    CHECK(level_room(512, STR("600")) == 300);
    CHECK(level_room(128, STR("100")) == 50);
    CHECK(level_room(4000, STR("4096")) == 3584);
    CHECK(level_room(-1, STR("10")) == -1);
}

TEST(the_words_are_added_once)
{
    struct config *c = config(", models: [m]");
    const struct config_preset *low = config_preset(c, CHAT_LEVEL_LOW);
    struct chat_part part = {.kind = CHAT_PART_TEXT, .text = STR_INIT("be brief")};
    struct chat_message message = {.role = CHAT_SYSTEM, .parts = &part, .part_count = 1};
    struct chat_request r = request("m");

    r.messages = &message;
    r.message_count = 1;
    CHECK(str_find(level_words(&r, low), STR("effort: LOW.")) != STR_NONE);
    CHECK(level_words(&r, NULL).n == 0);
    part.text = level_words(&r, config_preset(c, CHAT_LEVEL_HIGH));
    CHECK(level_words(&r, low).n == 0);
    CHECK(level_convention(&r).n > 0);
    part.text = level_convention(&r);
    CHECK(level_convention(&r).n == 0);
    config_release(c);
}

TEST(doubt_is_heard_when_it_comes_twice)
{
    CHECK(!level_uncertain(STR("")));
    CHECK(!level_uncertain(STR("I am not sure, but it is four.")));
    CHECK(level_uncertain(STR("I am NOT SURE. It is unclear.")));
    CHECK(level_uncertain(STR("but wait... But wait")));
}

TEST(transient_failures_are_told_from_permanent_ones)
{
    static const int transient[] = {0, 408, 409, 425, 429, 500, 502, 503, 504, 529};
    static const int permanent[] = {400, 401, 403, 404, 413, 422, 451};

    for (size_t i = 0; i < COUNT_OF(transient); i++)
        CHECK_F(retry_transient(transient[i]), "%d", transient[i]);
    for (size_t i = 0; i < COUNT_OF(permanent); i++)
        CHECK_F(!retry_transient(permanent[i]), "%d", permanent[i]);
}

TEST(the_wait_doubles_with_jitter_and_honours_the_provider)
{
    struct rand r;

    rand_init(&r, 7);
    for (int i = 0; i < 200; i++)
        for (unsigned n = 1; n <= 3; n++) {
            uint64_t base = 1000u << (n - 1), ms = retry_wait_ms(&r, 1000, n, -1);

            CHECK(ms >= base - base / 4 && ms <= base + base / 4);
            CHECK(retry_wait_ms(&r, 1000, n, 30000) == 30000);
        }
}

TEST(retry_after_is_read_in_all_its_forms)
{
    CHECK(retry_after_ms(STR("3"), STR(""), 0) == 3000);
    CHECK(retry_after_ms(STR(" 1.5 "), STR(""), 0) == 1500);
    CHECK(retry_after_ms(STR("9"), STR("250"), 0) == 250);
    CHECK(retry_after_ms(STR("Thu, 01 Jan 1970 00:00:10 GMT"), STR(""), 4000) == 6000);
    CHECK(retry_after_ms(STR("Thu, 01 Jan 1970 00:00:10 GMT"), STR(""), 40000) == 0);
    CHECK(retry_after_ms(STR("Thursday, 01-Jan-70 00:00:10 GMT"), STR(""), 4000) == 6000);
    CHECK(retry_after_ms(STR("Thu Jan  1 00:00:10 1970"), STR(""), 4000) == 6000);
    CHECK(retry_after_ms(STR("soon"), STR(""), 0) == -1);
    CHECK(retry_after_ms(STR("-1"), STR(""), 0) == -1);
    CHECK(retry_after_ms(STR(""), STR(""), 0) == -1);
}

TEST_MAIN(T(a_level_is_asked_for_in_three_ways), T(what_nobody_serves_and_what_is_no_level_is_said),
          T(names_that_only_look_like_levels_stay_whole), T(an_amount_is_a_cap_without_a_preset),
          T(room_is_kept_for_the_answer), T(the_words_are_added_once),
          T(doubt_is_heard_when_it_comes_twice), T(transient_failures_are_told_from_permanent_ones),
          T(the_wait_doubles_with_jitter_and_honours_the_provider),
          T(retry_after_is_read_in_all_its_forms))
