/* Citations, and calls whose arguments are a text, between Chat Completions and Responses, divided
 * anywhere; and citations of other dialects.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/citations.h"
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

        CHECK(!citation_to_chat(&ev, &a, &out));
        CHECK(citation_tokens(str_c(bad[i]), &a).n == 0);
    }
    arena_release(&a);
}

/* ---- other dialects ---- */

#define EVENT(json) "data: " json "\n\n"
#define WEB(url)                                                                                   \
    "{\"type\":\"web_search_result_location\",\"url\":\"" url                                      \
    "\",\"title\":\"T \\\"1\\\"\",\"encrypted_index\":\"e\",\"cited_text\":\"c\"}"
#define PAGE                                                                                       \
    "{\"type\":\"page_location\",\"document_index\":2,\"document_title\":\"d.pdf\",\"file_id\":"   \
    "\"file_1\",\"cited_text\":\"c\",\"start_page_number\":1,\"end_page_number\":2}"
#define PLAIN "{\"type\":\"char_location\",\"document_index\":0,\"cited_text\":\"c\"}"

static const char claude[] =
    "{\"content\":[{\"type\":\"text\",\"text\":\"\xc3\xa4\xc3\xb6 \"},{\"type\":\"text\",\"text\":"
    "\"b\xe2\x82\xac\",\"citations\":[" WEB(
        "u1") "," PLAIN "," PAGE "]},{\"type\":\"text\",\"text\":\"!\",\"citations\":[{\"type\":"
              "\"search_result_location\","
              "\"source\":\"https://"
              "s\",\"title\":null},{\"type\":\"search_result_location\",\"source\":"
              "\"notes\"}]}],\"stop_reason\":\"end_turn\"}";

#define BLOCK(n)                                                                                   \
    "{\"type\":\"content_block_start\",\"index\":" n                                               \
    ",\"content_block\":{\"type\":\"text\",\"text\":\"\"}}"
#define TEXT(n, t)                                                                                 \
    "{\"type\":\"content_block_delta\",\"index\":" n                                               \
    ",\"delta\":{\"type\":\"text_delta\",\"text\":\"" t "\"}}"
#define CITED(n, c)                                                                                \
    "{\"type\":\"content_block_delta\",\"index\":" n                                               \
    ",\"delta\":{\"type\":\"citations_delta\",\"citation\":" c "}}"

/* The same as a stream: the second block's citations come before its text, the third's after it. */
static const char claude_stream[] = EVENT(BLOCK("0")) EVENT(TEXT("0", "\xc3\xa4\xc3\xb6 "))
    EVENT(BLOCK("1")) EVENT(CITED("1", WEB("u1"))) EVENT(CITED("1", PLAIN)) EVENT(CITED("1", PAGE))
        EVENT(TEXT("1", "b")) EVENT(TEXT("1", "\xe2\x82\xac")) EVENT(BLOCK("2"))
            EVENT(TEXT("2", "!")) EVENT(CITED(
                "2", "{\"type\":\"search_result_location\",\"source\":\"https://s\",\"title\":nu"
                     "ll}"))
                EVENT("{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}}")
                    EVENT("{\"type\":\"message_stop\"}");

#define GROUNDED                                                                                   \
    "\"groundingMetadata\":{\"webSearchQueries\":[\"q\"],\"groundingChunks\":[{\"web\":{\"uri\":"  \
    "\"u1\",\"title\":\"t1\"}},{\"retrievedContext\":{\"uri\":\"gs://x\"}},{\"web\":{\"uri\":"     \
    "\"u3\"}}],\"groundingSupports\":[{\"segment\":{\"endIndex\":6},\"groundingChunkIndices\":["   \
    "0]},{\"segment\":{\"startIndex\":6,\"endIndex\":35},\"groundingChunkIndices\":[2,1,9]}]}"
#define SOURCES                                                                                    \
    "\"citationMetadata\":{\"citationSources\":[{\"startIndex\":6,\"endIndex\":7,\"uri\":\"u4\","  \
    "\"license\":\"MIT\"},{\"endIndex\":3}]}"
#define PARTS(t) "\"content\":{\"parts\":[{\"text\":\"" t "\"}]}"
/* 35 bytes, 32 characters */
#define LONG "a\xe2\x82\xac bcdefghij0123456789012345678\xc3\xa9"

