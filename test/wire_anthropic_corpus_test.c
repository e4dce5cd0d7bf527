/* Recorded traffic of Anthropic, where it is at hand: read whole and in pieces, written again, and
 * passed on.
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

static size_t on_reply(const struct exchange *x)
{
    enum frames_kind kind =
        str_find(x->type, STR("event-stream")) != STR_NONE ? FRAMES_SSE : FRAMES_WHOLE;
    char id[256];

    if (!is_messages(x->uri) || x->status != 200)
        return 0;
    snprintf(id, sizeof id, STR_FMT, STR_ARG(x->id));
    check_decoding(&wire_anthropic, id, x->reply, kind, keys);
    check_passing(&wire_anthropic, id, x->reply, kind);
    return 1;
}

static size_t on_request(const struct exchange *x)
{
    struct buf first, body, second;
    char id[256];

    if (!is_messages(x->uri) || x->request.n == 0)
        return 0;
    snprintf(id, sizeof id, STR_FMT, STR_ARG(x->id));
    buf_init(&first, HELP_SIZE_MAX);
    buf_init(&body, HELP_SIZE_MAX);
    buf_init(&second, HELP_SIZE_MAX);
    read_to(&wire_anthropic, x->request, &first, &body);
    CHECK_F(first.p[0] != '!', "%s: " STR_FMT, id, STR_ARG(buf_str(&first)));
    read_to(&wire_anthropic, buf_str(&body), &second, NULL);
    check_same(id, "read again", buf_str(&second), buf_str(&first));
    buf_release(&first);
    buf_release(&body);
    buf_release(&second);
    return 1;
}

static const char *const files[] = {
    "anthropic", "cache", "output", "thinking", "tool-choice", "tools", "stream", "gemini"};

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
    size_t end = str_find(body, STR("{\"type\":\"message_stop\"}"));
    struct buf sse;

    buf_init(&sse, HELP_SIZE_MAX);
    /* Some files hold the replies of two turns. */
    lines_to_sse(str_slice(body, 0, end == STR_NONE ? body.n : end + 23), true, &sse);
    check_decoding(&wire_anthropic, id, buf_str(&sse), FRAMES_SSE, keys);
    /* One of them breaks off inside a call: no whole reply can say that. */
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
