/* Recorded calls: written, read, and found by the parts of a request that identify it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/cassette.h"

#include "base/file.h"
#include "gateway/cassette_internal.h"
#include "test.h"

#include <unistd.h>

#define HEAD "{\"cassette\": 1, \"kind\": \"anthropic\"}\n"

static const char *write_file(const char *text)
{
    static char path[64];
    struct err e;

    snprintf(path, sizeof path, "/tmp/cassette_test.%d", (int)getpid());
    if (!file_write_atomic(path, str_c(text), 0600, &e))
        fail_msg("%s", e.text);
    return path;
}

static struct cassette *load(const char *text)
{
    struct cassette *c = NULL;
    struct err e = {0};
    const char *path = write_file(text);
    bool ok = cassette_load(path, &c, &e);

    unlink(path);
    if (!ok)
        fail_msg("%s", e.text);
    return c;
}

/* ---- the canonical form ---- */

TEST(what_counts_in_a_request_has_one_form)
{
    static const struct {
        const char *json, *canonical;
    } cases[] = {
        {"{\"b\": 1, \"a\": 2}", "{\"a\":2,\"b\":1}"},
        {"{\"a\": 1, \"a\": 2}", "{\"a\":2}"},
        {"{\"a\": 1, \"\\u0061\": 3}", "{\"a\":3}"},
        {"{\"user\": 1, \"metadata\": {}, \"stream_options\": 0, \"store\": true, \"x\": "
         "{\"user\": 1}}",
         "{\"x\":{\"user\":1}}"},
        {"[{\"user\":1}]", "[{\"user\":1}]"},
        {"{\"stream\": false, \"top_p\": null, \"x\": {\"stream\": false, \"y\": null}}",
         "{\"x\":{\"stream\":false,\"y\":null}}"},
        {"{\"stream\": true}", "{\"stream\":true}"},
        {"1.0", "1"},
        {"100", "1e2"},
        {"1e2", "1e2"},
        {"0.70", "7e-1"},
        {"70e-2", "7e-1"},
        {"-0.0", "0"},
        {"0e999", "0"},
        {"-12.500E+01", "-125"},
        {"1e-0005", "1e-5"},
        {"1e99999999999999999999", "1e99999999999999999999"},
        {"123456789012345678901", "123456789012345678901"},
        {"\"\\u00e9\\/\\n\\u0001\\ud83d\\ude00\"", "\"\xc3\xa9/\\n\\u0001\xf0\x9f\x98\x80\""},
        {"[true,false,null,[],{}]", "[true,false,null,[],{}]"},
        {"{\"\xc3\xa9\":1,\"z\":2,\"Z\":3}", "{\"Z\":3,\"z\":2,\"\xc3\xa9\":1}"},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct json doc;
        struct err e;
        struct buf out;

        json_init(&doc);
        buf_init(&out, 4096);
        CHECK(json_parse(&doc, str_c(cases[i].json), &e));
        cassette_canonical(&doc, STR("/v1/x"), &out);
        CHECK_F(str_eq(buf_str(&out), str_c(cases[i].canonical)),
                "%s became " STR_FMT,
                cases[i].json,
                STR_ARG(buf_str(&out)));
        buf_release(&out);
        json_release(&doc);
    }
}

static bool is_empty(const char *json, str path)
{
    struct json doc;
    struct err e;
    struct buf out;
    bool empty;

    json_init(&doc);
    buf_init(&out, 4096);
    CHECK(json_parse(&doc, str_c(json), &e));
    cassette_canonical(&doc, path, &out);
    empty = str_eq(buf_str(&out), STR("{}"));
    buf_release(&out);
    json_release(&doc);
    return empty;
}

TEST(what_is_streamed_anyway_need_not_be_asked_for)
{
    CHECK(is_empty("{\"stream\": true}", STR("/api/chat")));
    CHECK(!is_empty("{\"stream\": false}", STR("/api/chat")));
    CHECK(is_empty("{\"stream\": false}", STR("/chat/completions")));
    CHECK(!is_empty("{\"stream\": true}", STR("/chat/completions")));
    CHECK(!is_empty("{\"user\": 1}", STR(""))); /* other fields stay */
}

