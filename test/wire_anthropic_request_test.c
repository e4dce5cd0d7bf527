/* Bodies of /v1/messages: refused ones and their errors, accepted ones, and bodies that a plan of
 * the gateway changes.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire_help.h"

#include "wire/anthropic/anthropic.h"

#define USER "\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]"
#define BODY(more) "{\"model\":\"m\",\"max_tokens\":100," USER more "}"

TEST(a_body_that_is_wrong_is_refused_with_its_member)
{
    static const struct {
        const char *body, *why;
    } cases[] = {
        {"[]", "the body should be a JSON object"},
        {"{}", "model: Field required"},
        {"{\"model\":\"m\",\"max_tokens\":1}", "messages: Field required"},
        {"{\"model\":\"m\",\"max_tokens\":1,\"messages\":[]}",
         "messages: at least one message is required"},
        {BODY(",\"tool_choice\":{\"type\":\"tool\"}"), "tool_choice.name: Field required"},
        {BODY(",\"stop_sequences\":[1]"), "stop_sequences.0: Input should be a valid string"},
        {BODY(",\"stream\":1"), "stream: Input should be a valid boolean"},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++)
        check_refused(&wire_anthropic, cases[i].body, cases[i].why);
}

TEST(a_value_that_is_not_known_is_left_to_its_own_providers)
{
#define TEXT "{\"type\":\"text\",\"text\":\"s\"}"
#define RESULT "{\"type\":\"tool_result\",\"tool_use_id\":\"t\",\"content\":\"c\"}"
    static const struct {
        const char *body, *why;
    } cases[] = {
        {"{\"model\":\"m\",\"max_tokens\":1,\"messages\":[{\"role\":\"x\",\"content\":\"\"}]}",
         "messages.0.role: Input should be 'user' or 'assistant'"},
        {"{\"model\":\"m\",\"max_tokens\":1,\"messages\":[{\"role\":\"user\"}]}",
         "messages.0.content: Field required"},
        {"{\"model\":\"m\",\"max_tokens\":1,\"messages\":[{\"role\":\"user\",\"content\":[{"
         "\"type\":"
         "\"text\"}]}]}",
         "messages.0.content.0.text: Field required"},
        {"{\"model\":\"m\",\"max_tokens\":1,\"messages\":[{\"role\":\"user\",\"content\":[{"
         "\"type\":"
         "\"tool_result\",\"tool_use_id\":\"t\",\"content\":[{\"type\":\"tool_use\"}]}]}]}",
         "messages.0.content.0.content.0.type: a tool result may not contain this block"},
        {BODY(",\"tools\":[{\"name\":\"f\"}]"), "tools.0.input_schema: Field required"},
        {"{\"model\":\"m\"," USER "}", "max_tokens: Field required"},
        {"{\"model\":\"m\",\"max_tokens\":0," USER "}",
         "max_tokens: Input should be greater than or equal to 1"},
        {"{\"model\":\"m\",\"max_tokens\":1.5," USER "}",
         "max_tokens: Input should be a valid integer"},
        {BODY(",\"system\":[{\"type\":\"text\",\"text\":\"s\"},{\"type\":\"new\"}]"),
         "system.1.type: Input should be 'text'"},
        {BODY(",\"system\":[" RESULT "," TEXT "," RESULT "," TEXT "," RESULT "," TEXT "]"),
         "system.0.type: Input should be 'text'"},
        {BODY(",\"temperature\":1.1"), "temperature: Input should be less than or equal to 1"},
        {BODY(",\"tool_choice\":{\"type\":\"some\"}"),
         "tool_choice.type: Input should be 'auto', 'any', 'tool' or 'none'"},
        {BODY(",\"output_config\":{\"effort\":\"huge\"}"),
         "output_config.effort: Input should be 'low', 'medium', 'high', 'xhigh' or 'max'"},
        {BODY(",\"thinking\":{\"type\":\"deep\"}"),
         "thinking.type: Input should be 'enabled', 'adaptive' or 'disabled'"},
        {BODY(",\"thinking\":{\"type\":\"enabled\",\"budget_tokens\":\"x\"}"),
         "thinking.budget_tokens: Input should be a valid integer"},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++)
        check_deferred(&wire_anthropic, cases[i].body, cases[i].why);
}

TEST(a_request_without_max_tokens_asks_anthropic_for_what_its_model_allows)
{
    static const struct {
        const char *model, *max_tokens;
    } cases[] = {{"claude-2.1", "4096"},
                 {"claude-3-haiku-20240307", "4096"},
                 {"claude-3-5-sonnet-20241022", "4096"},
                 {"claude-3-7-sonnet-20250219", "32000"},
                 {"claude-opus-4-1-20250805", "32000"},
                 {"anthropic.claude-sonnet-5", "32000"},
                 {"claude-latest", "32000"},
                 {"other-maker", "4096"}};
    struct chat_request r;
    struct buf body, out;
    struct json doc;
    struct arena a;
    struct err e;

    json_init(&doc);
    arena_init(&a, HELP_SIZE_MAX);
    buf_init(&body, 1000);
    buf_init(&out, 1000);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        buf_reset(&body);
        buf_printf(&body,
                   "{\"model\":\"%s\",\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}",
                   cases[i].model);
        buf_reset(&out);
        CHECK(json_parse(&doc, buf_str(&body), &e) && wire_openai.read(&doc, &a, &r, &e));
        wire_anthropic.write(&r, &out);
        CHECK_F(str_find(buf_str(&out), str_c(cases[i].max_tokens)) != STR_NONE,
                "%s: " STR_FMT,
                cases[i].model,
                STR_ARG(buf_str(&out)));
    }
    buf_release(&out);
    buf_release(&body);
    arena_release(&a);
    json_release(&doc);
}

TEST(counting_needs_no_max_tokens)
{
    struct chat_request r;
    struct json doc;
    struct arena a;
    struct err e;

    json_init(&doc);
    arena_init(&a, HELP_SIZE_MAX);
    CHECK(json_parse(&doc, STR("{\"model\":\"m\"," USER "}"), &e));
    CHECK(wire_anthropic_read_count(&doc, &a, &r, &e));
    CHECK(r.max_tokens.n == 0);
    CHECK_INT(r.message_count, 1);
    json_release(&doc);
    arena_release(&a);
}

TEST(a_body_too_large_for_its_arena_is_refused)
{
    struct chat_request r;
    struct json doc;
    struct arena a;
    struct buf b;
    struct err e;

    buf_init(&b, HELP_SIZE_MAX);
    buf_add(
        &b,
        STR("{\"model\":\"m\",\"max_tokens\":1,\"messages\":[{\"role\":\"user\",\"content\":["));
    for (int i = 0; i < 20000; i++)
        buf_add(&b,
                i ? STR(",{\"type\":\"text\",\"text\":\"\"}")
                  : STR("{\"type\":\"text\",\"text\":\"\"}"));
    buf_add(&b, STR("]}]}"));
    json_init(&doc);
    arena_init(&a, (size_t)1 << 20);
    CHECK(json_parse(&doc, buf_str(&b), &e));
    CHECK(!wire_anthropic.read(&doc, &a, &r, &e));
    CHECK_INT(e.code, ERR_LIMIT);
    json_release(&doc);
    arena_release(&a);
    buf_release(&b);
}

TEST(tool_results_stand_apart_and_come_together_again)
{
    struct buf first, body, second;

    buf_init(&first, HELP_SIZE_MAX);
    buf_init(&body, HELP_SIZE_MAX);
    buf_init(&second, HELP_SIZE_MAX);
    read_to(
        &wire_anthropic,
        STR("{\"model\":\"m\",\"max_tokens\":5,\"system\":\"be\",\"messages\":[{\"role\":\"user\","
            "\"content\":\"q\"},{\"role\":\"assistant\",\"content\":[{\"type\":\"thinking\","
            "\"thinking\":\"t\",\"signature\":\"S\"},{\"type\":\"thinking\",\"thinking\":\"u\","
            "\"signature\":\"rationale.1\"},{\"type\":\"tool_use\",\"id\":\"a\",\"name\":\"f\","
            "\"input\":{\"x\":1}}]},{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\","
            "\"tool_use_id\":\"a\",\"content\":\"r\",\"is_error\":true},{\"type\":\"text\","
            "\"text\":\"go\"}]}]}"),
        &first,
        &body);
    CHECK_STR(
        buf_str(&body),
        "{\"model\":\"m\",\"max_tokens\":5,\"system\":[{\"type\":\"text\",\"text\":\"be\"}],"
        "\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"q\"}]},"
        "{\"role\":\"assistant\",\"content\":[{\"type\":\"thinking\",\"thinking\":\"t\","
        "\"signature\":\"S\"},{\"type\":\"tool_use\",\"id\":\"a\",\"name\":\"f\",\"input\":"
        "{\"x\":1}}]},{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\""
        ":\"a\",\"content\":[{\"type\":\"text\",\"text\":\"r\"}],\"is_error\":true},{\"type\":"
        "\"text\",\"text\":\"go\"}]}]}");
    CHECK_HAS(buf_str(&first), "message 3\n  part 5 10 [||a|");
    buf_release(&first);
    buf_release(&body);
    buf_release(&second);
}

TEST(a_plan_without_wishes_changes_nothing)
{
    struct wire_plan p = no_plan();

    check_patch(&wire_anthropic,
                "{ \"model\" : \"m\", \"system\":\"s\" , \"messages\":[ ]}",
                &p,
                "{ \"model\" : \"m\", \"system\":\"s\" , \"messages\":[ ]}");
}

TEST(hole_5_thinking_is_told_as_the_model_knows_it)
{
    static const struct {
        const char *model;
        enum chat_level level;
        int64_t budget;
        const char *want;
    } cases[] = {
        {"claude-3-7-sonnet-20250219",
         CHAT_LEVEL_LOW,
         -1,
         "\"max_tokens\":2148,\"thinking\":{\"type\":\"enabled\",\"budget_tokens\":2048}}"},
        {"claude-sonnet-4-20250514",
         CHAT_LEVEL_ON,
         500,
         "\"max_tokens\":1124,\"thinking\":{\"type\":\"enabled\",\"budget_tokens\":1024}}"},
        {"claude-opus-4-1-20250805",
         CHAT_LEVEL_NONE,
         -1,
         "\"max_tokens\":100,\"thinking\":{\"type\":\"disabled\"}}"},
        {"us.anthropic.claude-sonnet-4-5-20250929-v1:0",
         CHAT_LEVEL_ON,
         3000,
         "\"max_tokens\":3100,\"thinking\":{\"type\":\"enabled\",\"budget_tokens\":3000}}"},
        {"claude-sonnet-4-6",
         CHAT_LEVEL_XHIGH,
         -1,
         "\"max_tokens\":100,\"thinking\":{\"type\":\"adaptive\"},\"output_config\":{\"effort\":"
         "\"high\"}}"},
        {"claude-opus-4-7",
         CHAT_LEVEL_XHIGH,
         -1,
         "\"max_tokens\":100,\"thinking\":{\"type\":\"adaptive\",\"display\":\"summarized\"},"
         "\"output_config\":{\"effort\":\"xhigh\"}}"},
        {"claude-sonnet-5",
         CHAT_LEVEL_MINIMAL,
         -1,
         "\"max_tokens\":100,\"thinking\":{\"type\":\"adaptive\",\"display\":\"summarized\"},"
         "\"output_config\":{\"effort\":\"low\"}}"},
        {"claude-fable-5",
         CHAT_LEVEL_NONE,
         -1,
         "\"max_tokens\":100,\"output_config\":{\"effort\":\"low\"}}"},
        {"claude-opus-5-5",
         CHAT_LEVEL_NONE,
         -1,
         "\"max_tokens\":100,\"output_config\":{\"effort\":\"low\"}}"},
        {"claude-opus-5",
         CHAT_LEVEL_NONE,
         -1,
         "\"max_tokens\":100,\"thinking\":{\"type\":\"disabled\"}}"},
        {"claude-3-haiku-20240307", CHAT_LEVEL_HIGH, -1, "\"max_tokens\":100}"},
        {"glm-4.7",
         CHAT_LEVEL_LOW,
         -1,
         "\"max_tokens\":2148,\"thinking\":{\"type\":\"enabled\",\"budget_tokens\":2048}}"},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct wire_plan p = no_plan();
        char want[400];

        p.model = str_c(cases[i].model);
        p.set_level = true;
        p.level = cases[i].level;
        p.budget_tokens = cases[i].budget;
        snprintf(want, sizeof want, "{\"model\":\"%s\",%s", cases[i].model, cases[i].want);
        check_patch(&wire_anthropic, "{\"model\":\"x\",\"max_tokens\":100}", &p, want);
    }
}

TEST(wishes_for_the_rest_of_the_body_are_edits)
{
    struct wire_tail tail = {.role = CHAT_USER, .text = STR("say it"), .reasoning = STR("")};
    struct wire_plan p = no_plan();

    p.system_extra = STR("more");
    p.set_stream = p.stream = true;
    p.temperature = STR("1.7");
    p.tails = &tail;
    p.tail_count = 1;
    p.drop_tools = true;
    p.merge = STR("{\"metadata\":{\"a\":1}}");
    check_patch(
        &wire_anthropic,
        "{\"system\":[{\"type\":\"text\",\"text\":\"s\",\"cache_control\":{\"type\":\"ephemeral\"}}"
        "],\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}],\"tools\":[],\"metadata\":{\"b\":"
        "2}}",
        &p,
        "{\"system\":[{\"type\":\"text\",\"text\":\"s\",\"cache_control\":{\"type\":\"ephemeral\"}}"
        ","
        "{\"type\":\"text\",\"text\":\"more\"}],\"messages\":[{\"role\":\"user\",\"content\":[{"
        "\"type\":"
        "\"text\",\"text\":\"hi\"},{\"type\":\"text\",\"text\":\"say it\"}]}],\"tools\":[],"
        "\"metadata\":{\"b\":2,\"a\":1},\"stream\":true,\"temperature\":1,\"tool_choice\":{"
        "\"type\":"
        "\"none\"}}");
    p = no_plan();
    p.system_extra = STR("more");
    p.tails = &tail;
    p.tail_count = 1;
    check_patch(
        &wire_anthropic,
        "{\"system\":\"s\\n\",\"messages\":[{\"role\":\"assistant\",\"content\":\"x\"}]}",
        &p,
        "{\"system\":\"s\\n\\n\\nmore\",\"messages\":[{\"role\":\"assistant\",\"content\":\"x\"},"
        "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"say it\"}]}]}");
}

static size_t find_kept(void *ctx, str id, struct wire_kept *out, size_t n_max)
{
    (void)ctx;
    if (n_max < 2 || id.n != 1)
        return 0;
    out[0] = (struct wire_kept){STR("thinking"), STR("{\"type\":\"thinking\",\"k\":1}")};
    out[1] = (struct wire_kept){STR("thinking"), STR("{\"type\":\"thinking\",\"k\":2}")};
    if (id.p[0] == 'b')
        out[0] = (struct wire_kept){STR("redacted_thinking"), STR("{\"k\":3}")};
    if (id.p[0] == 'u')
        out[0] = (struct wire_kept){STR("unsigned_thinking"), STR("{\"k\":4}")};
    return id.p[0] == 'a' ? 2 : id.p[0] == 'b' || id.p[0] == 'u' ? 1 : 0;
}

TEST(thinking_that_the_client_dropped_is_put_back)
{
    struct wire_vault vault = {.find = find_kept};
    struct wire_plan p = no_plan();

    p.vault = &vault;
    check_patch(
        &wire_anthropic,
        "{\"messages\":[{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"x\"},"
        "{\"type\":\"tool_use\",\"id\":\"a\"},{\"type\":\"tool_use\",\"id\":\"a\"},{\"type\":"
        "\"tool_use\",\"id\":\"b\"}]}]}",
        &p,
        "{\"messages\":[{\"role\":\"assistant\",\"content\":[{\"type\":\"thinking\",\"k\":1},"
        "{\"type\":\"thinking\",\"k\":2},{\"type\":\"text\",\"text\":\"x\"},{\"type\":\"tool_use\","
        "\"id\":\"a\"},{\"type\":\"tool_use\",\"id\":\"a\"},{\"k\":3},{\"type\":\"tool_use\","
        "\"id\":"
        "\"b\"}]}]}");
    /* Signatures that the client sends are kept. */
    check_patch(
        &wire_anthropic,
        "{\"messages\":[{\"role\":\"assistant\",\"content\":[{\"type\":\"thinking\",\"signature\":"
        "\"S\"},{\"type\":\"tool_use\",\"id\":\"a\"}]}]}",
        &p,
        "{\"messages\":[{\"role\":\"assistant\",\"content\":[{\"type\":\"thinking\",\"signature\":"
        "\"S\"},{\"type\":\"tool_use\",\"id\":\"a\"}]}]}");
}

