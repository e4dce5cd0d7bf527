/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"
#include "test.h"

#include <dirent.h>

static const struct {
    const char *text;
    const char *wrong; /* NULL: it is right */
} grammar[] = {
    {"null", NULL},
    {" \t\r\n true \t\r\n ", NULL},
    {"false", NULL},
    {"0", NULL},
    {"-0", NULL},
    {"-12.50e+07", NULL},
    {"1E400", NULL},
    {"123456789012345678901234567890.5", NULL},
    {"\"\"", NULL},
    {"\"a\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\uD83D\\uDE00\x7f\"", NULL},
    {"\"\xC2\x80\xDF\xBF\xE0\xA0\x80\xED\x9F\xBF\xEE\x80\x80\xF0\x90\x80\x80\xF4\x8F\xBF\xBF\"",
     NULL},
    {"[]", NULL},
    {"{ }", NULL},
    {"[1,\"a\",[ ],{},null , true]", NULL},
    {"{\"a\":1,\"a\":{\"b\":[{}]} }", NULL},
    {"", "the text ends where a value is missing at line 1, column 1 (byte 0)"},
    {" \n", "the text ends where a value is missing at line 2, column 1 (byte 2)"},
    {"[1,]", "a value is missing at line 1, column 4 (byte 3)"},
    {"[,1]", "a value is missing at line 1, column 2 (byte 1)"},
    {"[1", "a comma or ] is missing at line 1, column 3 (byte 2)"},
    {"[1}", "a comma or ] is missing at line 1, column 3 (byte 2)"},
    {"[1 2]", "a comma or ] is missing at line 1, column 4 (byte 3)"},
    {"{\"a\":1]", "a comma or } is missing at line 1, column 7 (byte 6)"},
    {"{\"a\":1,}", "a key in quotes is missing at line 1, column 8 (byte 7)"},
    {"{a:1}", "a key in quotes is missing at line 1, column 2 (byte 1)"},
    {"{1:1}", "a key in quotes is missing at line 1, column 2 (byte 1)"},
    {"{", "a key in quotes is missing at line 1, column 2 (byte 1)"},
    {"{\"a\"}", "a colon is missing at line 1, column 5 (byte 4)"},
    {"{\"a\" 1}", "a colon is missing at line 1, column 6 (byte 5)"},
    {"{\"a\":}", "a value is missing at line 1, column 6 (byte 5)"},
    {"1 2", "more text behind the value at line 1, column 3 (byte 2)"},
    {"[]]", "more text behind the value at line 1, column 3 (byte 2)"},
    {"01", "more text behind the value at line 1, column 2 (byte 1)"},
    {"+1", "a value is missing at line 1, column 1 (byte 0)"},
    {".5", "a value is missing at line 1, column 1 (byte 0)"},
    {"-", "a digit is missing at line 1, column 2 (byte 1)"},
    {"-a", "a digit is missing at line 1, column 2 (byte 1)"},
    {"1.", "a digit is missing at line 1, column 3 (byte 2)"},
    {"1.e2", "a digit is missing at line 1, column 3 (byte 2)"},
    {"1e", "a digit is missing at line 1, column 3 (byte 2)"},
    {"1e+", "a digit is missing at line 1, column 4 (byte 3)"},
    {"0x1", "more text behind the value at line 1, column 2 (byte 1)"},
    {"NaN", "a value is missing at line 1, column 1 (byte 0)"},
    {"nul", "neither null, true nor false at line 1, column 1 (byte 0)"},
    {"[tru]", "neither null, true nor false at line 1, column 2 (byte 1)"},
    {"[falsy]", "neither null, true nor false at line 1, column 2 (byte 1)"},
    {"nulls", "more text behind the value at line 1, column 5 (byte 4)"},
    {"'a'", "a value is missing at line 1, column 1 (byte 0)"},
    {"[1] // no", "more text behind the value at line 1, column 5 (byte 4)"},
    {"\xEF\xBB\xBF{}", "a value is missing at line 1, column 1 (byte 0)"},
    {"[\v1]", "a value is missing at line 1, column 2 (byte 1)"},
    {"\"a", "the text ends inside a string at line 1, column 3 (byte 2)"},
    {"\"a\\", "the text ends inside a string at line 1, column 4 (byte 3)"},
    {"[\n \"\xC3\xA9\", \"a\tb\"]",
     "a control character in a string at line 2, column 9 (byte 11)"},
    {"\"a\nb\"", "a control character in a string at line 1, column 3 (byte 2)"},
    {"\"\\x\"", "an unknown escape at line 1, column 2 (byte 1)"},
    {"\"\\U0041\"", "an unknown escape at line 1, column 2 (byte 1)"},
    {"\"\\u12g4\"", "\\u without four hexadecimal digits at line 1, column 2 (byte 1)"},
    {"\"\\u12", "\\u without four hexadecimal digits at line 1, column 2 (byte 1)"},
    {"\"\\uD800\"", "an escaped surrogate without its pair at line 1, column 2 (byte 1)"},
    {"\"\\uDC00\"", "an escaped surrogate without its pair at line 1, column 2 (byte 1)"},
    {"\"\\uD800\\n12345\"", "an escaped surrogate without its pair at line 1, column 2 (byte 1)"},
    {"\"\\uD800\\uD800\"", "an escaped surrogate without its pair at line 1, column 2 (byte 1)"},
    {"\"\\uD800\\u00", "an escaped surrogate without its pair at line 1, column 2 (byte 1)"},
    {"\"\x80\"", "bytes that are not UTF-8 at line 1, column 2 (byte 1)"},
    {"\"\xC0\xAF\"", "bytes that are not UTF-8 at line 1, column 2 (byte 1)"},
    {"\"\xC1\xBF\"", "bytes that are not UTF-8 at line 1, column 2 (byte 1)"},
    {"\"\xC3\"", "bytes that are not UTF-8 at line 1, column 2 (byte 1)"},
    {"\"\xE0\x9F\xBF\"", "bytes that are not UTF-8 at line 1, column 2 (byte 1)"},
    {"\"\xED\xA0\x80\"", "bytes that are not UTF-8 at line 1, column 2 (byte 1)"},
    {"\"\xE2\x82\"", "bytes that are not UTF-8 at line 1, column 2 (byte 1)"},
    {"\"\xF0\x8F\xBF\xBF\"", "bytes that are not UTF-8 at line 1, column 2 (byte 1)"},
    {"\"\xF4\x90\x80\x80\"", "bytes that are not UTF-8 at line 1, column 2 (byte 1)"},
    {"\"\xF5\x80\x80\x80\"", "bytes that are not UTF-8 at line 1, column 2 (byte 1)"},
    {"\"\xFF\"", "bytes that are not UTF-8 at line 1, column 2 (byte 1)"},
    {"\"ab\xE2\x82", "bytes that are not UTF-8 at line 1, column 4 (byte 3)"},
};