/* ---- writing and reading ---- */

TEST(what_is_written_is_read_again)
{
    static const struct cassette_piece pieces[] = {{0, STR_INIT("data: \"x\"\n\n")},
                                                   {12, STR_INIT("\xc3")},
                                                   {3, STR_INIT("\xa9 \xff\0z")},
                                                   {0, STR_INIT("")}};
    struct cassette_call call = {STR("/v1/messages?x=\"1\""),
                                 STR("{\n \"a\" : [1 , 2],\n \"s\": \"a \\\" b\\\\\" }"),
                                 429,
                                 STR("text/event-stream"),
                                 pieces,
                                 COUNT_OF(pieces)};
    const struct cassette_call *got;
    struct cassette *c;
    struct buf b;
    struct err e;

    buf_init(&b, 1 << 16);
    cassette_head(CHAT_GEMINI, &b);
    cassette_line(&call, &b);
    call.body = STR("not json");
    cassette_line(&call, &b);
    call.body = STR("");
    cassette_line(&call, &b);
    buf_add_c(&b, '\0');
    c = load(b.p);
    CHECK_INT(cassette_dialect(c), CHAT_GEMINI);
    CHECK_INT(cassette_count(c), 3);
    got = cassette_at(c, 0);
    CHECK(!cassette_at(c, 3));
    CHECK_STR(got->path, "/v1/messages?x=\"1\"");
    CHECK_STR(got->body, "{\"a\":[1,2],\"s\":\"a \\\" b\\\\\"}");
    CHECK_INT(got->status, 429);
    CHECK_STR(got->type, "text/event-stream");
    CHECK_INT(got->piece_count, COUNT_OF(pieces));
    for (size_t i = 0; i < COUNT_OF(pieces); i++) {
        CHECK(str_eq(got->pieces[i].bytes, pieces[i].bytes));
        CHECK_INT(got->pieces[i].after_ms, pieces[i].after_ms);
    }
    CHECK(cassette_find(c, call.path, STR("not json"), 0, &got, &e) && got == cassette_at(c, 1));
    CHECK(cassette_find(c, call.path, STR(""), 0, &got, &e) && got == cassette_at(c, 2));
    cassette_free(c);
    buf_release(&b);
    cassette_free(NULL);
}

TEST(a_bad_file_is_told_by_its_line)
{
#define CALL(rest) HEAD "\n{\"request\": {\"path\": \"/p\", \"body\": {}}" rest "}\n"
    static const struct {
        const char *text, *error;
    } cases[] = {
        {"", ":1: not a cassette"},
        {"{}\n", ":1: not a cassette"},
        {"[]\n", ":1: not a cassette"},
        {"{\"cassette\": 2}\n", ":1: a cassette of version 1 is expected"},
        {"{\"cassette\": 1}\n", ":1: \"kind\" is missing"},
        {"{\"cassette\": 1, \"kind\": \"x\"}\n", ":1: no kind \"x\""},
        {"{\"cassette\": 1, \"kind\": \"cohere\"}\n", ":1: no kind \"cohere\""},
        {HEAD "{", ":2: "},
        {HEAD "\n\n{\"a\": 1}\n", ":4: \"request\" must have a \"path\""},
        {HEAD "{\"request\": {\"path\": 1}}\n", ":2: \"request\" must have a \"path\""},
        {CALL(""), ":3: \"status\" must be 100 to 599"},
        {CALL(", \"status\": 99"), ":3: \"status\" must be 100 to 599"},
        {CALL(", \"status\": 200"), ":3: \"pieces\" must be an array"},
        {CALL(", \"status\": 200, \"type\": 1"), ":3: \"type\" must be a string"},
        {CALL(", \"status\": 200, \"pieces\": [1]"), ":3: a piece is [milliseconds, text]"},
        {CALL(", \"status\": 200, \"pieces\": [[-1, \"\"]]"),
         ":3: a piece is [milliseconds, text]"},
        {CALL(", \"status\": 200, \"pieces\": [[1, \"\", 2]]"), ":3: a piece is [millis"},
        {CALL(", \"status\": 200, \"pieces\": [[1, 2]]"), ":3: a piece's text is a string or"},
        {CALL(", \"status\": 200, \"pieces\": [[1, {\"b64\": \"?\"}]]"),
         ":3: \"b64\" is not base64"},
    };
    struct cassette *c;
    struct err e;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const char *path = write_file(cases[i].text);

        CHECK_F(!cassette_load(path, &c, &e), "%s was taken", cases[i].text);
        CHECK(strncmp(e.text, path, strlen(path)) == 0);
        CHECK_F(strncmp(e.text + strlen(path), cases[i].error, strlen(cases[i].error)) == 0,
                "%s gave %s",
                cases[i].text,
                e.text);
        unlink(path);
    }
    CHECK(!cassette_load("/nowhere/at/all", &c, &e) && e.code == ERR_NOT_FOUND);
    CHECK(!cassette_load("/tmp", &c, &e));
}