TEST(unsigned_thinking_is_put_back_for_makers_that_sign_nothing)
{
    static const char dropped[] =
        "{\"model\":\"%s\",\"messages\":[{\"role\":\"assistant\",\"content\":"
        "[%s{\"type\":\"tool_use\",\"id\":\"u\"}]}]}";
    static const struct {
        const char *model, *thought;
    } cases[] = {{"kimi-k2-thinking", "{\"k\":4},"}, {"claude-sonnet-5", ""}};
    struct wire_vault vault = {.find = find_kept};
    struct wire_plan p = no_plan();

    p.vault = &vault;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char body[256], want[256];

        snprintf(body, sizeof body, dropped, cases[i].model, "");
        snprintf(want, sizeof want, dropped, cases[i].model, cases[i].thought);
        check_patch(&wire_anthropic, body, &p, want);
    }
}

TEST(signatures_that_anthropic_does_not_know_are_taken_out)
{
    static const char body[] =
        "{\"messages\":[{\"role\":\"assistant\",\"content\":[{\"type\":\"thinking\",\"signature\":"
        "\"rationale.x\"},{\"type\":\"thinking\"},{\"type\":\"thinking\",\"signature\":\"S\"},"
        "{\"type\":\"text\"}]},{\"role\":\"assistant\",\"content\":[{\"type\":\"thinking\","
        "\"thinking\":"
        "\"\",\"signature\":\"rationale.y\"}]}]}";
    struct wire_plan p = no_plan();

    p.model = STR("claude-sonnet-5");
    check_patch(&wire_anthropic,
                body,
                &p,
                "{\"messages\":[{\"role\":\"assistant\",\"content\":[{\"type\":\"thinking\","
                "\"signature\":\"S\"},{\"type\":\"text\"}]}],\"model\":\"claude-sonnet-5\"}");
    p.model = STR(""); /* other models have no signatures */
    check_patch(
        &wire_anthropic,
        body,
        &p,
        "{\"messages\":[{\"role\":\"assistant\",\"content\":[{\"type\":\"thinking\"},{\"type\":"
        "\"thinking\",\"signature\":\"S\"},{\"type\":\"text\"}]}]}");
    p.foreign_kept = true;
    check_patch(&wire_anthropic,
                body,
                &p,
                "{\"messages\":[{\"role\":\"assistant\",\"content\":[{\"type\":\"text\"}]}]}");
}

