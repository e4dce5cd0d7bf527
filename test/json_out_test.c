/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json/internal.h"
#include "test.h"

#include <locale.h>
#include <math.h>

/* ---- quoting ---- */

TEST(json_quote_escapes_what_must_be_and_mends_what_is_not_utf8)
{
    static const struct {
        const char *text, *quoted;
        bool good;
    } cases[] = {
        {"", "\"\"", true},
        {"plain", "\"plain\"", true},
        {"a\"b\\c/d", "\"a\\\"b\\\\c/d\"", true},
        {"\b\t\n\f\r\x01\x1F\x7F", "\"\\b\\t\\n\\f\\r\\u0001\\u001f\x7F\"", true},
        {"caf\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x9A\x80",
         "\"caf\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x9A\x80\"",
         true},
        {"\xC3", "\"\xEF\xBF\xBD\"", false},
        {"a\x80z", "\"a\xEF\xBF\xBDz\"", false},
        {"\xE2\x82z", "\"\xEF\xBF\xBDz\"", false},
        {"\xE2\x82\n", "\"\xEF\xBF\xBD\\n\"", false},
        {"\xED\xA0\x80", "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"", false},
        {"\xC3\xA9\xFF\xC3\xA9", "\"\xC3\xA9\xEF\xBF\xBD\xC3\xA9\"", false},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++)
        for (enum simd_level level = SIMD_WORD; level <= simd_best(); level++)
            for (int before = 0; before < 70; before++) {
                str inside = str_slice(str_c(cases[i].quoted), 1, strlen(cases[i].quoted) - 1);
                char text[200], want[200];
                struct buf b;

                snprintf(text, sizeof text, "%*s%s%*s", before, "", cases[i].text, 40, "");
                snprintf(want,
                         sizeof want,
                         "\"%*s" STR_FMT "%*s\"",
                         before,
                         "",
                         STR_ARG(inside),
                         40,
                         "");
                buf_init(&b, 1000);
                CHECK(json_quote_at(&b, str_c(text), level) == cases[i].good);
                CHECK_STR(buf_str(&b), want);
                buf_release(&b);
            }
}

/* Short texts take a path that reads them in one piece. It must handle a size of 0 too. */
TEST(json_quote_takes_a_text_without_bytes) /* UBSan reports an offset to NULL */
{
    struct buf out;

    buf_init(&out, 100);
    CHECK(json_quote(&out, (str){NULL, 0}));
    CHECK_STR(buf_str(&out), "\"\"");
    buf_release(&out);
}

TEST(json_quote_sees_every_byte_of_a_short_text)
{
    static const struct {
        char byte;
        const char *as;
    } odd[] = {{'"', "\\\""},
               {'\\', "\\\\"},
               {'\x1F', "\\u001f"},
               {'\n', "\\n"},
               {'\xFF', "\xEF\xBF\xBD"},
               {' ', " "},
               {'\x7F', "\x7F"}};

    for (size_t n = 0; n <= 40; n++)
        for (size_t at = 0; at < (n ? n : 1); at++)
            for (size_t i = 0; i < COUNT_OF(odd); i++) {
                char text[64];
                struct buf got, want;

                memset(text, 'a', sizeof text);
                text[at] = odd[i].byte;
                buf_init(&got, 1000);
                buf_init(&want, 1000);
                CHECK(json_quote(&got, (str){text, n}) == (n == 0 || odd[i].byte != '\xFF'));
                buf_add_c(&want, '"');
                for (size_t k = 0; k < n; k++)
                    buf_add(&want, k == at ? str_c(odd[i].as) : STR("a"));
                buf_add_c(&want, '"');
                CHECK(str_eq(buf_str(&got), buf_str(&want)));
                CHECK(json_plain((str){text, n}) == (n == 0 || odd[i].as[1] == '\0'));
                buf_release(&got);
                buf_release(&want);
            }
}

/* ---- the writer ---- */

TEST(json_out_puts_the_commas)
{
    struct json_out o;
    struct buf b;
    struct err e;

    buf_init(&b, 1000);
    json_out_init(&o, &b);
    json_out_object(&o);
    json_out_key(&o, STR("a\n"));
    json_out_array(&o);
    json_out_i64(&o, INT64_MIN);
    json_out_u64(&o, UINT64_MAX);
    json_out_bool(&o, true);
    json_out_bool(&o, false);
    json_out_null(&o);
    json_out_array(&o);
    json_out_end(&o);
    json_out_object(&o);
    json_out_end(&o);
    json_out_end(&o);
    json_out_key(&o, STR("b"));
    json_out_str(&o, STR("\"x\""));
    json_out_key(&o, STR("c"));
    json_out_raw(&o, STR("[1, 2]"));
    json_out_key(&o, STR("d"));
    json_out_double(&o, 0.5);
    json_out_end(&o);
    CHECK(json_out_ok(&o, &e));
    CHECK_STR(buf_str(&b),
              "{\"a\\n\":[-9223372036854775808,18446744073709551615,true,false,null,[],{}],"
              "\"b\":\"\\\"x\\\"\",\"c\":[1, 2],\"d\":0.5}");
    buf_release(&b);
}

static void check_double_text(void)
{
    static const struct {
        double value;
        const char *text;
    } cases[] = {
        {0.0, "0"},
        {-0.0, "-0"},
        {1.0, "1"},
        {0.1, "0.1"},
        {-2.5, "-2.5"},
        {1e22, "1e+22"},
        {1.0 / 3, "0.3333333333333333"},
        {0.1 + 0.2, "0.30000000000000004"},
        {5e-324, "5e-324"},
        {2.2250738585072014e-308, "2.2250738585072014e-308"},
        {1.7976931348623157e308, "1.7976931348623157e+308"},
        {HUGE_VAL, "null"},
        {-HUGE_VAL, "null"},
        {(double)NAN, "null"},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct json_out o;
        struct buf b;
        struct err e;

        buf_init(&b, 100);
        json_out_init(&o, &b);
        json_out_double(&o, cases[i].value);
        CHECK(json_out_ok(&o, &e));
        CHECK_STR(buf_str(&b), cases[i].text);
        buf_release(&b);
    }
}

TEST(json_out_double_is_the_shortest_that_reads_back)
{
    uint64_t bits = 88172645463325252u;
    struct json doc;
    struct err e;

    check_double_text();
    json_init(&doc);
    for (int i = 0; i < 20000; i++) {
        struct json_out o;
        struct buf b;
        double v, back;

        bits ^= bits << 13, bits ^= bits >> 7, bits ^= bits << 17;
        memcpy(&v, &bits, sizeof v);
        buf_init(&b, 100);
        json_out_init(&o, &b);
        json_out_double(&o, v);
        CHECK(json_parse(&doc, buf_str(&b), &e));
        if (isfinite(v))
            CHECK_F(json_double(&doc, json_root(&doc), &back) && memcmp(&v, &back, sizeof v) == 0,
                    "%.17g is written " STR_FMT,
                    v,
                    STR_ARG(buf_str(&b)));
        buf_release(&b);
    }
    json_release(&doc);
}

TEST(json_out_double_does_not_mind_a_comma_in_the_locale)
{
    static const char *const names[] = {"de_DE.UTF-8", "de_DE", "fr_FR.UTF-8", "ru_RU.UTF-8"};
    const char *set = NULL;

    for (size_t i = 0; i < COUNT_OF(names) && !set; i++)
        set = setlocale(LC_ALL, names[i]);
    if (!set) {
        print_message("skipped: no locale with a comma\n");
        return;
    }
    check_double_text();
    CHECK(localeconv()->decimal_point[0] == ',');
    setlocale(LC_ALL, "C");
}

TEST(json_out_remembers_what_went_wrong)
{
    struct json_out o;
    struct buf b;
    struct err e;

    buf_init(&b, 10);
    json_out_init(&o, &b);
    CHECK(!json_out_ok(&o, &e)); /* no value yet */
    json_out_array(&o);
    CHECK(!json_out_ok(&o, &e)); /* the array is open */
    json_out_str(&o, STR("longer than ten bytes"));
    json_out_end(&o);
    CHECK(!json_out_ok(&o, &e));
    CHECK_INT(e.code, ERR_LIMIT);
    CHECK_STR(str_c(e.text), "JSON: larger than 10 bytes");
    buf_release(&b);

    buf_init(&b, 1000);
    json_out_init(&o, &b);
    json_out_str(&o, STR("\xFF"));
    CHECK(!json_out_ok(&o, &e));
    CHECK_INT(e.code, ERR_INPUT);
    CHECK_STR(str_c(e.text), "JSON: text that is not UTF-8");
    buf_release(&b);
}

TEST(json_out_goes_as_deep_as_json_reads_and_no_deeper)
{
    struct json_out o;
    struct json doc;
    struct buf b;
    struct err e;

    json_init(&doc);
    buf_init(&b, 10000);
    for (int depth = JSON_DEPTH_MAX; depth <= JSON_DEPTH_MAX + 2; depth++) {
        buf_reset(&b);
        json_out_init(&o, &b);
        for (int i = 0; i < depth; i++) {
            json_out_object(&o);
            json_out_key(&o, STR("k"));
        }
        json_out_null(&o);
        for (int i = 0; i < depth; i++)
            json_out_end(&o);
        CHECK(json_out_ok(&o, &e) == (depth == JSON_DEPTH_MAX));
        if (depth == JSON_DEPTH_MAX)
            CHECK(json_parse(&doc, buf_str(&b), &e));
        else
            CHECK_STR(str_c(e.text), "JSON: more than 512 levels deep");
    }
    json_release(&doc);
    buf_release(&b);
}

/* ---- splicing ---- */

TEST(json_text_that_is_too_deep_is_replaced)
{
    struct json_text t;
    struct arena a;

    arena_init(&a, 1 << 20);
    for (int deep = 0; deep < 2; deep++) {
        json_text_begin(&t, 1 << 16);
        json_out_key(&t.o, STR("a"));
        for (int i = 1; i < JSON_DEPTH_MAX + deep; i++)
            json_out_array(&t.o);
        CHECK(str_eq(json_text_end(&t, &a, STR("{}")), STR("{}")) == deep);
    }
    arena_release(&a);
}

TEST(json_splice_set_replaces_or_adds)
{
    static const struct {
        const char *src, *key, *want;
    } cases[] = {
        {"{}", "a", "{\"a\":9}"},
        {" { } ", "a", " {\"a\":9 } "},
        {"{ \"a\" : 1 }", "a", "{ \"a\" : 9 }"},
        {"{\"a\":1,\n \"b\": [2] \n}", "b", "{\"a\":1,\n \"b\": 9 \n}"},
        {"{\"a\":1,\n \"b\": [2] \n}", "c", "{\"a\":1,\n \"b\": [2],\"c\":9 \n}"},
        {"{\"a\":1,\"b\":2,\"a\":3}", "a", "{\"a\":1,\"b\":2,\"a\":9}"},
        {"{\"\\u0061\":1}", "a", "{\"\\u0061\":9}"},
        {"{\"a\":1}", "q\"\n", "{\"a\":1,\"q\\\"\\n\":9}"},
    };
    struct json doc;
    struct buf b;
    struct err e;

    json_init(&doc);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        buf_init(&b, 1000);
        CHECK(json_parse(&doc, str_c(cases[i].src), &e));
        json_splice_set(&doc, json_root(&doc), str_c(cases[i].key), STR("9"), &b);
        CHECK_STR(buf_str(&b), cases[i].want);
        buf_release(&b);
    }
    json_release(&doc);
}

