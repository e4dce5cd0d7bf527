/* Requests of the Responses API: reading, writing, and changes by a plan.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/responses/responses.h"

#include "wire_help.h"
#include "wire_responses_items.h"

#define SIZE_LIMIT ((size_t)1 << 20)

static bool read(const char *body, struct json *doc, struct arena *a, struct chat_request *q,
                 struct err *e)
{
    json_init(doc);
    arena_init(a, SIZE_LIMIT);
    return json_parse(doc, str_c(body), e) && responses_read(doc, a, q, e);
}

TEST(a_request_is_read_whole)
{
    static const char body[] =
        "{\"model\":\"gpt-5\",\"instructions\":\"sys\",\"input\":[{\"role\":\"user\",\"content\":"
        "[{\"type\":\"input_text\",\"text\":\"u\"},{\"type\":\"input_image\",\"image_url\":"
        "\"data:image/"
        "png;base64,AA\"},{\"type\":\"input_file\",\"file_id\":\"f\"}]}," REASONING_ITEM
        "," CALL_ITEM ",{\"type\":\"function_call_output\",\"call_id\":\"call_9\","
        "\"output\":\"out\"},{\"type\":\"item_reference\",\"id\":\"x\"}],\"tools\":[{\"type\":"
        "\"function\",\"name\":\"f\",\"parameters\":{},\"strict\":true},{\"type\":\"web_search\"}],"
        "\"tool_choice\":{\"type\":\"function\",\"name\":\"f\"},\"reasoning\":{\"effort\":"
        "\"xhigh\",\"summary\":\"auto\"},\"text\":{\"format\":{\"type\":\"json_schema\",\"name\":"
        "\"n\",\"schema\":{},\"strict\":true}},\"max_output_tokens\":50,\"stream\":true,"
        "\"previous_response_id\":\"resp_0\"}";
    struct chat_request q;
    struct arena a;
    struct json doc;
    struct err e;

    CHECK_F(read(body, &doc, &a, &q, &e), "%s", e.text);
    CHECK_INT(q.message_count, 5);
    CHECK_INT(q.messages[0].role, CHAT_SYSTEM);
    CHECK_INT(q.messages[1].part_count, 3);
    CHECK_STR(q.messages[1].parts[1].mime, "image/png");
    CHECK_STR(q.messages[1].parts[1].data, "AA");
    CHECK_INT(q.messages[1].parts[2].kind, CHAT_PART_OPAQUE);
    CHECK_INT(q.messages[2].role, CHAT_ASSISTANT);
    CHECK_STR(q.messages[2].parts[0].text, "First \xC3\xA4.\n\nSecond.");
    CHECK_STR(q.messages[2].parts[0].signature, REASONING_ITEM);
    CHECK_STR(q.messages[2].parts[1].json, "{\"a\":1}");
    CHECK_STR(q.messages[3].parts[0].name, "f");
    CHECK_INT(q.tool_count, 2);
    CHECK(q.tools[0].strict && q.tools[1].opaque.n > 0);
    CHECK_INT(q.choice, CHAT_CHOICE_TOOL);
    CHECK_INT(q.level, CHAT_LEVEL_XHIGH);
    CHECK(q.thoughts && q.stream && q.format_strict);
    CHECK_STR(q.max_tokens, "50");
    json_release(&doc);
    arena_release(&a);
}

/* A model may write arguments that are not JSON, and some hosts send them as an object. */
TEST(arguments_of_any_form_are_read)
{
    static const struct {
        const char *arguments, *want;
    } cases[] = {
        {"\"{\\\"a\\\":1}\"", "{\"a\":1}"},
        {"\"{\\\"a\\\":\"", "{\"arguments\":\"{\\\"a\\\":\"}"},
        {"\"[1]\"", "{\"arguments\":\"[1]\"}"},
        {"{\"a\":1}", "{\"a\":1}"},
        {"\"\"", "{}"},
        {"null", "{}"},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char body[256];
        struct chat_request q;
        struct arena a;
        struct json doc;
        struct err e;

        snprintf(
            body,
            sizeof body,
            "{\"model\":\"m\",\"input\":[{\"type\":\"function_call\",\"call_id\":\"c\",\"name\":"
            "\"f\",\"arguments\":%s}]}",
            cases[i].arguments);
        CHECK_F(read(body, &doc, &a, &q, &e), "%s", e.text);
        CHECK_STR(q.messages[0].parts[0].json, cases[i].want);
        json_release(&doc);
        arena_release(&a);
    }
}

