/* level_test.c - the level of a call, its cap and the text added to its prompt; and when to retry
 * it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/level.h"
#include "gateway/retry.h"
#include "test.h"

#define DIGEST(digit) EIGHT(EIGHT(digit))
#define EIGHT(s) s s s s s s s s

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

static struct config *config_of(const char *yaml)
{
    struct config *c;
    struct err e;

    CHECK_F(config_parse(str_c(yaml), "test.yaml", &c, &e), "%s", e.text);
    return c;
}

struct asked_row {
    const char *model;
    enum chat_level body;
    const char *header;
    enum chat_level want;
    const char *model_want;
    int64_t cap;
    enum level_source source;
};

static void check_rows(const struct config *c, enum chat_dialect dialect,
                       const struct asked_row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct chat_request r = request(rows[i].model);
        struct level l;
        struct err e;

        r.dialect = dialect;
        r.level = rows[i].body;
        CHECK(level_choose(c, &r, str_c(rows[i].header), NULL, &l, &e));
        CHECK_F(l.asked == rows[i].want && l.cap == rows[i].cap && l.source == rows[i].source,
                "row %zu: level %d, cap %lld, source %d",
                i,
                (int)l.asked,
                (long long)l.cap,
                (int)l.source);
        CHECK_F((l.preset != NULL) == (l.cap >= 0), "row %zu", i);
        CHECK(str_eq(l.model, str_c(rows[i].model_want)));
    }
}

TEST(our_own_words_bring_a_preset_and_a_providers_do_not)
{
    static const struct asked_row rows[] = {
        {"m", CHAT_LEVEL_NOT_GIVEN, "", CHAT_LEVEL_NOT_GIVEN, "m", -1, LEVEL_BY_NOBODY},
        {"m", CHAT_LEVEL_LOW, "", CHAT_LEVEL_LOW, "m", -1, LEVEL_BY_REQUEST},
        {"m", CHAT_LEVEL_ON, "", CHAT_LEVEL_MEDIUM, "m", -1, LEVEL_BY_REQUEST},
        {"m", CHAT_LEVEL_NONE, "", CHAT_LEVEL_NONE, "m", -1, LEVEL_BY_REQUEST},
        {"m", CHAT_LEVEL_MAX, "", CHAT_LEVEL_MAX, "m", -1, LEVEL_BY_REQUEST},
        {"m-high", CHAT_LEVEL_NOT_GIVEN, "", CHAT_LEVEL_HIGH, "m", 512, LEVEL_BY_MODEL},
        {"m:low", CHAT_LEVEL_NOT_GIVEN, "", CHAT_LEVEL_LOW, "m", 128, LEVEL_BY_MODEL},
        {"m-high", CHAT_LEVEL_LOW, "", CHAT_LEVEL_LOW, "m", -1, LEVEL_BY_REQUEST},
        {"m-high", CHAT_LEVEL_ON, "", CHAT_LEVEL_HIGH, "m", 512, LEVEL_BY_MODEL},
        {"m", CHAT_LEVEL_LOW, "high", CHAT_LEVEL_HIGH, "m", 512, LEVEL_BY_HEADER},
        {"m", CHAT_LEVEL_NOT_GIVEN, "minimal", CHAT_LEVEL_MINIMAL, "m", 128, LEVEL_BY_HEADER},
        {"m", CHAT_LEVEL_NOT_GIVEN, "medium", CHAT_LEVEL_MEDIUM, "m", 256, LEVEL_BY_HEADER},
        {"m", CHAT_LEVEL_NOT_GIVEN, "xhigh", CHAT_LEVEL_XHIGH, "m", 2048, LEVEL_BY_HEADER},
        {"m", CHAT_LEVEL_NOT_GIVEN, "max", CHAT_LEVEL_MAX, "m", 8192, LEVEL_BY_HEADER},
        {"m", CHAT_LEVEL_HIGH, "none", CHAT_LEVEL_NONE, "m", -1, LEVEL_BY_HEADER},
        {"real-low",
         CHAT_LEVEL_NOT_GIVEN,
         "",
         CHAT_LEVEL_NOT_GIVEN,
         "real-low",
         -1,
         LEVEL_BY_NOBODY},
    };
    static const struct asked_row generate[] = {
        {"m", CHAT_LEVEL_ON, "", CHAT_LEVEL_MEDIUM, "m", 256, LEVEL_BY_GENERATE},
        {"m", CHAT_LEVEL_LOW, "", CHAT_LEVEL_LOW, "m", 128, LEVEL_BY_GENERATE},
        {"m-high", CHAT_LEVEL_ON, "", CHAT_LEVEL_HIGH, "m", 512, LEVEL_BY_MODEL},
    };
    struct config *c = config(", models: [m, real-low]");

    check_rows(c, CHAT_OPENAI, rows, COUNT_OF(rows));
    check_rows(c, CHAT_ANTHROPIC, rows, COUNT_OF(rows));
    check_rows(c, CHAT_GENERATE, generate, COUNT_OF(generate));
    config_release(c);
}

TEST(a_provider_that_takes_any_name_gets_makers_names_as_they_are)
{
    static const struct {
        const char *asked, *sent;
    } names[] = {{"mistral-medium", "mistral-medium"},
                 {"openai/o4-mini-high", "openai/o4-mini-high"},
                 {"o4-mini-high", "o4-mini"},
                 {"qwen-medium", "qwen"}};
    struct config *c = config("");

    for (size_t i = 0; i < COUNT_OF(names); i++) {
        struct chat_request r = request(names[i].asked);
        struct level l;
        struct err e;

        CHECK(level_choose(c, &r, STR(""), NULL, &l, &e));
        CHECK_STR(l.model, names[i].sent);
    }
    config_release(c);
}

TEST(a_configuration_may_want_presets_for_all_words)
{
    static const struct asked_row rows[] = {
        {"m", CHAT_LEVEL_NOT_GIVEN, "", CHAT_LEVEL_NOT_GIVEN, "m", -1, LEVEL_BY_NOBODY},
        {"m", CHAT_LEVEL_LOW, "", CHAT_LEVEL_LOW, "m", 128, LEVEL_BY_REQUEST},
        {"m", CHAT_LEVEL_ON, "", CHAT_LEVEL_MEDIUM, "m", 256, LEVEL_BY_REQUEST},
        {"m", CHAT_LEVEL_NONE, "", CHAT_LEVEL_NONE, "m", -1, LEVEL_BY_REQUEST},
        {"m", CHAT_LEVEL_MINIMAL, "", CHAT_LEVEL_MINIMAL, "m", 128, LEVEL_BY_REQUEST},
        {"m", CHAT_LEVEL_MAX, "", CHAT_LEVEL_MAX, "m", 8192, LEVEL_BY_REQUEST},
        {"m-high", CHAT_LEVEL_LOW, "", CHAT_LEVEL_LOW, "m", 128, LEVEL_BY_REQUEST},
        {"m-high", CHAT_LEVEL_ON, "", CHAT_LEVEL_HIGH, "m", 512, LEVEL_BY_MODEL},
        {"m-high", CHAT_LEVEL_NONE, "", CHAT_LEVEL_NONE, "m", -1, LEVEL_BY_REQUEST},
        {"m", CHAT_LEVEL_LOW, "high", CHAT_LEVEL_HIGH, "m", 512, LEVEL_BY_HEADER},
    };
    struct config *c = config(", models: [m]}\nreasoning: {presets: always");

    check_rows(c, CHAT_OPENAI, rows, COUNT_OF(rows));
    config_release(c);
}

TEST(a_call_that_asks_for_no_level_has_its_keys_or_its_providers)
{
    static const char yaml[] =
        "providers:\n"
        "  plain: {kind: openai, base_url: \"http://127.0.0.1:1/v1\", models: [m]}\n"
        "  high: {kind: openai, base_url: \"http://127.0.0.1:1/v1\", models: [h], level: high}\n"
        "keys:\n"
        "  - {name: any, sha256: \"" DIGEST(
            "1") "\"}\n"
                 "  - {name: few, sha256: \"" DIGEST(
                     "2") "\", levels: [none, low]}\n"
                          "  - {name: own, sha256: \"" DIGEST(
                              "3") "\", levels: [low, medium, max], level: low}\n"
                                   "  - {name: off, sha256: \"" DIGEST(
                                       "4") "\", levels: [none]}\n"
                                            "  - {name: top, sha256: \"" DIGEST(
                                                "5") "\", levels: [low, max]}\n";
    static const struct {
        int key; /* index of the key; -1: no key */
        const char *model;
        enum chat_dialect dialect;
        enum chat_level want;
        enum level_source source;
    } rows[] = {
        {-1, "m", CHAT_OPENAI, CHAT_LEVEL_NOT_GIVEN, LEVEL_BY_NOBODY},
        {-1, "h", CHAT_OPENAI, CHAT_LEVEL_HIGH, LEVEL_BY_PROVIDER},
        {0, "m", CHAT_OPENAI, CHAT_LEVEL_NOT_GIVEN, LEVEL_BY_NOBODY},
        {0, "h", CHAT_OPENAI, CHAT_LEVEL_HIGH, LEVEL_BY_PROVIDER},
        {1, "m", CHAT_OPENAI, CHAT_LEVEL_LOW, LEVEL_BY_KEY},
        {1, "h", CHAT_OPENAI, CHAT_LEVEL_LOW, LEVEL_BY_KEY},
        {2, "m", CHAT_OPENAI, CHAT_LEVEL_LOW, LEVEL_BY_KEY},
        {2, "h", CHAT_OPENAI, CHAT_LEVEL_LOW, LEVEL_BY_KEY},
        {3, "m", CHAT_OPENAI, CHAT_LEVEL_NONE, LEVEL_BY_KEY},
        {4, "m", CHAT_OPENAI, CHAT_LEVEL_MAX, LEVEL_BY_KEY},
        {-1, "m", CHAT_GENERATE, CHAT_LEVEL_MEDIUM, LEVEL_BY_GENERATE},
        {-1, "h", CHAT_GENERATE, CHAT_LEVEL_HIGH, LEVEL_BY_PROVIDER},
        {1, "m", CHAT_GENERATE, CHAT_LEVEL_LOW, LEVEL_BY_KEY},
        {2, "m", CHAT_GENERATE, CHAT_LEVEL_LOW, LEVEL_BY_KEY},
    };
    struct config *c = config_of(yaml);

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct config_key *key = rows[i].key < 0 ? NULL : &c->keys[rows[i].key];
        struct chat_request r = request(rows[i].model);
        struct level l;
        struct err e;

        r.dialect = rows[i].dialect;
        r.level = rows[i].dialect == CHAT_GENERATE ? CHAT_LEVEL_ON : CHAT_LEVEL_NOT_GIVEN;
        CHECK(level_choose(c, &r, STR(""), key, &l, &e));
        CHECK_F(l.asked == rows[i].want && l.source == rows[i].source, "row %zu", i);
        CHECK_F(level_allowed(key, l.weight) || l.source == LEVEL_BY_NOBODY, "row %zu", i);
        CHECK((l.preset != NULL) == (l.asked > CHAT_LEVEL_NONE));
    }
    config_release(c);
}