TEST(json_splice_remove_takes_the_member_and_its_comma)
{
    static const struct {
        const char *src, *want;
    } cases[] = {
        {"{}", "{}"},
        {" { } ", " { } "},
        {"{\"b\":1}", "{\"b\":1}"},
        {"{\"a\":1}", "{}"},
        {"{ \"a\" : 1 }", "{  }"},
        {"{\"a\":1,\"b\":2}", "{\"b\":2}"},
        {"{ \"a\" : 1 , \"b\":2 }", "{ \"b\":2 }"},
        {"{\"b\":2,\"a\":1}", "{\"b\":2}"},
        {"{\n  \"b\": 2,\n  \"a\": 1\n}\n", "{\n  \"b\": 2\n}\n"},
        {"{\n  \"b\": 2,\n  \"a\": {\"a\":1},\n  \"c\": 3\n}", "{\n  \"b\": 2,\n  \"c\": 3\n}"},
        {"{\"a\":1,\"a\":2}", "{}"},
        {"{\"a\":1,\"b\":2,\"\\u0061\":3}", "{\"b\":2}"},
        {"{\"b\":1,\"a\":2,\"a\":3,\"c\":4}", "{\"b\":1,\"c\":4}"},
        {"{\"a\":1,\"b\":2,\"a\":3,\"c\":4,\"a\":5}", "{\"b\":2,\"c\":4}"},
    };
    struct json doc;
    struct buf b;
    struct err e;

    json_init(&doc);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        buf_init(&b, 1000);
        CHECK(json_parse(&doc, str_c(cases[i].src), &e));
        json_splice_remove(&doc, json_root(&doc), STR("a"), &b);
        CHECK_STR(buf_str(&b), cases[i].want);
        buf_release(&b);
    }
    json_release(&doc);
}

static uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

static void add_space(struct buf *b, uint32_t *seed)
{
    static const char *const spaces[] = {"", "", "", " ", "\n  ", "\t", "\r\n"};

    buf_add(b, str_c(spaces[next_random(seed) % COUNT_OF(spaces)]));
}

static void add_random(struct buf *b, unsigned depth, uint32_t *seed)
{
    static const char *const scalars[] = {"null",
                                          "true",
                                          "false",
                                          "0",
                                          "-1.50e+3",
                                          "\"\"",
                                          "\"a\\n\\u00e9\"",
                                          "\"caf\xC3\xA9 and more than 16\"",
                                          "12345678901234567890"};
    uint32_t r = next_random(seed);
    bool object = r & 1;

    if (depth == 0 || r % 5 == 0) {
        buf_add(b, str_c(scalars[(r >> 4) % COUNT_OF(scalars)]));
        return;
    }
    buf_add_c(b, object ? '{' : '[');
    add_space(b, seed);
    for (uint32_t i = 0, n = (r >> 4) % 5; i < n; i++) {
        if (i > 0) {
            buf_add_c(b, ',');
            add_space(b, seed);
        }
        if (object) {
            buf_printf(b, "\"%c\"", 'a' + (char)(next_random(seed) % 4));
            add_space(b, seed);
            buf_add_c(b, ':');
            add_space(b, seed);
        }
        add_random(b, depth - 1, seed);
        add_space(b, seed);
    }
    buf_add_c(b, object ? '}' : ']');
}

