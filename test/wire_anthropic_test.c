/* The Anthropic dialect, with our own cases: bodies are read, written and changed; replies decoded,
 * encoded and passed on.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire_help.h"

#include "wire/anthropic/anthropic.h"

#define EVENT(name, json) "event: " name "\ndata: " json "\n\n"
#define START                                                                                      \
    EVENT(                                                                                         \
        "message_start",                                                                           \
        "{\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\",\"type\":\"message\",\"role\":" \
        "\"assistant\",\"content\":[],\"model\":\"claude\",\"stop_reason\":null,"                  \
        "\"stop_sequence\":null,\"usage\":{\"input_tokens\":10,\"cache_read_input_tokens\":5,"     \
        "\"cache_creation_input_tokens\":2,\"output_tokens\":1}}}")
#define BEGIN(i, block)                                                                            \
    EVENT("content_block_start",                                                                   \
          "{\"type\":\"content_block_start\",\"index\":" i ",\"content_block\":" block "}")
#define DELTA(i, delta)                                                                            \
    EVENT("content_block_delta",                                                                   \
          "{\"type\":\"content_block_delta\",\"index\":" i ",\"delta\":" delta "}")
#define TEXT(i, text) DELTA(i, "{\"type\":\"text_delta\",\"text\":\"" text "\"}")
#define THINK(i, text) DELTA(i, "{\"type\":\"thinking_delta\",\"thinking\":\"" text "\"}")
#define SIGN(i, text) DELTA(i, "{\"type\":\"signature_delta\",\"signature\":\"" text "\"}")
#define INPUT(i, text) DELTA(i, "{\"type\":\"input_json_delta\",\"partial_json\":\"" text "\"}")
#define STOP(i) EVENT("content_block_stop", "{\"type\":\"content_block_stop\",\"index\":" i "}")
#define PING EVENT("ping", "{\"type\":\"ping\"}")
#define END(reason)                                                                                \
    EVENT("message_delta",                                                                         \
          "{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"" reason                       \
          "\",\"stop_sequence\":null},\"usage\":{\"output_tokens\":42,"                            \
          "\"output_tokens_details\":{\"thinking_tokens\":30}}}")                                  \
    EVENT("message_stop", "{\"type\":\"message_stop\"}")
#define TEXT_BLOCK "{\"type\":\"text\",\"text\":\"\"}"
#define THINK_BLOCK "{\"type\":\"thinking\",\"thinking\":\"\",\"signature\":\"\"}"
#define CALL_BLOCK(id, name)                                                                       \
    "{\"type\":\"tool_use\",\"id\":\"" id "\",\"name\":\"" name "\",\"input\":{}}"

/* Decoded whole and in pieces of each size up to 9, with the same result. */
static void check_events(const char *bytes, const char *want)
{
    for (size_t piece = 0; piece < 10; piece++) {
        struct notes n;

        notes_init(&n);
        decode_to(&wire_anthropic, str_c(bytes), FRAMES_SSE, piece, &n);
        CHECK_STR(buf_str(&n.all), want);
        notes_release(&n);
    }
}

TEST(a_stream_is_decoded_block_by_block)
{
    check_events(START BEGIN("0", THINK_BLOCK) PING THINK("0", "Let me ") THINK("0", "see")
                     SIGN("0", "SIG") STOP("0") BEGIN("1", TEXT_BLOCK) TEXT("1", "I look.")
                         STOP("1") BEGIN("2", CALL_BLOCK("toolu_1", "look"))
                             INPUT("2", "{\\\"a\\\"") INPUT("2", ":1}") STOP("2") END("tool_use"),
                 "\nstart msg_1 claude\nusage 17 -1 -1 5 2\nreasoning 0.0: Let me see\nsignature "
                 "0.0: SIG\ntext 0.1: I look.\ncall 0.2 toolu_1 look\nkeep toolu_1 thinking: "
                 "{\"type\":\"thinking\",\"thinking\":\"Let me see\",\"signature\":\"SIG\"}"
                 "\narguments 0.2: {\"a\":1}\nusage 17 42 30 5 2\nstop tool tool_use\nend");
}

