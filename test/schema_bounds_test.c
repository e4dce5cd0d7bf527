/* The promises to callers of the schema module: the sink, registered documents, limits, patterns.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/schema.h"
#include "base/schema/regex.h"
#include "test.h"

struct got {
    struct buf text;
    size_t count;
};

static void on_problem(void *ctx, const struct schema_problem *p)
{
    static const char *const kinds[] = {"mismatch", "missing", "unknown", "limit"};
    struct got *g = ctx;

    g->count++;
    buf_printf(&g->text,
               "%s " STR_FMT " " STR_FMT " [" STR_FMT "|" STR_FMT "]\n",
               kinds[p->kind],
               STR_ARG(p->path),
               STR_ARG(p->keyword),
               STR_ARG(p->name),
               STR_ARG(p->nearest));
}

/* Compiles and checks; stores the outcome in g and e. */
static bool check_each(str schema, str value, size_t problems_max, struct got *g, struct err *e)
{
    struct schema *s = schema_new();
    struct json doc;
    bool ok;

    *g = (struct got){.count = 0};
    buf_init(&g->text, 1 << 16);
    json_init(&doc);
    CHECK_F(schema_compile(s, schema, e), "%s", e->text);
    CHECK_F(json_parse(&doc, value, e), "%s", e->text);
    ok = schema_check_each(
        s, &doc, json_root(&doc), (struct schema_sink){on_problem, g, problems_max}, e);
    CHECK(ok == schema_check(s, &doc, json_root(&doc), &(struct err){0}));
    json_release(&doc);
    schema_free(s);
    return ok;
}

static const char tool[] =
    "{\"type\":\"object\",\"properties\":{\"city\":{\"type\":\"string\"},\"days\":{\"type\":"
    "\"integer\",\"minimum\":1},\"units\":{\"enum\":[\"C\",\"F\"]},\"at\":{\"type\":\"object\","
    "\"properties\":{\"lat\":{\"type\":\"number\"}},\"required\":[\"lat\"],"
    "\"additionalProperties\":false}},\"required\":[\"city\",\"units\"],"
    "\"additionalProperties\":false}";

TEST(every_problem_is_told_once_with_path_keyword_and_name)
{
    str schema = str_c(tool);
    struct got g;
    struct err e;

    CHECK(!check_each(
        schema, STR("{\"city\":1,\"days\":0.5,\"Unit\":2,\"at\":{\"lng\":1}}"), 0, &g, &e));
    CHECK_STR(buf_str(&g.text),
              "missing  /required [units|]\n"
              "mismatch /city /properties/city/type [|]\n"
              "mismatch /days /properties/days/type [|]\n"
              "mismatch /days /properties/days/minimum [|]\n"
              "unknown /Unit /additionalProperties [Unit|units]\n"
              "missing /at /properties/at/required [lat|]\n"
              "unknown /at/lng /properties/at/additionalProperties [lng|]\n");
    CHECK_STR(str_c(e.text), "the property \"units\" is required (schema /required)");
    buf_release(&g.text);
    CHECK(!check_each(schema, STR("{\"a\":1,\"b\":1,\"c\":1}"), 3, &g, &e));
    CHECK_INT(g.count, 3);
    buf_release(&g.text);
    CHECK(check_each(schema, STR("{\"city\":\"x\",\"units\":\"C\"}"), 0, &g, &e));
    CHECK_INT(g.count, 0);
    buf_release(&g.text);
}

TEST(a_value_within_a_document_is_checked_with_paths_from_it)
{
    struct schema *s = schema_new();
    const struct json_node *v;
    struct json doc;
    struct err e;

    json_init(&doc);
    CHECK(schema_compile(s, str_c(tool), &e));
    CHECK(json_parse(&doc, STR("{\"name\":\"f\",\"arguments\":{\"city\":5}}"), &e));
    v = json_find(&doc, json_root(&doc), STR("arguments"));
    CHECK(!schema_check(s, &doc, v, &e));
    CHECK_STR(str_c(e.text), "the property \"units\" is required (schema /required)");
    json_release(&doc);
    schema_free(s);
}

