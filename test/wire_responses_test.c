/* The Responses API on both sides: many forms of one text become one, a reply is assembled for the
 * SDKs, and a stream stays valid with hidden or split text.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/responses/responses.h"

#include "wire/rope.h"
#include "wire_responses_items.h"
#include "wire_run.h"

#define SIZE_LIMIT ((size_t)1 << 20)
#define DATA(json) "data: " json "\n\n"

#define CREATED                                                                                    \
    DATA("{\"type\":\"response.created\",\"sequence_number\":0,\"response\":{\"id\":\"resp_1\","   \
         "\"model\":\"gpt-5\",\"output\":[],\"store\":false}}")
#define USAGE                                                                                      \
    "{\"input_tokens\":7,\"input_tokens_details\":{\"cached_tokens\":2},\"output_tokens\":9,"      \
    "\"output_tokens_details\":{\"reasoning_tokens\":4},\"total_tokens\":16}"

static const char stream[] = CREATED DATA(
    "{\"type\":\"response.output_item.added\",\"sequence_number\":1,\"output_index\":0,\"item\":{"
    "\"id\":\"rs_1\",\"type\":\"reasoning\",\"encrypted_content\":\"HALF\",\"summary\":[]}}")
    DATA("{\"type\":\"response.reasoning_summary_part.added\",\"sequence_number\":2,\"item_id\":"
         "\"rs_1\",\"output_index\":0,\"summary_index\":0,\"part\":{\"type\":\"summary_text\","
         "\"text\":\"\"}}") DATA("{\"type\":\"response.reasoning_summary_text.delta\",\"sequence_"
                                 "number\":3,"
                                 "\"item_id\":\"rs_1\",\"output_index\":0,\"summary_index\":0,"
                                 "\"delta\":\"First \"}")
        DATA("{\"type\":\"response.reasoning_summary_text.delta\",\"sequence_number\":4,"
             "\"item_id\":\"rs_1\",\"output_index\":0,\"summary_index\":0,\"delta\":"
             "\"\\u00e4.\"}")
            DATA("{\"type\":\"response.reasoning_summary_text.done\",\"sequence_number\":5,"
                 "\"item_id\":\"rs_1\",\"output_index\":0,\"summary_index\":0,\"text\":"
                 "\"First \\u00e4.\"}") DATA("{\"type\":\"response.reasoning_summary_part.done\","
                                             "\"sequence_number\":6,\"item_id\":\"rs_1\",\"output_"
                                             "index\":0,"
                                             "\"summary_index\":0,\"part\":{\"type\":\"summary_"
                                             "text\",\"text\":"
                                             "\"First \\u00e4.\"}}")
                DATA("{\"type\":\"response.reasoning_summary_part.added\","
                     "\"sequence_number\":7,\"item_id\":\"rs_1\",\"output_index\":0,"
                     "\"summary_index\":1,\"part\":{\"type\":\"summary_text\",\"text\":"
                     "\"\"}}") DATA("{\"type\":\"response.reasoning_summary_text.delta\","
                                    "\"sequence_number\":8,\"item_id\":\"rs_1\",\"output_index\":0,"
                                    "\"summary_index\":1,\"delta\":\"Second.\"}")
                    DATA("{\"type\":\"response.output_item.done\","
                         "\"sequence_number\":9,\"output_index\":0,"
                         "\"item\":" REASONING_ITEM
                         "}") DATA("{\"type\":\"response.output_item.added\",\"sequence_number\":"
                                   "10,\"output_index\":1,"
                                   "\"item\":{\"id\":\"msg_1\",\"type\":\"message\",\"role\":"
                                   "\"assistant\",\"content\":[]}}")
                        DATA(
                            "{\"type\":\"response.output_text.delta\",\"sequence_number\":11,"
                            "\"item_id\":"
                            "\"msg_1\",\"output_index\":1,\"content_index\":0,\"delta\":\"Hello\"}")
                            DATA("{\"type\":\"response.output_text.delta\",\"sequence_number\":12,"
                                 "\"item_id\":"
                                 "\"other\",\"output_index\":1,\"content_index\":0,\"delta\":\" "
                                 "you\"}") DATA("{\"type\":\"response.output_text.done\","
                                                "\"sequence_number\":13,\"item_id\":"
                                                "\"msg_1\",\"output_index\":1,\"content_index\":0,"
                                                "\"text\":\"Hello you\"}")
                                DATA("{\"type\":\"response.output_item.done\",\"sequence_number\":"
                                     "14,"
                                     "\"output_index\":1,\"item\":" MESSAGE_ITEM
                                     "}") DATA("{\"type\":\"response.output_item.added\","
                                               "\"sequence_number\":15,\"output_index\":2,"
                                               "\"item\":{\"id\":\"fc_1\",\"type\":\"function_"
                                               "call\",\"call_id\":\"call_9\",\"name\":"
                                               "\"f\",\"arguments\":\"\"}}")
                                    DATA("{\"type\":\"response.function_call_arguments.delta\","
                                         "\"sequence_number\":16,"
                                         "\"output_index\":2,\"delta\":\"{\\\"a\\\"\"}")
                                        DATA("{\"type\":\"response.function_call_arguments.delta\","
                                             "\"sequence_number\":17,"
                                             "\"output_index\":2,\"delta\":\":1}\"}")
                                            DATA("{\"type\":\"response.output_item.done\","
                                                 "\"sequence_number\":18,"
                                                 "\"output_index\":2,\"item\":" CALL_ITEM "}")
                                                DATA("{\"type\":\"response.completed\",\"sequence_"
                                                     "number\":19,\"response\":{\"id\":\"resp_1\","
                                                     "\"status\":\"completed\",\"service_tier\":"
                                                     "\"default\",\"output\":[" REASONING_ITEM
                                                     "," MESSAGE_ITEM "," CALL_ITEM
                                                     "],\"usage\":" USAGE "}}");

#define QUOTED_REASONING_ITEM                                                                      \
    "\"{\\\"id\\\":\\\"rs_1\\\",\\\"type\\\":\\\"reasoning\\\",\\\"encrypted_content\\\":"         \
    "\\\"SEALED\\\",\\\"summary\\\":[{\\\"type\\\":\\\"summary_text\\\",\\\"text\\\":"             \
    "\\\"First \\\\u00e4.\\\"},{\\\"type\\\":\\\"summary_text\\\",\\\"text\\\":"                   \
    "\\\"Second.\\\"}]}\""

static const char content[] = "reasoning 0 \"First \xC3\xA4.\\n\\nSecond.\"\n"
                              "text 1 \"Hello you\"\n"
                              "call 2 \"call_9\" \"f\"\n"
                              "arguments 2 \"{\\\"a\\\":1}\"\n";

static const char events[] = "start \"resp_1\" \"gpt-5\"\n"
                             "reasoning 0 \"First \xC3\xA4.\\n\\nSecond.\"\n"
                             "signature 0 " QUOTED_REASONING_ITEM "\n"
                             "text 1 \"Hello you\"\n"
                             "keep \"call_9\" \"reasoning_item\" " QUOTED_REASONING_ITEM "\n"
                             "call 2 \"call_9\" \"f\"\n"
                             "arguments 2 \"{\\\"a\\\":1}\"\n"
                             "extra \"service_tier\" \"\\\"default\\\"\"\n"
                             "usage 7 9 4 2\n"
                             "stop tool \"completed\"\n"
                             "end\n";

TEST(a_stream_becomes_events_however_it_is_cut)
{
    static struct run r;

    for (size_t piece = 0; piece < sizeof stream; piece += piece < 130 ? 1 : 97) {
        run_init(&r, &wire_responses, true);
        run_feed(&r, str_c(stream), piece);
        CHECK_STR(buf_str(&r.events), events);
        CHECK_STR(buf_str(&r.relayed), stream);
        run_release(&r);
    }
}

TEST(a_whole_reply_says_the_same)
{
    static struct run r;

    run_init(&r, &wire_responses, false);
    run_feed(&r,
             STR("{\"id\":\"resp_1\",\"model\":\"gpt-5\",\"status\":\"completed\",\"service_tier\":"
                 "\"default\",\"output\":[" REASONING_ITEM "," MESSAGE_ITEM "," CALL_ITEM
                 "],\"usage\":" USAGE "}"),
             0);
    CHECK_STR(buf_str(&r.events), events);
    run_release(&r);
}

/* Each of these events may be the only one that contains the text. */
TEST(a_text_is_taken_from_wherever_it_is_once)
{
    static const char *const streams[] = {
        CREATED DATA("{\"type\":\"response.output_text.done\",\"output_index\":0,\"text\":\"Hi\"}"),
        CREATED DATA("{\"type\":\"response.content_part.done\",\"output_index\":0,\"part\":{"
                     "\"type\":\"output_text\",\"text\":\"Hi\"}}"),
        CREATED DATA("{\"type\":\"response.output_item.done\",\"output_index\":0,\"item\":{"
                     "\"type\":\"message\",\"content\":[{\"type\":\"output_text\",\"text\":\"Hi\"}"
                     "]}}"),
        CREATED,
        CREATED DATA(
            "{\"type\":\"response.output_text.delta\",\"output_index\":0,\"delta\":\"H\"}"),
        CREATED DATA("{\"type\":\"response.output_text.delta\",\"delta\":\"Hi\"}"),
        CREATED DATA("{\"type\":\"response.output_item.added\",\"output_index\":3,\"item\":{"
                     "\"type\":\"message\",\"id\":\"m\"}}")
            DATA("{\"type\":\"response.output_text.delta\",\"output_index\":3,\"delta\":\"Hi\"}"),
    };
    static struct run r;
    struct buf sse;

    for (size_t i = 0; i < COUNT_OF(streams); i++) {
        buf_init(&sse, SIZE_LIMIT);
        buf_add(&sse, str_c(streams[i]));
        buf_add(&sse,
                STR(DATA("{\"type\":\"response.completed\",\"response\":{\"status\":\"completed\","
                         "\"output\":[{\"type\":\"message\",\"id\":\"m\",\"content\":[{\"type\":"
                         "\"output_text\",\"text\":\"Hi\"}]}]}}")));
        run_init(&r, &wire_responses, true);
        run_feed(&r, buf_str(&sse), 0);
        CHECK_STR(buf_str(&r.events),
                  "start \"resp_1\" \"gpt-5\"\ntext 0 \"Hi\"\nstop end \"completed\"\nend\n");
        CHECK(str_eq(buf_str(&r.relayed), buf_str(&sse)));
        run_release(&r);
        buf_release(&sse);
    }
}