/* Writes the value v again with the writer. */
static void copy_value(const struct json *doc, const struct json_node *v, struct arena *a,
                       struct json_out *o)
{
    bool object = v->kind == JSON_OBJECT;
    str s;

    if (v->kind != JSON_ARRAY && !object) {
        if (json_text(doc, v, a, &s))
            json_out_str(o, s);
        else
            json_out_raw(o, json_raw(doc, v));
        return;
    }
    if (object)
        json_out_object(o);
    else
        json_out_array(o);
    for (const struct json_node *c = json_first(doc, v); c; c = json_next(doc, v, c)) {
        CHECK(!object || json_text(doc, c, a, &s));
        if (object)
            json_out_key(o, s);
        copy_value(doc, object ? json_value(c) : c, a, o);
    }
    json_out_end(o);
}

static void check_copy(const struct json *doc)
{
    struct json_out o;
    struct json again;
    struct arena a;
    struct buf b;
    struct err e;

    json_init(&again);
    buf_init(&b, 1 << 20);
    arena_init(&a, 1 << 20);
    json_out_init(&o, &b);
    copy_value(doc, json_root(doc), &a, &o);
    CHECK(json_out_ok(&o, &e));
    CHECK(json_parse(&again, buf_str(&b), &e));
    CHECK_INT(again.n, doc->n);
    CHECK(json_equal(doc, json_root(doc), &again, json_root(&again)));
    arena_release(&a);
    buf_release(&b);
    json_release(&again);
}

/* Changes one value or member. The document must be valid, have the change, and keep all other
 * bytes. */
static void check_splices(const struct json *doc, const struct json_node *v, struct buf *b)
{
    struct json again;
    struct err e;
    int64_t i;

    json_init(&again);
    buf_reset(b);
    json_splice(doc, v, json_raw(doc, v), b);
    CHECK(str_eq(buf_str(b), doc->src));
    if (v->kind == JSON_OBJECT) {
        buf_reset(b);
        json_splice_set(doc, v, STR("b"), STR("77"), b);
        CHECK(json_parse(&again, buf_str(b), &e));
        CHECK(json_i64(&again, json_find(&again, &again.nodes[v - doc->nodes], STR("b")), &i));
        CHECK_INT(i, 77);
        buf_reset(b);
        json_splice_remove(doc, v, STR("b"), b);
        CHECK(json_parse(&again, buf_str(b), &e));
        CHECK(!json_find(&again, &again.nodes[v - doc->nodes], STR("b")));
        CHECK(json_find(doc, v, STR("b")) || str_eq(buf_str(b), doc->src));
    }
    json_release(&again);
}