TEST(presets_above_high_rise_with_it)
{
    struct config *c = config("}\nllm: {reasoning_presets: {high: {reasoning_max_tokens: 4096}}");

    CHECK(config_preset(c, CHAT_LEVEL_HIGH)->reasoning_max_tokens == 4096);
    CHECK(config_preset(c, CHAT_LEVEL_XHIGH)->reasoning_max_tokens == 16384);
    CHECK(config_preset(c, CHAT_LEVEL_MAX)->reasoning_max_tokens == 65536);
    config_release(c);
    c = config("}\nllm: {reasoning_presets: {max: {reasoning_max_tokens: 9000}}");
    CHECK(config_preset(c, CHAT_LEVEL_XHIGH)->reasoning_max_tokens == 2048);
    CHECK(config_preset(c, CHAT_LEVEL_MAX)->reasoning_max_tokens == 9000);
    config_release(c);
}

TEST(what_nobody_serves_and_what_is_no_level_is_said)
{
    struct config *c = config(", models: [m]");
    struct chat_request r = request("other");
    struct level l;
    struct err e;

    CHECK(!level_choose(c, &r, STR(""), NULL, &l, &e));
    CHECK(e.code == ERR_NOT_FOUND && strstr(e.text, "\"other\""));
    r = request("other-high");
    CHECK(!level_choose(c, &r, STR(""), NULL, &l, &e));
    CHECK(strstr(e.text, "other-high"));
    r = request("m");
    CHECK(!level_choose(c, &r, STR("huge"), NULL, &l, &e));
    CHECK(e.code == ERR_INPUT && strstr(e.text, "huge"));
    config_release(c);
}

