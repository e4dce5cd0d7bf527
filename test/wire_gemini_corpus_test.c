/* Recorded traffic of Gemini's, where it is at hand: read whole and in pieces, written again, and
 * passed on.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire_help.h"

static const char *const keys[] = {"text", "thoughtSignature", "stringValue", "code", NULL};

static bool is_gemini(str uri)
{
    return str_find(uri, STR("enerateContent")) != STR_NONE;
}

static size_t on_reply(const struct exchange *x)
{
    enum frames_kind kind =
        str_find(x->type, STR("event-stream")) != STR_NONE ? FRAMES_SSE : FRAMES_WHOLE;
    char id[256];

    if (!is_gemini(x->uri) || x->status != 200)
        return 0;
    snprintf(id, sizeof id, STR_FMT, STR_ARG(x->id));
    check_decoding(&wire_gemini, id, x->reply, kind, keys);
    check_passing(&wire_gemini, id, x->reply, kind);
    return 1;
}

static size_t on_request(const struct exchange *x)
{
    struct buf first, body, second;
    char id[256];

    if (!is_gemini(x->uri) || x->request.n == 0)
        return 0;
    snprintf(id, sizeof id, STR_FMT, STR_ARG(x->id));
    buf_init(&first, HELP_SIZE_MAX);
    buf_init(&body, HELP_SIZE_MAX);
    buf_init(&second, HELP_SIZE_MAX);
    read_to(&wire_gemini, x->request, &first, &body);
    CHECK_F(first.p[0] != '!', "%s: " STR_FMT, id, STR_ARG(buf_str(&first)));
    read_to(&wire_gemini, buf_str(&body), &second, NULL);
    check_same(id, "read again", buf_str(&second), buf_str(&first));
    buf_release(&first);
    buf_release(&body);
    buf_release(&second);
    return 1;
}

static const char *const files[] = {
    "gemini", "cache", "output", "thinking", "tool-choice", "stream", "openai-chat", "anthropic"};

TEST(recorded_replies_lose_nothing)
{
    size_t n = 0;

    for (size_t i = 0; i < COUNT_OF(files); i++)
        n += each_exchange(files[i], on_reply);
    print_message("%zu replies\n", n);
}

TEST(recorded_requests_are_read_and_written)
{
    size_t n = 0;

    for (size_t i = 0; i < COUNT_OF(files); i++)
        n += each_exchange(files[i], on_request);
    print_message("%zu requests\n", n);
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
