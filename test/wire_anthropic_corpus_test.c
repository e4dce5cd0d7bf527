/* Recorded traffic of Anthropic, if installed: read whole and in pieces, written again, and passed
 * on.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire_help.h"

static const char *const keys[] = {"text", "thinking", "signature", "partial_json", NULL};

static bool is_messages(str uri)
{
    str path = str_slice(uri, 0, str_find(uri, STR("?")));

    return str_ends(path, STR("/v1/messages"));
}

static const char *const files[] = {
    "anthropic", "cache", "output", "thinking", "tool-choice", "tools", "stream", "gemini", NULL};

static const struct recorded recorded = {&wire_anthropic, is_messages, keys, files};

TEST(recorded_replies_lose_nothing)
{
    check_recorded_replies(&recorded);
}

TEST(recorded_requests_are_read_and_written)
{
    check_recorded_requests(&recorded);
}

static size_t on_chunks(const char *id, str body)
{
    size_t end = str_find(body, STR("{\"type\":\"message_stop\"}"));
    struct buf sse;

    buf_init(&sse, HELP_SIZE_MAX);
    /* Some files contain the replies of two turns. */
    lines_to_sse(str_slice(body, 0, end == STR_NONE ? body.n : end + 23), true, &sse);
    check_decoding(&wire_anthropic, id, buf_str(&sse), FRAMES_SSE, keys);
    /* One recording ends inside a call, which a whole reply cannot express. */
    if (!str_starts(str_c(id), STR("spliced")))
        check_passing(&wire_anthropic, id, buf_str(&sse), FRAMES_SSE);
    buf_release(&sse);
    return 1;
}

static size_t on_whole(const char *id, str body)
{
    if (str_find(body, STR("\"message\"")) == STR_NONE)
        return 0;
    check_decoding(&wire_anthropic, id, body, FRAMES_WHOLE, keys);
    check_passing(&wire_anthropic, id, body, FRAMES_WHOLE);
    return 1;
}

TEST(recorded_chunks_lose_nothing)
{
    print_message("%zu streams\n", each_file("anthropic", ".chunks.txt", on_chunks));
    print_message("%zu replies\n", each_file("anthropic", ".json", on_whole));
}

TEST_MAIN(T(recorded_replies_lose_nothing), T(recorded_requests_are_read_and_written),
          T(recorded_chunks_lose_nothing))