TEST(ends_are_told_apart)
{
    static const struct {
        const char *body, *events;
    } cases[] = {
        {"{\"status\":\"incomplete\",\"incomplete_details\":{\"reason\":\"max_output_tokens\"},"
         "\"output\":[]}",
         "start\nstop length \"max_output_tokens\"\nend\n"},
        {"{\"status\":\"incomplete\",\"incomplete_details\":{\"reason\":\"content_filter\"},"
         "\"output\":[]}",
         "start\nstop refused \"content_filter\"\nend\n"},
        {"{\"status\":\"queued\",\"output\":[]}", "start\nstop other \"queued\"\nend\n"},
        {"{\"status\":\"failed\",\"output\":[],\"error\":{\"code\":\"rate_limit_exceeded\","
         "\"message\":\"slow\"}}",
         "start\nerror 429 : slow\n"},
        {"{\"status\":\"failed\",\"output\":[],\"error\":{\"code\":\"server_error\","
         "\"message\":\"oh\"}}",
         "start\nerror 500 : oh\n"},
        {"{\"error\":{\"message\":\"no\",\"type\":\"invalid_request_error\"}}",
         "start\nerror 400 invalid_request_error: no\n"},
        {"{}", "error 502 bad_response: the reply is not a response object: it has no output\n"},
    };
    static struct run r;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        run_init(&r, &wire_responses, false);
        run_feed(&r, str_c(cases[i].body), 0);
        CHECK_STR(buf_str(&r.events), cases[i].events);
        run_release(&r);
    }
}