TEST(thinking_without_a_signature_is_kept_for_its_call)
{
    check_events(
        START BEGIN("0", "{\"type\":\"thinking\",\"thinking\":\"\"}") THINK("0", "hm") STOP("0")
            BEGIN("1", CALL_BLOCK("a", "f")) STOP("1") END("tool_use"),
        "\nstart msg_1 claude\nusage 17 -1 -1 5 2\nreasoning 0.0: hm\ncall 0.1 a f\nkeep a "
        "unsigned_thinking: {\"type\":\"thinking\",\"thinking\":\"hm\",\"signature\":\"\"}"
        "\narguments 0.1: {}\nusage 17 42 30 5 2\nstop tool tool_use\nend");
}

TEST(blocks_that_overlap_are_told_apart)
{
    /* From llama.cpp: the text begins before the thinking ends, and nothing is signed. */
    check_events(START BEGIN("0", "{\"type\":\"thinking\",\"thinking\":\"\"}") THINK("0", "hm")
                     BEGIN("1", TEXT_BLOCK) TEXT("1", "yes") STOP("0") TEXT("1", "!") STOP("1")
                         END("end_turn"),
                 "\nstart msg_1 claude\nusage 17 -1 -1 5 2\nreasoning 0.0: hm\ntext 0.1: yes!"
                 "\nusage 17 42 30 5 2\nstop end end_turn\nend");
}

TEST(a_delta_that_does_not_fit_its_block_begins_another)
{
    check_events(START BEGIN("0", TEXT_BLOCK) TEXT("0", "a") THINK("0", "b") TEXT("0", "c")
                     STOP("0") END("end_turn"),
                 "\nstart msg_1 claude\nusage 17 -1 -1 5 2\ntext 0.0: a\nreasoning 0.1: b\ntext "
                 "0.2: c\nusage 17 42 30 5 2\nstop end end_turn\nend");
}

TEST(a_call_without_arguments_has_an_empty_object)
{
    check_events(START BEGIN("0", CALL_BLOCK("t", "n")) INPUT("0", "") STOP("0") END("tool_use"),
                 "\nstart msg_1 claude\nusage 17 -1 -1 5 2\ncall 0.0 t n\narguments 0.0: {}\nusage "
                 "17 42 30 5 2\nstop tool tool_use\nend");
}

/* A text with the index of a call starts a new block and ends the call. */
TEST(a_call_that_a_text_takes_the_place_of_has_an_empty_object)
{
    check_events(
        START BEGIN("0", CALL_BLOCK("t", "f")) TEXT("0", "a") END("tool_use"),
        "\nstart msg_1 claude\nusage 17 -1 -1 5 2\ncall 0.0 t f\narguments 0.0: {}\ntext 0.1: "
        "a\nusage 17 42 30 5 2\nstop tool tool_use\nend");
}

TEST(thoughts_are_kept_for_the_calls_behind_them)
{
    check_events(
        START BEGIN("0", THINK_BLOCK) THINK("0", "one \\\"q\\\"") SIGN("0", "S1") STOP("0")
            BEGIN("1", "{\"type\":\"redacted_thinking\",\"data\":\"XX\"}") STOP("1")
                BEGIN("2", CALL_BLOCK("a", "f")) STOP("2") BEGIN("3", CALL_BLOCK("b", "f"))
                    STOP("3") BEGIN("4", THINK_BLOCK) THINK("4", "two") SIGN("4", "S2") STOP("4")
                        BEGIN("5", CALL_BLOCK("c", "f")) STOP("5") END("tool_use"),
        "\nstart msg_1 claude\nusage 17 -1 -1 5 2\nreasoning 0.0: one \"q\"\nsignature 0.0: S1"
        "\nredacted 0.1: XX"
        "\ncall 0.2 a f\nkeep a thinking: {\"type\":\"thinking\",\"thinking\":\"one \\\"q\\\"\","
        "\"signature\":\"S1\"}\nkeep a redacted_thinking: {\"type\":\"redacted_thinking\",\"data\":"
        "\"XX\"}\narguments 0.2: {}"
        "\ncall 0.3 b f\nkeep b thinking: {\"type\":\"thinking\",\"thinking\":\"one \\\"q\\\"\","
        "\"signature\":\"S1\"}\nkeep b redacted_thinking: {\"type\":\"redacted_thinking\",\"data\":"
        "\"XX\"}\narguments 0.3: {}"
        "\nreasoning 0.4: two\nsignature 0.4: S2\ncall 0.5 c f\nkeep c thinking: {\"type\":"
        "\"thinking\",\"thinking\":\"two\",\"signature\":\"S2\"}\narguments 0.5: {}"
        "\nusage 17 42 30 5 2\nstop tool tool_use\nend");
}

