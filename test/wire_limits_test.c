/* Replies and requests that no honest peer sends: they take their time and their room, no more.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire_openai_help.h"

/* Members that no host has, a new one with every chunk: the reply stays linear in time and bounded
 * in memory. */
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

/* Calls that nobody answered are not looked through again for every result that comes. */
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
    wire_gemini.write(&q, &out); /* which looks for the names of calls */
    CHECK(!buf_full(&out));
    json_release(&doc);
    arena_release(&a);
    buf_release(&b);
    buf_release(&out);
}

/* Values that are not even objects take more memory than their bytes: there is room for them, or
 * the request is refused. */
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

/* A whole reply, decoded and passed on with and without its reasoning. */
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

/* A list in which each element has its number: "f0", "f1"... */
static void add_names(struct buf *b, const char *before, const char *letter, unsigned n,
                      const char *after)
{
    for (unsigned i = 0; i < n; i++)
        buf_printf(b, "%s%s\"%s%u\"%s", i ? "," : "", before, letter, i, after);
}

/* A list of allowed tools as long as the list of tools. */
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

/* Files have no page, so none of them is a page that Gemini's clients get. */
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

TEST_MAIN(T(new_members_in_every_chunk_are_no_burden),
          T(a_long_history_of_open_calls_is_read_in_linear_time),
          T(values_that_cannot_be_read_do_not_exhaust_the_memory),
          T(a_reply_of_many_candidates_takes_linear_time),
          T(many_allowed_tools_are_read_in_linear_time),
          T(many_citations_of_files_are_converted_in_linear_time))
