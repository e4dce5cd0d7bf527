/* Bedrock's Converse replies, with our own cases and, if installed, recorded ones.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire_help.h"

static const char *const keys[] = {"text", "signature", "input", NULL};

static void check_events(const char *bytes, enum frames_kind kind, const char *want)
{
    for (size_t piece = 0; piece < 10; piece++) {
        struct notes n;

        notes_init(&n);
        decode_to(&wire_converse, str_c(bytes), kind, piece, &n);
        CHECK_STR(buf_str(&n.all), want);
        notes_release(&n);
    }
}

TEST(a_whole_reply_is_decoded)
{
    check_events(
        "{\"output\":{\"message\":{\"content\":[{\"reasoningContent\":{\"reasoningText\":{"
        "\"text\":\"hm\",\"signature\":\"S\"}}},{\"reasoningContent\":{\"redactedContent\":"
        "\"XX\"}},{\"text\":\"a\"},{\"toolUse\":{\"toolUseId\":\"t\",\"name\":\"f\",\"input\":{"
        "\"x\":1}}},{\"image\":{}}]}},\"stopReason\":\"tool_use\",\"usage\":{\"inputTokens\":"
        "3,\"outputTokens\":4,\"cacheReadInputTokens\":2}}",
        FRAMES_WHOLE,
        "\nstart\nreasoning 0.0: hm\nsignature 0.0: S\nredacted 0.1: XX\ntext 0.2: a\ncall "
        "0.3 t f\narguments 0.3: {\"x\":1}\nopaque 0.4: {\"image\":{}}\nusage 5 4 -1 2 -1"
        "\nstop tool tool_use\nend");
}

TEST(a_stream_says_the_stop_behind_its_usage)
{
    check_events(
        "{\"messageStart\":{\"role\":\"assistant\"}}\n"
        "{\"contentBlockDelta\":{\"contentBlockIndex\":0,\"delta\":{\"reasoningContent\":{\"text\":"
        "\"h\"}}}}\n"
        "{\"contentBlockDelta\":{\"contentBlockIndex\":0,\"delta\":{\"reasoningContent\":{"
        "\"signature\":\"S\"}}}}\n"
        "{\"contentBlockStop\":{\"contentBlockIndex\":0}}\n"
        "{\"contentBlockStart\":{\"contentBlockIndex\":1,\"start\":{\"toolUse\":{\"toolUseId\":"
        "\"t\","
        "\"name\":\"f\"}}}}\n"
        "{\"contentBlockStop\":{\"contentBlockIndex\":1}}\n"
        "{\"messageStop\":{\"stopReason\":\"end_turn\"}}\n"
        "{\"metadata\":{\"usage\":{\"inputTokens\":1,\"outputTokens\":2},\"metrics\":{\"l\":1}}}\n",
        FRAMES_LINES,
        "\nstart\nreasoning 0.0: h\nsignature 0.0: S\ncall 0.1 t f\narguments 0.1: {}\nusage 1 2 "
        "-1 -1 -1"
        "\nextra metrics: {\"l\":1}\nstop end end_turn\nend");
}

/* Only the host can execute it. */
TEST(a_tool_of_the_hosts_own_is_no_call)
{
    check_events("{\"output\":{\"message\":{\"content\":[{\"toolUse\":{\"toolUseId\":\"t\","
                 "\"name\":\"look\",\"input\":{},\"type\":\"server_tool_use\"}},{\"text\":"
                 "\"a\"}]}},\"stopReason\":\"end_turn\",\"serviceTier\":{\"type\":\"flex\"}}",
                 FRAMES_WHOLE,
                 "\nstart\nopaque 0.0: {\"toolUse\":{\"toolUseId\":\"t\",\"name\":\"look\","
                 "\"input\":{},\"type\":\"server_tool_use\"}}\ntext 0.1: a\nextra serviceTier: "
                 "{\"type\":\"flex\"}\nstop end end_turn\nend");
    check_events(
        "{\"messageStart\":{\"role\":\"assistant\"}}\n"
        "{\"contentBlockStart\":{\"contentBlockIndex\":0,\"start\":{\"toolUse\":{\"toolUseId\":"
        "\"t\",\"name\":\"look\",\"type\":\"server_tool_use\"}}}}\n"
        "{\"contentBlockDelta\":{\"contentBlockIndex\":0,\"delta\":{\"toolUse\":{\"input\":"
        "\"{}\"}}}}\n"
        "{\"contentBlockStop\":{\"contentBlockIndex\":0}}\n"
        "{\"contentBlockDelta\":{\"contentBlockIndex\":1,\"delta\":{\"text\":\"a\"}}}\n"
        "{\"messageStop\":{\"stopReason\":\"end_turn\"}}\n",
        FRAMES_LINES,
        "\nstart\nopaque 0.0: {\"toolUse\":{\"toolUseId\":\"t\",\"name\":\"look\",\"type\":"
        "\"server_tool_use\"}}\nextra delta: {\"toolUse\":{\"input\":\"{}\"}}\ntext 0.1: a"
        "\nstop end end_turn\nend");
}

