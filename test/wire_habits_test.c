/* Deviations of hosts and clients between two dialects: JSON over several lines, errors in their
 * own forms, content that only one of the dialects has a type for.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/anthropic/anthropic.h"
#include "wire/gemini/gemini.h"
#include "wire/ollama/ollama.h"
#include "wire/openai/openai.h"
#include "wire/responses/responses.h"
#include "wire_help.h"

#define DATA(json) "data: " json "\n\n"

/* ---- replies ---- */

/* Converts a reply between dialects; `asked` is the body that the client sent. */
static void convert(const char *from, const char *to, bool stream, str reply, const char *asked,
                    struct buf *out)
{
    const struct wire *w = wire_find(str_c(from));
    struct pass *p = base_alloc(sizeof *p);
    struct json doc;
    struct err e;

    json_init(&doc);
    pass_init(p, w, wire_find(str_c(to)), stream);
    if (asked) {
        CHECK(json_parse(&doc, str_c(asked), &e));
        p->request.doc = &doc;
        p->request.dialect = p->en.wire->dialect;
    }
    p->feed.whole = reply.p[0] == '{';
    feed_bytes(&p->feed,
               reply,
               p->feed.whole                      ? FRAMES_WHOLE
               : w->stream_framing == WIRE_NDJSON ? FRAMES_LINES
                                                  : FRAMES_SSE,
               0);
    buf_add(out, buf_str(&p->out));
    pass_release(p);
    free(p);
    json_release(&doc);
}

struct frames_seen {
    size_t n;
    bool bad;
};

static void on_json(void *ctx, const struct frames_frame *frame)
{
    struct frames_seen *seen = ctx;
    struct json doc;
    struct err e;

    if (!frame->data.n || str_eq(frame->data, STR("[DONE]")))
        return;
    json_init(&doc);
    seen->n++;
    seen->bad |= !json_parse(&doc, frame->data, &e);
    json_release(&doc);
}

/* Every frame of the reply is JSON. */
static void check_frames(str bytes, enum frames_kind kind)
{
    struct frames_seen seen = {0};
    struct frames f;

    frames_init(&f, kind, HELP_SIZE_MAX, (struct frames_sink){on_json, &seen});
    frames_feed(&f, bytes);
    frames_finish(&f);
    frames_release(&f);
    CHECK(seen.n > 1);
    if (seen.bad)
        fail_msg("a frame is no JSON in " STR_FMT, STR_ARG(bytes));
}

static const struct {
    const char *name;
    enum frames_kind kind;
} clients[] = {{"openai", FRAMES_SSE},
               {"responses", FRAMES_SSE},
               {"anthropic", FRAMES_SSE},
               {"gemini", FRAMES_SSE},
               {"ollama", FRAMES_LINES},
               {"generate", FRAMES_SSE}};

TEST(arguments_over_several_lines_break_no_frame)
{
    for (size_t i = 0; i < COUNT_OF(clients); i++) {
        struct buf out;

        buf_init(&out, HELP_SIZE_MAX);
        convert("openai",
                clients[i].name,
                true,
                STR(DATA("{\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{"
                         "\"index\":0,\"id\":\"call_1\",\"type\":\"function\",\"function\":{"
                         "\"name\":\"f\",\"arguments\":\"{\\n  \\\"town\\\":\"}}]}}]}")
                        DATA("{\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{"
                             "\"index\":0,\"function\":{\"arguments\":\" \\\"Rome\\\"\\r\\n}\"}}]},"
                             "\"finish_reason\":\"tool_calls\"}]}") DATA("[DONE]")),
                NULL,
                &out);
        check_frames(buf_str(&out), clients[i].kind);
        CHECK_HAS(buf_str(&out), "Rome");
        buf_release(&out);
    }
}

/* A host that answers a stream request with a whole, pretty-printed reply. */
TEST(items_over_several_lines_break_no_frame)
{
    static const char reply[] =
        "{\n \"id\": \"resp_1\",\n \"status\": \"completed\",\n \"output\": [\n  {\n"
        "   \"id\": \"ws_1\",\n   \"type\": \"web_search_call\",\n   \"status\": \"completed\"\n"
        "  },\n  {\n   \"type\": \"message\",\n   \"content\": [{\n    \"type\": \"output_text\",\n"
        "    \"text\": \"four\",\n    \"annotations\": [\n     {\n      \"type\": "
        "\"url_citation\",\n      \"url\": \"http://a.example\"\n     }\n    ]\n   }]\n  }\n ]\n}";

    for (size_t i = 0; i < COUNT_OF(clients); i++) {
        struct buf out;

        buf_init(&out, HELP_SIZE_MAX);
        convert("responses", clients[i].name, true, str_c(reply), NULL, &out);
        check_frames(buf_str(&out), clients[i].kind);
        CHECK_HAS(buf_str(&out), "four");
        buf_release(&out);
    }
}

