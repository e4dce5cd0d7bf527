/* Calls of tools that take a text: clients of other dialects get them as functions with one text,
 * and clients that have such tools get the text back, whole and streamed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/internal.h"
#include "wire_run.h"

#define DATA(json) "data: " json "\n\n"
#define CUSTOM_ITEM(input)                                                                         \
    "{\"id\":\"ctc_1\",\"type\":\"custom_tool_call\",\"status\":\"completed\",\"call_id\":"        \
    "\"call_1\",\"name\":\"patch\",\"input\":\"" input "\"}"
#define RESPONSE(input)                                                                            \
    "{\"id\":\"resp_1\",\"model\":\"m\",\"status\":\"completed\",\"output\":[" CUSTOM_ITEM(        \
        input) "]}"
#define INPUT "a \\\"b\\\"\\n\\u00e4\\ud83d\\ude00"
#define CHUNK(delta, finish)                                                                       \
    DATA("{\"id\":\"c\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":" delta                \
         ",\"finish_reason\":" finish "}]}")

static const char responses_stream[] =
    DATA("{\"type\":\"response.created\",\"response\":{\"id\":\"resp_1\",\"model\":\"m\"}}") DATA(
        "{\"type\":\"response.output_item.added\",\"output_index\":0,\"item\":{\"id\":\"ctc_1\","
        "\"type\":\"custom_tool_call\",\"call_id\":\"call_1\",\"name\":\"patch\",\"input\":\"\"}}")
        DATA("{\"type\":\"response.custom_tool_call_input.delta\",\"output_index\":0,\"delta\":"
             "\"a \\\"b\"}")
            DATA("{\"type\":\"response.custom_tool_call_input.delta\",\"output_index\":0,\"delta\":"
                 "\"\\\"\\n\\u00e4\"}") DATA("{\"type\":\"response.custom_tool_call_input.done\","
                                             "\"output_index\":0,\"input\":\"" INPUT "\"}")
                DATA("{\"type\":\"response.output_item.done\",\"output_index\":0,"
                     "\"item\":" CUSTOM_ITEM(INPUT) "}")
                    DATA("{\"type\":\"response.completed\",\"response\":" RESPONSE(INPUT) "}");
static const char chat_stream[] = CHUNK(
    "{\"role\":\"assistant\",\"tool_calls\":[{\"index\":0,\"id\":\"call_1\",\"type\":"
    "\"custom\",\"custom\":{\"name\":\"patch\",\"input\":\"\"}}]}",
    "null") CHUNK("{\"tool_calls\":[{\"index\":0,\"custom\":{\"input\":\"a \\\"b\"}}]}", "null")
    CHUNK("{\"tool_calls\":[{\"index\":0,\"custom\":{\"input\":\"\\\"\\n\\u00e4\"}}]}", "null")
        CHUNK("{\"tool_calls\":[{\"index\":0,\"custom\":{\"input\":\"\\ud83d\\ude00\"}}]}", "null")
            CHUNK("{}", "\"tool_calls\"") DATA("[DONE]");
#define CHAT_WHOLE(input)                                                                          \
    "{\"id\":\"c\",\"model\":\"m\",\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\"," \
    "\"content\":null,\"tool_calls\":[{\"id\":\"call_1\",\"type\":\"custom\",\"custom\":{"         \
    "\"name\":\"patch\",\"input\":\"" input "\"}}]},\"finish_reason\":\"tool_calls\"}]}"

static const struct {
    const struct wire *wire;
    bool stream;
    const char *bytes;
    bool empty; /* its input is */
} replies[] = {
    {&wire_responses, true, responses_stream, false},
    {&wire_responses, false, RESPONSE(INPUT), false},
    {&wire_responses, false, RESPONSE(""), true},
    {&wire_responses,
     true,
     DATA("{\"type\":\"response.completed\",\"response\":" RESPONSE("") "}"),
     true},
    {&wire_openai, true, chat_stream, false},
    {&wire_openai, false, CHAT_WHOLE(INPUT), false},
    {&wire_openai, false, CHAT_WHOLE(""), true},
    {&wire_openai,
     true,
     CHUNK("{\"tool_calls\":[{\"index\":0,\"id\":\"call_1\",\"type\":\"custom\",\"custom\":{"
           "\"name\":\"patch\",\"input\":\"\"}}]}",
           "\"tool_calls\"") DATA("[DONE]"),
     true},
};

static const char content[] =
    "call 0 \"call_1\" \"patch\"\n"
    "arguments 0 \"{\\\"input\\\":\\\"a \\\\\\\"b\\\\\\\"\\\\n\xC3\xA4\xF0\x9F\x98\x80\\\"}\"\n";
static const char content_empty[] = "call 0 \"call_1\" \"patch\"\n"
                                    "arguments 0 \"{\\\"input\\\":\\\"\\\"}\"\n";

TEST(a_call_with_a_text_is_a_call_of_a_function)
{
    static struct run r;

    for (size_t i = 0; i < COUNT_OF(replies); i++)
        for (size_t piece = 0; piece < (replies[i].stream ? strlen(replies[i].bytes) : 1);
             piece += piece < 200 ? 1 : 61) {
            run_init(&r, replies[i].wire, replies[i].stream);
            run_feed(&r, str_c(replies[i].bytes), piece);
            CHECK_STR(buf_str(&r.content), replies[i].empty ? content_empty : content);
            CHECK_STR(buf_str(&r.relayed), replies[i].bytes);
            CHECK(r.ended && r.error_status == 0);
            CHECK(str_find(buf_str(&r.events), STR("\nstop tool")) != STR_NONE);
            run_release(&r);
        }
}

