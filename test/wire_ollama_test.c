/* Ollama's /api/chat on both sides: reading, writing, changing, and lines passed on.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/ollama/ollama.h"
#include "wire_help.h"
#include "wire_run.h"

#define SIZE_LIMIT ((size_t)1 << 20)

static const char stream[] =
    "{\"model\":\"qwen3\",\"created_at\":\"2025-10-17T23:14:07.414671Z\",\"message\":{\"role\":"
    "\"assistant\",\"content\":\"\",\"thinking\":\"Two \"},\"done\":false}\n"
    "{\"model\":\"qwen3\",\"created_at\":\"2025-10-17T23:14:07.414671Z\",\"message\":{\"role\":"
    "\"assistant\",\"content\":\"\",\"thinking\":\"and \\u00fc\"},\"done\":false}\n"
    "{\"model\":\"qwen3\",\"created_at\":\"2025-10-17T23:14:07.414671Z\",\"message\":{\"role\":"
    "\"assistant\",\"content\":\"It is \"},\"done\":false}\n"
    "{\"model\":\"qwen3\",\"created_at\":\"2025-10-17T23:14:07.414671Z\",\"message\":{\"role\":"
    "\"assistant\",\"content\":\"four\"},\"done\":false}\n"
    "{\"model\":\"qwen3\",\"created_at\":\"2025-10-17T23:14:07.414671Z\",\"message\":{\"role\":"
    "\"assistant\",\"content\":\"\",\"tool_calls\":[{\"function\":{\"name\":\"add\",\"arguments\":"
    "{\"a\": 2}}},{\"id\":\"x\",\"function\":{\"name\":\"sub\",\"arguments\":{}}}]},\"done\":false}"
    "\n"
    "{\"model\":\"qwen3\",\"created_at\":\"2025-10-17T23:14:08Z\",\"message\":{\"role\":"
    "\"assistant\",\"content\":\"\"},\"done\":true,\"done_reason\":\"stop\",\"total_duration\":17,"
    "\"load_duration\":3,\"prompt_eval_count\":13,\"eval_count\":18,\"eval_duration\":5}\n";

static const char events[] = "start \"qwen3\"\n"
                             "reasoning 0 \"Two and \xC3\xBC\"\n"
                             "text 1 \"It is four\"\n"
                             "keep \"call_0\" \"ollama_thinking\" \"Two and \xC3\xBC\"\n"
                             "call 2 \"call_0\" \"add\"\n"
                             "arguments 2 \"{\\\"a\\\": 2}\"\n"
                             "call 3 \"x\" \"sub\"\n"
                             "arguments 3 \"{}\"\n"
                             "extra \"total_duration\" \"17\"\n"
                             "extra \"load_duration\" \"3\"\n"
                             "extra \"eval_duration\" \"5\"\n"
                             "usage 13 18 -1 -1\n"
                             "stop tool \"stop\"\n"
                             "end\n";

TEST(lines_become_events_however_they_are_cut)
{
    static struct run r;

    for (size_t piece = 0; piece < sizeof stream; piece++) {
        run_init(&r, &wire_ollama, true);
        run_feed(&r, str_c(stream), piece);
        CHECK_STR(buf_str(&r.events), events);
        CHECK_STR(buf_str(&r.relayed), stream);
        run_release(&r);
    }
}

TEST(events_encoded_and_read_again_are_the_same)
{
    static struct run r, again;

    run_init(&r, &wire_ollama, true);
    run_feed(&r, str_c(stream), 0);
    run_init(&again, &wire_ollama, true);
    run_feed(&again, buf_str(&r.encoded), 0);
    CHECK(str_eq(buf_str(&again.content), buf_str(&r.content)));
    CHECK(str_find(buf_str(&again.events), STR("usage 13 18")) != STR_NONE);
    run_release(&again);
    run_release(&r);
}

TEST(a_stream_encoded_whole_is_one_object)
{
    static struct run r;
    struct wire_encoder en;
    struct buf out;

    run_init(&r, &wire_ollama, true);
    buf_init(&out, SIZE_LIMIT);
    wire_encoder_init(&en, &wire_ollama, &r.request, false, &r.arena, &out);
    en.created_s = 1700000000;
    r.encode = en;
    r.encode.out = &out;
    run_feed(&r, str_c(stream), 0);
    CHECK_STR(buf_str(&out),
              "{\"model\":\"asked\",\"created_at\":\"2023-11-14T22:13:20.000000000Z\",\"message\":{"
              "\"role\":\"assistant\",\"content\":\"It is four\",\"thinking\":\"Two and \xC3\xBC\","
              "\"tool_calls\":[{\"id\":\"call_0\",\"function\":{\"index\":0,\"name\":\"add\","
              "\"arguments\":{\"a\": 2}}},{\"id\":\"x\",\"function\":{\"index\":1,\"name\":\"sub\","
              "\"arguments\":{}}}]},\"done\":true,\"done_reason\":\"stop\",\"total_duration\":17,"
              "\"load_duration\":3,\"prompt_eval_count\":13,\"prompt_eval_duration\":0,"
              "\"eval_count\":18,\"eval_duration\":5}");
    buf_release(&out);
    run_release(&r);
}

TEST(hidden_thinking_leaves_no_line)
{
    static struct run r, seen;

    run_init(&r, &wire_ollama, true);
    r.hide = true;
    run_feed(&r, str_c(stream), 0);
    CHECK(str_find(buf_str(&r.relayed), STR("thinking")) == STR_NONE);
    CHECK(str_find(buf_str(&r.relayed), STR("Two")) == STR_NONE);
    run_init(&seen, &wire_ollama, true);
    run_feed(&seen, buf_str(&r.relayed), 0);
    CHECK(str_find(buf_str(&seen.events), STR("text 0 \"It is four\"")) != STR_NONE);
    run_release(&seen);
    run_release(&r);
}

TEST(whole_and_generate_bodies_are_read)
{
    static const struct {
        const char *body, *events;
    } cases[] = {
        {"{\"model\":\"m\",\"message\":{\"role\":\"assistant\",\"content\":\"a\",\"thinking\":"
         "\"b\"},\"done\":true,\"done_reason\":\"length\"}",
         "start \"m\"\nreasoning 0 \"b\"\ntext 1 \"a\"\nstop length \"length\"\nend\n"},
        {"{\"model\":\"m\",\"response\":\"a\",\"thinking\":\"b\",\"done\":true}",
         "start \"m\"\nreasoning 0 \"b\"\ntext 1 \"a\"\nstop end\nend\n"},
        {"{\"error\":\"model 'x' not found\"}", "error 500 api_error: model 'x' not found\n"},
        {"[]", "error 502 upstream_error: the reply is not a JSON object\n"},
        {"{\"model\":\"m\",\"message\":{\"tool_calls\":[{}]},\"done\":true}",
         "start \"m\"\nstop end\nend\n"},
    };
    static struct run r;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        run_init(&r, &wire_ollama, false);
        run_feed(&r, str_c(cases[i].body), 0);
        CHECK_STR(buf_str(&r.events), cases[i].events);
        CHECK_STR(buf_str(&r.relayed), cases[i].body);
        run_release(&r);
    }
}

TEST(an_error_in_the_middle_and_a_cut_end_are_errors)
{
    static struct run r;

    run_init(&r, &wire_ollama, true);
    run_feed(&r,
             STR("{\"model\":\"m\",\"message\":{\"content\":\"a\"},\"done\":false}\n"
                 "{\"error\":\"out of memory\"}\n"),
             0);
    CHECK_STR(buf_str(&r.events),
              "start \"m\"\ntext 0 \"a\"\nerror 500 api_error: out of memory\n");
    CHECK(str_ends(buf_str(&r.encoded), STR("{\"error\":\"out of memory\"}\n")));
    run_release(&r);
    run_init(&r, &wire_ollama, true);
    run_feed(&r, STR("{\"model\":\"m\",\"message\":{\"content\":\"a\"},\"done\":false}\n"), 0);
    CHECK_INT(r.error_status, 502);
    run_release(&r);
}

TEST(touched_lines_say_what_they_are_told)
{
    static struct run r;
    struct json doc;
    struct err e;
    str line = STR("{\"model\":\"m\",\"x\":1,\"message\":{\"role\":\"assistant\",\"content\":"
                   "\"<think>a</think>b\"},\"done\":false}");
    struct wire_frame f = {.name = STR(""), .data = line, .raw = line};
    struct chat_event reported[] = {
        {.kind = CHAT_REASONING, .text = STR("a"), .id = STR(""), .name = STR("")},
        {.kind = CHAT_TEXT, .block = 1, .text = STR("b"), .id = STR(""), .name = STR("")},
        {.kind = CHAT_CALL, .block = 2, .text = STR(""), .id = STR("c1"), .name = STR("f")},
        {.kind = CHAT_ARGUMENTS,
         .block = 2,
         .text = STR("{\"q\":1}"),
         .id = STR(""),
         .name = STR("")},
    };

    run_init(&r, &wire_ollama, true);
    json_init(&doc);
    CHECK(json_parse(&doc, line, &e));
    f.doc = &doc;
    wire_relay(&r.relay, &f, reported, 2, true);
    CHECK_STR(buf_str(&r.relayed),
              "{\"model\":\"m\",\"x\":1,\"message\":{\"role\":\"assistant\",\"content\":\"b\","
              "\"thinking\":\"a\"},\"done\":false}\n");
    buf_reset(&r.relayed);
    wire_relay(&r.relay, &f, reported + 2, 2, true);
    CHECK_STR(buf_str(&r.relayed), "");
    f.data = f.raw = line = STR("{\"model\":\"m\",\"message\":{\"content\":\"\"},\"done\":true}");
    CHECK(json_parse(&doc, line, &e));
    wire_relay(&r.relay, &f, NULL, 0, false);
    CHECK(str_find(buf_str(&r.relayed), STR("\"name\":\"f\",\"arguments\":{\"q\":1}")) != STR_NONE);
    CHECK(str_ends(buf_str(&r.relayed), line));
    json_release(&doc);
    run_release(&r);
}

/* ---- requests ---- */