/* ---- finding ---- */

#define TAPE(path, body, status)                                                                   \
    "{\"request\":{\"path\":\"" path "\",\"body\":" body "},\"status\":" status ",\"pieces\":[]}"  \
    "\n"

static const char tapes[] = HEAD TAPE(
    "/a", "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"one\"}]}", "201")
    TAPE("/a", "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"two\"}]}", "202")
        TAPE("/a", "{\"messages\":[{\"content\":\"one\",\"role\":\"user\"}],\"model\":\"m\"}",
             "203") TAPE("/b", "{\"temperature\":0.5,\"x/y\":{\"~\":1}}", "204");

static int status_of(const struct cassette *c, const char *body, size_t nth)
{
    const struct cassette_call *call;
    struct err e;

    return cassette_find(c, STR("/a"), str_c(body), nth, &call, &e) ? call->status : 0;
}

TEST(a_request_is_found_however_it_is_written)
{
    static const char one[] =
        "{ \"messages\": [ {\"content\": \"\\u006fne\", \"role\": \"user\"} ],"
        " \"user\": \"me\", \"model\": \"m\", \"metadata\": {\"a\": 1} }";
    struct cassette *c = load(tapes);

    CHECK_INT(status_of(c, one, 0), 201);
    CHECK_INT(status_of(c, one, 1), 203);
    CHECK_INT(status_of(c, one, 2), 201);
    CHECK_INT(status_of(c, one, SIZE_MAX), 203);
    cassette_free(c);
}

TEST(a_miss_names_the_nearest_and_the_first_difference)
{
    static const struct {
        const char *path, *body, *error;
    } cases[] = {
        {"/a",
         "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"twx\"}]}",
         "no recording of this request; the nearest (line 3) differs first at /messages/0/content: "
         "there it has \"two\""},
        {"/a",
         "{\"model\":\"n\",\"messages\":[{\"role\":\"user\",\"content\":\"one\"}]}",
         "no recording of this request; the nearest (line 2) differs first at /model: there "
         "it has \"m\""},
        {"/a",
         "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"one\"},{}]}",
         "no recording of this request; the nearest (line 2) differs first at /messages/1"},
        {"/a",
         "{\"extra\":1,\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"one\"}]}",
         "no recording of this request; the nearest (line 2) differs first at /extra"},
        {"/b",
         "{\"temperature\":0.50,\"x/y\":{\"~\":2}}",
         "no recording of this request; the nearest (line 5) differs first at /x~1y/~0"},
        {"/b",
         "{\"temperature\":0.50,\"x/y\":[]}",
         "no recording of this request; the nearest (line 5) differs first at /x~1y"},
        {"/c",
         "{\"temperature\":5e-1,\"x/y\":{\"~\":1}}",
         "no recording for the path /c; the nearest (line 5) is for /b"},
        {"/b",
         "[]",
         "no recording of this request; the nearest (line 5) differs first at its root"},
    };
    struct cassette *c = load(tapes), *empty = load(HEAD);
    const struct cassette_call *call;
    struct err e;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        CHECK(!cassette_find(c, str_c(cases[i].path), str_c(cases[i].body), 0, &call, &e));
        CHECK_INT(e.code, ERR_NOT_FOUND);
        CHECK_STR(str_c(e.text), cases[i].error);
    }
    CHECK(!cassette_find(empty, STR("/"), STR("{}"), 0, &call, &e));
    CHECK_STR(str_c(e.text), "the cassette has no recordings");
    cassette_free(empty);
    cassette_free(c);
}