TEST(a_block_of_the_server_comes_whole)
{
    check_events(
        START BEGIN("0",
                    "{\"type\":\"server_tool_use\",\"id\":\"s\",\"name\":\"web\",\"input\":{}}")
            INPUT("0", "{\\\"q\\\":") INPUT("0", "1}") STOP("0")
                BEGIN("1", "{\"type\":\"web_result\",\"content\":[1]}") STOP("1") END("pause_turn"),
        "\nstart msg_1 claude\nusage 17 -1 -1 5 2\nopaque 0.0: "
        "{\"type\":\"server_tool_use\",\"id\":"
        "\"s\",\"name\":\"web\",\"input\":{\"q\":1}}\nopaque 0.1: {\"type\":\"web_result\","
        "\"content\":[1]}\nusage 17 42 30 5 2\nstop pause pause_turn\nend");
}

TEST(an_error_in_a_stream_has_its_status)
{
    check_events(START EVENT("error",
                             "{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\","
                             "\"message\":\"Overloaded\"}}"),
                 "\nstart msg_1 claude\nusage 17 -1 -1 5 2\nerror 529 Overloaded");
}

TEST(a_stream_that_is_cut_is_an_error)
{
    check_events(
        START BEGIN("0", TEXT_BLOCK) TEXT("0", "half"),
        "\nstart msg_1 claude\nusage 17 -1 -1 5 2\ntext 0.0: half\nerror 502 the provider's "
        "reply ended before it was complete");
}

TEST(what_is_no_reply_is_an_error)
{
    static const char *const bodies[] = {"{}", "[]", "1", "{\"content\":1}", "{", "null"};

    for (size_t i = 0; i < COUNT_OF(bodies); i++) {
        struct notes n;

        notes_init(&n);
        decode_to(&wire_anthropic, str_c(bodies[i]), FRAMES_WHOLE, 0, &n);
        CHECK_F(n.errors == 1, "%s", bodies[i]);
        CHECK(n.ends == 0);
        notes_release(&n);
    }
}

/* ---- encoding ---- */

static void encode_list(const struct chat_event *list, size_t n, bool stream, struct buf *out)
{
    struct chat_request r = {.model = STR("asked")};
    struct wire_encoder en;
    struct arena a;

    arena_init(&a, HELP_SIZE_MAX);
    wire_encoder_init(&en, &wire_anthropic, &r, stream, &a, out);
    en.id = STR("msg_ours");
    for (size_t i = 0; i < n; i++)
        wire_encode(&en, &list[i]);
    arena_release(&a);
}

TEST(what_another_provider_said_becomes_blocks_with_signatures_of_ours)
{
    struct chat_usage u = chat_usage_none;
    struct chat_event call = event(CHAT_CALL, 2, ""), stop = event(CHAT_STOP, 0, "");
    struct chat_event usage = event(CHAT_USAGE, 0, "");
    struct buf out;

    u.input = 20;
    u.output = 9;
    u.reasoning = 4;
    u.cache_read = 8;
    usage.usage = &u;
    call.id = STR("call_1");
    call.name = STR("f");
    stop.stop = CHAT_STOP_END;
    buf_init(&out, HELP_SIZE_MAX);
    for (int stream = 0; stream < 2; stream++) {
        struct chat_event list[] = {event(CHAT_START, 0, ""),
                                    event(CHAT_REASONING, 0, ""),
                                    event(CHAT_REASONING, 0, "hm"),
                                    event(CHAT_TEXT, 1, "yes"),
                                    call,
                                    event(CHAT_ARGUMENTS, 2, "{\"a\":"),
                                    event(CHAT_ARGUMENTS, 2, "1}"),
                                    usage,
                                    stop,
                                    event(CHAT_END, 0, "")};
        struct notes n;

        buf_reset(&out);
        encode_list(list, COUNT_OF(list), stream, &out);
        notes_init(&n);
        decode_to(&wire_anthropic, buf_str(&out), stream ? FRAMES_SSE : FRAMES_WHOLE, 0, &n);
        CHECK_HAS(buf_str(&n.all), "\nstart msg_ours asked");
        CHECK_HAS(buf_str(&n.all), "\nreasoning 0.0: hm\nsignature 0.0: rationale.");
        CHECK_HAS(buf_str(&n.all), "\ntext 0.1: yes\ncall 0.2 call_1 f");
        CHECK_HAS(buf_str(&n.all), "\narguments 0.2: {\"a\":1}\nusage 20 9 4 8 0\nstop tool");
        notes_release(&n);
    }
    buf_release(&out);
}