/* A response repeats parts of the request, which may be pretty-printed. */
TEST(a_request_over_several_lines_breaks_no_frame)
{
    struct buf out;

    buf_init(&out, HELP_SIZE_MAX);
    convert("openai",
            "responses",
            true,
            STR(DATA("{\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"hi\"},"
                     "\"finish_reason\":\"stop\"}]}") DATA("[DONE]")),
            "{\n  \"model\": \"m\",\n  \"input\": \"hi\",\n  \"metadata\": {\n    \"k\": \"v\"\r\n"
            "  },\n  \"tools\": [\n    {\n      \"type\": \"function\",\n      \"name\": \"f\"\n"
            "    }\n  ]\n}",
            &out);
    check_frames(buf_str(&out), FRAMES_SSE);
    CHECK_HAS(buf_str(&out), "\"name\": \"f\"");
    buf_release(&out);
}

TEST(a_blocked_answer_of_gemini_has_no_tokens)
{
    struct buf out;

    buf_init(&out, HELP_SIZE_MAX);
    convert("gemini",
            "openai",
            false,
            STR("{\"candidates\":[{\"content\":{},\"finishReason\":\"SAFETY\"}],\"usageMetadata\":{"
                "\"promptTokenCount\":14,\"totalTokenCount\":14}}"),
            NULL,
            &out);
    CHECK_HAS(buf_str(&out), "\"prompt_tokens\":14,\"completion_tokens\":0");
    CHECK_HAS(buf_str(&out), "\"finish_reason\":\"content_filter\"");
    buf_release(&out);
}

TEST(usage_of_cohere_is_known_by_its_older_name)
{
    struct buf out;

    buf_init(&out, HELP_SIZE_MAX);
    convert("cohere",
            "openai",
            false,
            STR("{\"id\":\"c\",\"finish_reason\":\"COMPLETE\",\"message\":{\"role\":\"assistant\","
                "\"content\":[{\"type\":\"text\",\"text\":\"hi\"}]},\"meta\":{\"tokens\":{"
                "\"input_tokens\":65,\"output_tokens\":30}}}"),
            NULL,
            &out);
    CHECK_HAS(buf_str(&out), "\"prompt_tokens\":65");
    CHECK_HAS(buf_str(&out), "\"completion_tokens\":30");
    buf_release(&out);
}

/* The SDKs require both numbers. */
TEST(a_response_says_what_was_read_and_written_of_the_cache)
{
    struct buf out;

    buf_init(&out, HELP_SIZE_MAX);
    convert("anthropic",
            "responses",
            false,
            STR("{\"type\":\"message\",\"id\":\"m\",\"content\":[{\"type\":\"text\",\"text\":"
                "\"hi\"}],\"stop_reason\":\"end_turn\",\"usage\":{\"input_tokens\":3,"
                "\"cache_read_input_tokens\":5,\"cache_creation_input_tokens\":7,"
                "\"output_tokens\":1}}"),
            NULL,
            &out);
    CHECK_HAS(buf_str(&out), "{\"cached_tokens\":5,\"cache_write_tokens\":7}");
    buf_reset(&out);
    convert("openai",
            "responses",
            false,
            STR("{\"id\":\"c\",\"choices\":[{\"index\":0,\"message\":{\"content\":\"hi\"},"
                "\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":3,"
                "\"completion_tokens\":1}}"),
            NULL,
            &out);
    CHECK_HAS(buf_str(&out), "{\"cached_tokens\":0,\"cache_write_tokens\":0}");
    buf_release(&out);
}