static const char gemini[] =
    "{\"candidates\":[{" PARTS(LONG) ",\"finishReason\":\"STOP\"," GROUNDED "," SOURCES "}]}";
static const char gemini_stream[] = EVENT("{\"candidates\":[{" PARTS("a") "," GROUNDED "}]}")
    EVENT("{\"candidates\":[{" PARTS("\xe2\x82\xac bcdefghij01234567") "," SOURCES "}]}") EVENT(
        "{\"candidates\":[{" PARTS("89012345678\xc3\xa9") ",\"finishReason\":\"STOP\",\"ground"
                                                          "ingMetadata\":{}}]}");

#define URL(at, more) "{\"type\":\"url_citation\"," at more "}"
#define AT(from, to) "\"start_index\":" from ",\"end_index\":" to ","

static const struct {
    const char *from, *to, *reply, *has[4], *not ;
} crossing[] = {
    {"anthropic",
     "openai",
     claude,
     {"\"content\":\"\xc3\xa4\xc3\xb6 b\xe2\x82\xac!\"",
      "\"annotations\":[{\"type\":\"url_citation\",\"url_citation\":{" AT(
          "3", "5") "\"title\":\"T \\\""
                    "1\\\"\",\"url\":\"u1\"}}",
      "{" AT("5", "6") "\"url\":\"https://s\"}"},
     "file_1"},
    {"anthropic",
     "openai",
     claude_stream,
     {"{" AT("3", "5") "\"title\":\"T \\\"1\\\"\",\"url\":\"u1\"}",
      "{" AT("5", "6") "\"url\":\"https://s\"}",
      "[DONE]"},
     "file_1"},
    {"anthropic",
     "responses",
     claude,
     {URL(AT("0", "2"), "\"title\":\"T \\\"1\\\"\",\"url\":\"u1\""),
      "{\"type\":\"file_citation"
      "\",\"file_id\":\"file_1\",\"filename\":\"d.pdf\",\"index\":2}",
      URL(AT("0", "1"), "\"url\":\"https://s\"")},
     "notes"},
    {"anthropic",
     "responses",
     claude_stream,
     {"response.output_text.annotation.added",
      "\"text\":\"b\xe2\x82\xac\",\"annotations\":[" URL(
          AT("0", "2"), "\"title\":\"T \\\"1\\\"\",\"url\":\"u1\"") ",{\"type\":\"file_citation\"",
      "\"text\":\"!\",\"annotations\":[" URL(AT("0", "1"), "\"url\":\"https://s\"") "]",
      "\"text\":\"\xc3"
      "\xa4\xc3\xb6 \",\"annotations\":[]"},
     "notes"},
    {"gemini",
     "openai",
     gemini,
     {"{" AT("0", "4") "\"title\":\"t1\",\"url\":\"u1\"}",
      "{" AT("4", "32") "\"url\":\"u3\"}",
      "{" AT("4", "5") "\"url\":\"u4\"}"},
     "gs:"},
    {"gemini",
     "openai",
     gemini_stream,
     {"{" AT("0", "4") "\"title\":\"t1\",\"url\":\"u1\"}",
      "{" AT("4", "32") "\"url\":\"u3\"}",
      "{" AT("4", "5") "\"url\":\"u4\"}",
      "[DONE]"},
     "gs:"},
    {"gemini",
     "responses",
     gemini_stream,
     {URL(AT("0", "4"), "\"title\":\"t1\",\"url\":\"u1\""),
      URL(AT("4", "32"), "\"url\":\"u3\""),
      URL(AT("4", "5"), "\"url\":\"u4\"")},
     "gs:"},
    /* to Gemini: only web pages, each once */
    {"anthropic",
     "gemini",
     claude,
     {"\"groundingMetadata\":{\"groundingChunks\":[{\"web\":{\"uri\":\"u1\",\"title\":\"T "
      "\\\"1\\\"\"}},{\"web\":{\"uri\":\"https://s\"}}]}"},
     "file_1"},
    {"anthropic", "gemini", claude_stream, {"{\"web\":{\"uri\":\"https://s\"}}]}"}, "file_1"},
    {"openai",
     "gemini",
     stream,
     {"\"groundingChunks\":[{\"web\":{\"uri\":\"u\",\"title\":\"t\"}"
      "}]"},
     "odd"},
    {"responses",
     "gemini",
     "{\"output\":[{\"type\":\"message\",\"content\":[{\"type\":\"output_"
     "text\",\"text\":\"x\",\"annotations\":[{\"type\":\"url_citation\",\"url\":\"u\"},{\"type\""
     ":\"url_citation\",\"url\":\"u\",\"start_index\":0},{\"type\":\"file_citation\",\"file_id\""
     ":\"f\"}]}]}]}",
     {"\"groundingChunks\":[{\"web\":{\"uri\":\"u\"}}]"},
     "file"},
    /* sources without positions; positions inside a character, beyond the end, in one of several
     * texts */
    {"gemini",
     "openai",
     "{\"candidates\":[{" PARTS("x") ",\"groundingMetadata\":{\"groundingChu"
                                     "nks\":[{\"web\":{\"uri\":\"u1\"}},7,{}]}}]}",
     {"\"url_citation\":{\"url\":\"u1\"}}]"},
     "start_index"},
    {"gemini",
     "openai",
     "{\"candidates\":[{" PARTS("\xc3\xa9") ",\"citationMetadata\":{\"citati"
                                            "ons\":[{\"startIndex\":1,\"endIndex\":2,\"uri\":"
                                            "\"u1\",\"title\":\"t\"},{\"startIndex\":0,"
                                            "\"endIndex\":9,\"uri\":\"u2\"}]}}]}",
     {"{\"title\":\"t\",\"url\":\"u1\"}", "{\"url\":\"u2\"}"},
     "start_index"},
    {"gemini",
     "openai",
     "{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"a\"},{\"executab"
     "leCode\":{}},{\"text\":\"b\"}]},\"citationMetadata\":{\"citations\":[{\"endIndex\":1,\"uri"
     "\":\"u1\"}]}}]}",
     {"{\"url\":\"u1\"}"},
     "start_index"},
    {"gemini",
     "openai",
     "{\"candidates\":[{" PARTS("x") ",\"groundingMetadata\":7,\"citationMet"
                                     "adata\":{\"citations\":{}}}]}",
     {"\"x\""},
     "annotations\":["},
    {"anthropic",
     "openai",
     "{\"content\":[{\"type\":\"text\",\"text\":\"x\",\"citations\":[" PLAIN ",3,{}]}]}",
     {"\"x\""},
     "url_citation"},
};