TEST(an_encoded_stream_is_the_sequence_that_clients_expect)
{
    struct chat_event stop = event(CHAT_STOP, 0, "");
    struct chat_event list[] = {event(CHAT_START, 0, ""),
                                event(CHAT_TEXT, 0, "a"),
                                event(CHAT_TEXT, 1, "b"),
                                stop,
                                event(CHAT_END, 0, "")};
    struct buf out;

    buf_init(&out, HELP_SIZE_MAX);
    list[3].stop = CHAT_STOP_SEQUENCE;
    list[3].name = STR("###");
    encode_list(list, COUNT_OF(list), true, &out);
    CHECK_STR(
        buf_str(&out),
        EVENT("message_start",
              "{\"type\":\"message_start\",\"message\":{\"id\":\"msg_ours\",\"type\":\"message\","
              "\"role\":\"assistant\",\"model\":\"asked\",\"content\":[],\"stop_reason\":null,"
              "\"stop_sequence\":null,\"usage\":{\"input_tokens\":0,"
              "\"cache_creation_input_tokens\":0,\"cache_read_input_tokens\":0,"
              "\"output_tokens\":0}}}") BEGIN("0", TEXT_BLOCK) TEXT("0", "a") STOP("0")
            BEGIN("1", TEXT_BLOCK) TEXT("1", "b") STOP("1")
                EVENT("message_delta",
                      "{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"stop_sequence\","
                      "\"stop_sequence\":\"###\"},\"usage\":{\"input_tokens\":0,"
                      "\"cache_creation_input_tokens\":0,\"cache_read_input_tokens\":0,"
                      "\"output_tokens\":0}}")
                    EVENT("message_stop", "{\"type\":\"message_stop\"}"));
    buf_release(&out);
}

TEST(an_error_is_told_in_anthropics_words)
{
    static const struct {
        int status;
        const char *type;
    } cases[] = {{400, "invalid_request_error"},
                 {401, "authentication_error"},
                 {403, "permission_error"},
                 {404, "not_found_error"},
                 {413, "request_too_large"},
                 {422, "invalid_request_error"},
                 {429, "rate_limit_error"},
                 {500, "api_error"},
                 {502, "api_error"},
                 {503, "overloaded_error"},
                 {504, "timeout_error"},
                 {529, "overloaded_error"}};

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct chat_error e = {.status = cases[i].status,
                               .type = STR("server_error"),
                               .message = STR("no \"luck\""),
                               .raw = STR("")};
        char want[256];
        struct buf out;

        buf_init(&out, 4096);
        wire_anthropic.write_error(&e, &out);
        snprintf(want,
                 sizeof want,
                 "{\"type\":\"error\",\"error\":{\"type\":\"%s\",\"message\":\"no \\\"luck\\\"\"}}",
                 cases[i].type);
        CHECK_STR(buf_str(&out), want);
        buf_release(&out);
    }
}

/* ---- passing on ---- */

static void pass_on(const char *bytes, bool hide, struct buf *out)
{
    struct pass *p = malloc(sizeof *p);

    assert(p);
    pass_init(p, &wire_anthropic, &wire_anthropic, true);
    p->relay = true;
    p->hide = hide;
    feed_bytes(&p->feed, str_c(bytes), FRAMES_SSE, 0);
    buf_add(out, buf_str(&p->out));
    pass_release(p);
    free(p);
}

