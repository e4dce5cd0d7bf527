/* Malicious replies and requests take bounded time and memory.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire_openai_help.h"

/* Unknown members, a new one in each chunk: the reply takes linear time and bounded memory. */
TEST(new_members_in_every_chunk_are_no_burden)
{
    struct telling t;
    struct said s;
    struct buf b;

    buf_init(&b, HELP_MAX);
    for (unsigned i = 0; i < 20000; i++)
        buf_printf(&b,
                   "data: {\"top%u\":1,\"choices\":[{\"index\":0,\"x\":{\"k%u\":%u},\"delta\":{"
                   "\"content\":\"a\"}}]}\n\n",
                   i,
                   i,
                   i);
    buf_add(&b, STR("data: [DONE]\n\n"));
    telling_init(&t, &wire_openai, false);
    said_init(&s, &wire_openai);
    s.d.sink = (struct chat_sink){telling_on_event, &t};
    said_stream(&s, buf_str(&b), b.n);
    CHECK(str_find(buf_str(&t.out), STR("\"k0\":0,\"k1\":1,")) != STR_NONE);
    CHECK(str_find(buf_str(&t.out), STR("\"k19999\":19999}")) != STR_NONE);
    CHECK(str_find(buf_str(&t.out), STR("\"top0\":1")) != STR_NONE);
    CHECK(str_find(buf_str(&t.out), STR("\"top19999\"")) == STR_NONE);
    said_release(&s);
    telling_release(&t);
    buf_release(&b);
}

/* The list of unanswered calls must not be scanned for each result. */
TEST(a_long_history_of_open_calls_is_read_in_linear_time)
{
    struct chat_request q;
    struct arena a;
    struct json doc;
    struct buf b, out;
    struct err e;

    buf_init(&b, (size_t)64 << 20);
    buf_init(&out, (size_t)64 << 20);
    buf_add(&b, STR("{\"model\":\"m\",\"messages\":[{\"role\":\"assistant\",\"tool_calls\":["));
    for (unsigned i = 0; i < 90000; i++)
        buf_printf(&b, "%s{\"function\":{\"name\":\"f%u\"}}", i ? "," : "", i);
    buf_add(&b, STR("]}"));
    for (unsigned i = 0; i < 90000; i++)
        buf_add(&b, STR(",{\"role\":\"tool\",\"tool_name\":\"g\",\"content\":\"\"}"));
    buf_add(&b, STR("]}"));
    arena_init(&a, (size_t)256 << 20);
    json_init(&doc);
    CHECK(json_parse(&doc, buf_str(&b), &e));
    CHECK_F(wire_ollama.read(&doc, &a, &q, &e), "%s", e.text);
    CHECK_INT(q.message_count, 90001);
    CHECK_STR(q.messages[90000].parts[0].name, "g");
    wire_gemini.write(&q, &out); /* which looks up the names of calls */
    CHECK(!buf_full(&out));
    json_release(&doc);
    arena_release(&a);
    buf_release(&b);
    buf_release(&out);
}

/* Only an object has members: the last element of a list has no value after it. */
TEST(a_list_where_an_object_should_be_has_no_members)
{
    static const struct {
        const struct wire *wire;
        const char *frames;
    } rows[] = {
        {&wire_responses,
         "data: {\"type\":\"response.created\",\"response\":{\"id\":\"r\",\"model\":\"m\"}}\n\n"
         "data: {\"type\":\"response.completed\",\"response\":[\"x\"]}\n\n"},
        {&wire_anthropic,
         "data: {\"type\":\"message_start\",\"message\":{\"id\":\"r\",\"model\":\"m\"}}\n\n"
         "data: {\"type\":\"message_start\",\"message\":[\"x\"]}\n\n"
         "event: message_delta\ndata: [\"x\"]\n\n"},
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct said s;

        said_init(&s, rows[i].wire);
        said_stream(&s, str_c(rows[i].frames), strlen(rows[i].frames));
        CHECK(str_find(buf_str(&s.lines), STR("extra")) == STR_NONE);
        said_release(&s);
    }
}