TEST(a_miss_tells_how_a_long_text_begins)
{
    static const char body[] =
        "{\"a\":\"12345678901234567890123456789012345678901234567890123456789\\u00e4 and more\"}";
    struct cassette *c = load(HEAD TAPE("/a",
                                        "{\"a\":\"123456789012345678901234567890123456789012345678"
                                        "90123456789\\u00e4 and so on\"}",
                                        "200"));
    const struct cassette_call *call;
    struct err e;

    CHECK(!cassette_find(c, STR("/a"), str_c(body), 0, &call, &e));
    CHECK_STR(str_c(e.text),
              "no recording of this request; the nearest (line 2) differs first at /a: there it "
              "has \"12345678901234567890123456789012345678901234567890123456789...\"");
    cassette_free(c);
}

TEST(a_reply_can_be_that_of_a_line_before)
{
    static const char like[] = "{\"request\":{\"path\":\"/a\",\"body\":{\"n\":2}},\"like\":2}\n";
    static const char *const bad[] = {"1", "3", "4", "0", "-1", "\"2\"", "2.5", "null"};
    char text[1024];
    const char *path;
    const struct cassette_call *call;
    struct cassette *c;
    struct err e;

    (void)snprintf(text, sizeof text, "%s%s", HEAD TAPE("/a", "{\"n\":1}", "207"), like);
    c = load(text);
    CHECK(cassette_find(c, STR("/a"), STR("{\"n\":2}"), 0, &call, &e));
    CHECK_INT(call->status, 207);
    CHECK(call->pieces == cassette_at(c, 0)->pieces);
    CHECK_INT(call->piece_count, cassette_at(c, 0)->piece_count);
    cassette_free(c);
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        (void)snprintf(
            text,
            sizeof text,
            HEAD TAPE("/a", "{}", "200") "{\"request\":{\"path\":\"/a\",\"body\":1},\"like\":%s}\n",
            bad[i]);
        path = write_file(text);
        CHECK(!cassette_load(path, &c, &e));
        unlink(path);
        CHECK(strstr(e.text, ":3: \"like\" must be the line of a call before this one"));
    }
}

TEST(lines_longer_than_a_read_are_whole)
{
    struct cassette *c;
    struct buf b;

    buf_init(&b, 8 << 20);
    buf_add(&b, STR(HEAD));
    for (int i = 0; i < 3; i++) {
        buf_printf(&b, "{\"request\":{\"path\":\"/%d\"},\"status\":200,\"pieces\":[[0,\"", i);
        for (int j = 0; j < 900000; j++)
            buf_add_c(&b, 'x');
        buf_add(&b, STR("\"]]}\n"));
    }
    buf_add_c(&b, '\0');
    c = load(b.p);
    CHECK_INT(cassette_count(c), 3);
    CHECK_INT(cassette_at(c, 2)->pieces[0].bytes.n, 900000);
    cassette_free(c);
    buf_release(&b);
}

TEST_MAIN(T(what_counts_in_a_request_has_one_form),
          T(what_is_streamed_anyway_need_not_be_asked_for), T(what_is_written_is_read_again),
          T(a_bad_file_is_told_by_its_line),
          T(a_request_is_found_however_it_is_written),
          T(a_miss_names_the_nearest_and_the_first_difference),
          T(a_miss_tells_how_a_long_text_begins), T(a_reply_can_be_that_of_a_line_before),
          T(lines_longer_than_a_read_are_whole))