TEST(hidden_thinking_leaves_no_gap_in_the_indexes)
{
    struct buf out;

    buf_init(&out, HELP_SIZE_MAX);
    pass_on(START BEGIN("0", THINK_BLOCK) PING THINK("0", "x") SIGN("0", "S") STOP("0")
                BEGIN("1", TEXT_BLOCK) TEXT("1", "a") STOP("1") BEGIN("2", THINK_BLOCK)
                    THINK("2", "y") SIGN("2", "S") STOP("2") BEGIN("3", CALL_BLOCK("t", "f"))
                        INPUT("3", "{}") STOP("3") END("tool_use"),
            true,
            &out);
    CHECK_STR(buf_str(&out),
              START PING BEGIN("0", TEXT_BLOCK) TEXT("0", "a") STOP("0")
                  BEGIN("1", CALL_BLOCK("t", "f")) INPUT("1", "{}") STOP("1") END("tool_use"));
    buf_release(&out);
}

/* The first two bytes of the first text delta become reasoning. */
struct tagged {
    struct pass *p;
    bool first;
};

static void tag_frame(void *ctx, const struct wire_frame *f)
{
    struct tagged *t = ctx;
    struct pass *p = t->p;

    if (t->first && p->n == 1 && p->events[0].kind == CHAT_TEXT) {
        str all = p->events[0].text;

        t->first = false;
        p->events[1] = p->events[0];
        p->events[0].kind = CHAT_REASONING;
        p->events[0].node = NULL;
        p->events[0].text = str_slice(all, 0, 2);
        p->events[1].block = 1;
        p->events[1].text = str_slice(all, 2, all.n);
        p->n = 2;
        p->touched = true;
    } else if (p->n == 1 && p->events[0].kind == CHAT_TEXT) {
        p->events[0].block = 1;
    }
    pass_frame(p, f);
}

TEST(thinking_in_a_text_becomes_a_block_of_its_own)
{
    struct pass *p = malloc(sizeof *p);
    struct tagged t = {.p = p, .first = true};

    assert(p);
    pass_init(p, &wire_anthropic, &wire_anthropic, true);
    p->relay = true;
    p->feed.after = tag_frame;
    p->feed.ctx = &t;
    feed_bytes(&p->feed,
               STR(START BEGIN("0", TEXT_BLOCK) PING TEXT("0", "hmyes") TEXT("0", "!") STOP("0")
                       BEGIN("1", TEXT_BLOCK) TEXT("1", "more") STOP("1") END("end_turn")),
               FRAMES_SSE,
               0);
    CHECK_HAS(
        buf_str(&p->out),
        START PING BEGIN("0", THINK_BLOCK) THINK(
            "0",
            "hm") "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,"
                  "\"delta\":{\"type\":\"signature_delta\",\"signature\":\"rationale.");
    CHECK_HAS(buf_str(&p->out),
              STOP("0") BEGIN("1", TEXT_BLOCK) TEXT("1", "yes") TEXT("1", "!") STOP("1")
                  BEGIN("2", TEXT_BLOCK) TEXT("2", "more") STOP("2") END("end_turn"));
    pass_release(p);
    free(p);
}

TEST(a_touched_delta_keeps_its_other_members)
{
    struct chat_event ev = event(CHAT_TEXT, 0, "B");
    struct chat_request r = {.model = STR("m")};
    struct wire_encoder en;
    struct arena a;
    struct buf out;
    struct json doc;
    struct err e;
    str start =
        STR("{\"type\":\"content_block_start\",\"index\":0,\"content_block\":" TEXT_BLOCK "}");
    str delta = STR("{\"type\":\"content_block_delta\", \"x\":[1], \"index\":0,\"delta\":{\"type\":"
                    "\"text_delta\",\"text\":\"b\",\"y\":2}}");

    arena_init(&a, HELP_SIZE_MAX);
    buf_init(&out, HELP_SIZE_MAX);
    json_init(&doc);
    wire_encoder_init(&en, &wire_anthropic, &r, true, &a, &out);
    CHECK(json_parse(&doc, start, &e));
    wire_relay(
        &en, &(struct wire_frame){.data = start, .raw = STR("S"), .doc = &doc}, NULL, 0, false);
    CHECK(json_parse(&doc, delta, &e));
    wire_relay(&en,
               &(struct wire_frame){
                   .name = STR("content_block_delta"), .data = delta, .raw = STR("D"), .doc = &doc},
               &ev,
               1,
               true);
    CHECK_STR(buf_str(&out),
              "Sevent: content_block_delta\ndata: {\"type\":\"content_block_delta\", \"x\":[1], "
              "\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"B\",\"y\":2}}\n\n");
    json_release(&doc);
    buf_release(&out);
    arena_release(&a);
}

