/* Mistral's chat completions, whose content comes in chunks, in both directions; and Cohere's
 * replies.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire_openai_help.h"

#define THINK "{\"type\":\"thinking\",\"thinking\":[{\"type\":\"text\",\"text\":\"h\"}]"

TEST(chunks_become_reasoning_and_text)
{
    static const char body[] =
        "{\"id\":\"i\",\"model\":\"m\",\"choices\":[{\"index\":0,\"message\":{\"role\":"
        "\"assistant\","
        "\"content\":[" THINK
        ",\"signature\":\"sig\"},{\"type\":\"text\",\"text\":\"a\"},{\"type\":"
        "\"reference\",\"reference_ids\":[1]},{\"type\":\"text\",\"text\":\"b\"}],\"tool_calls\":[{"
        "\"id\":\"abcdefghi\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]},"
        "\"finish_reason\":\"tool_calls\"}],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":2}"
        "}";
    struct said s;

    said_init(&s, &wire_mistral);
    said_whole(&s, str_c(body));
    CHECK_STR(buf_str(&s.lines),
              "start 0.0 i m: \nreasoning 0.0  : h\nsignature 0.0  : sig\ntext 0.1  : a\n"
              "opaque 0.2  content: {\"type\":\"reference\",\"reference_ids\":[1]}\ntext 0.3  : b\n"
              "call 0.4 abcdefghi f: \narguments 0.4  : {}\nusage 0.0  : \n"
              "keep 0.4 abcdefghi thinking: [" THINK ",\"signature\":\"sig\"}]\n"
              "stop 0.4  tool_calls: \nend 0.0  : \n");
    said_release(&s);
}

static void part(struct chat_part *p, enum chat_part_kind kind, str text)
{
    *p = (struct chat_part){.kind = kind,
                            .text = text,
                            .signature = STR(""),
                            .id = STR(""),
                            .name = STR(""),
                            .json = STR(""),
                            .mime = STR(""),
                            .url = STR(""),
                            .data = STR("")};
}

TEST(a_request_has_chunks_and_ids_of_nine)
{
    struct chat_part said[3], result, inner;
    struct chat_message messages[2] = {{CHAT_ASSISTANT, STR(""), said, 3},
                                       {CHAT_TOOL, STR(""), &result, 1}};
    struct chat_tool tool = {
        .name = STR("f"), .description = STR(""), .schema = STR("{}"), .opaque = STR("")};
    struct chat_request r = {.model = STR("m"),
                             .messages = messages,
                             .message_count = 2,
                             .tools = &tool,
                             .tool_count = 1,
                             .choice = CHAT_CHOICE_REQUIRED,
                             .seed = STR("5"),
                             .max_tokens = STR("9"),
                             .level = CHAT_LEVEL_LOW,
                             .user = STR("u")};
    struct buf b;
    size_t first, second;

    part(&said[0], CHAT_PART_REASONING, STR("h"));
    part(&said[1], CHAT_PART_TEXT, STR("t"));
    part(&said[2], CHAT_PART_TOOL_CALL, STR(""));
    said[2].id = STR("call_far_too_long");
    said[2].name = STR("f");
    part(&inner, CHAT_PART_TEXT, STR("ok"));
    part(&result, CHAT_PART_TOOL_RESULT, STR(""));
    result.id = STR("call_far_too_long");
    result.parts = &inner;
    result.part_count = 1;
    buf_init(&b, 1 << 16);
    wire_mistral.write(&r, &b);
    first = str_find(buf_str(&b), STR("\"id\":\"")) + 6;
    second = str_find(buf_str(&b), STR("\"tool_call_id\":\"")) + 16;
    CHECK(b.p[first + 9] == '"' && b.p[second + 9] == '"');
    CHECK(memcmp(b.p + first, b.p + second, 9) == 0);
    CHECK(str_find(buf_str(&b),
                   STR("\"content\":[" THINK "},{\"type\":\"text\",\"text\":\"t\"}]")) != STR_NONE);
    CHECK(str_ends(buf_str(&b),
                   STR("\"tool_choice\":\"any\",\"max_tokens\":9,\"random_seed\":5,"
                       "\"reasoning_effort\":\"high\"}")));
    buf_release(&b);
}

TEST(a_stream_of_cohere_is_read)
{
    static const char stream[] =
        "event: message-start\ndata: "
        "{\"id\":\"i\",\"type\":\"message-start\",\"delta\":{\"message\":"
        "{\"role\":\"assistant\",\"content\":[],\"tool_plan\":\"\"}}}\n\n"
        "data: "
        "{\"type\":\"content-start\",\"index\":0,\"delta\":{\"message\":{\"content\":{\"type\":"
        "\"thinking\",\"thinking\":\"\"}}}}\n\n"
        "data: {\"type\":\"content-delta\",\"index\":0,\"delta\":{\"message\":{\"content\":{"
        "\"thinking\":\"h\"}}}}\n\n"
        "data: {\"type\":\"content-end\",\"index\":0}\n\n"
        "data: "
        "{\"type\":\"content-delta\",\"index\":1,\"delta\":{\"message\":{\"content\":{\"text\":"
        "\"t\"}}}}\n\n"
        "data: {\"type\":\"citation-start\",\"index\":0,\"delta\":{\"message\":{\"citations\":{"
        "\"start\":1}}}}\n\n"
        "data: {\"type\":\"tool-plan-delta\",\"delta\":{\"message\":{\"tool_plan\":\"p\"}}}\n\n"
        "data: {\"type\":\"tool-call-start\",\"index\":0,\"delta\":{\"message\":{\"tool_calls\":{"
        "\"id\":\"c\",\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"\"}}}}}"
        "\n\n"
        "data: {\"type\":\"tool-call-delta\",\"index\":0,\"delta\":{\"message\":{\"tool_calls\":{"
        "\"function\":{\"arguments\":\"{}\"}}}}}\n\n"
        "data: {\"type\":\"tool-call-end\",\"index\":0}\n\n"
        "data: {\"type\":\"message-end\",\"delta\":{\"finish_reason\":\"TOOL_CALL\",\"usage\":{"
        "\"billed_units\":{\"input_tokens\":1},\"tokens\":{\"input_tokens\":7,\"output_tokens\":8},"
        "\"cached_tokens\":2}}}\n\ndata: [DONE]\n\n";

    for (size_t size = 1; size < 3000; size = size * 2 + 1) {
        struct said s;

        said_init(&s, &wire_cohere);
        said_stream(&s, str_c(stream), size);
        CHECK_STR(buf_str(&s.lines),
                  "start 0.0 i : \nreasoning 0.0  : h\ntext 0.1  : t\n"
                  "extra 0.1  message.citations: {\"start\":1}\nreasoning 0.2  : p\n"
                  "call 0.3 c f: \narguments 0.3  : {}\nusage 0.0  : \nstop 0.3  TOOL_CALL: \n"
                  "end 0.0  : \n");
        CHECK_INT(s.usage.input, 7);
        CHECK_INT(s.usage.output, 8);
        CHECK_INT(s.usage.cache_read, 2);
        said_release(&s);
    }
}

TEST(an_error_of_cohere_is_an_error)
{
    static const struct {
        const char *stream;
        bool whole;
    } cases[] = {
        {"data: {\"type\":\"message-end\",\"delta\":{\"finish_reason\":\"ERROR\"}}\n\n", false},
        {"data: {\"message\":\"too many\"}\n\n", false},
        {"data: {\"type\":\"message-start\",\"id\":\"x\"}\n\n", false},
        {"{\"message\":\"too many\"}", true},
        {"{}", true},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct said s;

        said_init(&s, &wire_cohere);
        if (cases[i].whole)
            said_whole(&s, str_c(cases[i].stream));
        else
            said_stream(&s, str_c(cases[i].stream), 3);
        CHECK_F(s.errors == 1 && s.ends == 0, "%s", cases[i].stream);
        said_release(&s);
    }
}

#define FAILED(said, more)                                                                         \
    "{\"choices\":[{\"index\":0," said ":{\"content\":\"a\"},\"finish_reason\":\"error\"" more "}]}"

TEST(a_choice_that_failed_is_an_error)
{
    static const struct {
        const char *more, *error;
    } cases[] = {
        {"", "502 the provider failed in the middle of its reply (finish_reason: error)\n"},
        {",\"error\":{\"code\":429,\"message\":\"slow\"}", "429 slow\n"},
        {",\"error\":\"lost\"", "502 lost\n"},
    };

    for (size_t i = 0; i < COUNT_OF(cases) * 4; i++) {
        bool whole = i & 1, relays = i & 2;
        struct buf b;
        struct said s;

        buf_init(&b, 1 << 12);
        buf_printf(&b,
                   whole ? FAILED("\"message\"", "%s") : "data: " FAILED("\"delta\"", "%s") "\n\n",
                   cases[i / 4].more);
        said_init(&s, &wire_mistral);
        s.d.relays = relays;
        if (whole)
            said_whole(&s, buf_str(&b));
        else
            said_stream(&s, buf_str(&b), 7);
        CHECK_STR(said_text(&s, CHAT_TEXT), "a");
        if (relays)
            CHECK(s.errors == 0 && s.ends == 1 && s.stop == CHAT_STOP_FAILED);
        else
            CHECK_F(s.errors == 1 && s.ends + s.stops == 0 &&
                        str_ends(buf_str(&s.lines), str_c(cases[i / 4].error)),
                    STR_FMT,
                    STR_ARG(buf_str(&s.lines)));
        said_release(&s);
        buf_release(&b);
    }
}

TEST_MAIN(T(chunks_become_reasoning_and_text), T(a_choice_that_failed_is_an_error),
          T(a_request_has_chunks_and_ids_of_nine),
          T(a_stream_of_cohere_is_read), T(an_error_of_cohere_is_an_error))
