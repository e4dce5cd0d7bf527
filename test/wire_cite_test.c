/* What stands beside a text, and calls that are a text, between Chat and Responses, cut anywhere.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/cite.h"
#include "wire_help.h"

#define CHUNK(choice)                                                                              \
    "data: {\"id\":\"c\",\"model\":\"m\",\"choices\":[{\"index\":0," choice "}]}\n\n"
#define TOKEN(t) "{\"token\":\"" t "\",\"logprob\":-1}"

static const char stream[] = CHUNK(
    "\"delta\":{\"content\":\"Y\"},\"logprobs\":{\"content\":[" TOKEN("Y") "]}")
    CHUNK("\"delta\":{\"content\":\"es\"},\"logprobs\":{\"content\":[" TOKEN("es") "]}") CHUNK(
        "\"delta\":{\"annotations\":[{\"type\":\"url_citation\",\"url_citation\":{\"url\":"
        "\"u\",\"title\":\"t\"}},{\"type\":\"odd\"},3]}")
        CHUNK(
            "\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"i\",\"function\":{\"name\":\"patch\","
            "\"arguments\":\"{\\\"inp\"}}]}")
            CHUNK("\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":"
                  "\"ut\\\":\\\"a \\\\\\\"b\\\\\\\"\\\\n\\\"}\"}}]}")
                CHUNK("\"delta\":{},\"finish_reason\":\"tool_calls\"") "data: [DONE]\n\n";

static void to_responses(size_t piece, bool streamed, struct buf *out)
{
    struct chat_tool patch = {.name = STR("patch"), .custom = true};
    struct pass *p = malloc(sizeof *p);

    assert(p);
    pass_init(p, wire_get(CHAT_OPENAI), wire_get(CHAT_RESPONSES), streamed);
    p->request.tools = &patch;
    p->request.tool_count = 1;
    feed_bytes(&p->feed, str_c(stream), FRAMES_SSE, piece);
    buf_reset(out);
    buf_add(out, buf_str(&p->out));
    pass_release(p);
    free(p);
}

TEST(what_stands_beside_a_text_does_not_see_the_cuts)
{
    static const char *const parts[] = {
        "\"annotations\":[{\"type\":\"url_citation\",\"url\":\"u\",\"title\":\"t\"},{\"type\":"
        "\"odd\"}]",
        "\"logprobs\":[" TOKEN("Y") "," TOKEN("es") "]",
        "\"type\":\"custom_tool_call\"",
        "\"input\":\"a \\\"b\\\"\\n\"",
    };

    for (int streamed = 0; streamed < 2; streamed++) {
        struct buf first, out;

        buf_init(&first, HELP_SIZE_MAX);
        buf_init(&out, HELP_SIZE_MAX);
        to_responses(0, streamed, &first);
        for (size_t i = 0; i < COUNT_OF(parts); i++)
            CHECK(str_find(buf_str(&first), str_c(parts[i])) != STR_NONE);
        for (size_t piece = 1; piece < 20; piece++) {
            to_responses(piece, streamed, &out);
            CHECK(str_eq(buf_str(&out), buf_str(&first)));
        }
        buf_release(&first);
        buf_release(&out);
    }
}

TEST(what_is_broken_is_no_annotation)
{
    static const char *const bad[] = {"", "[", "{}", "[]", "[1]", "[{\"type\":\"file_citation\"}]"};
    struct arena a;
    struct chat_event out;

    arena_init(&a, 1 << 20);
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct chat_event ev = {.kind = CHAT_OPAQUE,
                                .dialect = CHAT_RESPONSES,
                                .name = STR("annotations"),
                                .text = str_c(bad[i])};

        CHECK(!cite_to_chat(&ev, &a, &out));
        CHECK(cite_tokens(str_c(bad[i]), &a).n == 0);
    }
    arena_release(&a);
}

TEST_MAIN(T(what_stands_beside_a_text_does_not_see_the_cuts), T(what_is_broken_is_no_annotation))
