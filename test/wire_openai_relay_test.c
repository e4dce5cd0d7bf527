/* Chat Completions passed on: untouched frames keep their bytes, and changed frames carry the text
 * of the events.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire_openai_help.h"

#define HEAD "\"id\":\"r\",\"created\":1,\"model\":\"m\","

/* Relays a frame whose content is now these events, and compares the output. */
static void relay(bool stream, const char *data, const struct chat_event *events, size_t n,
                  const char *want)
{
    struct wire_frame f = {.name = STR(""), .data = str_c(data), .raw = STR("raw")};
    struct telling t;
    struct json doc;
    struct err e;

    json_init(&doc);
    if (json_parse(&doc, f.data, &e))
        f.doc = &doc;
    telling_init(&t, &wire_openai, stream);
    wire_relay(&t.en, &f, events, n, true);
    CHECK_STR(buf_str(&t.out), want);
    telling_release(&t);
    json_release(&doc);
}

#define EV(k, t)                                                                                   \
    {                                                                                              \
        .kind = k, .text = STR_INIT(t), .id = STR_INIT(""), .name = STR_INIT("")                   \
    }
#define RELAY(stream, data, want, ...)                                                             \
    do {                                                                                           \
        const struct chat_event events_[] = {__VA_ARGS__};                                         \
                                                                                                   \
        relay(stream, data, events_, COUNT_OF(events_), want);                                     \
    } while (0)
#define OUT(delta, more)                                                                           \
    "data: {" HEAD "\"choices\":[{\"index\":0,\"delta\":" delta ",\"finish_reason\":null}]" more   \
    "}\n\n"

TEST(reasoning_goes_out_under_both_names)
{
    RELAY(
        true,
        "{" HEAD "\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"reasoning\":\"a\"},"
        "\"finish_reason\":null}],\"x\":1}",
        OUT("{\"role\":\"assistant\",\"reasoning\":\"a\",\"reasoning_content\":\"a\"}", ",\"x\":1"),
        EV(CHAT_REASONING, "a"));
}

TEST(text_that_became_two_things_is_two_chunks)
{
    RELAY(true,
          "{" HEAD "\"choices\":[{\"index\":0,\"delta\":{\"content\":\"<think>a</think>b\"}}]}",
          OUT("{\"reasoning\":\"a\",\"reasoning_content\":\"a\"}", "")
              OUT("{\"content\":\"b\"}", ""),
          EV(CHAT_REASONING, "a"),
          EV(CHAT_TEXT, "b"));
}

#define IMAGE "{\"type\":\"image_url\",\"image_url\":{\"url\":\"u\"}}"
#define LIST                                                                                       \
    "[{\"type\":\"text\",\"text\":\"<think>a</think>b\",\"x\":1}," IMAGE                           \
    ",{\"type\":\"text\",\"text\":"                                                                \
    "\"c\"}]"
#define EV_IMAGE                                                                                   \
    {                                                                                              \
        .kind = CHAT_OPAQUE, .block = 2, .dialect = CHAT_OPENAI, .text = STR_INIT(IMAGE),          \
        .id = STR_INIT(""), .name = STR_INIT("content")                                            \
    }
#define EV_AFTER                                                                                   \
    {                                                                                              \
        .kind = CHAT_TEXT, .block = 3, .text = STR_INIT("c"), .id = STR_INIT(""),                  \
        .name = STR_INIT("")                                                                       \
    }