TEST(a_bad_request_is_told_its_member)
{
    static const struct {
        const char *body, *says;
    } cases[] = {
        {"3", "the body must be a JSON object"},
        {"{}", "model: is missing"},
        {"{\"model\":\"\"}", "model: must be a string that is not empty"},
        {"{\"model\":\"m\"}", "input: is missing: give a string or a list of items"},
        {"{\"model\":\"m\",\"input\":3}", "input: must be a string or a list of items"},
        {"{\"model\":\"m\",\"input\":\"\",\"stream\":1}", "stream: must be true or false"},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++)
        check_refused(&wire_responses, cases[i].body, cases[i].says);
}

TEST(a_value_that_is_not_known_is_left_to_its_own_providers)
{
    static const struct {
        const char *body, *why;
    } cases[] = {
        {"{\"model\":\"m\",\"input\":[3]}", "input[0]: must be an object"},
        {"{\"model\":\"m\",\"input\":[{}]}", "input[0]: needs a type or a role"},
        {"{\"model\":\"m\",\"input\":[{\"role\":\"x\"}]}",
         "input[0].role: must be user, assistant, system or developer"},
        {"{\"model\":\"m\",\"input\":[{\"role\":\"user\"}]}",
         "input[0].content: must be a string or a list of parts"},
        {"{\"model\":\"m\",\"input\":[{\"role\":\"user\",\"content\":[{\"type\":\"input_text\"}]}]"
         "}",
         "input[0].content[0].text: must be a string"},
        {"{\"model\":\"m\",\"input\":[{\"type\":\"function_call\",\"name\":\"f\"}]}",
         "input[0].call_id: must be a string"},
        {"{\"model\":\"m\",\"input\":[{\"type\":\"function_call_output\",\"call_id\":\"c\"}]}",
         "input[0].output: must be a string or a list of parts"},
        {"{\"model\":\"m\",\"input\":\"\",\"tools\":[{\"type\":\"function\"}]}",
         "tools[0].name: must be a string that is not empty"},
        {"{\"model\":\"m\",\"input\":\"\",\"reasoning\":{\"effort\":\"huge\"}}",
         "reasoning.effort: must be none, minimal, low, medium, high, xhigh or max"},
        {"{\"model\":\"m\",\"input\":\"\",\"max_output_tokens\":1.5}",
         "max_output_tokens: must be an integer"},
        {"{\"model\":\"m\",\"input\":\"\",\"temperature\":\"x\"}", "temperature: must be a number"},
        {"{\"model\":\"m\",\"input\":\"\",\"instructions\":[\"a\"]}",
         "instructions: must be a string"},
        {"{\"model\":\"m\",\"input\":\"\",\"instructions\":{}}", "instructions: must be a string"},
        {"{\"model\":\"m\",\"input\":\"\",\"tool_choice\":\"x\"}",
         "tool_choice: must be none, auto, required or an object with a type"},
        {"{\"model\":\"m\",\"input\":\"\",\"text\":{\"format\":{\"type\":\"x\"}}}",
         "text.format.type: must be text, json_object or json_schema"},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++)
        check_deferred(&wire_responses, cases[i].body, cases[i].why);
}

static size_t find_kept(void *ctx, str id, struct wire_kept *out, size_t n_max)
{
    (void)ctx;
    if (!str_eq(id, STR("call_9")) || n_max == 0)
        return 0;
    out[0] = (struct wire_kept){.name = STR(RESPONSES_KEEP), .text = STR(REASONING_ITEM)};
    return 1;
}

TEST(a_plan_becomes_edits)
{
    struct wire_tail tail = {.role = CHAT_USER, .text = STR("t")};

    check_patch(&wire_responses,
                "{\"model\":\"m\", \"input\":\"u\"}",
                PLAN(.model = STR("M"), .set_stream = true, .stream = true),
                "{\"model\":\"M\", \"input\":\"u\",\"stream\":true}");
    check_patch(&wire_responses,
                "{\"input\":\"u\",\"instructions\":\"a\\n\"}",
                PLAN(.system_extra = STR("b"), .tails = &tail, .tail_count = 1),
                "{\"input\":[{\"role\":\"user\",\"content\":\"u\"},{\"role\":\"user\",\"content\":"
                "\"t\"}],\"instructions\":\"a\\n\\n\\nb\"}");
    check_patch(&wire_responses,
                "{\"input\":[],\"temperature\":1}",
                PLAN(.temperature = STR("0"),
                     .top_p = STR("0.5"),
                     .max_tokens = STR("9"),
                     .set_level = true,
                     .level = CHAT_LEVEL_ON),
                "{\"input\":[],\"temperature\":1,\"top_p\":0.5,\"max_output_tokens\":9,"
                "\"reasoning\":{\"effort\":\"medium\"}}");
    check_patch(&wire_responses,
                "{\"reasoning\":{\"summary\":\"auto\"},\"tools\":[]}",
                PLAN(.set_level = true, .level = CHAT_LEVEL_LOW, .drop_tools = true),
                "{\"reasoning\":{\"summary\":\"auto\",\"effort\":\"low\"},\"tools\":[],"
                "\"tool_choice\":\"none\"}");
    check_patch(&wire_responses,
                "{\"reasoning\":{},\"include\":[\"reasoning.encrypted_content\"],\"x\":1}",
                PLAN(.drop_reasoning = true),
                "{\"x\":1}");
    check_patch(&wire_responses,
                "{\"include\":[\"a\",\"reasoning.encrypted_content\"]}",
                PLAN(.drop_reasoning = true, .merge = STR("{\"a\":{\"b\":1}}")),
                "{\"include\":[\"a\"],\"a\":{\"b\":1}}");
}

