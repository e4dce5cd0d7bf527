/* /generate: reads a prompt, writes named events.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/wire.h"
#include "wire_openai_help.h"

static bool ask(const char *body, struct arena *a, struct json *doc, struct chat_request *r,
                struct err *e)
{
    arena_init(a, 1 << 20);
    json_init(doc);
    CHECK_F(json_parse(doc, str_c(body), e), "%s", e->text);
    return wire_generate.read(doc, a, r, e);
}

TEST(a_prompt_streams_at_medium_unless_told_otherwise)
{
    struct chat_request r;
    struct arena a;
    struct json doc;
    struct err e;

    CHECK(ask("{\"model\":\"m\",\"prompt\":\"p\",\"system\":\"s\"}", &a, &doc, &r, &e));
    CHECK(r.stream && r.level == CHAT_LEVEL_ON && r.message_count == 2);
    CHECK(r.messages[0].role == CHAT_SYSTEM && r.messages[1].role == CHAT_USER);
    CHECK_STR(r.messages[0].parts[0].text, "s");
    CHECK_STR(r.messages[1].parts[0].text, "p");
    json_release(&doc);
    arena_release(&a);
    CHECK(ask("{\"messages\":[{\"role\":\"user\",\"content\":\"p\"}],\"stream\":false,"
              "\"reasoning_effort\":\"high\",\"max_tokens\":7,\"temperature\":0.1}",
              &a,
              &doc,
              &r,
              &e));
    CHECK(!r.stream && r.level == CHAT_LEVEL_HIGH && r.message_count == 1 && r.model.n == 0);
    CHECK_STR(r.max_tokens, "7");
    CHECK_STR(r.temperature, "0.1");
    json_release(&doc);
    arena_release(&a);
}

TEST(what_is_wrong_with_a_prompt_is_said)
{
    static const struct {
        const char *body, *why;
    } cases[] = {
        {"{}", "prompt: expected a string"},
        {"{\"prompt\":1}", "prompt: expected a string"},
        {"{\"prompt\":\"a\",\"messages\":[]}", "prompt: expected it or messages, not both"},
        {"{\"prompt\":\"a\",\"system\":1}", "system: expected a string"},
        {"{\"prompt\":\"a\",\"model\":1}", "model: expected a string, the name of a model"},
        {"{\"prompt\":\"a\",\"reasoning_effort\":\"x\"}",
         "reasoning_effort: expected none, minimal, low, medium, high, xhigh or max"},
        {"7", "the body: expected a JSON object"},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct chat_request r;
        struct arena a;
        struct json doc;
        struct err e;

        CHECK(!ask(cases[i].body, &a, &doc, &r, &e));
        CHECK_STR(str_c(e.text), cases[i].why);
        json_release(&doc);
        arena_release(&a);
    }
}

static void tell(struct telling *t)
{
    static const struct chat_usage usage = {3, 8, 2, -1, -1, STR_INIT("")};
    const struct chat_event events[] = {
        {.kind = CHAT_START, .id = STR("up"), .name = STR("big")},
        {.kind = CHAT_REASONING, .text = STR("h")},
        {.kind = CHAT_REASONING, .text = STR("m")},
        {.kind = CHAT_TEXT, .block = 1, .text = STR("a\n")},
        {.kind = CHAT_CALL, .block = 2, .id = STR("c"), .name = STR("f")},
        {.kind = CHAT_ARGUMENTS, .block = 2, .text = STR("{\"x\":\n")},
        {.kind = CHAT_ARGUMENTS, .block = 2, .text = STR("1}")},
        {.kind = CHAT_STOP, .stop = CHAT_STOP_TOOL, .name = STR("")},
        {.kind = CHAT_USAGE, .usage = &usage},
        {.kind = CHAT_END},
    };

    t->en.id = STR("x");
    for (size_t i = 0; i < COUNT_OF(events); i++)
        wire_encode(&t->en, &events[i]);
}

#define ANSWER                                                                                     \
    "event: token\ndata: {\"text\":\"a\\n\"}\n\n"                                                  \
    "event: commentary\ndata: {\"state\":\"started\",\"tool\":\"f\"}\n\n"                          \
    "event: tool_call\ndata: {\"id\":\"c\",\"name\":\"f\",\"arguments\":{\"x\": 1}}\n\n"           \
    "event: usage\ndata: {\"input_tokens\":3,\"output_tokens\":8,\"reasoning_tokens\":2,"          \
    "\"final_tokens\":6,\"reasoning_ratio\":0.2500}\n\n"                                           \
    "event: end\ndata: {\"stop\":\"tool\"}\n\n"
#define STARTED "event: analysis\ndata: {\"state\":\"started\"}\n\n"
#define ENDED "event: analysis\ndata: {\"state\":\"ended\"}\n\n"
#define WHOLE "event: reasoning\ndata: {\"text\":\"hm\"}\n\n"
#define DELTAS                                                                                     \
    "event: reasoning_delta\ndata: {\"text\":\"h\"}\n\n"                                           \
    "event: reasoning_delta\ndata: {\"text\":\"m\"}\n\n"

TEST(events_have_names)
{
    struct telling t;

    telling_init(&t, &wire_generate, true);
    tell(&t);
    CHECK_STR(buf_str(&t.out), STARTED ENDED WHOLE ANSWER);
    telling_release(&t);
    telling_init(&t, &wire_generate, true);
    wire_generate_options(&t.en, true, true);
    tell(&t);
    CHECK_STR(buf_str(&t.out), STARTED DELTAS ENDED WHOLE ANSWER);
    telling_release(&t);
    telling_init(&t, &wire_generate, true);
    wire_generate_options(&t.en, false, false);
    tell(&t);
    CHECK_STR(buf_str(&t.out), STARTED ENDED ANSWER);
    telling_release(&t);
}

TEST(what_was_counted_ends_the_analysis)
{
    static const struct {
        int64_t tokens, cap;
        const char *data;
    } cases[] = {
        {204, 256, "{\"state\":\"ended\",\"tokens\":204,\"cap\":256}"},
        {0, -1, "{\"state\":\"ended\",\"tokens\":0}"},
        {-1, 128, "{\"state\":\"ended\",\"cap\":128}"},
        {-1, -1, "{\"state\":\"ended\"}"},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct telling t;

        telling_init(&t, &wire_generate, true);
        wire_generate_counts(&t.en, cases[i].tokens, cases[i].cap);
        tell(&t);
        CHECK(str_find(buf_str(&t.out), str_c(cases[i].data)) != STR_NONE);
        telling_release(&t);
    }
}

TEST(without_a_stream_it_is_one_object)
{
    struct telling t;

    telling_init(&t, &wire_generate, false);
    tell(&t);
    CHECK_STR(
        buf_str(&t.out),
        "{\"id\":\"x\",\"model\":\"m\",\"text\":\"a\\n\",\"reasoning\":\"hm\",\"tool_calls\":[{"
        "\"id\":\"c\",\"name\":\"f\",\"arguments\":{\"x\": 1}}],\"usage\":{\"input_tokens\":3,"
        "\"output_tokens\":8,\"reasoning_tokens\":2,\"final_tokens\":6,\"reasoning_ratio\":"
        "0.2500},\"stop\":\"tool\"}");
    telling_release(&t);
}

TEST(an_error_is_the_last_event)
{
    const struct chat_error error = {
        .status = 502, .type = STR("upstream_error"), .message = STR("gone"), .code = STR("")};
    struct telling t;

    telling_init(&t, &wire_generate, true);
    wire_encode(&t.en, &(struct chat_event){.kind = CHAT_ERROR, .error = &error});
    wire_encode(&t.en, &(struct chat_event){.kind = CHAT_END});
    CHECK_STR(
        buf_str(&t.out),
        "event: error\ndata: {\"message\":\"gone\",\"type\":\"upstream_error\",\"status\":502}"
        "\n\n");
    telling_release(&t);
}

/* A truncated call could have another effect. */
TEST(a_reply_without_room_is_an_error)
{
    for (int stream = 0; stream < 2; stream++) {
        struct chat_request r = {.model = STR("m")};
        struct chat_event call = {
            .kind = CHAT_CALL, .text = STR(""), .id = STR("c"), .name = STR("f")};
        struct chat_event more = call;
        struct wire_encoder en;
        struct arena a;
        struct buf out, big;

        arena_init(&a, (size_t)400 << 10);
        buf_init(&out, HELP_MAX);
        buf_init(&big, HELP_MAX);
        buf_printf(&big, "{\"a\":\"%0*d\"}", 300 << 10, 0);
        more.kind = CHAT_ARGUMENTS;
        more.text = buf_str(&big);
        wire_encoder_init(&en, &wire_generate, &r, stream, &a, &out);
        wire_encode(&en, &call);
        wire_encode(&en, &more);
        more.kind = CHAT_END;
        wire_encode(&en, &more);
        CHECK(str_find(buf_str(&out), STR("the reply is too large")) != STR_NONE);
        CHECK(str_find(buf_str(&out), STR("arguments")) == STR_NONE);
        CHECK(en.failed);
        buf_release(&big);
        buf_release(&out);
        arena_release(&a);
    }
}

TEST_MAIN(T(a_prompt_streams_at_medium_unless_told_otherwise),
          T(what_is_wrong_with_a_prompt_is_said), T(events_have_names),
          T(what_was_counted_ends_the_analysis), T(without_a_stream_it_is_one_object),
          T(an_error_is_the_last_event), T(a_reply_without_room_is_an_error))