TEST(changed_content_that_is_a_list_keeps_its_other_chunks)
{
    RELAY(true,
          "{" HEAD "\"choices\":[{\"index\":0,\"delta\":{\"content\":" LIST "}}]}",
          OUT("{\"reasoning\":\"a\",\"reasoning_content\":\"a\"}", "")
              OUT("{\"content\":\"b\"}", "") OUT("{\"content\":[" IMAGE "]}", "")
                  OUT("{\"content\":\"c\"}", ""),
          EV(CHAT_REASONING, "a"),
          EV(CHAT_TEXT, "b"),
          EV_IMAGE,
          EV_AFTER);
    RELAY(true,
          "{" HEAD "\"choices\":[{\"index\":0,\"delta\":{\"content\":[" IMAGE "]}}],\"x\":1}",
          OUT("{\"content\":[" IMAGE "]}", ",\"x\":1"),
          EV_IMAGE);
    RELAY(false,
          "{" HEAD "\"choices\":[{\"index\":0,\"message\":{\"content\":" LIST "}}]}",
          "{" HEAD
          "\"choices\":[{\"index\":0,\"message\":{\"content\":[{\"type\":\"text\",\"text\":"
          "\"b\",\"x\":1}," IMAGE ",{\"type\":\"text\",\"text\":\"c\"}],\"reasoning\":\"a\","
          "\"reasoning_content\":\"a\"}}]}",
          EV(CHAT_REASONING, "a"),
          EV(CHAT_TEXT, "b"),
          EV_IMAGE,
          EV_AFTER);
    RELAY(false,
          "{" HEAD
          "\"choices\":[{\"index\":0,\"message\":{\"content\":[{\"type\":\"text\",\"text\":"
          "\"secret\"}," IMAGE "]}}]}",
          "{" HEAD "\"choices\":[{\"index\":0,\"message\":{\"content\":[" IMAGE "]}}]}",
          EV_IMAGE);
}

TEST(usage_that_a_frame_has_twice_is_removed_twice)
{
    RELAY(true,
          "{\"usage\":null," HEAD "\"choices\":[{\"index\":0,\"delta\":{\"content\":\"ab\"}}],"
          "\"usage\":null,\"x\":\"longer than the first usage\"}",
          OUT("{\"content\":\"b\"}", ",\"x\":\"longer than the first usage\""),
          EV(CHAT_TEXT, "b"));
}

#define LAST(delta)                                                                                \
    "data: {" HEAD "\"choices\":[{\"index\":0,\"delta\":" delta                                    \
    ",\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":1}}\n\n"

TEST(a_frame_of_one_text_keeps_what_else_it_carries)
{
    RELAY(true,
          "{" HEAD "\"choices\":[{\"index\":0,\"delta\":{\"content\":\"b\",\"reasoning\":\"a\","
          "\"audio\":{\"id\":1}},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":1}}",
          LAST("{\"content\":\"b\",\"audio\":{\"id\":1}}"),
          EV(CHAT_TEXT, "b"));
    RELAY(true, /* the white space that the pipe buffered is emitted with the stop */
          "{" HEAD "\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}],"
          "\"usage\":{\"prompt_tokens\":1}}",
          LAST("{\"content\":\" \"}"),
          EV(CHAT_TEXT, " "));
}

TEST(what_else_a_frame_of_two_texts_carries_follows)
{
    RELAY(true,
          "{" HEAD "\"choices\":[{\"index\":0,\"delta\":{\"content\":\"<think>a</think>b\","
          "\"audio\":{\"id\":1}},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":1}}",
          OUT("{\"reasoning\":\"a\",\"reasoning_content\":\"a\"}", "")
              OUT("{\"content\":\"b\"}", "") LAST("{\"audio\":{\"id\":1}}"),
          EV(CHAT_REASONING, "a"),
          EV(CHAT_TEXT, "b"));
}

#define LOGPROBS "\"logprobs\":{\"content\":[{\"token\":\"t\"}]}"

/* The pipe drops the event of a list that contains tokens of hidden reasoning. */
TEST(log_probabilities_stay_in_the_frame_that_says_their_text)
{
    RELAY(true,
          "{" HEAD "\"choices\":[{\"index\":0,\"delta\":{\"content\":\"b \"}," LOGPROBS
          ",\"finish_reason\":null}]}",
          "data: {" HEAD "\"choices\":[{\"index\":0,\"delta\":{\"content\":\" b\"}," LOGPROBS
          ",\"finish_reason\":null}]}\n\n",
          EV(CHAT_TEXT, " b"),
          {.kind = CHAT_EXTRA, .text = STR_INIT("{}"), .name = STR_INIT("choice.logprobs")});
    RELAY(true,
          "{" HEAD "\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a</think>b\"}," LOGPROBS
          ",\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":1}}",
          LAST("{\"content\":\"b\"}"),
          EV(CHAT_TEXT, "b"));
}