static bool read(const char *body, struct json *doc, struct arena *a, struct chat_request *q,
                 struct err *e)
{
    json_init(doc);
    arena_init(a, SIZE_LIMIT);
    return json_parse(doc, str_c(body), e) && ollama_read(doc, a, q, e);
}

TEST(a_request_is_read_and_written_again)
{
    static const char body[] =
        "{\"model\":\"qwen3\",\"messages\":[{\"role\":\"system\",\"content\":\"s\"},{\"role\":"
        "\"user\",\"content\":\"u\",\"images\":[\"iVBORw0\"]},{\"role\":\"assistant\",\"content\":"
        "\"\",\"thinking\":\"t\",\"tool_calls\":[{\"function\":{\"name\":\"f\",\"arguments\":{\"a\""
        ":1}}},{\"function\":{\"name\":\"g\",\"arguments\":{}}}]},{\"role\":\"tool\",\"content\":"
        "\"G\",\"tool_name\":\"g\"},{\"role\":\"tool\",\"content\":\"F\",\"tool_name\":\"f\"}],"
        "\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"f\",\"description\":\"d\","
        "\"parameters\":{\"type\":\"object\"}}}],\"think\":\"high\",\"format\":{\"type\":"
        "\"object\"},\"options\":{\"temperature\":0.70,\"num_predict\":5,\"stop\":[\"x\"]}}";
    struct chat_request q;
    struct arena a;
    struct json doc;
    struct buf out;
    struct err e;

    CHECK_F(read(body, &doc, &a, &q, &e), "%s", e.text);
    CHECK(q.stream && q.thoughts);
    CHECK_INT(q.level, CHAT_LEVEL_HIGH);
    CHECK_STR(q.temperature, "0.70");
    CHECK_STR(q.max_tokens, "5");
    CHECK_INT(q.message_count, 5);
    CHECK_STR(q.messages[1].parts[1].mime, "image/png");
    CHECK_STR(q.messages[2].parts[1].id, "call_0");
    CHECK_STR(q.messages[3].parts[0].id, "call_1");
    CHECK_STR(q.messages[4].parts[0].id, "call_0");
    buf_init(&out, SIZE_LIMIT);
    ollama_write(&q, &out);
    CHECK(str_find(buf_str(&out), STR("\"tool_name\":\"g\"")) != STR_NONE);
    CHECK(str_find(buf_str(&out), STR("\"think\":true")) != STR_NONE);
    CHECK(str_find(buf_str(&out), STR("\"images\":[\"iVBORw0\"]")) != STR_NONE);
    CHECK(str_find(buf_str(&out), STR("\"stop\":[\"x\"]")) != STR_NONE);
    buf_release(&out);
    json_release(&doc);
    arena_release(&a);
}