/* The block of the citations contains the answer's text. */
TEST(a_text_with_citations_is_text)
{
    check_events(
        "{\"output\":{\"message\":{\"content\":[{\"citationsContent\":{\"content\":[{\"text\":"
        "\"It \"},{\"text\":\"is.\"}],\"citations\":[{\"title\":\"T\"}]}},{\"text\":\"b\"}]}},"
        "\"stopReason\":\"end_turn\"}",
        FRAMES_WHOLE,
        "\nstart\ntext 0.0: It is.\nextra citations: [{\"title\":\"T\"}]\ntext 0.1: b"
        "\nstop end end_turn\nend");
}

/* Clients match tool results by these ids and parse the arguments, so neither may be missing. */
TEST(every_call_has_an_id_and_arguments)
{
    check_events("{\"output\":{\"message\":{\"content\":[{\"toolUse\":{\"name\":\"f\"}}]}},"
                 "\"stopReason\":\"tool_use\"}",
                 FRAMES_WHOLE,
                 "\nstart\ncall 0.0 call_0 f\narguments 0.0: {}\nstop tool tool_use\nend");
    check_events(
        "{\"contentBlockStart\":{\"contentBlockIndex\":0,\"start\":{\"toolUse\":{\"toolUseId\":"
        "\"t\",\"name\":\"f\"}}}}\n"
        "{\"contentBlockDelta\":{\"contentBlockIndex\":0,\"delta\":{\"text\":\"a\"}}}\n"
        "{\"messageStop\":{\"stopReason\":\"tool_use\"}}\n",
        FRAMES_LINES,
        "\nstart\ncall 0.0 t f\narguments 0.0: {}\ntext 0.1: a\nstop tool tool_use\nend");
}

TEST(a_reply_that_cannot_be_read_is_an_error)
{
    check_events("{\"output\":{\"message\":{\"content\":[{\"text\":\"a\"}]}},\"stopReason\":"
                 "\"malformed_tool_use\"}",
                 FRAMES_WHOLE,
                 "\nstart\ntext 0.0: a\nerror 502 the provider failed in the middle of its reply");
}

TEST(an_exception_is_an_error)
{
    check_events(
        "{\"throttlingException\":{\"message\":\"slow\"}}\n", FRAMES_LINES, "\nerror 429 slow");
    check_events("{\"message\":\"x\"}", FRAMES_WHOLE, "\nerror 502 x");
    check_events("{}", FRAMES_WHOLE, "\nerror 502 the provider's reply has no content");
}

static size_t on_chunks(const char *id, str body)
{
    struct notes n;

    notes_init(&n);
    decode_to(&wire_converse, body, FRAMES_LINES, 0, &n);
    CHECK_F(n.errors == 0, "%s: " STR_FMT, id, STR_ARG(buf_str(&n.all)));
    notes_release(&n);
    check_decoding(&wire_converse, id, body, FRAMES_LINES, keys);
    return 1;
}

static size_t on_whole(const char *id, str body)
{
    if (str_find(body, STR("\"output\"")) == STR_NONE)
        return 0;
    check_decoding(&wire_converse, id, body, FRAMES_WHOLE, keys);
    return 1;
}

static size_t on_exchange(void *ctx, const struct exchange *x)
{
    char id[256];

    (void)ctx;
    if (!str_ends(x->uri, STR("/converse")) || x->status != 200)
        return 0;
    snprintf(id, sizeof id, STR_FMT, STR_ARG(x->id));
    check_decoding(&wire_converse, id, x->reply, FRAMES_WHOLE, keys);
    return 1;
}

TEST(recorded_replies_lose_nothing)
{
    static const char *const files[] = {"cache", "output", "thinking", "tool-choice", "tools"};
    size_t n = each_file("amazon-bedrock", ".chunks.txt", on_chunks) +
               each_file("amazon-bedrock", ".json", on_whole);

    for (size_t i = 0; i < COUNT_OF(files); i++)
        n += each_exchange(files[i], on_exchange, NULL);
    print_message("%zu replies\n", n);
}

TEST_MAIN(T(a_whole_reply_is_decoded), T(a_stream_says_the_stop_behind_its_usage),
          T(a_tool_of_the_hosts_own_is_no_call), T(a_text_with_citations_is_text),
          T(every_call_has_an_id_and_arguments), T(a_reply_that_cannot_be_read_is_an_error),
          T(an_exception_is_an_error), T(recorded_replies_lose_nothing))