/* What each client must find in its reply. */
static const struct {
    const struct wire *wire;
    bool custom; /* the client's request has the tool as a custom one */
    const char *streamed, *whole;
} clients[] = {
    {&wire_openai,
     true,
     "\"custom\":{\"input\":\"a \\\"b\\\"\\n\xC3\xA4\xF0\x9F\x98\x80\"}",
     "\"type\":\"custom\",\"custom\":{\"name\":\"patch\",\"input\":\"a "
     "\\\"b\\\"\\n\xC3\xA4\xF0\x9F\x98\x80\"}"},
    {&wire_responses,
     true,
     "\"name\":\"patch\",\"input\":\"a "
     "\\\"b\\\"\\n\xC3\xA4\xF0\x9F\x98\x80\"",
     "\"name\":\"patch\",\"input\":\"a "
     "\\\"b\\\"\\n\xC3\xA4\xF0\x9F\x98\x80\""},
    {&wire_openai,
     false,
     "\"function\":{\"name\":\"patch\",\"arguments\":\"",
     "\"function\":{\"name\":\"patch\",\"arguments\":\"{\\\"input\\\":\\\"a "
     "\\\\\\\"b\\\\\\\"\\\\n\xC3\xA4\xF0\x9F\x98\x80\\\"}\"}"},
    {&wire_anthropic,
     false,
     "\"type\":\"tool_use\",\"id\":\"call_1\",\"name\":\"patch\"",
     "\"input\":{\"input\":\"a \\\"b\\\"\\n\xC3\xA4\xF0\x9F\x98\x80\"}"},
    {&wire_gemini,
     false,
     "\"args\":{\"input\":\"a \\\"b\\\"\\n\xC3\xA4\xF0\x9F\x98\x80\"}",
     "\"args\":{\"input\":\"a \\\"b\\\"\\n\xC3\xA4\xF0\x9F\x98\x80\"}"},
    {&wire_ollama,
     false,
     "\"arguments\":{\"input\":\"a \\\"b\\\"\\n\xC3\xA4\xF0\x9F\x98\x80\"}",
     "\"arguments\":{\"input\":\"a \\\"b\\\"\\n\xC3\xA4\xF0\x9F\x98\x80\"}"},
};

TEST(every_client_gets_a_call_with_a_text)
{
    static struct run r;
    struct chat_tool tool = {.name = STR("patch"), .custom = true};

    for (size_t i = 0; i < COUNT_OF(replies); i++)
        for (size_t k = 0; k < 2 * COUNT_OF(clients) && !replies[i].empty; k++) {
            bool stream = k % 2;
            str want;

            run_init(&r, replies[i].wire, replies[i].stream);
            r.request.tools = clients[k / 2].custom ? &tool : NULL;
            r.request.tool_count = clients[k / 2].custom;
            wire_encoder_init(
                &r.encode, clients[k / 2].wire, &r.request, stream, &r.arena, &r.encoded);
            r.encode.id = STR("abc");
            run_feed(&r, str_c(replies[i].bytes), 0);
            want = str_c(stream ? clients[k / 2].streamed : clients[k / 2].whole);
            CHECK_F(str_find(buf_str(&r.encoded), want) != STR_NONE,
                    "reply %zu, client %zu: " STR_FMT,
                    i,
                    k,
                    STR_ARG(buf_str(&r.encoded)));
            run_release(&r);
        }
}

/* Reasoning in the chunks of a call, and in the last one, with which the call's arguments end. */
TEST(a_call_with_a_text_passes_beside_hidden_reasoning)
{
    static const char begin[] = "\"tool_calls\":[{\"index\":0,\"id\":\"call_1\",\"type\":"
                                "\"custom\",\"custom\":{\"name\":\"patch\",\"input\":\"a\"}}]}";
    static struct run r;
    struct buf in, out;

    buf_init(&in, 4096);
    buf_init(&out, 4096);
    for (int hidden = 0; hidden < 2; hidden++) {
        struct buf *b = hidden ? &out : &in;
        const char *thought = hidden ? "" : "\"reasoning_content\":\"hm\"";

        buf_printf(b,
                   DATA("{\"choices\":[{\"index\":0,\"delta\":{%s%s%s}]}"),
                   thought,
                   hidden ? "" : ",",
                   begin);
        buf_printf(b,
                   DATA("{\"choices\":[{\"index\":0,\"delta\":{%s},\"finish_reason\":"
                        "\"tool_calls\"}]}"),
                   thought);
        buf_add(b, STR(DATA("[DONE]")));
    }
    run_init(&r, &wire_openai, true);
    r.hide = true;
    run_feed(&r, buf_str(&in), 0);
    CHECK(str_eq(buf_str(&r.relayed), buf_str(&out)));
    run_release(&r);
    buf_release(&in);
    buf_release(&out);
}

TEST_MAIN(T(a_call_with_a_text_passes_beside_hidden_reasoning),
          T(a_call_with_a_text_is_a_call_of_a_function), T(every_client_gets_a_call_with_a_text))