TEST(an_error_event_ends_a_stream)
{
    static const char *const frames[] = {
        DATA("{\"type\":\"error\",\"code\":\"server_error\",\"message\":\"m\"}"),
        DATA("{\"type\":\"error\",\"error\":{\"code\":\"server_error\",\"message\":\"m\"}}"),
        DATA("{\"type\":\"response.failed\",\"response\":{\"error\":{\"code\":\"server_error\","
             "\"message\":\"m\"}}}"),
    };
    static struct run r;

    for (size_t i = 0; i < COUNT_OF(frames); i++) {
        run_init(&r, &wire_responses, true);
        run_feed(&r, str_c(frames[i]), 0);
        CHECK_INT(r.error_status, 500);
        CHECK(str_find(buf_str(&r.events), STR(": m\n")) != STR_NONE);
        run_release(&r);
    }
    run_init(&r, &wire_responses, true);
    run_feed(&r, STR(CREATED), 0);
    CHECK_INT(r.error_status, 502);
    run_release(&r);
}

/* ---- encoding ---- */

struct numbers {
    int64_t next;
    struct buf types;
};

static void on_numbered(void *ctx, const struct frames_frame *f)
{
    struct numbers *n = ctx;
    struct json doc;
    struct err e;
    int64_t seq;

    json_init(&doc);
    CHECK_F(json_parse(&doc, f->data, &e), "%s", e.text);
    CHECK(json_i64(&doc, json_find(&doc, json_root(&doc), STR("sequence_number")), &seq));
    CHECK_INT(seq, n->next);
    n->next++;
    CHECK(!f->name.n || json_is(&doc, json_find(&doc, json_root(&doc), STR("type")), f->name));
    buf_add(&n->types, f->name);
    buf_add_c(&n->types, '\n');
    json_release(&doc);
}