TEST(a_model_that_nobody_serves_is_refused_with_the_nearest_that_the_key_may_use)
{
    static const struct {
        const char *asked, *near; /* NULL: no similar model */
        bool with_key;
    } rows[] = {
        {"gtp-5", "gpt-5", false},
        {"claude-sonet-5", "claude-sonnet-5", false},
        {"claude-sonet-5", NULL, true},
        {"GPT5", "gpt-5", true},
        {"llama", NULL, false},
        {"a-name-of-more-than-forty-eight-bytes-is-not-compared-at-all", NULL, false},
    };
    struct config *c = config(", models: [gpt-5, claude-sonnet-5]");
    struct config_key key = {.models = (str[]){STR("gpt-5")}, .model_count = 1};
    struct level l;
    struct err e;

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct chat_request r = request(rows[i].asked);
        char words[64];

        CHECK(!level_choose(c, &r, STR(""), rows[i].with_key ? &key : NULL, &l, &e));
        (void)snprintf(words, sizeof words, "did you mean \"%s\"?", rows[i].near);
        CHECK(e.code == ERR_NOT_FOUND && strstr(e.text, "/v1/models"));
        CHECK(!strstr(e.text, "did you mean") == !rows[i].near);
        CHECK(!rows[i].near || strstr(e.text, words));
    }
    config_release(c);
}