/* JSON allows three kinds of line ends between values, and each of them would end a line of SSE. */
TEST(a_value_of_several_lines_stays_in_its_event)
{
    static const struct wire *const wires[] = {&wire_anthropic, &wire_responses};
    static const char *const ends[] = {"\n", "\r", "\r\n"};

    for (size_t i = 0; i < COUNT_OF(wires); i++)
        for (size_t k = 0; k < COUNT_OF(ends); k++) {
            struct chat_event ev = {
                .kind = CHAT_OPAQUE, .dialect = wires[i]->dialect, .id = STR(""), .name = STR("")};
            struct telling t;
            struct said s;
            char text[64];

            snprintf(text, sizeof text, "{\"type\":%s\"x\",%s\"a\":1}", ends[k], ends[k]);
            ev.text = str_c(text);
            telling_init(&t, wires[i], true);
            wire_encode(&t.en, &ev);
            said_init(&s, wires[i]);
            said_stream(&s, buf_str(&t.out), t.out.n);
            CHECK(str_find(buf_str(&s.lines), STR("\"a\":1}")) != STR_NONE);
            said_release(&s);
            telling_release(&t);
        }
}

/* Any number of tools, allowed tools, and system messages. */
TEST(long_lists_of_a_request_are_read_and_written_in_linear_time)
{
    enum { MANY = 200000 };
    struct chat_request q;
    struct arena a;
    struct json doc;
    struct buf b, out;
    struct err e;

    buf_init(&b, (size_t)64 << 20);
    buf_init(&out, (size_t)64 << 20);
    buf_add(&b, STR("{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"u\"}"));
    for (unsigned i = 0; i < MANY; i++)
        buf_add(&b, STR(",{\"role\":\"system\",\"content\":\"s\"}"));
    for (unsigned k = 0; k < 2; k++) {
        buf_printf(
            &b,
            "],%s\"tools\":[",
            k ? "\"tool_choice\":{\"type\":\"allowed_tools\",\"allowed_tools\":{\"mode\":\"auto\","
              : "");
        for (unsigned i = 0; i < MANY; i++)
            buf_printf(&b,
                       "%s{\"type\":\"function\",\"function\":{\"name\":\"f%u\"}}",
                       i ? "," : "",
                       k ? MANY - 1 - i / 2 : i);
    }
    buf_add(&b, STR("]}}}"));
    arena_init(&a, (size_t)256 << 20);
    json_init(&doc);
    CHECK_F(json_parse(&doc, buf_str(&b), &e), "%s", e.text);
    CHECK_F(wire_openai.read(&doc, &a, &q, &e), "%s", e.text);
    CHECK_INT(q.tool_count, MANY);
    CHECK(q.tools[0].barred && !q.tools[MANY - 1].barred);
    wire_mistral.write(&q, &out);
    CHECK(!buf_full(&out));
    json_release(&doc);
    arena_release(&a);
    buf_release(&b);
    buf_release(&out);
}

/* A full buffer ignores additions, so an encoder must not assume that its bytes are there. */
TEST(encoders_with_a_full_buffer_write_nowhere_else)
{
#define EV(k, b, t)                                                                                \
    {                                                                                              \
        .kind = (k), .block = (b), .text = STR_INIT(t), .id = STR_INIT(""), .name = STR_INIT("")   \
    }
    static const struct wire *const wires[] = {&wire_openai, &wire_anthropic, &wire_responses};
    static const struct chat_event all[] = {EV(CHAT_START, 0, ""),
                                            EV(CHAT_REASONING, 0, "why"),
                                            EV(CHAT_TEXT, 1, "yes"),
                                            EV(CHAT_CALL, 2, ""),
                                            EV(CHAT_ARGUMENTS, 2, "{}"),
                                            EV(CHAT_STOP, 0, ""),
                                            EV(CHAT_END, 0, "")};

    for (size_t i = 0; i < COUNT_OF(wires); i++)
        for (size_t size = 0; size < 4000; size += 7)
            for (int stream = 0; stream < 2; stream++) {
                struct telling t;

                telling_init(&t, wires[i], stream);
                t.out.size_max = size;
                t.en.id = STR("abc");
                for (size_t k = 0; k < COUNT_OF(all); k++)
                    wire_encode(&t.en, &all[k]);
                CHECK(t.out.n <= size);
                telling_release(&t);
            }
#undef EV
}