static void cross(size_t row, size_t piece, struct buf *out)
{
    const struct wire *w = wire_find(str_c(crossing[row].from));
    struct pass *p = base_alloc(sizeof *p);
    bool whole = crossing[row].reply[0] == '{';

    pass_init(p, w, wire_find(str_c(crossing[row].to)), !whole);
    p->feed.whole = whole;
    feed_bytes(&p->feed, str_c(crossing[row].reply), whole ? FRAMES_WHOLE : FRAMES_SSE, piece);
    buf_reset(out);
    buf_add(out, buf_str(&p->out));
    pass_release(p);
    free(p);
}

TEST(what_others_cite_is_an_annotation_where_it_can_be)
{
    struct buf first, out;

    buf_init(&first, HELP_SIZE_MAX);
    buf_init(&out, HELP_SIZE_MAX);
    for (size_t i = 0; i < COUNT_OF(crossing); i++) {
        cross(i, 0, &first);
        for (size_t k = 0; k < COUNT_OF(crossing[i].has) && crossing[i].has[k]; k++)
            CHECK_HAS(buf_str(&first), crossing[i].has[k]);
        CHECK_NOT(buf_str(&first), crossing[i].not );
        for (size_t piece = 1; piece < 20; piece++) {
            cross(i, piece, &out);
            CHECK(str_eq(buf_str(&out), buf_str(&first)));
        }
    }
    buf_release(&first);
    buf_release(&out);
}

TEST_MAIN(T(what_stands_beside_a_text_does_not_see_the_cuts), T(what_is_broken_is_no_annotation),
          T(what_others_cite_is_an_annotation_where_it_can_be))