/* The reasoning item of a client that stores nothing at the provider. */
#define NAMELESS_ITEM "{\"type\":\"reasoning\",\"encrypted_content\":\"SEALED\",\"summary\":[]}"

TEST(kept_reasoning_goes_back_before_its_call_once)
{
    struct wire_vault vault = {.find = find_kept};

    check_patch(&wire_responses,
                "{\"input\":[{\"role\":\"user\",\"content\":\"u\"}," CALL_ITEM "]}",
                PLAN(.vault = &vault),
                "{\"input\":[{\"role\":\"user\",\"content\":\"u\"}," REASONING_ITEM "," CALL_ITEM
                "]}");
    check_patch(&wire_responses,
                "{\"input\":[" REASONING_ITEM "," CALL_ITEM "]}",
                PLAN(.vault = &vault),
                "{\"input\":[" REASONING_ITEM "," CALL_ITEM "]}");
    check_patch(&wire_responses,
                "{\"input\":[" REASONING_ITEM "," MESSAGE_ITEM "," CALL_ITEM "]}",
                PLAN(.vault = &vault),
                "{\"input\":[" REASONING_ITEM "," MESSAGE_ITEM "," CALL_ITEM "]}");
    check_patch(&wire_responses,
                "{\"input\":[" NAMELESS_ITEM "," MESSAGE_ITEM "," CALL_ITEM "]}",
                PLAN(.vault = &vault),
                "{\"input\":[" NAMELESS_ITEM "," MESSAGE_ITEM "," CALL_ITEM "]}");
    check_patch(&wire_responses,
                "{\"input\":[" REASONING_ITEM "," CALL_ITEM "]}",
                PLAN(.vault = &vault, .foreign_kept = true),
                "{\"input\":[" CALL_ITEM "]}");
    check_patch(&wire_responses,
                "{\"input\":[{\"type\":\"reasoning\",\"id\":\"rs_rationale_x_0\",\"summary\":[]},"
                "3]}",
                PLAN(.vault = &vault),
                "{\"input\":[3]}");
}

TEST(a_request_is_written_as_a_client_would)
{
    struct chat_part said = {.kind = CHAT_PART_TEXT, .text = STR("s")};
    struct chat_part parts[] = {
        {.kind = CHAT_PART_REASONING,
         .dialect = CHAT_ANTHROPIC,
         .text = STR("r"),
         .signature = STR("sig")},
        {.kind = CHAT_PART_TEXT, .text = STR("t")},
        {.kind = CHAT_PART_TOOL_CALL, .id = STR("c"), .name = STR("f"), .json = STR("{}")},
    };
    struct chat_part result = {
        .kind = CHAT_PART_TOOL_RESULT, .id = STR("c"), .parts = &said, .part_count = 1};
    struct chat_message messages[] = {
        {.role = CHAT_SYSTEM, .parts = &said, .part_count = 1},
        {.role = CHAT_USER, .parts = &said, .part_count = 1},
        {.role = CHAT_ASSISTANT, .parts = parts, .part_count = 3},
        {.role = CHAT_TOOL, .parts = &result, .part_count = 1},
        {.role = CHAT_SYSTEM, .parts = &said, .part_count = 1},
    };
    struct chat_tool tool = {.name = STR("f"), .opaque = STR("")};
    struct chat_request q = {.model = STR("m"),
                             .messages = messages,
                             .message_count = 5,
                             .tools = &tool,
                             .tool_count = 1,
                             .choice = CHAT_CHOICE_REQUIRED,
                             .level = CHAT_LEVEL_HIGH,
                             .temperature = STR("0.70"),
                             .budget_tokens = -1};
    struct buf out;

    buf_init(&out, SIZE_LIMIT);
    responses_write(&q, &out);
    CHECK_STR(
        buf_str(&out),
        "{\"model\":\"m\",\"instructions\":\"s\",\"input\":[{\"role\":\"user\",\"content\":\"s\"},{"
        "\"type\":\"message\",\"role\":\"assistant\",\"content\":[{\"type\":\"output_text\","
        "\"text\":\"t\"}]},{\"type\":\"function_call\",\"call_id\":\"c\",\"name\":\"f\","
        "\"arguments\":\"{}\"},{\"type\":\"function_call_output\",\"call_id\":\"c\",\"output\":"
        "\"s\"},{\"role\":\"developer\",\"content\":\"s\"}],\"tools\":[{\"type\":\"function\","
        "\"name\":\"f\",\"parameters\":{\"type\":\"object\",\"properties\":{}},\"strict\":false}],"
        "\"tool_choice\":\"required\",\"reasoning\":{\"effort\":\"high\",\"summary\":\"auto\"},"
        "\"temperature\":0.70,"
        "\"stream\":false,\"store\":false,\"include\":[\"reasoning.encrypted_content\"]}");
    buf_release(&out);
}