/* Counts are added up, so a count beyond any possible reply is treated as unknown. */
TEST(a_count_that_cannot_be_is_unknown)
{
#define MOST "9223372036854775807"
    static const struct {
        const struct wire *wire;
        const char *body;
    } rows[] = {
        {&wire_anthropic,
         "{\"type\":\"message\",\"content\":[],\"stop_reason\":\"end_turn\",\"usage\":{\"input_"
         "tokens\""
         ":" MOST ",\"cache_read_input_tokens\":" MOST ",\"output_tokens\":\"" MOST "\"}}"},
        {&wire_responses,
         "{\"output\":[],\"status\":\"completed\",\"usage\":{\"input_tokens\":" MOST
         ",\"output_tokens\":" MOST "}}"},
        {&wire_openai,
         "{\"choices\":[{\"message\":{\"content\":\"a\"}}],\"usage\":{\"prompt_tokens\":" MOST
         ",\"completion_tokens\":" MOST "}}"},
        {&wire_converse,
         "{\"output\":{\"message\":{\"content\":[]}},\"stopReason\":\"end_turn\",\"usage\":{"
         "\"inputTokens\":" MOST ",\"cacheReadInputTokens\":" MOST ",\"outputTokens\":" MOST "}}"},
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct said s;

        said_init(&s, rows[i].wire);
        said_whole(&s, str_c(rows[i].body));
        CHECK_INT(s.errors, 0);
        CHECK_INT(s.usage.input, -1);
        CHECK_INT(s.usage.output, -1);
        said_release(&s);
    }
#undef MOST
}