TEST(a_frame_that_only_had_hidden_reasoning_is_gone)
{
    relay(true,
          "{" HEAD "\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\",\"reasoning\":\"a\","
          "\"reasoning_content\":\"a\",\"reasoning_details\":[{\"type\":\"reasoning.text\","
          "\"text\":\"a\"}]}}]}",
          NULL,
          0,
          "");
}

TEST(details_stay_with_the_words_they_repeat)
{
    RELAY(true,
          "{" HEAD
          "\"choices\":[{\"index\":0,\"delta\":{\"reasoning\":\"a\",\"reasoning_details\":[{"
          "\"type\":\"reasoning.text\",\"text\":\"a\"}]}}]}",
          OUT("{\"reasoning\":\"a\",\"reasoning_content\":\"a\",\"reasoning_details\":[{"
              "\"type\":\"reasoning.text\",\"text\":\"a\"}]}",
              ""),
          EV(CHAT_REASONING, "a"));
    RELAY(true, /* only these blocks contain the reasoning */
          "{" HEAD "\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"c\","
          "\"thinking_blocks\":[{\"thinking\":\"a\"},{\"thinking\":\"b\"}]}}]}",
          OUT("{\"reasoning\":\"ab\",\"reasoning_content\":\"ab\",\"role\":\"assistant\","
              "\"thinking_blocks\":[{\"thinking\":\"a\"},{\"thinking\":\"b\"}]}",
              "") OUT("{\"content\":\"c\"}", ""),
          EV(CHAT_REASONING, "a"),
          EV(CHAT_REASONING, "b"),
          EV(CHAT_TEXT, "c"));
    RELAY(true, /* truncated by a budget */
          "{" HEAD
          "\"choices\":[{\"index\":0,\"delta\":{\"reasoning\":\"ab\",\"reasoning_details\":[{"
          "\"type\":\"reasoning.text\",\"text\":\"ab\"}]}}]}",
          OUT("{\"reasoning\":\"a\",\"reasoning_content\":\"a\"}", ""),
          EV(CHAT_REASONING, "a"));
}

TEST(calls_found_in_the_text_become_calls)
{
    static const struct chat_event call = {.kind = CHAT_CALL,
                                           .from_text = true,
                                           .id = STR_INIT("c"),
                                           .name = STR_INIT("f"),
                                           .text = STR_INIT("")};

    RELAY(true,
          "{" HEAD "\"choices\":[{\"index\":0,\"delta\":{\"content\":\"<call>\"},"
          "\"finish_reason\":\"stop\"}]}",
          OUT("{\"tool_calls\":[{\"index\":0,\"id\":\"c\",\"type\":\"function\",\"function\":{"
              "\"name\":\"f\",\"arguments\":\"\"}}]}",
              "")
              OUT("{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"{}\"}}]}",
                  "") "data: {" HEAD
                      "\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}"
                      "\n\n",
          call,
          EV(CHAT_ARGUMENTS, "{}"),
          {.kind = CHAT_STOP, .stop = CHAT_STOP_TOOL});
    RELAY(false,
          "{\"choices\":[{\"index\":0,\"message\":{\"content\":\"<call>\"},\"finish_reason\":"
          "\"stop\"}]}",
          "{\"choices\":[{\"index\":0,\"message\":{\"content\":\"\",\"tool_calls\":[{\"id\":\"c\","
          "\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]},"
          "\"finish_reason\":\"tool_calls\"}]}",
          call,
          EV(CHAT_ARGUMENTS, "{}"),
          {.kind = CHAT_STOP, .stop = CHAT_STOP_TOOL});
}

/* ---- indices of calls ---- */

#define CHUNK(delta)                                                                               \
    "{" HEAD "\"choices\":[{\"index\":0,\"delta\":" delta ",\"finish_reason\":null}]}"