TEST(names_that_only_look_like_levels_stay_whole)
{
    struct config *c = config("");
    struct chat_request r = request("qwen-max");
    struct level l;
    struct err e;

    CHECK(level_choose(c, &r, STR(""), NULL, &l, &e));
    CHECK(str_eq(l.model, STR("qwen-max")) && l.asked == CHAT_LEVEL_NOT_GIVEN);
    r = request("qwen-xhigh"); /* no provider has a model of this name */
    CHECK(level_choose(c, &r, STR(""), NULL, &l, &e));
    CHECK(str_eq(l.model, STR("qwen")) && l.asked == CHAT_LEVEL_XHIGH);
    config_release(c);
}

TEST(an_amount_is_a_cap_without_a_preset)
{
    struct config *c = config(", models: [m]}\nreasoning: {presets: always");
    struct chat_request r = request("m");
    struct level l;
    struct err e;

    r.budget_tokens = 2000;
    r.level = CHAT_LEVEL_ON;
    CHECK(level_choose(c, &r, STR(""), NULL, &l, &e));
    CHECK(l.cap == 2000 && !l.preset);
    CHECK(l.asked == CHAT_LEVEL_LOW && l.weight == CHAT_LEVEL_XHIGH);
    r.budget_tokens = 512;
    CHECK(level_choose(c, &r, STR(""), NULL, &l, &e) && l.weight == CHAT_LEVEL_HIGH);
    r.budget_tokens = 128;
    CHECK(level_choose(c, &r, STR(""), NULL, &l, &e) && l.weight == CHAT_LEVEL_LOW);
    r.budget_tokens = 1 << 20;
    CHECK(level_choose(c, &r, STR(""), NULL, &l, &e) && l.weight == CHAT_LEVEL_MAX);
    r.budget_tokens = 128;
    r.level = CHAT_LEVEL_MAX;
    CHECK(level_choose(c, &r, STR(""), NULL, &l, &e) && l.weight == CHAT_LEVEL_MAX);
    CHECK(level_choose(c, &r, STR("low"), NULL, &l, &e) && l.weight == CHAT_LEVEL_LOW);
    CHECK(l.source == LEVEL_BY_HEADER && l.preset);
    config_release(c);
}

TEST(an_amount_in_a_providers_words_is_no_cap)
{
    struct config *c = config(", models: [m]");
    struct chat_request r = request("m");
    struct level l;
    struct err e;

    r.dialect = CHAT_ANTHROPIC;
    r.budget_tokens = 2000;
    r.level = CHAT_LEVEL_ON;
    CHECK(level_choose(c, &r, STR(""), NULL, &l, &e));
    CHECK(l.cap == -1 && !l.preset && l.weight == CHAT_LEVEL_XHIGH);
    r.dialect = CHAT_GENERATE;
    CHECK(level_choose(c, &r, STR(""), NULL, &l, &e) && l.cap == 2000 && !l.preset);
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
    CHECK(str_find(level_words(&r, config_preset(c, CHAT_LEVEL_XHIGH)), STR("effort: XHIGH.")) !=
          STR_NONE);
    CHECK(str_find(level_words(&r, config_preset(c, CHAT_LEVEL_MAX)), STR("effort: MAX.")) !=
          STR_NONE);
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

TEST_MAIN(T(our_own_words_bring_a_preset_and_a_providers_do_not),
          T(a_provider_that_takes_any_name_gets_makers_names_as_they_are),
          T(a_configuration_may_want_presets_for_all_words),
          T(a_call_that_asks_for_no_level_has_its_keys_or_its_providers),
          T(presets_above_high_rise_with_it), T(an_amount_in_a_providers_words_is_no_cap),
          T(what_nobody_serves_and_what_is_no_level_is_said),
          T(a_model_that_nobody_serves_is_refused_with_the_nearest_that_the_key_may_use),
          T(names_that_only_look_like_levels_stay_whole), T(an_amount_is_a_cap_without_a_preset),
          T(room_is_kept_for_the_answer), T(the_words_are_added_once),
          T(doubt_is_heard_when_it_comes_twice), T(transient_failures_are_told_from_permanent_ones),
          T(the_wait_doubles_with_jitter_and_honours_the_provider),
          T(retry_after_is_read_in_all_its_forms))