/* A full arena ends the process, so unlimited numbers of elements must be refused early. */
TEST(a_body_of_millions_of_small_things_is_refused)
{
    static const struct {
        const struct wire *wire;
        const char *before, *each, *after;
    } rows[] = {
        {&wire_openai, "{\"model\":\"m\",\"messages\":[", "1", "]}"},
        {&wire_openai,
         "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":[",
         "{\"type\":\"x\"}",
         "]}]}"},
        {&wire_openai,
         "{\"model\":\"m\",\"messages\":[{\"role\":\"tool\",\"tool_call_id\":\"c\",\"content\":[",
         "{\"type\":\"x\"}",
         "]}]}"},
        {&wire_openai,
         "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"\"}],\"tools\":[",
         "1",
         "]}"},
        {&wire_openai,
         "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"\"}],\"stop\":[",
         "1",
         "]}"},
        {&wire_anthropic, "{\"model\":\"m\",\"max_tokens\":1,\"messages\":[", "1", "]}"},
        {&wire_responses,
         "{\"model\":\"m\",\"input\":[{\"role\":\"user\",\"content\":[",
         "{\"type\":\"x\"}",
         "]}]}"},
        {&wire_responses,
         "{\"model\":\"m\",\"input\":[{\"type\":\"function_call_output\",\"call_id\":\"c\","
         "\"output\":[",
         "{\"type\":\"x\"}",
         "]}]}"},
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct chat_request q;
        struct arena a;
        struct json doc;
        struct buf b;
        struct err e = {0};

        arena_init(&a, (size_t)256 << 20);
        buf_init(&b, (size_t)32 << 20);
        buf_add(&b, str_c(rows[i].before));
        buf_add(&b, str_c(rows[i].each));
        while (b.n + 64 < b.size_max) {
            buf_add_c(&b, ',');
            buf_add(&b, str_c(rows[i].each));
        }
        buf_add(&b, str_c(rows[i].after));
        json_init(&doc);
        CHECK(json_parse(&doc, buf_str(&b), &e));
        CHECK_F(!rows[i].wire->read(&doc, &a, &q, &e), "%s", rows[i].before);
        CHECK_INT(e.code, ERR_LIMIT);
        json_release(&doc);
        buf_release(&b);
        arena_release(&a);
    }
}

/* Values that should be objects take more memory than their bytes: either it suffices, or the
 * request is refused. */
TEST(values_that_cannot_be_read_do_not_exhaust_the_memory)
{
    static const struct {
        const char *begin, *value, *end;
    } cases[] = {
        {"{\"contents\":[1", ",1", "]}"},
        {"{\"contents\":{\"parts\":[1", ",{\"text\":\"\\n\"}", "]}}"},
        {"{\"contents\":{\"parts\":[1", ",{\"functionCall\":{\"name\":\"f\"}}", "]}}"},
    };

    for (size_t k = 0; k < COUNT_OF(cases); k++)
        for (unsigned n = 400000; n <= 1000000; n += 300000) {
            struct chat_request q;
            struct arena a;
            struct json doc;
            struct buf b;
            struct err e;

            buf_init(&b, (size_t)64 << 20);
            buf_add(&b, str_c(cases[k].begin));
            for (unsigned i = 1; i < n; i++)
                buf_add(&b, str_c(cases[k].value));
            buf_add(&b, str_c(cases[k].end));
            arena_init(&a, (size_t)256 << 20);
            json_init(&doc);
            CHECK(json_parse(&doc, buf_str(&b), &e));
            if (wire_gemini.read(&doc, &a, &q, &e))
                CHECK(q.unknown_why.n > 0);
            else
                CHECK_INT(e.code, ERR_LIMIT);
            json_release(&doc);
            arena_release(&a);
            buf_release(&b);
        }
}

/* Decodes a whole reply and passes it on, with and without its reasoning. */
TEST(a_reply_of_many_candidates_takes_linear_time)
{
    struct buf b;

    buf_init(&b, HELP_MAX);
    buf_add(&b, STR("{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"a\"}]}}"));
    for (unsigned i = 0; i < 400000; i++)
        buf_add(&b, STR(",{}"));
    buf_add(&b, STR("]}"));
    for (int hide = 0; hide < 2; hide++) {
        struct wire_frame f = {.name = STR(""), .data = buf_str(&b), .raw = buf_str(&b)};
        struct chat_event ev = {
            .kind = CHAT_TEXT, .text = STR("b"), .id = STR(""), .name = STR("")};
        struct telling t;
        struct said s;

        telling_init(&t, &wire_gemini, false);
        said_init(&s, &wire_gemini);
        s.d.hides = hide;
        wire_decode_whole(&s.d, &f);
        wire_relay(&t.en, &f, &ev, 1, true);
        CHECK(str_find(buf_str(&t.out), STR("{\"text\":\"b\"}")) != STR_NONE);
        said_release(&s);
        telling_release(&t);
    }
    buf_release(&b);
}

/* Finding the event of each changed text must not scan all events. */
TEST(a_changed_response_of_many_texts_takes_linear_time)
{
    enum { TEXTS = 4000, EVENTS = 200000 };
    struct chat_event *events = malloc(EVENTS * sizeof *events);
    const struct json_node *parts;
    struct wire_frame f = {.name = STR("")};
    struct telling t;
    struct json doc;
    struct buf b;
    struct err e;

    assert(events);
    buf_init(&b, HELP_MAX);
    buf_add(&b, STR("{\"output\":[{\"type\":\"message\",\"content\":["));
    for (unsigned i = 0; i < TEXTS; i++)
        buf_printf(&b, "%s{\"type\":\"output_text\",\"text\":\"t%u\"}", i ? "," : "", i);
    buf_add(&b, STR("]}]}"));
    json_init(&doc);
    CHECK(json_parse(&doc, buf_str(&b), &e));
    f.data = f.raw = buf_str(&b);
    f.doc = &doc;
    parts = json_get(&doc, json_first(&doc, json_get(&doc, json_root(&doc), "output")), "content");
    for (size_t i = 0; i < EVENTS; i++) {
        size_t block = i / (EVENTS / TEXTS);

        events[i] = (struct chat_event){.kind = CHAT_TEXT,
                                        .block = (uint32_t)block,
                                        .text = block % 2 ? STR("b") : STR("a"),
                                        .id = STR(""),
                                        .name = STR("")};
        if (i % (EVENTS / TEXTS) == 0) /* the others belong to the same text */
            events[i].from = json_get(&doc, json_at(&doc, parts, block), "text");
        else
            events[i].from = events[i - 1].from;
    }
    telling_init(&t, &wire_responses, false);
    wire_relay(&t.en, &f, events, EVENTS, true);
    CHECK(str_find(buf_str(&t.out), STR("\"t")) == str_find(buf_str(&t.out), STR("\"type")));
    CHECK(str_find(buf_str(&t.out), STR("\"t3999\"")) == STR_NONE);
    CHECK(str_find(buf_str(&t.out),
                   STR("\"text\":\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
                       "aaaaaa\"}")) != STR_NONE);
    telling_release(&t);
    json_release(&doc);
    buf_release(&b);
    free(events);
}

/* An allocation beyond an arena's limit ends the process, and its free memory is often in two
 * pieces. A text that fits into neither is dropped. */
TEST(a_text_larger_than_each_of_two_free_pieces_of_memory_is_dropped)
{
    static const struct {
        const struct wire *wire;
        struct chat_event ev;
    } rows[] = {
        {&wire_responses, {.kind = CHAT_CALL, .id = STR_INIT("c"), .name = STR_INIT("f")}},
        {&wire_responses,
         {.kind = CHAT_EXTRA,
          .dialect = CHAT_RESPONSES,
          .id = STR_INIT(""),
          .name = STR_INIT("x"),
          .text = STR_INIT("1")}},
    };
    size_t size = (size_t)10 << 20;
    char *text = malloc(size);

    assert(text);
    memset(text, '1', size);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct chat_event ev = rows[i].ev;
        struct chat_request r = {.model = STR("m")};
        struct wire_encoder en;
        struct arena a;
        struct buf out;

        *(ev.kind == CHAT_CALL ? &ev.name : &ev.text) =
            (str){text, ev.kind == CHAT_CALL ? (size_t)7 << 20 : size};
        arena_init(&a, ev.kind == CHAT_CALL ? (size_t)12 << 20 : (size_t)16 << 20);
        arena_reserve(&a, a.size_max / 2);
        buf_init(&out, HELP_MAX);
        wire_encoder_init(&en, rows[i].wire, &r, true, &a, &out);
        en.id = STR("abc");
        wire_encode(&en, &ev);
        CHECK(arena_left(&a) > (size_t)8 << 20);
        arena_release(&a);
        buf_release(&out);
    }
    free(text);
}