TEST(a_bad_request_is_told_its_member)
{
    static const struct {
        const char *body, *says;
    } cases[] = {
        {"[]", "the body must be a JSON object"},
        {"{}", "model: is missing"},
        {"{\"model\":1}", "model: must be a string that is not empty"},
        {"{\"model\":\"m\",\"messages\":{}}", "messages: must be a list"},
        {"{\"model\":\"m\",\"messages\":[],\"stream\":3}", "stream: must be true or false"},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++)
        check_refused(&wire_ollama, cases[i].body, cases[i].says);
}

TEST(a_value_that_is_not_known_is_left_to_its_own_providers)
{
    static const struct {
        const char *body, *why;
    } cases[] = {
        {"{\"model\":\"m\",\"messages\":[1]}", "messages[0]: must be an object"},
        {"{\"model\":\"m\",\"messages\":[{\"role\":\"x\"}]}",
         "messages[0].role: must be system, user, assistant or tool"},
        {"{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":[]}]}",
         "messages[0].content: must be a string"},
        {"{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"images\":[1]}]}",
         "messages[0].images[0]: must be a string of base64"},
        {"{\"model\":\"m\",\"messages\":[],\"tools\":[{}]}",
         "tools[0].function.name: must be a string that is not empty"},
        {"{\"model\":\"m\",\"messages\":[],\"think\":3}",
         "think: must be true, false, low, medium, high or max"},
        {"{\"model\":\"m\",\"messages\":[],\"options\":{\"top_p\":\"x\"}}",
         "options.top_p: must be a number"},
        {"{\"model\":\"m\",\"messages\":[],\"format\":3}",
         "format: must be \"json\" or a JSON Schema, an object"},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++)
        check_deferred(&wire_ollama, cases[i].body, cases[i].why);
}