TEST(json_takes_the_grammar_and_says_what_is_wrong_and_where)
{
    struct json doc;

    json_init(&doc);
    for (size_t i = 0; i < COUNT_OF(grammar); i++) {
        struct err e = {0};
        bool ok = json_parse(&doc, str_c(grammar[i].text), &e);

        CHECK_F(ok == !grammar[i].wrong, "%s: %s", grammar[i].text, e.text);
        CHECK((json_root(&doc) != NULL) == ok);
        if (ok)
            continue;
        CHECK_INT(e.code, ERR_INPUT);
        CHECK(str_starts(str_c(e.text), STR("JSON: ")));
        CHECK_STR(str_c(e.text + strlen("JSON: ")), grammar[i].wrong);
    }
    json_release(&doc);
}

static str read_whole(const char *folder, const char *name, char *room, size_t size)
{
    char path[4096];
    FILE *f;
    size_t n;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    f = fopen(path, "rb");
    CHECK_F(f, "%s", path);
    n = fread(room, 1, size, f);
    fclose(f);
    CHECK(n < size);
    return (str){room, n};
}

TEST(json_agrees_with_the_public_suite)
{
    const char *folder = test_corpora("json");
    static char room[1 << 20];
    struct dirent *entry;
    struct json doc;
    size_t seen = 0;
    DIR *dir;

    if (!folder)
        return;
    dir = opendir(folder);
    CHECK(dir);
    json_init(&doc);
    while ((entry = readdir(dir))) {
        struct err e = {0};
        bool ok;

        if (!str_ends(str_c(entry->d_name), STR(".json")))
            continue;
        seen++;
        ok = json_parse(&doc, read_whole(folder, entry->d_name, room, sizeof room), &e);
        if (entry->d_name[0] == 'y')
            CHECK_F(ok, "%s: %s", entry->d_name, e.text);
        if (entry->d_name[0] == 'n')
            CHECK_F(!ok, "%s", entry->d_name);
    }
    closedir(dir);
    json_release(&doc);
    CHECK(seen > 200);
}

TEST(json_finds_and_reads)
{
    struct arena a;
    struct json doc;
    struct err e;
    int64_t i;
    double d;
    bool b;
    str s;

    arena_init(&a, 1 << 16);
    json_init(&doc);
    CHECK(json_parse(
        &doc, STR("{\"a\":1,\"t\\u00e9\":[10,{\"b\":true},2.5],\"a\":\"x\\ny\",\"/~\":-0}"), &e));
    const struct json_node *root = json_root(&doc);
    CHECK_INT(json_count(&doc, root), 4);
    CHECK(json_is(&doc, json_find(&doc, root, STR("a")), STR("x\ny")));
    CHECK(json_text(&doc, json_find(&doc, root, STR("a")), &a, &s));
    CHECK_STR(s, "x\ny");
    CHECK(json_i64(&doc, json_pointer(&doc, STR("/t\xC3\xA9/0")), &i));
    CHECK_INT(i, 10);
    CHECK(json_bool(json_pointer(&doc, STR("/t\xC3\xA9/1/b")), &b) && b);
    CHECK(json_double(&doc, json_pointer(&doc, STR("/t\xC3\xA9/2")), &d) && d == 2.5);
    CHECK(json_i64(&doc, json_pointer(&doc, STR("/~1~0")), &i) && i == 0);
    CHECK(!json_pointer(&doc, STR("/t\xC3\xA9/3")));
    CHECK(!json_pointer(&doc, STR("/t\xC3\xA9/00")));
    json_release(&doc);
    arena_release(&a);
}

TEST_MAIN(T(json_takes_the_grammar_and_says_what_is_wrong_and_where),
          T(json_agrees_with_the_public_suite), T(json_finds_and_reads))