/* The numbers of the events have no gap. */
static void check_numbers(str sse, const char *types)
{
    struct numbers n = {.next = 0};
    struct frames f;

    buf_init(&n.types, SIZE_LIMIT);
    frames_init(&f, FRAMES_SSE, SIZE_LIMIT, (struct frames_sink){on_numbered, &n});
    frames_feed(&f, sse);
    frames_finish(&f);
    if (types)
        CHECK_STR(buf_str(&n.types), types);
    frames_release(&f);
    buf_release(&n.types);
}

TEST(an_encoded_stream_has_every_event_in_order)
{
    static struct run r, again;

    run_init(&r, &wire_responses, true);
    run_feed(&r, str_c(stream), 0);
    check_numbers(buf_str(&r.encoded),
                  "response.created\n"
                  "response.in_progress\n"
                  "response.output_item.added\n"
                  "response.reasoning_summary_part.added\n"
                  "response.reasoning_summary_text.delta\n"
                  "response.reasoning_summary_text.delta\n"
                  "response.reasoning_summary_text.delta\n"
                  "response.reasoning_summary_text.delta\n"
                  "response.reasoning_summary_text.done\n"
                  "response.reasoning_summary_part.done\n"
                  "response.output_item.done\n"
                  "response.output_item.added\n"
                  "response.content_part.added\n"
                  "response.output_text.delta\n"
                  "response.output_text.delta\n"
                  "response.output_text.done\n"
                  "response.content_part.done\n"
                  "response.output_item.done\n"
                  "response.output_item.added\n"
                  "response.function_call_arguments.delta\n"
                  "response.function_call_arguments.delta\n"
                  "response.function_call_arguments.done\n"
                  "response.output_item.done\n"
                  "response.completed\n");
    run_init(&again, &wire_responses, true);
    run_feed(&again, buf_str(&r.encoded), 7);
    CHECK_STR(buf_str(&again.content), content);
    CHECK(str_find(buf_str(&again.events), STR("SEALED")) != STR_NONE);
    CHECK(str_find(buf_str(&again.events), STR("usage 7 9 4 2\nstop tool")) != STR_NONE);
    run_release(&again);
    run_release(&r);
}

TEST(an_encoded_whole_reply_reads_the_same)
{
    static struct run r, again;

    run_init(&r, &wire_responses, true);
    wire_encoder_init(&r.encode, &wire_responses, &r.request, false, &r.arena, &r.encoded);
    run_feed(&r, str_c(stream), 0);
    run_init(&again, &wire_responses, false);
    run_feed(&again, buf_str(&r.encoded), 0);
    CHECK_STR(buf_str(&again.content), content);
    CHECK(str_find(buf_str(&r.encoded), STR("\"service_tier\":\"default\"")) != STR_NONE);
    run_release(&again);
    run_release(&r);
}

static void tell(struct wire_encoder *en, struct chat_event ev)
{
    ev.text = ev.text.p ? ev.text : STR("");
    ev.id = ev.id.p ? ev.id : STR("");
    ev.name = ev.name.p ? ev.name : STR("");
    wire_encode(en, &ev);
}