TEST(an_unevaluated_member_is_not_unknown_because_its_value_is_wrong)
{
    struct got g;
    struct err e;

    CHECK(!check_each(STR("{\"allOf\":[{\"properties\":{\"a\":{\"type\":\"null\"}}}],"
                          "\"unevaluatedProperties\":false}"),
                      STR("{\"a\":1,\"b\":1}"),
                      0,
                      &g,
                      &e));
    CHECK_STR(buf_str(&g.text),
              "mismatch /a /allOf/0/properties/a/type [|]\n"
              "unknown /b /unevaluatedProperties [b|]\n");
    buf_release(&g.text);
}

TEST(registered_documents_are_found_and_told_by_uri)
{
    struct schema *s = schema_new();
    struct json doc;
    struct err e;

    json_init(&doc);
    CHECK(schema_add(s, STR("http://e.x/dir/b"), STR("{\"$ref\":\"c#/$defs/n\"}"), &e));
    CHECK(
        schema_add(s, STR("http://e.x/dir/c"), STR("{\"$defs\":{\"n\":{\"type\":\"null\"}}}"), &e));
    CHECK(!schema_add(s, STR("http://e.x/dir/c"), STR("{}"), &e));
    CHECK(!schema_add(s, STR("http://e.x/d#f"), STR("{}"), &e));
    CHECK(!schema_add(s, STR("http://e.x/e"), STR("{"), &e));
    CHECK(schema_compile(s, STR("{\"$id\":\"http://e.x/dir/a\",\"items\":{\"$ref\":\"b\"}}"), &e));
    CHECK(json_parse(&doc, STR("[null, 1]"), &e));
    CHECK(!schema_check(s, &doc, json_root(&doc), &e));
    CHECK_STR(str_c(e.text),
              "/1: expected null, got number (schema http://e.x/dir/c#/$defs/n/type)");
    json_release(&doc);
    schema_free(s);
}

/* ---- limits ---- */

/* Appends n strings; each ends in its number. */
static void repeat(struct buf *b, size_t n, const char *before, const char *between)
{
    for (size_t i = 0; i < n; i++)
        buf_printf(b, "%s%s%zu\"", i ? between : "", before, i);
}

TEST(schemas_that_double_at_each_step_end_with_a_limit)
{
    struct buf b;
    struct got g;
    struct err e;

    buf_init(&b, 1 << 16);
    buf_add(&b, STR("{\"$ref\":\"#/$defs/0\",\"$defs\":{"));
    for (int i = 0; i < 40; i++)
        buf_printf(&b,
                   "\"%d\":{\"allOf\":[{\"$ref\":\"#/$defs/%d\"},{\"$ref\":\"#/$defs/%d\"}]},",
                   i,
                   i + 1,
                   i + 1);
    buf_add(&b, STR("\"40\":{\"type\":\"null\"}}}"));
    CHECK(!check_each(buf_str(&b), STR("null"), 0, &g, &e));
    CHECK_INT(e.code, ERR_LIMIT);
    CHECK_INT(g.count, 1);
    CHECK(str_starts(str_c(e.text), STR("the check takes more than 10485760 steps")));
    buf_release(&g.text);
    buf_release(&b);
}

TEST(dynamic_references_to_themselves_end_with_a_limit)
{
    struct got g;
    struct err e;

    CHECK(!check_each(STR("{\"$dynamicAnchor\":\"n\",\"allOf\":[{\"$dynamicRef\":\"#n\"}]}"),
                      STR("1"),
                      0,
                      &g,
                      &e));
    CHECK_INT(e.code, ERR_LIMIT);
    CHECK_STR(str_c(e.text),
              "$dynamicRef refers back to itself for the same value, without end (schema "
              "/allOf/0)");
    buf_release(&g.text);
}