/* Schemas whose objects list all members as required, in reverse order. */
TEST(large_strict_schemas_are_checked_in_linear_time)
{
    enum { OBJECTS = 1200, MEMBERS = 1000 };

    for (unsigned left_out = 0; left_out < 2; left_out++) {
        struct chat_request r = {.dialect = CHAT_ANTHROPIC};
        struct buf b;

        buf_init(&b, HELP_MAX);
        buf_add(&b, STR("{\"anyOf\":["));
        for (unsigned i = 0; i < OBJECTS; i++) {
            buf_printf(&b, "%s{\"additionalProperties\":false,\"properties\":{", i ? "," : "");
            for (unsigned k = 0; k < MEMBERS; k++)
                buf_printf(&b, "%s\"name%u\":{}", k ? "," : "", k);
            buf_add(&b, STR("},\"required\":["));
            for (unsigned k = MEMBERS; k > (i == OBJECTS - 1 ? left_out : 0); k--)
                buf_printf(&b, "%s\"name%u\"", k < MEMBERS ? "," : "", k - 1);
            buf_add(&b, STR("]}"));
        }
        buf_add(&b, STR("]}"));
        CHECK(!buf_full(&b));
        CHECK(schema_is_strict(&r, true, buf_str(&b)) == !left_out);
        buf_release(&b);
    }
}

/* A list with numbered elements: "f0", "f1"... */
static void add_names(struct buf *b, const char *before, const char *letter, unsigned n,
                      const char *after)
{
    for (unsigned i = 0; i < n; i++)
        buf_printf(b, "%s%s\"%s%u\"%s", i ? "," : "", before, letter, i, after);
}