#define PIECE(index, more) "{\"tool_calls\":[{\"index\":" index "," more "}]}"
#define MARKED(block_)                                                                             \
    {                                                                                              \
        .kind = CHAT_CALL, .block = block_, .from_text = true, .id = STR_INIT("t" #block_),        \
        .name = STR_INIT("f"), .text = STR_INIT("")                                                \
    }
#define OWN(block_)                                                                                \
    {                                                                                              \
        .kind = CHAT_CALL, .block = block_, .id = STR_INIT("p" #block_), .name = STR_INIT("g"),    \
        .text = STR_INIT("")                                                                       \
    }
#define MARKED_OUT(index, id)                                                                      \
    "data: " CHUNK(PIECE(index,                                                                    \
                         "\"id\":\"" id "\",\"type\":\"function\",\"function\":{"                  \
                         "\"name\":\"f\",\"arguments\":\"\"}")) "\n\n"

struct step {
    const char *data;
    struct chat_event event;
    bool touched;
    const char *want;
};

static void relay_steps(const struct step *steps, size_t n)
{
    struct telling t;

    telling_init(&t, &wire_openai, true);
    for (size_t i = 0; i < n; i++) {
        struct wire_frame f = {.name = STR(""), .data = str_c(steps[i].data)};
        struct buf raw;
        struct json doc;
        struct err e;

        json_init(&doc);
        buf_init(&raw, HELP_MAX);
        buf_printf(&raw, "data: %s\n\n", steps[i].data);
        f.raw = buf_str(&raw);
        CHECK(json_parse(&doc, f.data, &e));
        f.doc = &doc;
        buf_reset(&t.out);
        wire_relay(&t.en, &f, &steps[i].event, 1, steps[i].touched);
        CHECK_STR(buf_str(&t.out), steps[i].want);
        buf_release(&raw);
        json_release(&doc);
    }
    telling_release(&t);
}

TEST(calls_of_the_text_and_of_the_provider_have_different_indices)
{
    static const struct step text_first[] = {
        {CHUNK("{\"content\":\"</c>\"}"), MARKED(0), true, MARKED_OUT("0", "t0")},
        {CHUNK(PIECE("0", "\"id\":\"p1\"")),
         OWN(1),
         false,
         "data: " CHUNK(PIECE("1", "\"id\":\"p1\"")) "\n\n"},
        {CHUNK("{\"content\":\"</c>\"}"), MARKED(2), true, MARKED_OUT("2", "t2")},
        {CHUNK(PIECE("1", "\"id\":\"p3\"")),
         OWN(3),
         false,
         "data: " CHUNK(PIECE("3", "\"id\":\"p3\"")) "\n\n"},
        {CHUNK(PIECE("0", "\"x\":1")),
         EV(CHAT_ARGUMENTS, "{}"),
         false,
         "data: " CHUNK(PIECE("1", "\"x\":1")) "\n\n"},
    };
    static const struct step provider_first[] = {
        {CHUNK(PIECE("0", "\"id\":\"p0\"")),
         OWN(0),
         false,
         "data: " CHUNK(PIECE("0", "\"id\":\"p0\"")) "\n\n"},
        {CHUNK("{\"content\":\"</c>\"}"), MARKED(1), true, MARKED_OUT("1", "t1")},
        {CHUNK(PIECE("0", "\"x\":1")),
         EV(CHAT_ARGUMENTS, "{}"),
         false,
         "data: " CHUNK(PIECE("0", "\"x\":1")) "\n\n"},
        {CHUNK(PIECE("1", "\"id\":\"p2\"")),
         OWN(2),
         false,
         "data: " CHUNK(PIECE("2", "\"id\":\"p2\"")) "\n\n"},
    };
    static const struct step one_frame[] = {
        {CHUNK(PIECE("0", "\"id\":\"p0\"")),
         MARKED(0),
         true,
         MARKED_OUT("1", "t0") "data: " CHUNK(PIECE("0", "\"id\":\"p0\"")) "\n\n"},
    };

    relay_steps(text_first, COUNT_OF(text_first));
    relay_steps(provider_first, COUNT_OF(provider_first));
    relay_steps(one_frame, COUNT_OF(one_frame));
}

/* So that a chunk with a million calls does not take minutes. */
TEST(calls_beyond_the_limit_keep_their_index)
{
    struct step steps[] = {
        {CHUNK("{\"content\":\"</c>\"}"), MARKED(0), true, MARKED_OUT("0", "t0")},
        {NULL, OWN(1), false, NULL},
    };
    struct buf in, want;

    buf_init(&in, HELP_MAX);
    buf_init(&want, HELP_MAX);
    buf_add(&want, STR("data: "));
    for (unsigned i = 0; i < WIRE_BLOCKS_MAX + 2; i++) {
        const char *before =
            i ? "," : "{" HEAD "\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[";

        buf_printf(&in, "%s{\"index\":%u}", before, i);
        buf_printf(&want, "%s{\"index\":%u}", before, i < WIRE_BLOCKS_MAX ? i + 1 : i);
    }
    buf_printf(&in, "]}}]}");
    buf_printf(&want, "]}}]}\n\n");
    buf_add_c(&in, 0);
    buf_add_c(&want, 0);
    steps[1].data = buf_str(&in).p;
    steps[1].want = buf_str(&want).p;
    relay_steps(steps, COUNT_OF(steps));
    buf_release(&in);
    buf_release(&want);
}

TEST(counts_made_here_go_into_the_usage)
{
    static const struct chat_usage usage = {1, 9, 4, -1, -1, STR_INIT("")};

    RELAY(true,
          "{" HEAD "\"choices\":[],\"usage\":{\"completion_tokens\":9}}",
          "data: {" HEAD "\"choices\":[],\"usage\":{\"completion_tokens\":9,"
          "\"completion_tokens_details\":{\"reasoning_tokens\":4}}}\n\n",
          {.kind = CHAT_USAGE, .usage = &usage});
}

TEST(a_body_is_changed_where_it_must_be)
{
    RELAY(
        false,
        "{ \"choices\": [{\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":\"<t>a</t>b\""
        ",\"refusal\":null},\"finish_reason\":\"stop\"}], \"x\": 1 }",
        "{ \"choices\": "
        "[{\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":\"b\",\"refusal"
        "\":null,\"reasoning\":\"a\",\"reasoning_content\":\"a\"},\"finish_reason\":\"stop\"}], "
        "\"x\": 1 }",
        EV(CHAT_REASONING, "a"),
        EV(CHAT_TEXT, "b"));
    RELAY(false,
          "{\"choices\":[{\"index\":0,\"message\":{\"content\":\"b\",\"reasoning\":\"a\"}}]}",
          "{\"choices\":[{\"index\":0,\"message\":{\"content\":\"b\"}}]}",
          EV(CHAT_TEXT, "b"));
}

TEST(what_was_held_back_comes_before_done)
{
    struct wire_frame first = {
        .name = STR(""),
        .data = STR("{" HEAD "\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}"),
        .raw = STR("data: first\n\n")};
    struct wire_frame done = {
        .name = STR(""), .data = STR("[DONE]"), .raw = STR("data: [DONE]\n\n")};
    const struct chat_event late[] = {EV(CHAT_TEXT, "<"), {.kind = CHAT_END}};
    struct telling t;
    struct json doc;
    struct err e;

    json_init(&doc);
    CHECK(json_parse(&doc, first.data, &e));
    first.doc = &doc;
    telling_init(&t, &wire_openai, true);
    wire_relay(&t.en, &first, late, 0, false);
    wire_relay(&t.en, &done, late, 2, true);
    CHECK_STR(
        buf_str(&t.out),
        "data: first\n\ndata: {\"id\":\"r\",\"object\":\"chat.completion.chunk\",\"created\":1,"
        "\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"<\"},"
        "\"finish_reason\":null}]}\n\ndata: [DONE]\n\n");
    telling_release(&t);
    json_release(&doc);
}

TEST_MAIN(T(reasoning_goes_out_under_both_names), T(text_that_became_two_things_is_two_chunks),
          T(a_frame_of_one_text_keeps_what_else_it_carries),
          T(changed_content_that_is_a_list_keeps_its_other_chunks),
          T(usage_that_a_frame_has_twice_is_removed_twice),
          T(what_else_a_frame_of_two_texts_carries_follows),
          T(log_probabilities_stay_in_the_frame_that_says_their_text),
          T(a_frame_that_only_had_hidden_reasoning_is_gone),
          T(details_stay_with_the_words_they_repeat), T(calls_found_in_the_text_become_calls),
          T(calls_of_the_text_and_of_the_provider_have_different_indices),
          T(calls_beyond_the_limit_keep_their_index), T(counts_made_here_go_into_the_usage),
          T(a_body_is_changed_where_it_must_be), T(what_was_held_back_comes_before_done))