TEST(a_relay_may_end_in_words_of_our_own)
{
    static const struct {
        const char *bytes, *want;
    } cases[] = {
        {START BEGIN("0", TEXT_BLOCK) PING, START PING BEGIN("0", THINK_BLOCK) THINK("0", "so")},
        {START BEGIN("0", TEXT_BLOCK) TEXT("0", "a"),
         START BEGIN("0", TEXT_BLOCK) TEXT("0", "a") STOP("0") BEGIN("1", THINK_BLOCK)
             THINK("1", "so")},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct chat_event list[] = {event(CHAT_REASONING, 5, "so"), event(CHAT_END, 0, "")};
        struct pass *p = malloc(sizeof *p);
        struct frames fr;

        assert(p);
        pass_init(p, &wire_anthropic, &wire_anthropic, true);
        p->relay = true;
        frames_init(&fr, FRAMES_SSE, HELP_SIZE_MAX, (struct frames_sink){feed_frame, &p->feed});
        frames_feed(&fr, str_c(cases[i].bytes));
        wire_encode(&p->en, &list[0]);
        wire_encode(&p->en, &list[1]);
        CHECK(str_starts(buf_str(&p->out), str_c(cases[i].want)));
        CHECK_HAS(buf_str(&p->out), "rationale.");
        CHECK(str_ends(buf_str(&p->out), STR("{\"type\":\"message_stop\"}\n\n")));
        frames_release(&fr);
        pass_release(p);
        free(p);
    }
}

TEST(a_whole_reply_keeps_what_is_not_hidden)
{
    struct pass *p = malloc(sizeof *p);

    assert(p);
    pass_init(p, &wire_anthropic, &wire_anthropic, false);
    p->relay = p->hide = true;
    feed_bytes(
        &p->feed,
        STR("{\"id\":\"m\", \"content\": [{\"type\":\"thinking\",\"thinking\":\"x\","
            "\"signature\":\"S\"}, {\"type\":\"text\",\"text\":\"a\", \"citations\":[{\"c\":1}"
            "]},{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"f\",\"input\":{ },\"z\":1}], "
            "\"stop_reason\":\"tool_use\",\"new\":{}}"),
        FRAMES_WHOLE,
        0);
    CHECK_STR(
        buf_str(&p->out),
        "{\"id\":\"m\", \"content\": [{\"type\":\"text\",\"text\":\"a\", \"citations\":[{\"c\":"
        "1}]},{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"f\",\"input\":{ },\"z\":1}], "
        "\"stop_reason\":\"tool_use\",\"new\":{}}");
    pass_release(p);
    free(p);
}

TEST_MAIN(T(a_stream_is_decoded_block_by_block),
          T(thinking_without_a_signature_is_kept_for_its_call),
          T(blocks_that_overlap_are_told_apart),
          T(a_delta_that_does_not_fit_its_block_begins_another),
          T(a_call_without_arguments_has_an_empty_object),
          T(a_call_that_a_text_takes_the_place_of_has_an_empty_object),
          T(thoughts_are_kept_for_the_calls_behind_them), T(a_block_of_the_server_comes_whole),
          T(an_error_in_a_stream_has_its_status), T(a_stream_that_is_cut_is_an_error),
          T(what_is_no_reply_is_an_error),
          T(what_another_provider_said_becomes_blocks_with_signatures_of_ours),
          T(an_encoded_stream_is_the_sequence_that_clients_expect),
          T(an_error_is_told_in_anthropics_words), T(hidden_thinking_leaves_no_gap_in_the_indexes),
          T(thinking_in_a_text_becomes_a_block_of_its_own),
          T(a_touched_delta_keeps_its_other_members), T(a_relay_may_end_in_words_of_our_own),
          T(a_whole_reply_keeps_what_is_not_hidden))