/* A list of allowed tools as long as the list of all tools. */
TEST(many_allowed_tools_are_read_in_linear_time)
{
    static const struct {
        const struct wire *wire;
        const char *begin, *tool, *tool_end, *between, *allowed, *allowed_end, *end;
        unsigned tools;
    } cases[] = {
        {&wire_gemini,
         "{\"contents\":{\"parts\":{\"text\":\"a\"}},\"tools\":{\"functionDeclarations\":[",
         "{\"name\":",
         "}",
         "]},\"toolConfig\":{\"functionCallingConfig\":{\"mode\":\"ANY\","
         "\"allowedFunctionNames\":[",
         "",
         "",
         "]}}}",
         100000},
        {&wire_openai,
         "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"a\"}],\"tools\":[",
         "{\"type\":\"function\",\"function\":{\"name\":",
         "}}",
         "],\"tool_choice\":{\"type\":\"allowed_tools\",\"allowed_tools\":{\"mode\":\"auto\","
         "\"tools\":[",
         "{\"function\":{\"name\":",
         "}}",
         "]}}}",
         4000},
        {&wire_responses,
         "{\"model\":\"m\",\"input\":\"a\",\"tools\":[",
         "{\"type\":\"function\",\"name\":",
         "}",
         "],\"tool_choice\":{\"type\":\"allowed_tools\",\"mode\":\"auto\",\"tools\":[",
         "{\"name\":",
         "}",
         "]}}",
         4000},
    };

    for (size_t k = 0; k < COUNT_OF(cases); k++) {
        struct chat_request q;
        struct arena a;
        struct json doc;
        struct buf b;
        struct err e;

        buf_init(&b, (size_t)64 << 20);
        buf_add(&b, str_c(cases[k].begin));
        add_names(&b, cases[k].tool, "f", cases[k].tools, cases[k].tool_end);
        buf_add(&b, str_c(cases[k].between));
        add_names(&b, cases[k].allowed, "f", 8, cases[k].allowed_end);
        buf_add_c(&b, ',');
        add_names(&b, cases[k].allowed, "g", 100000, cases[k].allowed_end);
        buf_add(&b, str_c(cases[k].end));
        arena_init(&a, (size_t)256 << 20);
        json_init(&doc);
        CHECK(json_parse(&doc, buf_str(&b), &e));
        CHECK_F(cases[k].wire->read(&doc, &a, &q, &e), "%s", e.text);
        CHECK_INT(q.tool_count, cases[k].tools);
        CHECK(!q.tools[0].barred && !q.tools[7].barred && q.tools[8].barred);
        json_release(&doc);
        arena_release(&a);
        buf_release(&b);
    }
}

/* A citation of a file has no URL, so Gemini's clients get none of them. */
TEST(many_citations_of_files_are_converted_in_linear_time)
{
    struct chat_event ev = {.dialect = CHAT_ANTHROPIC, .id = STR(""), .name = STR("")};
    struct telling t;

    telling_init(&t, &wire_gemini, true);
    ev.kind = CHAT_TEXT;
    ev.text = STR("a");
    wire_encode(&t.en, &ev);
    ev.kind = CHAT_OPAQUE;
    ev.name = STR("citation");
    for (unsigned i = 0; i < 60000; i++) {
        ev.text = STR("{\"type\":\"char_location\",\"file_id\":\"f\"}");
        wire_encode(&t.en, &ev);
    }
    ev.text = STR("{\"type\":\"web_search_result_location\",\"url\":\"https://a.b/\"}");
    wire_encode(&t.en, &ev);
    wire_encode(&t.en, &ev);
    ev.name = ev.text = STR("");
    ev.kind = CHAT_STOP;
    wire_encode(&t.en, &ev);
    ev.kind = CHAT_END;
    wire_encode(&t.en, &ev);
    CHECK(str_find(buf_str(&t.out),
                   STR("{\"groundingChunks\":[{\"web\":{\"uri\":\"https://a.b/\"}}]}")) !=
          STR_NONE);
    telling_release(&t);
}

TEST_MAIN(T(large_strict_schemas_are_checked_in_linear_time),
          T(a_text_larger_than_each_of_two_free_pieces_of_memory_is_dropped),
          T(new_members_in_every_chunk_are_no_burden),
          T(a_long_history_of_open_calls_is_read_in_linear_time),
          T(a_list_where_an_object_should_be_has_no_members),
          T(a_body_of_millions_of_small_things_is_refused), T(a_count_that_cannot_be_is_unknown),
          T(encoders_with_a_full_buffer_write_nowhere_else),
          T(a_value_of_several_lines_stays_in_its_event),
          T(long_lists_of_a_request_are_read_and_written_in_linear_time),
          T(values_that_cannot_be_read_do_not_exhaust_the_memory),
          T(a_reply_of_many_candidates_takes_linear_time),
          T(a_changed_response_of_many_texts_takes_linear_time),
          T(many_allowed_tools_are_read_in_linear_time),
          T(many_citations_of_files_are_converted_in_linear_time))
