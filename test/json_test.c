/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json/internal.h"
#include "test.h"

#include <dirent.h>

static const struct {
    const char *text;
    const char *wrong; /* NULL: valid */
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
    {"1 2", "more text after the value at line 1, column 3 (byte 2)"},
    {"[]]", "more text after the value at line 1, column 3 (byte 2)"},
    {"01", "more text after the value at line 1, column 2 (byte 1)"},
    {"+1", "a value is missing at line 1, column 1 (byte 0)"},
    {".5", "a value is missing at line 1, column 1 (byte 0)"},
    {"-", "a digit is missing at line 1, column 2 (byte 1)"},
    {"-a", "a digit is missing at line 1, column 2 (byte 1)"},
    {"1.", "a digit is missing at line 1, column 3 (byte 2)"},
    {"1.e2", "a digit is missing at line 1, column 3 (byte 2)"},
    {"1e", "a digit is missing at line 1, column 3 (byte 2)"},
    {"1e+", "a digit is missing at line 1, column 4 (byte 3)"},
    {"0x1", "more text after the value at line 1, column 2 (byte 1)"},
    {"NaN", "a value is missing at line 1, column 1 (byte 0)"},
    {"nul", "expected a value at line 1, column 1 (byte 0)"},
    {"[tru]", "expected a value at line 1, column 2 (byte 1)"},
    {"[falsy]", "expected a value at line 1, column 2 (byte 1)"},
    {"nulls", "more text after the value at line 1, column 5 (byte 4)"},
    {"'a'", "a value is missing at line 1, column 1 (byte 0)"},
    {"[1] // no", "more text after the value at line 1, column 5 (byte 4)"},
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

/* Copies the text into memory of its exact size, so that a sanitizer detects an overread, and
 * parses it with every SIMD level. All must agree on the verdict, the message and the nodes. */
static bool parse_all_ways(struct json *doc, str text, struct err *e)
{
    char *src = base_alloc(text.n);
    bool first = false;

    memcpy(src, text.p, text.n);
    for (enum simd_level level = SIMD_WORD; level <= simd_best(); level++) {
        struct err other = {0};
        struct json again;
        bool ok;

        json_init(&again);
        ok = json_parse_at(&again, (str){src, text.n}, level, &other);
        if (level == SIMD_WORD) {
            first = json_parse_at(doc, text, level, e);
            CHECK(ok == first);
        }
        CHECK_F(ok == first, "level %d, %s%s: " STR_FMT, level, e->text, other.text, STR_ARG(text));
        CHECK(ok || (other.code == e->code && strcmp(other.text, e->text) == 0));
        CHECK(again.n == doc->n);
        CHECK(!ok || memcmp(again.nodes, doc->nodes, doc->n * sizeof *doc->nodes) == 0);
        json_release(&again);
    }
    free(src);
    return first;
}

TEST(json_takes_the_grammar_and_says_what_is_wrong_and_where)
{
    struct json doc;

    json_init(&doc);
    for (size_t i = 0; i < COUNT_OF(grammar); i++) {
        struct err e = {0};
        bool ok = parse_all_ways(&doc, str_c(grammar[i].text), &e);

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

/* The case inside a string, with plain text before and after, so that block boundaries fall
 * everywhere. */
TEST(json_verdict_does_not_depend_on_where_in_a_string_it_is)
{
    static const struct {
        const char *inside;
        bool ok;
    } cases[] = {
        {"\\n", true},
        {"\\\\", true},
        {"\\\\\\\"", true},
        {"\\\"\\\\\\\\", true},
        {"\\u00e9", true},
        {"\\uD83D\\uDE00", true},
        {"\\\\uD800", true},
        {"\\\\\\uD83D\\uDE00\\\\", true},
        {"\xC3\xA9", true},
        {"\xE2\x82\xAC\xED\x9F\xBF", true},
        {"\xF0\x9F\x9A\x80\xF4\x8F\xBF\xBF", true},
        {"\x7F", true},
        {"\x1F", false},
        {"\\\x1F", false},
        {"\\x", false},
        {"\\\\\\a", false},
        {"\\uD800", false},
        {"\\uDE00\\uD83D", false},
        {"\\\\uD800\\uDC00", false},
        {"\\u00G0", false},
        {"\x80", false},
        {"\xC3", false},
        {"\xC3\xA9\xA9", false},
        {"\xC1\xBF", false},
        {"\xE0\x9F\xBF", false},
        {"\xE2\x82", false},
        {"\xED\xA0\x80", false},
        {"\xF0\x8F\xBF\xBF", false},
        {"\xF0\x9F\x9A", false},
        {"\xF4\x90\x80\x80", false},
        {"\xF5\x80\x80\x80", false},
        {"\xFF", false},
    };
    char text[400];
    struct json doc;

    json_init(&doc);
    for (size_t c = 0; c < COUNT_OF(cases); c++)
        for (int before = 0; before < 150; before++)
            for (int after = 0; after < 140; after += 17) {
                struct err e = {0};

                snprintf(text, sizeof text, "\"%*s%s%*s\"", before, "", cases[c].inside, after, "");
                CHECK_F(
                    parse_all_ways(&doc, str_c(text), &e) == cases[c].ok, "%s %s", text, e.text);
            }
    json_release(&doc);
}

/* Every sequence of one to four bytes around the limits of UTF-8, compared with a plain rule. */
TEST(json_utf8_paths_agree_with_the_rule)
{
    static const unsigned char edges[] = {'a',  0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF,
                                          0xC0, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1, 0xEC, 0xED,
                                          0xEE, 0xEF, 0xF0, 0xF1, 0xF3, 0xF4, 0xF5, 0xFF};
    const size_t n = COUNT_OF(edges);

    for (size_t i = 0; i < n * n * n * n; i++) {
        unsigned char four[4] = {
            edges[i % n], edges[i / n % n], edges[i / n / n % n], edges[i / n / n / n]};
        char text[170];
        const size_t places[] = {29 + i % 6, 93 + i % 6, sizeof text - 4 - i % 2};
        size_t at = places[i / 7 % COUNT_OF(places)];
        const char *want;

        memset(text, 'x', sizeof text);
        memcpy(text + at, four, sizeof four);
        want = utf8_scan(text, text + sizeof text, SIMD_WORD);
        for (enum simd_level level = SIMD_16; level <= simd_best(); level++)
            CHECK(utf8_scan(text, text + sizeof text, level) == want);
    }
}

static void nest(struct buf *b, size_t depth, const char *open, const char *close)
{
    buf_reset(b);
    for (size_t i = 0; i < depth; i++)
        buf_add(b, str_c(open));
    buf_add(b, STR("1"));
    for (size_t i = 0; i < depth; i++)
        buf_add(b, str_c(close));
}

TEST(json_depth_is_limited_and_the_limit_is_named)
{
    struct json doc;
    struct buf b;
    struct err e;

    json_init(&doc);
    buf_init(&b, 1 << 20);
    nest(&b, JSON_DEPTH_MAX, "[", "]");
    CHECK(json_parse(&doc, buf_str(&b), &e));
    nest(&b, JSON_DEPTH_MAX, "{\"a\":", "}");
    CHECK(json_parse(&doc, buf_str(&b), &e));
    CHECK(json_equal(&doc, json_root(&doc), &doc, json_root(&doc)));
    nest(&b, JSON_DEPTH_MAX + 1, "[", "]");
    CHECK(!json_parse(&doc, buf_str(&b), &e));
    CHECK_INT(e.code, ERR_LIMIT);
    CHECK_STR(str_c(e.text), "JSON: more than 512 levels deep at line 1, column 513 (byte 512)");
    nest(&b, 100000, "[", "");
    CHECK(!json_parse(&doc, buf_str(&b), &e));
    CHECK(!json_parse(&doc, (str){b.p, JSON_SIZE_MAX + 1}, &e));
    CHECK_STR(str_c(e.text), "JSON: 1073741825 bytes, the limit is 1073741824");
    buf_release(&b);
    json_release(&doc);
}

TEST(json_reads_nul_bytes_as_the_mistakes_they_are)
{
    struct json doc;
    struct err e;

    json_init(&doc);
    CHECK(!json_parse(&doc, STR("[1\0]"), &e));
    CHECK(!json_parse(&doc, STR("\0"), &e));
    CHECK(!json_parse(&doc, STR("1\0"), &e));
    CHECK(!json_parse(&doc, STR("\"\\\0\""), &e));
    CHECK(!json_parse(&doc, STR("\"\0\""), &e));
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
        ok = parse_all_ways(&doc, read_whole(folder, entry->d_name, room, sizeof room), &e);
        if (entry->d_name[0] == 'y')
            CHECK_F(ok, "%s: %s", entry->d_name, e.text);
        if (entry->d_name[0] == 'n')
            CHECK_F(!ok, "%s", entry->d_name);
    }
    closedir(dir);
    json_release(&doc);
    CHECK(seen > 200);
}

/* The byte offset in an error message. */
static size_t place_of(const struct err *e)
{
    const char *at = strstr(e->text, "(byte ");

    return at ? (size_t)strtoull(at + 6, NULL, 10) : SIZE_MAX;
}

/* Parses a text that ends in a bracket, for which the parser has a fast path, and the same text
 * with an x after it. Both must give the same error. */
static void check_closed(struct json *doc, const char *text, size_t n)
{
    char *alone = malloc(n), *more = malloc(n + 1);
    struct err e = {0}, want = {0};

    memcpy(alone, text, n);
    memcpy(more, text, n);
    more[n] = 'x';
    CHECK(!json_parse(doc, (str){more, n + 1}, &want));
    if (parse_all_ways(doc, (str){alone, n}, &e))
        CHECK_F(strstr(want.text, "more text after"), "%.*s: %s", (int)n, text, want.text);
    else
        CHECK_F(place_of(&e) == n ? place_of(&want) >= n : strcmp(e.text, want.text) == 0,
                "%.*s: %s, %s",
                (int)n,
                text,
                e.text,
                want.text);
    free(alone);
    free(more);
}

TEST(json_says_the_same_of_a_text_that_ends_in_a_bracket)
{
    static const char text[] = "{\"a\": [1, -0.5e+3,{\"a\":true}, []], \"b\" :{\"c\":\"d\\n\"}, "
                               "\"a much longer key than the others\":null , \"e\": [[\"f\"] ]}";
    static const char odd[] = "{}[]\",:\\ \n0-.et\x1f";
    char with[sizeof text + 3];
    struct json doc;

    json_init(&doc);
    for (size_t n = 1; n < sizeof text; n++)
        for (size_t at = 0; at < n; at++)
            for (size_t c = 0; c < sizeof odd - 1; c++) {
                memcpy(with, text, n);
                with[at] = odd[c];
                with[n] = ']';
                memset(with + n + 1, ' ', 2);
                check_closed(&doc, with, n + 1 + c % 3);
            }
    json_release(&doc);
}

TEST(json_tape_is_used_again)
{
    struct json doc;
    struct err e;
    const struct json_node *nodes;

    json_init(&doc);
    CHECK(json_parse(&doc, STR("[1,2,3]"), &e));
    nodes = doc.nodes;
    CHECK(!json_parse(&doc, STR("[1,2,3"), &e));
    CHECK(json_root(&doc) == NULL && json_count(&doc, json_root(&doc)) == 0);
    CHECK(json_parse(&doc, STR("{}"), &e));
    CHECK(doc.nodes == nodes);
    json_release(&doc);
    CHECK(json_root(&doc) == NULL);
}

TEST_MAIN(T(json_takes_the_grammar_and_says_what_is_wrong_and_where),
          T(json_verdict_does_not_depend_on_where_in_a_string_it_is),
          T(json_utf8_paths_agree_with_the_rule), T(json_depth_is_limited_and_the_limit_is_named),
          T(json_reads_nul_bytes_as_the_mistakes_they_are), T(json_agrees_with_the_public_suite),
          T(json_says_the_same_of_a_text_that_ends_in_a_bracket), T(json_tape_is_used_again))