/* The form of llama.cpp, with and without an outer object. */
TEST(an_error_in_a_field_of_its_own_is_told)
{
    static const char begun[] =
        DATA("{\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}");
    static const char *const errors[] = {
        "error: {\"code\":500,\"message\":\"out of room\",\"type\":\"server_error\"}\n\n",
        "error: {\"error\":{\"code\":500,\"message\":\"out of room\"}}\n\n",
        "error:{\"code\":500,\"message\":\"out of room\"}\r\n\r\n"};
    struct buf out, reply;

    buf_init(&out, HELP_SIZE_MAX);
    buf_init(&reply, HELP_SIZE_MAX);
    for (size_t i = 0; i < COUNT_OF(errors); i++)
        for (size_t k = 0; k < COUNT_OF(clients); k++) {
            buf_reset(&reply);
            buf_reset(&out);
            buf_printf(&reply, "%s%s", begun, errors[i]);
            convert("openai", clients[k].name, true, buf_str(&reply), NULL, &out);
            check_frames(buf_str(&out), clients[k].kind);
            CHECK_HAS(buf_str(&out), "out of room");
            CHECK_NOT(buf_str(&out), "ended before");
        }
    buf_reset(&out);
    convert(
        "openai",
        "ollama",
        true,
        STR(DATA("{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}") "error: no "
                                                                                "JSON\n\nerror: "
                                                                                "7\n\n" DATA(
                                                                                    "{\"choices\":["
                                                                                    "{\"index\":0,"
                                                                                    "\"delta\":{},"
                                                                                    "\"finish_"
                                                                                    "reason\":"
                                                                                    "\"stop\"}]}")
                                                                                    DATA("[DONE]")),
        NULL,
        &out);
    CHECK_NOT(buf_str(&out), "error");
    buf_release(&reply);
    buf_release(&out);
}

static void on_status(void *ctx, const struct chat_event *ev)
{
    if (ev->kind == CHAT_ERROR)
        *(int *)ctx = ev->error->status;
}

TEST(a_status_that_is_not_said_is_known_by_the_code)
{
    static const struct {
        const char *members;
        int status;
    } rows[] = {
        {"\"type\":\"invalid_request_error\",\"code\":\"invalid_api_key\"", 401},
        {"\"type\":\"invalid_request_error\",\"code\":\"model_not_found\"", 404},
        {"\"type\":\"requests\",\"code\":\"rate_limit_exceeded\"", 429},
        {"\"type\":\"authentication_error\",\"code\":\"invalid_request_error\"", 401},
        {"\"type\":\"invalid_request_error\",\"code\":null", 400},
        {"\"type\":\"odd\",\"code\":\"odd\"", 502},
        {"\"type\":\"odd\",\"code\":503", 503},
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct wire_decoder d;
        struct arena a;
        struct buf body;
        int status = 0;

        arena_init(&a, HELP_SIZE_MAX);
        buf_init(&body, HELP_SIZE_MAX);
        buf_printf(&body, "{\"error\":{\"message\":\"m\",%s}}", rows[i].members);
        wire_decoder_init(&d, &wire_openai, &a, (struct chat_sink){on_status, &status});
        wire_decode_whole(&d, &(struct wire_frame){.data = buf_str(&body), .raw = buf_str(&body)});
        CHECK_INT(status, rows[i].status);
        wire_decoder_release(&d);
        buf_release(&body);
        arena_release(&a);
    }
}

/* ---- requests ---- */

/* A client's body, converted for a provider of another dialect. */
static void ask(const char *from, const char *to, const char *body, struct buf *out)
{
    struct chat_request r;
    struct json doc;
    struct arena a;
    struct err e;

    json_init(&doc);
    arena_init(&a, HELP_SIZE_MAX);
    CHECK(json_parse(&doc, str_c(body), &e));
    if (!wire_find(str_c(from))->read(&doc, &a, &r, &e))
        fail_msg("%s", e.text);
    buf_reset(out);
    wire_find(str_c(to))->write(&r, out);
    arena_release(&a);
    json_release(&doc);
}

static const char *const providers[] = {
    "openai", "responses", "anthropic", "gemini", "mistral", "ollama"};

TEST(words_that_anthropic_has_kinds_for_reach_every_provider)
{
    static const char body[] =
        "{\"model\":\"m\",\"max_tokens\":9,\"messages\":["
        "{\"role\":\"user\",\"content\":\"q\"},"
        "{\"role\":\"assistant\",\"content\":[{\"type\":\"compaction\",\"content\":"
        "\"SHORTENED\"},{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"f\",\"input\":{}}]},"
        "{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"t\","
        "\"content\":[{\"type\":\"search_result\",\"source\":\"http://a.example\",\"title\":"
        "\"TITLE\",\"content\":[{\"type\":\"text\",\"text\":\"ONE\"},{\"type\":\"text\","
        "\"text\":\"TWO\"}]}]},"
        "{\"type\":\"document\",\"title\":\"NAME\",\"source\":{\"type\":\"content\","
        "\"content\":[{\"type\":\"text\",\"text\":\"PAGE\"}]}},"
        "{\"type\":\"document\",\"source\":{\"type\":\"content\",\"content\":\"ALONE\"}}]}]}";
    struct buf out;

    buf_init(&out, HELP_SIZE_MAX);
    for (size_t i = 0; i < COUNT_OF(providers); i++) {
        ask("anthropic", providers[i], body, &out);
        CHECK_HAS(buf_str(&out), "SHORTENED");
        CHECK_HAS(buf_str(&out), "TITLE\\n\\nhttp://a.example\\n\\nONE\\n\\nTWO");
        CHECK_HAS(buf_str(&out), "NAME\\n\\nPAGE");
        CHECK_HAS(buf_str(&out), "ALONE");
    }
    buf_release(&out);
}