TEST(arguments_that_come_by_turns_stay_apart)
{
    static struct run r, again;

    run_init(&r, &wire_responses, true);
    tell(&r.encode, (struct chat_event){.kind = CHAT_START});
    tell(&r.encode, (struct chat_event){.kind = CHAT_CALL, .id = STR("a"), .name = STR("f")});
    tell(&r.encode,
         (struct chat_event){.kind = CHAT_CALL, .block = 1, .id = STR("b"), .name = STR("g")});
    tell(&r.encode, (struct chat_event){.kind = CHAT_ARGUMENTS, .text = STR("{\"x\"")});
    tell(&r.encode, (struct chat_event){.kind = CHAT_ARGUMENTS, .block = 1, .text = STR("{}")});
    tell(&r.encode, (struct chat_event){.kind = CHAT_ARGUMENTS, .text = STR(":1}")});
    tell(&r.encode, (struct chat_event){.kind = CHAT_STOP, .stop = CHAT_STOP_LENGTH});
    tell(&r.encode, (struct chat_event){.kind = CHAT_END});
    check_numbers(buf_str(&r.encoded), NULL);
    CHECK(str_find(buf_str(&r.encoded), STR("event: response.incomplete\n")) != STR_NONE);
    wire_encoder_init(&r.encode, &wire_responses, &r.request, true, &r.arena, &r.encoded);
    run_init(&again, &wire_responses, true);
    run_feed(&again, buf_str(&r.encoded), 0);
    CHECK(str_find(buf_str(&again.all), STR("{\"x\":1}")) == STR_NONE); /* deltas alternate */
    CHECK(str_find(buf_str(&r.encoded), STR("\"arguments\":\"{\\\"x\\\":1}\"")) != STR_NONE);
    run_release(&again);
    run_release(&r);
}

TEST(a_reply_larger_than_can_be_repeated_fails)
{
    static struct run r;
    static char big[64 << 10];

    memset(big, 'x', sizeof big);
    run_init(&r, &wire_responses, true);
    for (size_t i = 0; i < 2 * ROPE_SIZE_MAX / sizeof big; i++)
        tell(&r.encode, (struct chat_event){.kind = CHAT_TEXT, .text = {big, sizeof big}});
    CHECK(r.encode.failed);
    CHECK(str_find(buf_str(&r.encoded), STR("event: response.failed\n")) != STR_NONE);
    run_release(&r);
}

/* ---- relays ---- */

TEST(hidden_reasoning_keeps_only_what_is_sealed)
{
    static struct run r, seen;

    run_init(&r, &wire_responses, true);
    r.hide = true;
    run_feed(&r, str_c(stream), 0);
    check_numbers(buf_str(&r.relayed), NULL);
    CHECK(str_find(buf_str(&r.relayed), STR("First")) == STR_NONE);
    CHECK(str_find(buf_str(&r.relayed), STR("Second")) == STR_NONE);
    CHECK(str_find(buf_str(&r.relayed), STR("reasoning_summary")) == STR_NONE);
    CHECK(str_find(buf_str(&r.relayed), STR("\"SEALED\",\"summary\":[]")) != STR_NONE);
    run_init(&seen, &wire_responses, true);
    run_feed(&seen, buf_str(&r.relayed), 0);
    CHECK(str_find(buf_str(&seen.content), STR("text 1 \"Hello you\"")) != STR_NONE);
    run_release(&seen);
    run_release(&r);
}

TEST(hidden_reasoning_of_a_whole_reply_goes_too)
{
    static struct run r;

    run_init(&r, &wire_responses, false);
    r.hide = true;
    run_feed(&r,
             STR("{\"status\":\"completed\",\"output\":[" REASONING_ITEM
                 ",{\"type\":\"reasoning\",\"summary\":[],\"content\":[{\"type\":"
                 "\"reasoning_text\",\"text\":\"Raw\"}]}," MESSAGE_ITEM "]}"),
             0);
    CHECK_STR(buf_str(&r.relayed),
              "{\"status\":\"completed\",\"output\":[{\"id\":\"rs_1\",\"type\":\"reasoning\","
              "\"encrypted_content\":\"SEALED\",\"summary\":[]},{\"type\":\"reasoning\","
              "\"summary\":[],\"content\":[]}," MESSAGE_ITEM "]}");
    run_release(&r);
}

/* Relays a frame whose content is now these events. */
static void relay_one(struct run *r, const char *data, const struct chat_event *reported, size_t n,
                      bool touched)
{
    struct wire_frame f = {.name = STR(""), .data = str_c(data)};
    struct buf raw;
    struct json doc;
    struct err e;

    buf_init(&raw, SIZE_LIMIT);
    if (r->relay.stream)
        buf_printf(&raw, "data: %s\n\n", data);
    else
        buf_add(&raw, str_c(data));
    f.raw = buf_str(&raw);
    json_init(&doc);
    CHECK_F(json_parse(&doc, f.data, &e), "%s", e.text);
    f.doc = &doc;
    wire_relay(&r->relay, &f, reported, n, touched);
    json_release(&doc);
    buf_release(&raw);
}

