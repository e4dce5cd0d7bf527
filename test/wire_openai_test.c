/* Chat Completions: replies decoded and encoded, in the variants of its hosts.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire_openai_help.h"

#define HEAD "\"id\":\"r1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m1\","
#define DELTA(json) "data: {" HEAD "\"choices\":[{\"index\":0,\"delta\":" json "}]}\n\n"
#define FINISH(why)                                                                                \
    "data: {" HEAD "\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"" why "\"}]}\n\n"
#define DONE "data: [DONE]\n\n"

/* Streams and their content by block. */
static const struct {
    const char *name, *stream, *blocks;
    enum chat_stop stop;
} streams[] = {
    {"plain",
     DELTA("{\"role\":\"assistant\",\"content\":\"\"}") DELTA("{\"content\":\"Hel\"}")
         DELTA("{\"content\":\"lo\"}") FINISH("stop") DONE,
     "\ntext 0.0  : Hello",
     CHAT_STOP_END},
    {"both names once",
     DELTA("{\"reasoning\":\"a\",\"reasoning_content\":\"a\"}") DELTA("{\"content\":\"b\"}")
         FINISH("length") DONE,
     "\nreasoning 0.0  : a\ntext 0.1  : b",
     CHAT_STOP_LENGTH},
    {"different texts under two names",
     DELTA("{\"reasoning\":\"a\",\"reasoning_content\":\"b\"}") FINISH("eos") DONE,
     "\nreasoning 0.0  : ba",
     CHAT_STOP_END},
    {"reasoning_text and thinking",
     DELTA("{\"reasoning_text\":\"a\"}") DELTA("{\"thinking\":\"b\"}") FINISH("stop") DONE,
     "\nreasoning 0.0  : ab",
     CHAT_STOP_END},
    {"details say it where nothing else does",
     DELTA(
         "{\"reasoning_details\":[{\"type\":\"reasoning.summary\",\"summary\":\"s\",\"index\":0}]}")
         DELTA("{\"content\":\"t\"}") FINISH("stop") DONE,
     "\nreasoning 0.0  : s\ntext 0.1  : t",
     CHAT_STOP_END},
    {"details repeat",
     DELTA("{\"reasoning\":\"s\",\"reasoning_details\":[{\"type\":\"reasoning.text\","
           "\"text\":\"s\",\"index\":0}]}") FINISH("stop") DONE,
     "\nreasoning 0.0  : s",
     CHAT_STOP_END},
    {"reasoning, text, reasoning are three blocks",
     DELTA("{\"reasoning\":\"a\"}") DELTA("{\"content\":\"b\"}") DELTA("{\"reasoning\":\"c\"}")
         FINISH("stop") DONE,
     "\nreasoning 0.0  : a\ntext 0.1  : b\nreasoning 0.2  : c",
     CHAT_STOP_END},
    {"calls in pieces, in turns",
     DELTA("{\"tool_calls\":[{\"index\":0,\"id\":\"c0\",\"type\":\"function\",\"function\":{"
           "\"name\":\"f\",\"arguments\":\"\"}}]}")
         DELTA("{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"{\"}}]}")
             DELTA("{\"tool_calls\":[{\"index\":1,\"id\":\"c1\",\"function\":{\"name\":\"g\","
                   "\"arguments\":\"[\"}}]}") DELTA("{\"tool_calls\":[{\"index\":0,\"function\":{"
                                                    "\"arguments\":\"}\"}}]}")
                 DELTA("{\"tool_calls\":[{\"index\":1,\"function\":{\"arguments\":\"]\"}}]}")
                     FINISH("tool_calls") DONE,
     "\ncall 0.0 c0 f: \narguments 0.0  : {\ncall 0.1 c1 g: \narguments 0.1  : [\narguments 0.0  : "
     "}\narguments 0.1  : ]",
     CHAT_STOP_TOOL},
    {"a name in pieces, and repeated",
     DELTA("{\"tool_calls\":[{\"index\":0,\"id\":\"c\",\"function\":{\"name\":\"get_\"}}]}") DELTA(
         "{\"tool_calls\":[{\"index\":0,\"function\":{\"name\":\"it\",\"arguments\":\"{\"}}]}")
         DELTA("{\"tool_calls\":[{\"index\":0,\"function\":{\"name\":\"get_it\","
               "\"arguments\":\"}\"}}]}") FINISH("stop") DONE,
     "\ncall 0.0 c get_it: \narguments 0.0  : {}",
     CHAT_STOP_TOOL},
    {"whole calls with one index",
     DELTA("{\"tool_calls\":[{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"f\","
           "\"arguments\":\"{}\"}},{\"index\":0,\"id\":\"b\",\"function\":{\"name\":\"f\","
           "\"arguments\":\"{}\"}}]}") FINISH("tool_calls") DONE,
     "\ncall 0.0 a f: \narguments 0.0  : {}\ncall 0.1 b f: \narguments 0.1  : {}",
     CHAT_STOP_TOOL},
    {"no index, arguments as an object",
     DELTA("{\"tool_calls\":[{\"id\":\"a\",\"function\":{\"name\":\"f\",\"arguments\":{\"x\":1}}},"
           "{\"id\":\"b\",\"function\":{\"name\":\"g\",\"arguments\":null}}]}")
         FINISH("function_call") DONE,
     "\ncall 0.0 a f: \narguments 0.0  : {\"x\":1}\ncall 0.1 b g: ",
     CHAT_STOP_TOOL},
    {"the old function_call",
     DELTA("{\"function_call\":{\"name\":\"f\",\"arguments\":\"\"}}")
         DELTA("{\"function_call\":{\"arguments\":\"{}\"}}") FINISH("function_call") DONE,
     "\ncall 0.0 call_100e68a36ae1ec4600000 f: \narguments 0.0  : {}",
     CHAT_STOP_TOOL},
    {"a refusal",
     DELTA("{\"refusal\":\"no\"}") FINISH("content_filter") DONE,
     "\nrefusal 0.0  : no",
     CHAT_STOP_REFUSED},
    {"chunks of content",
     DELTA("{\"content\":[{\"type\":\"thinking\",\"thinking\":[{\"type\":\"text\",\"text\":\"h\"}]}"
           "]}") DELTA("{\"content\":[{\"type\":\"text\",\"text\":\"x\"},\"y\"]}") FINISH("stop")
         DONE,
     "\nreasoning 0.0  : h\ntext 0.1  : xy",
     CHAT_STOP_END},
    {"two choices",
     "data: {\"choices\":[{\"index\":1,\"delta\":{\"content\":\"b\"},\"finish_reason\":\"stop\"},"
     "{\"index\":0,\"delta\":{\"content\":\"a\"},\"finish_reason\":\"length\"}]}\n\n" DONE,
     "\ntext 1.0  : b\ntext 0.0  : a",
     CHAT_STOP_LENGTH},
    {"a reason nobody knows",
     DELTA("{\"content\":\"a\"}") FINISH("an_odd_word") DONE,
     "\ntext 0.0  : a",
     CHAT_STOP_OTHER},
    {"[DONE] without a reason, and reasons that are empty",
     DELTA("{\"content\":\"a\"},\"finish_reason\":\"\"") DONE,
     "\ntext 0.0  : a",
     CHAT_STOP_END},
    {"a reason without [DONE]",
     DELTA("{\"content\":\"a\"}") FINISH("stop"),
     "\ntext 0.0  : a",
     CHAT_STOP_END},
    {"the old completions",
     "data: {\"choices\":[{\"index\":0,\"text\":\"a\",\"finish_reason\":\"stop\"}]}\n\n" DONE,
     "\ntext 0.0  : a",
     CHAT_STOP_END},
    {"a stop sequence that is told",
     "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\","
     "\"stop_reason\":\"END\"}]}\n\n" DONE,
     "\ntext 0.0  : a",
     CHAT_STOP_SEQUENCE},
};

TEST(every_spelling_is_read)
{
    for (size_t i = 0; i < COUNT_OF(streams); i++)
        for (size_t size = 1; size < 400; size = size * 3 + 1) {
            struct said s;

            said_init(&s, &wire_openai);
            said_stream(&s, str_c(streams[i].stream), size);
            CHECK_F(str_eq(buf_str(&s.blocks), str_c(streams[i].blocks)),
                    "%s: " STR_FMT,
                    streams[i].name,
                    STR_ARG(buf_str(&s.blocks)));
            CHECK_F(s.stop == streams[i].stop && s.ends == 1 && s.errors == 0,
                    "%s: " STR_FMT,
                    streams[i].name,
                    STR_ARG(buf_str(&s.lines)));
            said_release(&s);
        }
}

TEST(a_stream_that_is_cut_says_so)
{
    static const char *const cut[] = {
        "", DELTA("{\"content\":\"a\"}"), ": comment\n\n", "data: {\"choices\":[]}\n\n"};

    for (size_t i = 0; i < COUNT_OF(cut); i++) {
        struct said s;

        said_init(&s, &wire_openai);
        said_stream(&s, str_c(cut[i]), 9);
        CHECK_F(s.errors == 1 && s.ends == 0 && s.stops == 0, "%zu", i);
        said_release(&s);
    }
}

static const struct {
    const char *frame;
    int status;
    const char *message;
} errors[] = {
    {"{\"error\":{\"message\":\"m\",\"code\":400}}", 400, "m"},
    {"{\"error\":{\"message\":\"m\",\"type\":\"rate_limit_error\"}}", 429, "m"},
    {"{\"error\":{\"message\":\"m\",\"status_code\":413}}", 413, "m"},
    {"{\"error\":{\"message\":\"m\",\"code\":\"503\"}}", 503, "m"},
    {"{\"error\":\"m\"}", 502, "m"},
    {"{\"object\":\"error\",\"message\":\"m\",\"code\":404}", 404, "m"},
    {"{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\"},\"finish_reason\":\"error\"}],"
     "\"error\":{\"code\":502,\"message\":\"m\"}}",
     502,
     "m"},
    {"[]", 502, "the provider's reply is no chat completion"},
};

TEST(an_error_in_a_stream_is_an_error)
{
    for (size_t i = 0; i < COUNT_OF(errors); i++) {
        struct buf b, want;
        struct said s;

        buf_init(&b, 1 << 16);
        buf_init(&want, 1 << 16);
        buf_printf(&b, "event: error\ndata: %s\n\n" DONE, errors[i].frame);
        buf_printf(&want, "%d %s\n", errors[i].status, errors[i].message);
        said_init(&s, &wire_openai);
        said_stream(&s, buf_str(&b), 5);
        CHECK_F(s.errors == 1 && s.ends == 0 && str_ends(buf_str(&s.lines), buf_str(&want)),
                STR_FMT,
                STR_ARG(buf_str(&s.lines)));
        said_release(&s);
        buf_release(&want);
        buf_release(&b);
    }
}

static const struct {
    const char *usage;
    int64_t input, output, reasoning, cache_read, cache_write;
} usages[] = {
    {"{\"prompt_tokens\":3,\"completion_tokens\":5,\"total_tokens\":8}", 3, 5, -1, -1, -1},
    {"{\"prompt_tokens\":3,\"completion_tokens\":5,\"completion_tokens_details\":{"
     "\"reasoning_tokens\":4},\"prompt_tokens_details\":{\"cached_tokens\":2}}",
     3,
     5,
     4,
     2,
     -1},
    {"{\"prompt_tokens\":3,\"completion_tokens\":5,\"reasoning_tokens\":4}", 3, 5, 4, -1, -1},
    {"{\"prompt_tokens\":10,\"completion_tokens\":237,\"total_tokens\":2148,"
     "\"completion_tokens_details\":{\"reasoning_tokens\":1901}}",
     10,
     2138,
     1901,
     -1,
     -1},
    {"{\"prompt_tokens\":10,\"completion_tokens\":20,\"total_tokens\":35,"
     "\"completion_tokens_details\":{\"reasoning_tokens\":5}}",
     10,
     25,
     5,
     -1,
     -1},
    {"{\"prompt_tokens\":9,\"completion_tokens\":1,\"prompt_cache_hit_tokens\":7,"
     "\"prompt_cache_miss_tokens\":2}",
     9,
     1,
     -1,
     7,
     -1},
    {"{\"input_tokens\":9,\"output_tokens\":1,\"prompt_tokens_details\":{\"cached_tokens\":0,"
     "\"cache_write_tokens\":6},\"completion_tokens_details\":null}",
     9,
     1,
     -1,
     0,
     6},
    {"{\"prompt_tokens\":-1,\"completion_tokens\":\"x\"}", -1, -1, -1, -1, -1},
};

TEST(usage_has_the_reasoning_in_it_whoever_counts)
{
    static const char *const places[] = {
        "{\"choices\":[{\"index\":0,\"message\":{\"content\":\"a\"}}],\"usage\":%s}",
        "{\"choices\":[{\"index\":0,\"message\":{\"content\":\"a\"}}],\"x_groq\":{\"usage\":%s}}",
        "{\"choices\":[{\"index\":0,\"message\":{\"content\":\"a\"},\"usage\":%s}]}",
    };

    for (size_t i = 0; i < COUNT_OF(usages); i++)
        for (size_t p = 0; p < COUNT_OF(places); p++) {
            const char *at = strstr(places[p], "%s");
            struct buf b;
            struct said s;

            buf_init(&b, 1 << 16);
            buf_add(&b, (str){places[p], (size_t)(at - places[p])});
            buf_add(&b, str_c(usages[i].usage));
            buf_add(&b, str_c(at + 2));
            said_init(&s, &wire_openai);
            said_whole(&s, buf_str(&b));
            CHECK_INT(s.usage.input, usages[i].input);
            CHECK_INT(s.usage.output, usages[i].output);
            CHECK_INT(s.usage.reasoning, usages[i].reasoning);
            CHECK_INT(s.usage.cache_read, usages[i].cache_read);
            CHECK_INT(s.usage.cache_write, usages[i].cache_write);
            CHECK_INT(s.errors, 0);
            said_release(&s);
            buf_release(&b);
        }
}

/* The data that the decoder passes to the vault. */
static const struct {
    const char *stream, *keep;
} kept[] = {
    {DELTA("{\"reasoning_content\":\"a\\\"\"}") DELTA("{\"reasoning_content\":\"b\"}")
         DELTA("{\"tool_calls\":[{\"index\":0,\"id\":\"c\",\"function\":{\"name\":\"f\"}}]}")
             FINISH("tool_calls") DONE,
     "keep 0.1 c reasoning_content: \"a\\\"b\"\n"},
    {DELTA("{\"reasoning_content\":\"\",\"content\":\"x\"}")
         DELTA("{\"tool_calls\":[{\"index\":0,\"id\":\"c\",\"function\":{\"name\":\"f\"}}]}")
             FINISH("tool_calls") DONE,
     "keep 0.1 c reasoning_content: \"\"\n"},
    {DELTA("{\"reasoning\":\"ab\",\"reasoning_details\":[{\"type\":\"reasoning.text\",\"text\":"
           "\"a\",\"index\":0,\"format\":\"x\"}]}")
         DELTA("{\"reasoning_details\":[{\"type\":\"reasoning.text\",\"text\":\"b\",\"index\":0}]}")
             DELTA("{\"reasoning_details\":[{\"type\":\"reasoning.text\",\"signature\":\"sig\","
                   "\"index\":0}]}")
                 DELTA("{\"reasoning_details\":[{\"type\":\"reasoning.encrypted\",\"data\":\"e\","
                       "\"index\":1}]}") DELTA("{\"tool_calls\":[{\"index\":0,\"id\":\"c\","
                                               "\"function\":{\"name\":\"f\"}}]}")
                     FINISH("tool_calls") DONE,
     "keep 0.1 c reasoning_details: [{\"type\":\"reasoning.text\",\"text\":\"ab\",\"index\":0,"
     "\"format\":\"x\",\"signature\":\"sig\"},{\"type\":\"reasoning.encrypted\",\"data\":\"e\","
     "\"index\":1}]\n"},
    {DELTA("{\"tool_calls\":[{\"index\":0,\"id\":\"c\",\"extra_content\":{\"google\":{"
           "\"thought_signature\":\"s\"}},\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]}")
         FINISH("tool_calls") DONE,
     "keep 0.0 c call.extra_content: {\"google\":{\"thought_signature\":\"s\"}}\n"},
};

TEST(what_must_go_back_is_kept)
{
    for (size_t i = 0; i < COUNT_OF(kept); i++) {
        struct said s;

        said_init(&s, &wire_openai);
        said_stream(&s, str_c(kept[i].stream), 3);
        CHECK_F(str_find(buf_str(&s.lines), str_c(kept[i].keep)) != STR_NONE,
                STR_FMT,
                STR_ARG(buf_str(&s.lines)));
        said_release(&s);
    }
}

TEST(nothing_is_kept_without_a_call)
{
    struct said s;

    said_init(&s, &wire_openai);
    said_stream(&s, STR(DELTA("{\"reasoning_content\":\"a\"}") FINISH("stop") DONE), 100);
    CHECK(str_find(buf_str(&s.lines), STR("keep")) == STR_NONE);
    said_release(&s);
}

TEST(members_without_an_event_are_extras)
{
    static const char stream[] =
        "data: {\"id\":\"r\",\"system_fingerprint\":\"fp\",\"choices\":[{\"index\":0,\"delta\":{"
        "\"content\":\"a\",\"annotations\":[1]},\"logprobs\":{\"content\":[2]}}]}\n\n"
        "data: {\"id\":\"r\",\"system_fingerprint\":\"fp\",\"choices\":[{\"index\":0,\"delta\":{"
        "\"content\":\"b\",\"annotations\":[1]},\"logprobs\":null,\"finish_reason\":\"stop\"}]}\n\n"
        "data: {\"id\":\"r\",\"system_fingerprint\":\"fp2\",\"choices\":[]}\n\n" DONE;
    struct telling t;
    struct said s;

    said_init(&s, &wire_openai);
    said_stream(&s, str_c(stream), 1);
    CHECK_STR(buf_str(&s.lines),
              "start 0.0 r : \nextra 0.0  system_fingerprint: \"fp\"\ntext 0.0  : a\n"
              "extra 0.0  message.annotations: [1]\nextra 0.0  choice.logprobs: {\"content\":[2]}\n"
              "text 0.0  : b\nextra 0.0  message.annotations: [1]\nstop 0.0  stop: \n"
              "extra 0.0  system_fingerprint: \"fp2\"\nend 0.0  : \n");
    said_release(&s);
    telling_init(&t, &wire_openai, false);
    said_init(&s, &wire_openai);
    s.d.sink = (struct chat_sink){telling_on_event, &t};
    said_stream(&s, str_c(stream), 100);
    CHECK_STR(buf_str(&t.out),
              "{\"id\":\"r\",\"object\":\"chat.completion\",\"created\":0,\"model\":\"m\","
              "\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":\"ab\","
              "\"annotations\":[1,1]},\"logprobs\":{\"content\":[2]},\"finish_reason\":\"stop\"}],"
              "\"system_fingerprint\":\"fp2\"}");
    said_release(&s);
    telling_release(&t);
}

/* ---- encoding ---- */

#define CHUNK(delta, finish)                                                                       \
    "data: {\"id\":\"x\",\"object\":\"chat.completion.chunk\",\"created\":7,\"model\":\"m\","      \
    "\"choices\":[{\"index\":0,\"delta\":" delta ",\"finish_reason\":" finish "}]}\n\n"

static void tell(struct telling *t)
{
    static const struct chat_usage usage = {3, 9, 4, 1, -1, {"", 0}};
    const struct chat_event events[] = {
        {.kind = CHAT_START, .id = STR("up"), .name = STR("big")},
        {.kind = CHAT_REASONING, .text = STR("h\nm")},
        {.kind = CHAT_TEXT, .block = 1, .text = STR("ok")},
        {.kind = CHAT_CALL, .block = 2, .id = STR("c1"), .name = STR("f")},
        {.kind = CHAT_ARGUMENTS, .block = 2, .text = STR("{\"a\":1}")},
        {.kind = CHAT_CALL, .block = 3, .id = STR("c2"), .name = STR("g")},
        {.kind = CHAT_OPAQUE,
         .block = 4,
         .text = STR("{}"),
         .name = STR(""),
         .dialect = CHAT_GEMINI},
        {.kind = CHAT_STOP, .stop = CHAT_STOP_TOOL, .name = STR("")},
        {.kind = CHAT_USAGE, .usage = &usage, .dialect = CHAT_ANTHROPIC},
        {.kind = CHAT_END},
    };

    t->en.id = STR("x");
    t->en.created_s = 7;
    for (size_t i = 0; i < COUNT_OF(events); i++)
        wire_encode(&t->en, &events[i]);
}

#define USAGE                                                                                      \
    "{\"prompt_tokens\":3,\"completion_tokens\":9,\"total_tokens\":12,\"prompt_tokens_details\":{" \
    "\"cached_tokens\":1},\"completion_tokens_details\":{\"reasoning_tokens\":4}}"

TEST(a_stream_says_reasoning_under_both_names)
{
    struct telling t;

    telling_init(&t, &wire_openai, true);
    tell(&t);
    CHECK_STR(
        buf_str(&t.out),
        CHUNK("{\"role\":\"assistant\",\"content\":\"\"}",
              "null") CHUNK("{\"reasoning\":\"h\\nm\",\"reasoning_content\":\"h\\nm\"}",
                            "null") CHUNK("{\"content\":\"ok\"}", "null")
            CHUNK("{\"tool_calls\":[{\"index\":0,\"id\":\"c1\",\"type\":\"function\","
                  "\"function\":{\"name\":\"f\",\"arguments\":\"\"}}]}",
                  "null") CHUNK("{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"{"
                                "\\\"a\\\":1}\"}}]}",
                                "null")
                CHUNK("{\"tool_calls\":[{\"index\":1,\"id\":\"c2\",\"type\":\"function\","
                      "\"function\":{\"name\":\"g\",\"arguments\":\"\"}}]}",
                      "null")
                    CHUNK("{\"tool_calls\":[{\"index\":1,\"function\":{\"arguments\":\"{}\"}}]}",
                          "null")
                        CHUNK("{}", "\"tool_calls\"") "data: "
                                                      "{\"id\":\"x\",\"object\":\"chat.completion."
                                                      "chunk\",\"created\":7,\"model\":\"m\","
                                                      "\"choices\":[],\"usage\":" USAGE
                                                      "}\n\n" DONE);
    telling_release(&t);
}

TEST(a_body_has_it_all)
{
    struct telling t;

    telling_init(&t, &wire_openai, false);
    tell(&t);
    CHECK_STR(buf_str(&t.out),
              "{\"id\":\"x\",\"object\":\"chat.completion\",\"created\":7,\"model\":\"m\","
              "\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":\"ok\","
              "\"reasoning\":\"h\\nm\",\"reasoning_content\":\"h\\nm\",\"tool_calls\":[{\"id\":"
              "\"c1\",\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":"
              "\"{\\\"a\\\":1}\"}},{\"id\":\"c2\",\"type\":\"function\",\"function\":{\"name\":"
              "\"g\",\"arguments\":\"{}\"}}]},\"finish_reason\":\"tool_calls\"}],\"usage\":" USAGE
              "}");
    telling_release(&t);
}

TEST(usage_comes_only_if_it_was_asked_for)
{
    struct telling t;

    telling_init(&t, &wire_openai, true);
    t.request.stream_usage = false;
    tell(&t);
    CHECK(str_find(buf_str(&t.out), STR("usage")) == STR_NONE);
    CHECK(str_ends(buf_str(&t.out), STR(DONE)));
    telling_release(&t);
}

TEST(an_error_ends_a_stream_without_done)
{
    const struct chat_error error = {.status = 429,
                                     .type = STR(""),
                                     .message = STR("slow \"down\""),
                                     .code = STR(""),
                                     .param = STR("")};
    struct telling t;

    telling_init(&t, &wire_openai, true);
    wire_encode(&t.en, &(struct chat_event){.kind = CHAT_ERROR, .error = &error});
    wire_encode(&t.en, &(struct chat_event){.kind = CHAT_END});
    CHECK_STR(buf_str(&t.out),
              "data: {\"error\":{\"message\":\"slow \\\"down\\\"\",\"type\":\"rate_limit_error\","
              "\"param\":null,\"code\":\"rate_limit_exceeded\"}}\n\n");
    telling_release(&t);
}

TEST(errors_have_the_type_that_fits_their_status)
{
    static const struct {
        int status;
        const char *want;
    } cases[] = {
        {400,
         "{\"error\":{\"message\":\"m\",\"type\":\"invalid_request_error\",\"param\":null,"
         "\"code\":null}}"},
        {401,
         "{\"error\":{\"message\":\"m\",\"type\":\"authentication_error\",\"param\":null,"
         "\"code\":\"invalid_api_key\"}}"},
        {403,
         "{\"error\":{\"message\":\"m\",\"type\":\"permission_error\",\"param\":null,"
         "\"code\":null}}"},
        {404,
         "{\"error\":{\"message\":\"m\",\"type\":\"not_found_error\",\"param\":null,\"code\":"
         "\"model_not_found\"}}"},
        {500,
         "{\"error\":{\"message\":\"m\",\"type\":\"server_error\",\"param\":null,\"code\":"
         "null}}"},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct chat_error error = {.status = cases[i].status, .message = STR("m")};
        struct buf b;

        error.type = error.code = error.param = STR("");
        buf_init(&b, 1 << 12);
        wire_openai.write_error(&error, &b);
        CHECK_STR(buf_str(&b), cases[i].want);
        buf_reset(&b);
        error.type = STR("RESOURCE_EXHAUSTED"); /* Google's error type */
        wire_openai.write_error(&error, &b);
        CHECK_STR(buf_str(&b), cases[i].want);
        buf_release(&b);
    }
}

static const struct {
    const char *body, *message, *type, *code;
} bodies[] = {
    {"{\"error\":{\"message\":\"m\",\"type\":\"t\",\"code\":\"c\",\"param\":null}}", "m", "t", "c"},
    {"{\"error\":\"m\"}", "m", "", ""},
    {"{\"message\":\"m\"}", "m", "", ""},
    {"{\"object\":\"error\",\"message\":\"m\",\"type\":\"t\",\"code\":40401}", "m", "t", "40401"},
    {"{\"detail\":\"m\"}", "m", "", ""},
    {"{\"detail\":[{\"loc\":[\"body\",\"messages\",0],\"msg\":\"m\",\"type\":\"t\"}]}",
     "m",
     "t",
     ""},
    {"{\"object\":\"error\",\"message\":{\"detail\":[{\"msg\":\"m\",\"type\":\"t\"}]}}",
     "m",
     "t",
     ""},
    {"[{\"error\":{\"code\":400,\"message\":\"m\",\"status\":\"INVALID\"}}]", "m", "", "400"},
    {"{\"error\":{\"message\":\"p\",\"code\":429,\"metadata\":{\"raw\":\"m\"}}}",
     "p: m",
     "",
     "429"},
    {"{\"nothing\":1}", "", "", ""},
    {"null", "", "", ""},
};

TEST(errors_of_every_host_are_read)
{
    for (size_t i = 0; i < COUNT_OF(bodies); i++) {
        struct chat_error error = {.status = 7, .message = STR(""), .type = STR("")};
        struct arena a;
        struct json doc;
        struct err e;

        error.code = error.param = STR("");
        arena_init(&a, 1 << 20);
        json_init(&doc);
        CHECK(json_parse(&doc, str_c(bodies[i].body), &e));
        wire_openai.read_error(&doc, &a, &error);
        CHECK_STR(error.message, bodies[i].message);
        CHECK_STR(error.type, bodies[i].type);
        CHECK_STR(error.code, bodies[i].code);
        json_release(&doc);
        arena_release(&a);
    }
}

TEST(usage_of_another_dialect_is_said_in_ours)
{
    struct telling t;
    struct said s;

    telling_init(&t, &wire_openai, false);
    said_init(&s, &wire_gemini);
    s.d.sink = (struct chat_sink){telling_on_event, &t};
    said_whole(&s,
               STR("{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"a\"}]},"
                   "\"finishReason\":\"STOP\"}],\"usageMetadata\":{\"promptTokenCount\":3,"
                   "\"candidatesTokenCount\":4}}"));
    CHECK(str_find(buf_str(&t.out), STR("\"prompt_tokens\":3")) != STR_NONE);
    CHECK(str_find(buf_str(&t.out), STR("promptTokenCount")) == STR_NONE);
    said_release(&s);
    telling_release(&t);
}

TEST_MAIN(T(usage_of_another_dialect_is_said_in_ours), T(every_spelling_is_read),
          T(a_stream_that_is_cut_says_so), T(an_error_in_a_stream_is_an_error),
          T(usage_has_the_reasoning_in_it_whoever_counts), T(what_must_go_back_is_kept),
          T(nothing_is_kept_without_a_call), T(members_without_an_event_are_extras),
          T(a_stream_says_reasoning_under_both_names), T(a_body_has_it_all),
          T(usage_comes_only_if_it_was_asked_for), T(an_error_ends_a_stream_without_done),
          T(errors_have_the_type_that_fits_their_status), T(errors_of_every_host_are_read))