TEST(a_plan_becomes_edits)
{
    static const char body[] =
        "{\"model\":\"m\", \"messages\":[{\"role\":\"user\",\"content\":\"u\"}]}";
    struct wire_tail tail = {.role = CHAT_USER, .text = STR("t")};

    check_patch(&wire_ollama, body, PLAN(.set_level = false), body);
    check_patch(&wire_ollama,
                body,
                PLAN(.model = STR("gpt-oss:20b"), .set_level = true, .level = CHAT_LEVEL_MAX),
                "{\"model\":\"gpt-oss:20b\", \"messages\":[{\"role\":\"user\",\"content\":\"u\"}],"
                "\"think\":\"high\"}");
    check_patch(&wire_ollama,
                body,
                PLAN(.set_level = true, .level = CHAT_LEVEL_NONE),
                "{\"model\":\"m\", \"messages\":[{\"role\":\"user\",\"content\":\"u\"}],"
                "\"think\":false}");
    check_patch(&wire_ollama,
                body,
                PLAN(.system_extra = STR("s"), .tails = &tail, .tail_count = 1),
                "{\"model\":\"m\", \"messages\":[{\"role\":\"system\",\"content\":\"s\"},{\"role\":"
                "\"user\",\"content\":\"u\"},{\"role\":\"user\",\"content\":\"t\"}]}");
    check_patch(&wire_ollama,
                "{\"messages\":[{\"role\":\"system\",\"content\":\"a\"}],\"tools\":[],\"think\":1,"
                "\"options\":{\"top_p\":1}}",
                PLAN(.system_extra = STR("s"),
                     .drop_reasoning = true,
                     .drop_tools = true,
                     .top_p = STR("2"),
                     .temperature = STR("0.1"),
                     .max_tokens = STR("9")),
                "{\"messages\":[{\"role\":\"system\",\"content\":\"a\\n\\ns\"}],\"options\":{"
                "\"top_p\":1,\"temperature\":0.1,\"num_predict\":9}}");
}

static size_t find_kept(void *ctx, str id, struct wire_kept *out, size_t n_max)
{
    (void)ctx;
    (void)n_max;
    out[0] = (struct wire_kept){.name = STR(OLLAMA_KEEP), .text = STR("t\n")};
    return str_eq(id, STR("x"));
}