/* Blocks without text keep Anthropic's form, and blocks without content are no error. */
TEST(blocks_without_words_are_kept_as_they_are)
{
    static const char *const blocks[] = {
        "{\"type\":\"compaction\",\"content\":null}",
        "{\"type\":\"search_result\",\"content\":[{\"type\":\"other\"}]}",
        "{\"type\":\"search_result\",\"content\":7}",
        ("{\"type\":\"document\",\"source\":{\"type\":\"content\",\"content\":[{\"type\":"
         "\"image\",\"source\":{\"type\":\"url\",\"url\":\"http://a.example/i\"}}]}}"),
    };
    struct buf out, body;

    buf_init(&out, HELP_SIZE_MAX);
    buf_init(&body, HELP_SIZE_MAX);
    for (size_t i = 0; i < COUNT_OF(blocks); i++) {
        buf_reset(&body);
        buf_printf(&body,
                   "{\"model\":\"m\",\"max_tokens\":9,\"messages\":[{\"role\":\"user\","
                   "\"content\":[%s,{\"type\":\"text\",\"text\":\"q\"}]}]}",
                   blocks[i]);
        buf_add_c(&body, 0);
        ask("anthropic", "anthropic", body.p, &out);
        CHECK_HAS(buf_str(&out), blocks[i]);
        ask("anthropic", "openai", body.p, &out);
        CHECK_HAS(buf_str(&out), "\"q\"");
    }
    buf_release(&body);
    buf_release(&out);
}

TEST(an_image_beside_a_tools_words_goes_with_them)
{
    static const char body[] =
        "{\"contents\":[{\"role\":\"user\",\"parts\":[{\"text\":\"q\"}]},"
        "{\"role\":\"model\",\"parts\":[{\"functionCall\":{\"name\":\"shot\",\"args\":{}}}]},"
        "{\"role\":\"user\",\"parts\":[{\"functionResponse\":{\"name\":\"shot\",\"response\":{"
        "\"output\":\"here\"},\"parts\":[{\"inlineData\":{\"mimeType\":\"image/png\",\"data\":"
        "\"iVBORw0K\"}},{\"inline_data\":{\"mime_type\":\"image/jpeg\",\"data\":\"/9j/4AAQ\"}},"
        "{\"fileData\":{\"mimeType\":\"image/gif\",\"fileUri\":\"http://a.example/i.gif\"}}]}}]}]}";
    struct buf out;

    buf_init(&out, HELP_SIZE_MAX);
    for (size_t i = 0; i < COUNT_OF(providers); i++) {
        ask("gemini", providers[i], body, &out);
        CHECK_HAS(buf_str(&out), "here");
        CHECK_HAS(buf_str(&out), "iVBORw0K");
        CHECK_HAS(buf_str(&out), "/9j/4AAQ");
        if (strcmp(providers[i], "ollama") != 0) /* ollama accepts no image URLs */
            CHECK_HAS(buf_str(&out), "http://a.example/i.gif");
    }
    check_deferred(&wire_gemini,
                   "{\"contents\":[{\"role\":\"user\",\"parts\":[{\"functionResponse\":{"
                   "\"name\":\"f\",\"parts\":7}}]}]}",
                   "contents.0.parts.0.functionResponse.parts: should be a list");
    buf_release(&out);
}