TEST(json_of_any_shape_is_spliced_and_written_again_without_loss)
{
    uint32_t seed = 1;
    struct json doc;
    struct buf src, b;
    struct err e;

    json_init(&doc);
    buf_init(&src, 1 << 20);
    buf_init(&b, 1 << 20);
    for (int i = 0; i < 2000; i++) {
        buf_reset(&src);
        add_space(&src, &seed);
        add_random(&src, 5, &seed);
        add_space(&src, &seed);
        CHECK_F(json_parse(&doc, buf_str(&src), &e), "%s", e.text);
        check_copy(&doc);
        for (uint32_t n = 0; n < doc.n; n++)
            check_splices(&doc, &doc.nodes[n], &b);
    }
    buf_release(&src);
    buf_release(&b);
    json_release(&doc);
}

/* Each escape at each position in a text of several SIMD blocks. */
TEST(json_text_does_not_depend_on_where_the_escapes_are)
{
    static const struct {
        const char *raw, *text;
    } cases[] = {
        {"\\n", "\n"},
        {"\\\\\\\"\\/\\b\\f\\r\\t", "\\\"/\b\f\r\t"},
        {"\\u0041\\u00e9\\u20AC", "A\xC3\xA9\xE2\x82\xAC"},
        {"\\ud83d\\ude80", "\xF0\x9F\x9A\x80"},
        {"\\n\\\\\\u0001", "\n\\\x01"},
    };

    for (size_t c = 0; c < COUNT_OF(cases); c++)
        for (int before = 0; before < 260; before++)
            for (enum simd_level level = SIMD_WORD; level <= simd_best(); level++) {
                char raw[600], want[600], *got;
                size_t n, size;

                snprintf(raw, sizeof raw, "%*s%s%*s", before, "x", cases[c].raw, 130, "y");
                snprintf(want, sizeof want, "%*s%s%*s", before, "x", cases[c].text, 130, "y");
                size = strlen(raw);
                got = base_alloc(size);
                n = json_unescape((str){raw, size}, got, level);
                CHECK_STR(((str){got, n}), want);
                free(got);
            }
}

TEST(json_members_are_a_key_and_a_value)
{
    struct json_out o;
    struct buf b;
    struct err e;

    buf_init(&b, 1000);
    json_out_init(&o, &b);
    json_out_object(&o);
    json_member_str_or_null(&o, "text", STR("a\"b"));
    json_member_str_or_null(&o, "no_text", STR(""));
    json_member_u64(&o, "most", UINT64_MAX);
    json_member_double(&o, "half", 0.5);
    json_member_raw(&o, "raw", STR("[1, 2]"));
    json_out_end(&o);
    CHECK(json_out_ok(&o, &e));
    CHECK_STR(buf_str(&b),
              "{\"text\":\"a\\\"b\",\"no_text\":null,\"most\":18446744073709551615,"
              "\"half\":0.5,\"raw\":[1, 2]}");
    buf_release(&b);
}

TEST_MAIN(T(json_quote_escapes_what_must_be_and_mends_what_is_not_utf8),
          T(json_quote_takes_a_text_without_bytes), T(json_quote_sees_every_byte_of_a_short_text),
          T(json_out_puts_the_commas), T(json_members_are_a_key_and_a_value),
          T(json_out_double_is_the_shortest_that_reads_back),
          T(json_out_double_does_not_mind_a_comma_in_the_locale),
          T(json_out_remembers_what_went_wrong),
          T(json_out_goes_as_deep_as_json_reads_and_no_deeper),
          T(json_text_that_is_too_deep_is_replaced), T(json_splice_set_replaces_or_adds),
          T(json_splice_remove_takes_the_member_and_its_comma),
          T(json_of_any_shape_is_spliced_and_written_again_without_loss),
          T(json_text_does_not_depend_on_where_the_escapes_are))