TEST(the_deepest_values_are_checked_or_refused_but_never_too_deep)
{
    struct buf b;
    struct got g;
    struct err e;

    buf_init(&b, 1 << 16);
    for (int i = 0; i < JSON_DEPTH_MAX; i++)
        buf_add_c(&b, '[');
    for (int i = 0; i < JSON_DEPTH_MAX; i++)
        buf_add_c(&b, ']');
    CHECK(check_each(STR("{\"items\":{\"$ref\":\"#\"}}"), buf_str(&b), 0, &g, &e));
    buf_release(&g.text);
    CHECK(!check_each(STR("{\"items\":{\"allOf\":[{\"anyOf\":[{\"oneOf\":[{\"$ref\":\"#\"}]}]}]}}"),
                      buf_str(&b),
                      0,
                      &g,
                      &e));
    CHECK_INT(e.code, ERR_LIMIT);
    buf_release(&g.text);
    buf_release(&b);
}

/* Each of 1000 subschemas reads the whole value, so the bytes read count towards the limit. */
TEST(long_texts_and_numbers_are_not_read_without_end)
{
    static const struct {
        const char *rule, *begin, *part, *end;
    } cases[] = {
        {"{\"minimum\":1}", "1", "11111111", ""},
        {"{\"exclusiveMaximum\":-1}", "-1", "11111111", ""},
        {"{\"multipleOf\":1}", "1", "11111111", ""},
        {"{\"type\":\"integer\"}", "1.", "00000000", ""},
        {"{\"pattern\":\"^a\"}", "\"a", "x\\n", "\""},
        {"{\"properties\":{\"a\":true}}", "{\"x", "y\\n", "\":1}"},
    };
    struct buf value, schema;

    buf_init(&value, 1 << 20);
    buf_init(&schema, 1 << 20);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct got g;
        struct err e;

        buf_reset(&value);
        buf_add(&value, str_c(cases[i].begin));
        while (value.n < 300000)
            buf_add(&value, str_c(cases[i].part));
        buf_add(&value, str_c(cases[i].end));
        buf_reset(&schema);
        buf_add(&schema, STR("{\"allOf\":[true"));
        for (int k = 0; k < 1000; k++)
            buf_printf(&schema, ",%s", cases[i].rule);
        buf_add(&schema, STR("]}"));
        CHECK_F(!check_each(buf_str(&schema), buf_str(&value), 0, &g, &e), "%s", cases[i].rule);
        CHECK_INT(e.code, ERR_LIMIT);
        CHECK_INT(g.count, 1);
    }
    buf_release(&value);
    buf_release(&schema);
}

TEST(chains_of_references_have_a_bound)
{
    struct schema *s = schema_new();
    struct buf b;
    struct err e;

    buf_init(&b, 1 << 20);
    buf_add(&b, STR("{\"$defs\":{"));
    for (int i = 0; i < 5000; i++)
        buf_printf(&b, "\"%d\":{\"$ref\":\"#/$defs/%d\"},", i, i + 1);
    buf_add(&b, STR("\"5000\":true}}"));
    CHECK(!schema_compile(s, buf_str(&b), &e));
    CHECK_INT(e.code, ERR_LIMIT);
    schema_free(s);
    buf_release(&b);
}

TEST(thousands_of_definitions_find_one_another)
{
    struct buf b;
    struct got g;
    struct err e;

    buf_init(&b, 1 << 22);
    buf_add(&b, STR("{\"$ref\":\"#/$defs/0\",\"$defs\":{\"0\":false,"));
    for (int i = 0; i < 20000; i++)
        buf_printf(&b, "\"%d\":{\"items\":{\"$ref\":\"#/$defs/%d\"}},", i, i + 1);
    buf_add(&b, STR("\"20000\":true}}"));
    CHECK(check_each(buf_str(&b), STR("[[[[]]]]"), 0, &g, &e));
    buf_release(&g.text);
    buf_release(&b);
}