/* Members that both dialects of a host have are kept between them. */
static const struct {
    const struct wire *in, *out;
    const char *body, *want;
} shared[] = {
    {&wire_openai,
     &wire_responses,
     "{\"model\":\"m\",\"metadata\":{\"k\":\"v\"},\"service_tier\":\"flex\",\"verbosity\":\"low\","
     "\"prompt_cache_key\":null,\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"image_"
     "url\","
     "\"image_url\":{\"url\":\"http://i\",\"detail\":\"high\"}}]}]}",
     "{\"model\":\"m\",\"input\":[{\"role\":\"user\",\"content\":[{\"type\":\"input_image\","
     "\"image_url\":\"http://i\",\"detail\":\"high\"}]}],\"text\":{\"verbosity\":\"low\"},"
     "\"metadata\":{\"k\":\"v\"},\"service_tier\":\"flex\",\"stream\":false,\"store\":false,"
     "\"include\":[\"reasoning.encrypted_content\"]}"},
    {&wire_openai,
     &wire_responses,
     "{\"model\":\"m\",\"max_tokens\":1,\"messages\":[{\"role\":\"user\",\"content\":\"u\"}]}",
     "{\"model\":\"m\",\"input\":[{\"role\":\"user\",\"content\":\"u\"}],\"max_output_tokens\":16,"
     "\"stream\":false,\"store\":false,"
     "\"include\":[\"reasoning.encrypted_content\"]}"},
    {&wire_responses,
     &wire_openai,
     "{\"model\":\"m\",\"metadata\":{\"k\":\"v\"},\"prompt_cache_key\":\"p\",\"text\":{"
     "\"verbosity\":"
     "\"low\"},\"input\":[{\"role\":\"user\",\"content\":[{\"type\":\"input_image\",\"image_url\":"
     "\"http://i\",\"detail\":\"high\"}]}]}",
     "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"image_url\","
     "\"image_url\":{\"url\":\"http://i\",\"detail\":\"high\"}}]}],\"metadata\":{\"k\":\"v\"},"
     "\"prompt_cache_key\":\"p\",\"verbosity\":\"low\"}"},
    {&wire_responses,
     &wire_mistral,
     "{\"model\":\"m\",\"metadata\":{\"k\":\"v\"},\"text\":{\"verbosity\":\"low\"},\"input\":"
     "\"u\"}",
     "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"u\"}]}"},
};

TEST(what_chat_and_responses_share_goes_from_one_to_the_other)
{
    for (size_t i = 0; i < COUNT_OF(shared); i++) {
        struct chat_request q;
        struct arena a;
        struct json doc;
        struct err e;
        struct buf out;

        json_init(&doc);
        arena_init(&a, SIZE_LIMIT);
        buf_init(&out, SIZE_LIMIT);
        CHECK_F(json_parse(&doc, str_c(shared[i].body), &e), "%s", e.text);
        CHECK_F(shared[i].in->read(&doc, &a, &q, &e), "%s", e.text);
        shared[i].out->write(&q, &out);
        CHECK_STR(buf_str(&out), shared[i].want);
        buf_release(&out);
        json_release(&doc);
        arena_release(&a);
    }
}

TEST_MAIN(T(what_chat_and_responses_share_goes_from_one_to_the_other),
          T(arguments_of_any_form_are_read), T(a_request_is_read_whole),
          T(a_bad_request_is_told_its_member),
          T(a_value_that_is_not_known_is_left_to_its_own_providers), T(a_plan_becomes_edits),
          T(kept_reasoning_goes_back_before_its_call_once),
          T(a_request_is_written_as_a_client_would))