TEST(a_mode_of_calling_may_be_in_any_case)
{
    struct buf out;

    buf_init(&out, HELP_SIZE_MAX);
    ask("gemini",
        "openai",
        "{\"contents\":[{\"parts\":[{\"text\":\"q\"}]}],\"tools\":[{\"functionDeclarations\":[{"
        "\"name\":\"f\"}]}],\"toolConfig\":{\"functionCallingConfig\":{\"mode\":\"any\"}}}",
        &out);
    CHECK_HAS(buf_str(&out), "\"tool_choice\":\"required\"");
    check_deferred(&wire_gemini,
                   "{\"contents\":[{\"parts\":[{\"text\":\"q\"}]}],\"toolConfig\":{"
                   "\"functionCallingConfig\":{\"mode\":\"anyone\"}}}",
                   "toolConfig.functionCallingConfig.mode: should be AUTO, ANY, NONE or VALIDATED");
    buf_release(&out);
}

TEST(a_function_may_leave_out_that_it_is_one)
{
    struct buf out;

    buf_init(&out, HELP_SIZE_MAX);
    ask("openai",
        "anthropic",
        "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"q\"}],\"tools\":[{"
        "\"function\":{\"name\":\"f\",\"parameters\":{\"type\":\"object\"}}}]}",
        &out);
    CHECK_HAS(buf_str(&out), "\"name\":\"f\"");
    check_deferred(&wire_openai,
                   "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"q\"}],"
                   "\"tools\":[{\"name\":\"f\"}]}",
                   "tools[0].type: expected \"function\"");
    buf_release(&out);
}

/* LangChain's clients send it. */
TEST(minus_one_is_no_sampling)
{
    struct buf out;

    buf_init(&out, HELP_SIZE_MAX);
    ask("anthropic",
        "gemini",
        "{\"model\":\"m\",\"max_tokens\":9,\"top_p\":-1,\"top_k\":-1,\"messages\":[{\"role\":"
        "\"user\",\"content\":\"q\"}]}",
        &out);
    CHECK_NOT(buf_str(&out), "top");
    CHECK_NOT(buf_str(&out), "-1");
    check_deferred(&wire_anthropic,
                   "{\"model\":\"m\",\"max_tokens\":9,\"top_p\":-2,\"messages\":[{\"role\":"
                   "\"user\",\"content\":\"q\"}]}",
                   "top_p: Input should be greater than or equal to 0");
    buf_release(&out);
}

TEST(what_mistral_alone_knows_reaches_it)
{
    static const char body[] =
        "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"q\"}],\"random_seed\":"
        "7,\"safe_prompt\":true,\"prompt_mode\":\"reasoning\",\"prompt_cache_key\":\"k\","
        "\"metadata\":{\"a\":\"b\"},\"store\":true,\"logit_bias\":{\"5\":1}}";
    static const char *const own[] = {"\"random_seed\":7",
                                      "\"safe_prompt\":true",
                                      "\"prompt_mode\":\"reasoning\"",
                                      "\"prompt_cache_key\":\"k\"",
                                      "\"metadata\":{\"a\":\"b\"}"};
    struct buf out;

    buf_init(&out, HELP_SIZE_MAX);
    ask("openai", "mistral", body, &out);
    for (size_t i = 0; i < COUNT_OF(own); i++)
        CHECK_HAS(buf_str(&out), own[i]);
    CHECK_NOT(buf_str(&out), "store");
    CHECK_NOT(buf_str(&out), "logit_bias");
    ask("openai", "anthropic", body, &out);
    CHECK_NOT(buf_str(&out), "safe_prompt");
    buf_release(&out);
}