TEST(thinking_takes_no_temperature_and_gives_way_to_a_forced_call)
{
    struct wire_plan p = no_plan();

    p.model = STR("claude-sonnet-4-5");
    p.set_level = true;
    p.level = CHAT_LEVEL_MINIMAL;
    p.temperature = STR("0.2");
    check_patch(
        &wire_anthropic,
        "{\"model\":\"m\",\"max_tokens\":9000,\"temperature\":0.5,\"top_p\":0.9,\"top_k\":4}",
        &p,
        "{\"model\":\"claude-sonnet-4-5\",\"max_tokens\":9000,\"thinking\":{\"type\":\"enabled\","
        "\"budget_tokens\":1024}}");
    check_patch(
        &wire_anthropic,
        "{\"model\":\"m\",\"max_tokens\":9000,\"tool_choice\":{\"type\":\"any\"}}",
        &p,
        "{\"model\":\"claude-sonnet-4-5\",\"max_tokens\":9000,\"tool_choice\":{\"type\":\"any\"},"
        "\"thinking\":{\"type\":\"disabled\"},\"temperature\":0.2}");
}

TEST(reasoning_parameters_can_be_taken_out)
{
    struct wire_plan p = no_plan();

    p.drop_reasoning = true;
    check_patch(
        &wire_anthropic,
        "{\"thinking\":{\"type\":\"adaptive\"},\"output_config\":{\"effort\":\"low\"},\"x\":1}",
        &p,
        "{\"x\":1}");
}

