/* Replies of Cohere's v2 chat, divided anywhere.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire_help.h"

#define EVENT(type, delta)                                                                         \
    "event: " type "\ndata: {\"type\":\"" type "\",\"delta\":{" delta "}}\n\n"
#define BEGIN "event: message-start\ndata: {\"type\":\"message-start\",\"id\":\"R\"}\n\n"

static void check_events(const char *bytes, enum frames_kind kind, const char *want)
{
    for (size_t piece = 0; piece < 10; piece++) {
        struct notes n;

        notes_init(&n);
        decode_to(&wire_cohere, str_c(bytes), kind, piece, &n);
        CHECK_STR(buf_str(&n.all), want);
        notes_release(&n);
    }
}

TEST(events_of_a_stream_become_blocks)
{
    check_events(
        BEGIN EVENT("content-start", "\"message\":{\"content\":{\"type\":\"thinking\"}}")
            EVENT("content-delta", "\"message\":{\"content\":{\"thinking\":\"h\"}}")
                EVENT("content-delta", "\"message\":{\"content\":{\"thinking\":\"m\"}}")
                    EVENT("content-end", "")
                        EVENT("content-start", "\"message\":{\"content\":{\"type\":\"text\"}}")
                            EVENT("content-delta", "\"message\":{\"content\":{\"text\":\"yes\"}}")
                                EVENT("message-end",
                                      "\"finish_reason\":\"MAX_TOKENS\",\"usage\":{\"tokens\":{"
                                      "\"input_tokens\":7,\"output_tokens\":3}}"),
        FRAMES_SSE,
        "\nstart R\nreasoning 0.0: hm\ntext 0.1: yes\nusage 7 3 -1 -1 -1\nstop length MAX_TOKENS"
        "\nend");
}

TEST(calls_follow_their_plan)
{
    check_events(
        BEGIN EVENT("tool-plan-delta", "\"message\":{\"tool_plan\":\"I ask\"}")
            EVENT("tool-call-start",
                  "\"message\":{\"tool_calls\":{\"id\":\"a\",\"type\":\"function\",\"function\":{"
                  "\"name\":\"f\",\"arguments\":\"\"}}}")
                EVENT("tool-call-delta",
                      "\"message\":{\"tool_calls\":{\"function\":{\"arguments\":\"{\\\"x\\\"\"}}}")
                    EVENT("tool-call-delta",
                          "\"message\":{\"tool_calls\":{\"function\":{\"arguments\":\":1}\"}}}")
                        EVENT("tool-call-end", "")
                            EVENT("tool-call-start",
                                  "\"message\":{\"tool_calls\":{\"id\":\"b\",\"type\":\"function\","
                                  "\"function\":{\"name\":\"g\",\"arguments\":\"{}\"}}}")
                                EVENT("message-end", "\"finish_reason\":\"TOOL_CALL\""),
        FRAMES_SSE,
        "\nstart R\nreasoning 0.0: I ask\ncall 0.1 a f\narguments 0.1: {\"x\":1}\ncall 0.2 b g"
        "\narguments 0.2: {}\nstop tool TOOL_CALL\nend");
}

TEST(an_error_at_the_end_says_what_failed)
{
    check_events(BEGIN EVENT("message-end",
                             "\"finish_reason\":\"ERROR\",\"error\":\"the GPU \\\"7\\\" is lost\""),
                 FRAMES_SSE,
                 "\nstart R\nerror 502 the GPU \"7\" is lost");
    check_events(
        BEGIN EVENT("message-end", "\"error\":\"lost\""), FRAMES_SSE, "\nstart R\nerror 502 lost");
    check_events(BEGIN EVENT("message-end", "\"finish_reason\":\"TIMEOUT\""),
                 FRAMES_SSE,
                 "\nstart R\nerror 502 the provider failed in the middle of its reply");
}

TEST(a_stream_that_ends_without_its_last_event_is_cut)
{
    check_events(BEGIN EVENT("content-delta", "\"message\":{\"content\":{\"text\":\"a\"}}"),
                 FRAMES_SSE,
                 "\nstart R\ntext 0.0: a\nerror 502 the provider's reply ended before it was "
                 "complete");
    check_events(BEGIN EVENT("content-delta",
                             "\"message\":{\"content\":{\"text\":\"a\"}}") "data: [DONE]\n\n",
                 FRAMES_SSE,
                 "\nstart R\ntext 0.0: a\nstop end\nend");
}

TEST(a_stream_of_its_end_alone_is_an_error)
{
    check_events("data: [DONE]\n\n", FRAMES_SSE, "\nerror 502 the provider's reply is empty");
}

TEST(a_whole_reply_gives_the_same_events)
{
    check_events("{\"id\":\"R\",\"finish_reason\":\"COMPLETE\",\"message\":{\"role\":\"assistant\","
                 "\"content\":[{\"type\":\"thinking\",\"thinking\":\"hm\"},{\"type\":\"text\","
                 "\"text\":\"yes\"}],\"citations\":[{\"start\":0}]},\"usage\":{\"tokens\":{"
                 "\"input_tokens\":7,\"output_tokens\":3},\"cached_tokens\":2}}",
                 FRAMES_WHOLE,
                 "\nstart R\nreasoning 0.0: hm\ntext 0.1: yes\nextra message.citations: "
                 "[{\"start\":0}]\nusage 7 3 -1 2 -1\nstop end COMPLETE\nend");
}

TEST_MAIN(T(events_of_a_stream_become_blocks), T(calls_follow_their_plan),
          T(an_error_at_the_end_says_what_failed),
          T(a_stream_that_ends_without_its_last_event_is_cut),
          T(a_stream_of_its_end_alone_is_an_error), T(a_whole_reply_gives_the_same_events))