TEST(parts_of_mistrals_clients_reach_it_and_others)
{
    static const char body[] =
        "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":["
        "{\"type\":\"document_url\",\"document_url\":\"http://a.example/d.pdf\","
        "\"document_name\":\"D\"},"
        "{\"type\":\"document_url\",\"document_url\":{\"url\":"
        "\"data:application/pdf;base64,JVBE\"}},"
        "{\"type\":\"input_audio\",\"input_audio\":\"SUQz\"},"
        "{\"type\":\"input_audio\",\"input_audio\":\"http://a.example/s.mp3\"},"
        "{\"type\":\"reference\",\"reference_ids\":[1]},"
        "{\"type\":\"file\",\"file_id\":\"f1\"}]}]}";
    static const char *const same[] = {
        ("{\"type\":\"document_url\",\"document_url\":\"http://a.example/d.pdf\","
         "\"document_name\":\"D\"}"),
        "{\"type\":\"document_url\",\"document_url\":\"data:application/pdf;base64,JVBE\"}",
        "\"input_audio\":{\"data\":\"SUQz\",\"format\":\"mp3\"}",
        "{\"type\":\"input_audio\",\"input_audio\":\"http://a.example/s.mp3\"}",
        "{\"type\":\"reference\",\"reference_ids\":[1]}",
        "{\"type\":\"file\",\"file_id\":\"f1\"}",
    };
    struct buf out;

    buf_init(&out, HELP_SIZE_MAX);
    ask("openai", "mistral", body, &out);
    for (size_t i = 0; i < COUNT_OF(same); i++)
        CHECK_HAS(buf_str(&out), same[i]);
    for (size_t i = 0; i < 2; i++) {
        ask("openai", i ? "gemini" : "responses", body, &out);
        CHECK_HAS(buf_str(&out), "http://a.example/d.pdf");
        CHECK_HAS(buf_str(&out), "JVBE");
        CHECK_HAS(buf_str(&out), "SUQz");
        CHECK_HAS(buf_str(&out), "http://a.example/s.mp3");
        CHECK_NOT(buf_str(&out), "reference_ids");
    }
    ask("openai", "anthropic", body, &out);
    CHECK_HAS(buf_str(&out), "http://a.example/d.pdf");
    CHECK_HAS(buf_str(&out), "JVBE");
    check_deferred(&wire_openai,
                   "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":"
                   "\"document_url\"}]}]}",
                   "messages[0].content[0].document_url: expected a URL");
    buf_release(&out);
}

TEST(mistral_is_told_to_go_on_from_a_last_word)
{
    struct buf out;

    buf_init(&out, HELP_SIZE_MAX);
    ask("anthropic",
        "mistral",
        "{\"model\":\"m\",\"max_tokens\":9,\"messages\":[{\"role\":\"user\",\"content\":\"q\"},{"
        "\"role\":\"assistant\",\"content\":\"x\"},{\"role\":\"user\",\"content\":\"r\"},{"
        "\"role\":\"assistant\",\"content\":\"Sure:\"}]}",
        &out);
    CHECK_HAS(buf_str(&out), "\"content\":\"x\"}");
    CHECK_HAS(buf_str(&out), "\"content\":\"Sure:\",\"prefix\":true}");
    ask("openai",
        "mistral",
        "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"q\"},{\"role\":"
        "\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"abcdefghi\",\"type\":"
        "\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]}]}",
        &out);
    CHECK_NOT(buf_str(&out), "prefix");
    buf_release(&out);
}

TEST(what_both_apis_of_openai_know_goes_over)
{
    static const char *const shared[] = {
        "\"description\":\"what it is\"",
        "\"safety_identifier\":\"s\"",
        "\"prompt_cache_options\":{\"mode\":\"explicit\"}",
        "\"moderation\":{\"model\":\"o\"}",
    };
    struct buf there, back;

    buf_init(&there, HELP_SIZE_MAX);
    buf_init(&back, HELP_SIZE_MAX);
    ask("openai",
        "responses",
        "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"q\"}],"
        "\"response_format\":{\"type\":\"json_schema\",\"json_schema\":{\"name\":\"n\","
        "\"description\":\"what it is\",\"schema\":{\"type\":\"object\"}}},"
        "\"safety_identifier\":\"s\",\"prompt_cache_options\":{\"mode\":\"explicit\"},"
        "\"moderation\":{\"model\":\"o\"}}",
        &there);
    buf_add_c(&there, 0);
    ask("responses", "openai", there.p, &back);
    for (size_t i = 0; i < COUNT_OF(shared); i++) {
        CHECK_HAS(buf_str(&there), shared[i]);
        CHECK_HAS(buf_str(&back), shared[i]);
    }
    buf_release(&there);
    buf_release(&back);
}

TEST_MAIN(T(arguments_over_several_lines_break_no_frame),
          T(items_over_several_lines_break_no_frame),
          T(a_request_over_several_lines_breaks_no_frame),
          T(a_response_says_what_was_read_and_written_of_the_cache),
          T(a_blocked_answer_of_gemini_has_no_tokens),
          T(usage_of_cohere_is_known_by_its_older_name), T(an_error_in_a_field_of_its_own_is_told),
          T(a_status_that_is_not_said_is_known_by_the_code),
          T(words_that_anthropic_has_kinds_for_reach_every_provider),
          T(blocks_without_words_are_kept_as_they_are),
          T(an_image_beside_a_tools_words_goes_with_them), T(a_mode_of_calling_may_be_in_any_case),
          T(a_function_may_leave_out_that_it_is_one), T(minus_one_is_no_sampling),
          T(what_mistral_alone_knows_reaches_it), T(parts_of_mistrals_clients_reach_it_and_others),
          T(mistral_is_told_to_go_on_from_a_last_word), T(what_both_apis_of_openai_know_goes_over))
