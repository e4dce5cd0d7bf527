/* Recorded traffic of Gemini, if installed: read whole and in pieces, written again, and passed on.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire_help.h"

static const char *const keys[] = {"text", "thoughtSignature", "stringValue", "code", NULL};

static bool is_gemini(str uri)
{
    return str_find(uri, STR("enerateContent")) != STR_NONE;
}

static const char *const files[] = {"gemini",
                                    "cache",
                                    "output",
                                    "thinking",
                                    "tool-choice",
                                    "stream",
                                    "openai-chat",
                                    "anthropic",
                                    NULL};

static const struct recorded recorded = {&wire_gemini, is_gemini, keys, files};

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
    struct buf sse;

    if (str_find(body, STR("\"candidates\"")) == STR_NONE)
        return 0;
    buf_init(&sse, HELP_SIZE_MAX);
    lines_to_sse(body, false, &sse);
    check_decoding(&wire_gemini, id, buf_str(&sse), FRAMES_SSE, keys);
    check_passing(&wire_gemini, id, buf_str(&sse), FRAMES_SSE);
    buf_release(&sse);
    return 1;
}

static size_t on_whole(const char *id, str body)
{
    if (str_find(body, STR("\"candidates\"")) == STR_NONE)
        return 0;
    check_decoding(&wire_gemini, id, body, FRAMES_WHOLE, keys);
    check_passing(&wire_gemini, id, body, FRAMES_WHOLE);
    return 1;
}

TEST(recorded_chunks_lose_nothing)
{
    print_message("%zu streams\n", each_file("google", ".chunks.txt", on_chunks));
    print_message("%zu replies\n", each_file("google", ".json", on_whole));
}

TEST_MAIN(T(recorded_replies_lose_nothing), T(recorded_requests_are_read_and_written),
          T(recorded_chunks_lose_nothing))