TEST(large_arrays_are_searched_for_twins_in_one_pass)
{
    struct buf b;
    struct got g;
    struct err e;

    buf_init(&b, (size_t)1 << 24);
    buf_add_c(&b, '[');
    repeat(&b, 200000, "\"item ", ",");
    buf_add_c(&b, ']');
    CHECK(check_each(STR("{\"uniqueItems\":true}"), buf_str(&b), 0, &g, &e));
    buf_release(&g.text);
    b.n--;
    buf_add(&b, STR(",\"item 7\"]"));
    CHECK(!check_each(STR("{\"uniqueItems\":true}"), buf_str(&b), 0, &g, &e));
    CHECK_STR(str_c(e.text), "items 7 and 200000 are equal, all must differ (schema /uniqueItems)");
    buf_release(&g.text);
    buf_release(&b);
}

TEST(telling_very_many_problems_has_a_bound_too)
{
    struct buf b;
    struct got g;
    struct err e;

    buf_init(&b, (size_t)1 << 24);
    buf_add_c(&b, '[');
    repeat(&b, 200000, "\"item ", ",");
    buf_add_c(&b, ']');
    CHECK(!check_each(STR("{\"items\":{\"type\":\"null\"}}"), buf_str(&b), 0, &g, &e));
    CHECK_INT(e.code, ERR_INPUT);
    CHECK_STR(str_c(e.text), "/0: expected null, got string (schema /items/type)");
    CHECK(g.count > 1000 && g.count < 200000);
    buf_release(&g.text);
    buf_release(&b);
}

TEST(a_pattern_that_runs_away_is_a_problem_of_its_own)
{
    static const char *const patterns[] = {
        "(a+)+[!?]", "a*[!?]", "(a*)\\\\1[!?]", "(.|\\\\n)*[!?]", "(?=(a*))\\\\1+[!?]"};
    struct buf value, schema;

    buf_init(&value, 1 << 20);
    buf_init(&schema, 1 << 12);
    buf_add_c(&value, '"');
    for (int i = 0; i < 50000; i++)
        buf_add_c(&value, 'a');
    buf_add_c(&value, '"');
    for (size_t i = 0; i < COUNT_OF(patterns); i++) {
        struct got g;
        struct err e;

        buf_reset(&schema);
        buf_printf(&schema, "{\"not\":{\"pattern\":\"%s\"}}", patterns[i]);
        CHECK_F(!check_each(buf_str(&schema), buf_str(&value), 0, &g, &e), "%s", patterns[i]);
        CHECK_INT(e.code, ERR_LIMIT);
        CHECK(str_find(str_c(e.text), STR("takes too many steps on this text")) != STR_NONE);
        buf_release(&g.text);
    }
    buf_release(&value);
    buf_release(&schema);
}

/* ---- patterns ---- */