TEST(a_system_prompt_with_a_nul_stays_whole)
{
    struct wire_plan plan = no_plan();
    struct buf out;

    buf_init(&out, HELP_SIZE_MAX);
    plan.system_extra = STR("more");
    patch_to(&wire_anthropic, "{\"system\":\"a\\u0000b\",\"messages\":[]}", &plan, &out);
    CHECK_HAS(buf_str(&out), "a\\u0000b\\n\\nmore");
    buf_release(&out);
}

TEST_MAIN(T(a_system_prompt_with_a_nul_stays_whole),
          T(a_body_that_is_wrong_is_refused_with_its_member),
          T(a_value_that_is_not_known_is_left_to_its_own_providers),

          T(a_request_without_max_tokens_asks_anthropic_for_what_its_model_allows),
          T(counting_needs_no_max_tokens), T(a_body_too_large_for_its_arena_is_refused),
          T(tool_results_stand_apart_and_come_together_again),
          T(a_plan_without_wishes_changes_nothing),
          T(hole_5_thinking_is_told_as_the_model_knows_it),
          T(wishes_for_the_rest_of_the_body_are_edits),
          T(thinking_that_the_client_dropped_is_put_back),
          T(unsigned_thinking_is_put_back_for_makers_that_sign_nothing),
          T(signatures_that_anthropic_does_not_know_are_taken_out),
          T(thinking_takes_no_temperature_and_gives_way_to_a_forced_call),
          T(reasoning_parameters_can_be_taken_out))