#define SAY(k, b, t)                                                                               \
    (const struct chat_event[]){                                                                   \
        {.kind = (k), .block = (b), .text = STR(t), .id = STR(""), .name = STR("")}},              \
        1
#define DELTA(n, t)                                                                                \
    "{\"type\":\"response.output_text.delta\",\"sequence_number\":" #n                             \
    ",\"item_id\":\"m\",\"output_index\":0,\"content_index\":0,\"delta\":\"" t "\"}"

TEST(text_that_was_split_is_the_same_in_every_place)
{
    static struct run r, seen;

    run_init(&r, &wire_responses, true);
    r.relay.id = STR("x");
    relay_one(&r, "{\"type\":\"response.created\",\"sequence_number\":0}", NULL, 0, false);
    relay_one(&r,
              "{\"type\":\"response.output_item.added\",\"sequence_number\":1,\"output_index\":0,"
              "\"item\":{\"type\":\"message\",\"id\":\"m\"}}",
              NULL,
              0,
              false);
    relay_one(&r, DELTA(2, "Ah "), SAY(CHAT_TEXT, 0, "Ah "), false);
    relay_one(&r, DELTA(3, "<think>"), NULL, 0, true);
    relay_one(&r, DELTA(4, "why"), SAY(CHAT_REASONING, 1, "why"), true);
    relay_one(&r, DELTA(5, "</think>yes"), SAY(CHAT_TEXT, 2, "yes"), true);
    relay_one(&r, DELTA(6, " \\\"sir\\\""), SAY(CHAT_TEXT, 2, " \"sir\""), false);
    relay_one(&r,
              "{\"type\":\"response.output_text.done\",\"sequence_number\":7,\"item_id\":\"m\","
              "\"output_index\":0,\"content_index\":0,\"text\":\"Ah <think>why</think>yes "
              "\\\"sir\\\"\"}",
              NULL,
              0,
              false);
    relay_one(&r,
              "{\"type\":\"response.output_item.added\",\"sequence_number\":8,\"output_index\":1,"
              "\"item\":{\"type\":\"web_search_call\",\"id\":\"w\"}}",
              NULL,
              0,
              false);
    relay_one(&r,
              "{\"type\":\"response.completed\",\"sequence_number\":9,\"response\":{\"status\":"
              "\"completed\",\"output\":[{\"type\":\"message\",\"id\":\"m\",\"content\":[{\"type\":"
              "\"output_text\",\"text\":\"Ah <think>why</think>yes \\\"sir\\\"\"}]},{\"type\":"
              "\"web_search_call\",\"id\":\"w\"}]}}",
              NULL,
              0,
              false);
    check_numbers(buf_str(&r.relayed), NULL);
    CHECK(str_find(buf_str(&r.relayed), STR("think>")) == STR_NONE);
    CHECK(str_find(buf_str(&r.relayed), STR("\"text\":\"Ah yes \\\"sir\\\"\"}")) != STR_NONE);
    CHECK(str_find(buf_str(&r.relayed),
                   STR("\"output_index\":2,\"item\":{\"type\":\"web_search_call\"")) != STR_NONE);
    run_init(&seen, &wire_responses, true);
    run_feed(&seen, buf_str(&r.relayed), 0);
    CHECK_STR(buf_str(&seen.content),
              "text 0 \"Ah \"\nreasoning 1 \"why\"\ntext 0 \"yes \\\"sir\\\"\"\n"
              "opaque 2 \"{\\\"type\\\":\\\"web_search_call\\\",\\\"id\\\":\\\"w\\\"}\"\n");
    run_release(&seen);
    run_release(&r);
}