TEST(patterns_mean_what_ecma_262_means)
{
    static const struct {
        const char *pattern, *text;
        bool match;
    } rows[] = {
        {"^a$", "a\n", false}, /* $ matches only at the end, not before a final newline */
        {"^\\d+$", "12", true},
        {"^\\d$", "\xd9\xa3", false}, /* \d is ASCII only; this is an Arabic digit */
        {"^\\w$", "\xc3\xa9", false},
        {"^\\W$", "\xc3\xa9", true},
        {"^[\\W]$", "\xc3\xa9", true},
        {"^[^\\p{L}\\D]$", "\xd9\xa3", false},
        {"^\\s$", "\xef\xbb\xbf", true}, /* U+FEFF */
        {"^\\s$", "\xc2\xa0", true},
        {"^\\S$", "\xe2\x80\xa8", false},
        {"^[\\s]$", "\x0b", true},
        {"^[^\\S]$", " ", true},
        {"^.$", "\xe2\x80\xa8", false},
        {"^.$", "\xf0\x9f\x98\x80", true},
        {"^\\v\\f$", "\x0b\x0c", true},
        {"^\\cJ$", "\n", true},
        {"^\\x41\\u0042\\u{43}$", "ABC", true},
        {"^\\uD83D\\uDE00$", "\xf0\x9f\x98\x80", true},
        {"^\\p{Letter}\\p{Lu}\\p{Script=Greek}$", "aZ\xce\xb1", true},
        {"^\\p{gc=Decimal_Number}\\P{L}$", "7!", true},
        {"^[]*$", "", true},
        {"[]", "a", false},
        {"^[^]$", "\n", true},
        {"^[[:alpha:]]$", "a", false}, /* the class [ : a l p h, then ] */
        {"^[[:alpha:]]$", "a]", true},
        {"^[=a=]$", "=", true},
        {"^[\\w-.]+$", "a-b.c", true},
        {"^[a\\-z]$", "b", false},
        {"^[\\b]$", "\b", true},
        {"^a{,2}$", "a{,2}", true},
        {"^x{2}}$", "xx}", true},
        {"^(?<year>\\d{4})-\\k<year>$", "1999-1999", true},
        {"^(a)?\\1b$", "b", true}, /* a group that did not match matches the empty string */
        {"(?<!a)b", "ab", false},
        {"^\\/\\@\\_$", "/@_", true},
        {"\\bfoo\\b", "a foo.", true},
        {"b", "abc", true}, /* unanchored */
    };
    uint64_t work = 1000000;
    struct schema_matcher m = {.work = &work};

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct schema_regex *r;
        struct err e;

        CHECK_F(
            schema_regex_new(str_c(rows[i].pattern), &r, &e), "%s: %s", rows[i].pattern, e.text);
        CHECK_F(schema_regex_match(r, &m, str_c(rows[i].text)) ==
                    (rows[i].match ? SCHEMA_MATCH_YES : SCHEMA_MATCH_NO),
                "%s on %s",
                rows[i].pattern,
                rows[i].text);
        schema_regex_free(r);
    }
    schema_matcher_release(&m);
}

TEST(patterns_that_ecma_262_does_not_have_are_refused)
{
    static const char *const rows[] = {
        "a++",
        "a*+",
        "a{2}+",
        "(?i)a",
        "(?>a)",
        "(?P<n>a)",
        "(?#c)",
        "(*ACCEPT)",
        "\\Aa",
        "a\\Z",
        "\\Qa",
        "\\h",
        "\\R",
        "\\N",
        "\\C",
        "\\K",
        "\\G",
        "\\e",
        "\\a",
        "\\p",
        "\\p{",
        "\\xg0",
        "\\u12",
        "\\u{1",
        "\\c1",
        "\\1",
        "\\k<n>",
        "[b-a]",
        "[a",
        "(",
        ")",
        "*a",
        "a|*",
        "(?=",
        "\\",
        "[\\",
        "\\00",
        "(?<=a*)b",
        "\\u{110000}",
        "\\p{Nonsense}",
        "(?<n>a)(?<n>b)",
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct schema_regex *r;
        struct err e;

        CHECK_F(!schema_regex_new(str_c(rows[i]), &r, &e), "%s", rows[i]);
        CHECK_INT(e.code, ERR_INPUT);
    }
}

TEST_MAIN(T(every_problem_is_told_once_with_path_keyword_and_name),
          T(a_value_within_a_document_is_checked_with_paths_from_it),
          T(an_unevaluated_member_is_not_unknown_because_its_value_is_wrong),
          T(registered_documents_are_found_and_told_by_uri),
          T(schemas_that_double_at_each_step_end_with_a_limit),
          T(dynamic_references_to_themselves_end_with_a_limit),
          T(the_deepest_values_are_checked_or_refused_but_never_too_deep),
          T(long_texts_and_numbers_are_not_read_without_end), T(chains_of_references_have_a_bound),
          T(thousands_of_definitions_find_one_another),
          T(large_arrays_are_searched_for_twins_in_one_pass),
          T(telling_very_many_problems_has_a_bound_too),
          T(a_pattern_that_runs_away_is_a_problem_of_its_own), T(patterns_mean_what_ecma_262_means),
          T(patterns_that_ecma_262_does_not_have_are_refused))