TEST(thinking_goes_back_with_its_call)
{
    struct wire_vault vault = {.find = find_kept};
    static struct run r;

    run_init(&r, &wire_ollama, false);
    run_feed(&r,
             STR("{\"model\":\"m\",\"message\":{\"thinking\":\"t\\n\",\"tool_calls\":[{\"id\":"
                 "\"x\",\"function\":{\"name\":\"f\"}},{\"id\":\"y\",\"function\":{\"name\":"
                 "\"g\"}}]},\"done\":true}"),
             0);
    CHECK_STR(buf_str(&r.events),
              "start \"m\"\nreasoning 0 \"t\\n\"\nkeep \"x\" \"ollama_thinking\" \"t\\n\"\n"
              "call 1 \"x\" \"f\"\narguments 1 \"{}\"\ncall 2 \"y\" \"g\"\narguments 2 \"{}\"\n"
              "stop tool\nend\n");
    run_release(&r);
    check_patch(&wire_ollama,
                "{\"messages\":[{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"x\"}]},{"
                "\"role\":\"assistant\",\"thinking\":\"k\",\"tool_calls\":[{\"id\":\"x\"}]}]}",
                PLAN(.vault = &vault),
                "{\"messages\":[{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"x\"}],"
                "\"thinking\":\"t\\n\"},{\"role\":\"assistant\",\"thinking\":\"k\","
                "\"tool_calls\":[{\"id\":\"x\"}]}]}");
}

/* Arguments that are not an object are rewritten, so they must not also be copied from the line. */
TEST(a_call_of_a_changed_line_is_there_once)
{
    static const char line[] =
        "{\"model\":\"m\",\"message\":{\"role\":\"assistant\",\"content\":\"\",\"thinking\":\"hm\","
        "\"tool_calls\":[{\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"a\\\":1}\"}},"
        "{\"id\":\"i\",\"function\":{\"name\":\"g\"}}]},\"done\":true}\n";

    for (int streams = 0; streams < 2; streams++) {
        struct pass *p = malloc(sizeof *p);
        struct notes n;

        assert(p);
        pass_init(p, &wire_ollama, &wire_ollama, streams);
        p->relay = p->hide = true;
        feed_bytes(&p->feed, str_c(line), streams ? FRAMES_LINES : FRAMES_WHOLE, 0);
        notes_init(&n);
        decode_to(&wire_ollama, buf_str(&p->out), streams ? FRAMES_LINES : FRAMES_WHOLE, 0, &n);
        CHECK_STR(buf_str(&n.all),
                  "\nstart m\ncall 0.0 call_0 f\narguments 0.0: {\"a\":1}\ncall 0.1 i g\narguments "
                  "0.1: {}\nstop tool\nend");
        notes_release(&n);
        pass_release(p);
        free(p);
    }
}

/* A whole reply may span several lines, but a chunk of a stream must be one line. */
TEST(members_of_several_lines_become_one_line)
{
    struct pass *p = malloc(sizeof *p);
    struct notes n;

    assert(p);
    pass_init(p, &wire_ollama, &wire_ollama, true);
    feed_bytes(
        &p->feed,
        STR("{\"model\":\"m\",\"message\":{\"content\":\"a\"},\"odd\":[\n1,\r\n2],\"done\":true}"),
        FRAMES_WHOLE,
        0);
    notes_init(&n);
    decode_to(&wire_ollama, buf_str(&p->out), FRAMES_LINES, 0, &n);
    CHECK_INT(n.errors, 0);
    CHECK_HAS(buf_str(&n.all), "extra odd: [ 1,  2]");
    CHECK_INT(n.ends, 1);
    notes_release(&n);
    pass_release(p);
    free(p);
}

TEST_MAIN(T(lines_become_events_however_they_are_cut),
          T(events_encoded_and_read_again_are_the_same), T(a_stream_encoded_whole_is_one_object),
          T(hidden_thinking_leaves_no_line), T(whole_and_generate_bodies_are_read),
          T(an_error_in_the_middle_and_a_cut_end_are_errors),
          T(touched_lines_say_what_they_are_told), T(a_request_is_read_and_written_again),
          T(a_bad_request_is_told_its_member),
          T(a_value_that_is_not_known_is_left_to_its_own_providers), T(a_plan_becomes_edits),
          T(thinking_goes_back_with_its_call), T(a_call_of_a_changed_line_is_there_once),
          T(members_of_several_lines_become_one_line))