TEST(a_whole_text_that_was_split_gets_its_reasoning_item)
{
    static struct run r;
    static const struct chat_event reported[] = {
        {.kind = CHAT_REASONING, .text = STR_INIT("why"), .id = STR_INIT(""), .name = STR_INIT("")},
        {.kind = CHAT_TEXT,
         .block = 1,
         .text = STR_INIT("yes"),
         .id = STR_INIT(""),
         .name = STR_INIT("")},
    };

    run_init(&r, &wire_responses, false);
    r.relay.id = STR("x");
    relay_one(&r,
              "{\"output\":[{\"type\":\"message\",\"content\":[{\"type\":\"output_text\",\"text\":"
              "\"<think>why</think>yes\"}]}],\"status\":\"completed\"}",
              reported,
              2,
              true);
    CHECK_STR(buf_str(&r.relayed),
              "{\"output\":[{\"type\":\"reasoning\",\"summary\":[{\"type\":\"summary_text\","
              "\"text\":\"why\"}],\"id\":\"rs_rationale_x_0\"},{\"type\":\"message\",\"content\":[{"
              "\"type\":\"output_text\",\"text\":\"yes\"}]}],\"status\":\"completed\"}");
    run_release(&r);
}

/* A reply that ends inside its reasoning, and is continued by another call. */
TEST(events_go_on_where_frames_ended)
{
    static struct run r, seen;
    size_t cut =
        str_find(str_c(stream), STR("data: {\"type\":\"response.reasoning_summary_part.done"));
    size_t final;

    run_init(&r, &wire_responses, true);
    run_feed(&r, str_slice(str_c(stream), 0, cut), 0);
    tell(&r.relay, (struct chat_event){.kind = CHAT_START});
    tell(&r.relay, (struct chat_event){.kind = CHAT_TEXT, .block = 1, .text = STR("Hm.")});
    tell(&r.relay, (struct chat_event){.kind = CHAT_STOP, .stop = CHAT_STOP_END});
    tell(&r.relay, (struct chat_event){.kind = CHAT_END});
    check_numbers(buf_str(&r.relayed), NULL);
    run_init(&seen, &wire_responses, true);
    run_feed(&seen, buf_str(&r.relayed), 0);
    CHECK_STR(buf_str(&seen.content), "reasoning 0 \"First \xC3\xA4.\"\ntext 1 \"Hm.\"\n");
    CHECK(seen.ended);
    final = str_find(buf_str(&r.relayed), STR("event: response.completed"));
    CHECK(final != STR_NONE);
    run_release(&seen);
    run_init(&seen, &wire_responses, true);
    run_feed(&seen, str_slice(buf_str(&r.relayed), final, r.relayed.n), 0);
    CHECK_STR(buf_str(&seen.content), "reasoning 0 \"First \xC3\xA4.\"\ntext 1 \"Hm.\"\n");
    CHECK(str_find(buf_str(&seen.events), STR("start \"resp_1\"")) != STR_NONE);
    run_release(&seen);
    run_release(&r);
}

TEST(tokens_that_we_counted_are_said_where_the_host_does_not)
{
    static struct run r;
    static const struct chat_usage usage = {.input = 1, .output = 2, .reasoning = 5};
    static const struct chat_event reported[] = {{.kind = CHAT_USAGE,
                                                  .usage = &usage,
                                                  .text = STR_INIT(""),
                                                  .id = STR_INIT(""),
                                                  .name = STR_INIT("")}};

    run_init(&r, &wire_responses, true);
    relay_one(&r,
              "{\"type\":\"response.completed\",\"response\":{\"output\":[],\"usage\":{"
              "\"output_tokens\":2}}}",
              reported,
              1,
              true);
    CHECK_STR(buf_str(&r.relayed),
              DATA("{\"type\":\"response.completed\",\"response\":{\"output\":[],\"usage\":{"
                   "\"output_tokens\":2,\"output_tokens_details\":{\"reasoning_tokens\":5}}}}"));
    run_release(&r);
}

TEST_MAIN(T(a_stream_becomes_events_however_it_is_cut), T(a_whole_reply_says_the_same),
          T(a_text_is_taken_from_wherever_it_is_once), T(ends_are_told_apart),
          T(an_error_event_ends_a_stream), T(an_encoded_stream_has_every_event_in_order),
          T(an_encoded_whole_reply_reads_the_same), T(arguments_that_come_by_turns_stay_apart),
          T(a_reply_larger_than_can_be_repeated_fails),
          T(hidden_reasoning_keeps_only_what_is_sealed),
          T(hidden_reasoning_of_a_whole_reply_goes_too),
          T(text_that_was_split_is_the_same_in_every_place),
          T(a_whole_text_that_was_split_gets_its_reasoning_item),
          T(events_go_on_where_frames_ended),
          T(tokens_that_we_counted_are_said_where_the_host_does_not))
