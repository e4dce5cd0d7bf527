/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"
#include "base/json_get.h"
#include "test.h"

#include <locale.h>
#include <math.h>

TEST(json_finds_and_reads)
{
    struct arena a;
    struct json doc;
    struct err e;
    bool b;
    str s;

    arena_init(&a, 1 << 16);
    json_init(&doc);
    CHECK(json_parse(
        &doc, STR("{\"a\":1,\"t\\u00e9\":[10,{\"b\":true},2.5],\"a\":\"x\\ny\",\"\":false}"), &e));
    const struct json_node *root = json_root(&doc), *list;
    CHECK_INT(json_count(&doc, root), 4);
    CHECK(json_is(&doc, json_find(&doc, root, STR("a")), STR("x\ny")));
    CHECK(!json_is(&doc, json_find(&doc, root, STR("a")), STR("x\n")));
    CHECK(!json_is(&doc, json_find(&doc, root, STR("a")), STR("x\nyz")));
    CHECK(json_is_one_of(&doc, json_find(&doc, root, STR("a")), "x x\ny"));
    CHECK(!json_is_one_of(&doc, json_find(&doc, root, STR("a")), "x y"));
    CHECK(json_is_one_of(&doc, root + 1, "b a"));
    CHECK(!json_is_one_of(&doc, root + 1, "b"));
    CHECK(!json_is_one_of(&doc, NULL, "a") && !json_is_one_of(&doc, root, "a"));
    CHECK(json_is_object(root) && !json_is_array(root) && !json_is_array(NULL));
    JSON_FOREACH_ITEM(v, &doc, root)
        CHECK(!v); /* an object has no elements */
    CHECK(json_text(&doc, json_find(&doc, root, STR("a")), &a, &s));
    CHECK_STR(s, "x\ny");
    list = json_find(&doc, root, STR("t\xC3\xA9"));
    CHECK_INT(json_count(&doc, list), 3);
    CHECK_STR(json_raw(&doc, list), "[10,{\"b\":true},2.5]");
    CHECK_STR(json_raw(&doc, json_at(&doc, list, 2)), "2.5");
    CHECK(!json_at(&doc, list, 3) && !json_at(&doc, list, SIZE_MAX) && !json_at(&doc, root, 0));
    CHECK(json_bool(json_find(&doc, json_at(&doc, list, 1), STR("b")), &b) && b);
    CHECK(json_bool(json_find(&doc, root, STR("")), &b) && !b);
    CHECK(!json_find(&doc, list, STR("a")) && !json_find(&doc, NULL, STR("a")));
    CHECK(!json_text(&doc, list, &a, &s) && !json_bool(list, &b));
    CHECK(!json_first(&doc, json_at(&doc, list, 0)) && !json_first(&doc, NULL));
    CHECK_INT(json_count(&doc, json_at(&doc, list, 0)), 0);
    json_release(&doc);
    arena_release(&a);
}

TEST(json_pointer_follows_rfc_6901)
{
    static const struct {
        const char *pointer, *raw; /* NULL: not found */
    } cases[] = {
        {"",
         "{\"foo\":[\"bar\",\"b\\u007Ez\"],\"\":0,\"a/b\":1,\"m~n\":8,\"~1\":9,\"k\\u007el\":6}"},
        {"/foo", "[\"bar\",\"b\\u007Ez\"]"},
        {"/foo/0", "\"bar\""},
        {"/", "0"},
        {"/a~1b", "1"},
        {"/m~0n", "8"},
        {"/~01", "9"},
        {"/k~0l", "6"},
        {"foo", NULL},
        {"/foo/", NULL},
        {"/foo/2", NULL},
        {"/foo/-", NULL},
        {"/foo/-1", NULL},
        {"/foo/00", NULL},
        {"/foo/01", NULL},
        {"/foo/1e0", NULL},
        {"/foo/99999999999999999999", NULL},
        {"/foo/0/x", NULL},
        {"/a/b", NULL},
        {"/m~n", NULL},
        {"/m~", NULL},
        {"/m~2n", NULL},
        {"//", NULL},
    };
    struct json doc;
    struct err e;

    json_init(&doc);
    CHECK(!json_pointer(&doc, STR("")));
    CHECK(json_parse(&doc, str_c(cases[0].raw), &e));
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const struct json_node *v = json_pointer(&doc, str_c(cases[i].pointer));

        CHECK_F(!v == !cases[i].raw, "%s", cases[i].pointer);
        if (v)
            CHECK_STR(json_raw(&doc, v), cases[i].raw);
    }
    json_release(&doc);
}

TEST(json_i64_takes_integers_that_fit_however_written)
{
    static const struct {
        const char *text;
        bool ok;
        int64_t value;
    } cases[] = {
        {"0", true, 0},
        {"-0", true, 0},
        {"0e999999999999999999999", true, 0},
        {"0.000e-5", true, 0},
        {"1.0", true, 1},
        {"1e2", true, 100},
        {"1.5e1", true, 15},
        {"120E-1", true, 12},
        {"-12.5e+1", true, -125},
        {"0.0012e4", true, 12},
        {"9223372036854775807", true, INT64_MAX},
        {"-9223372036854775808", true, INT64_MIN},
        {"922337203685477580700e-2", true, INT64_MAX},
        {"9223372036854775808", false, 0},
        {"-9223372036854775809", false, 0},
        {"18446744073709551617", false, 0},
        {"1e18", true, 1000000000000000000},
        {"1e19", false, 0},
        {"1.5", false, 0},
        {"1e-1", false, 0},
        {"1e400", false, 0},
        {"1e-400", false, 0},
        {"1e99999999999999999999999", false, 0},
        {"-1e-99999999999999999999999", false, 0},
        {"true", false, 0},
        {"\"1\"", false, 0},
    };
    struct json doc;
    struct err e;

    json_init(&doc);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        int64_t v = 0;

        CHECK(json_parse(&doc, str_c(cases[i].text), &e));
        CHECK_F(json_i64(&doc, json_root(&doc), &v) == cases[i].ok, "%s", cases[i].text);
        CHECK_INT(v, cases[i].value);
    }
    json_release(&doc);
}

/* Hard cases: halfway between two doubles, the ends of the range, many digits. */
static const struct {
    const char *text;
    double value;
} doubles[] = {
    {"0", 0.0},
    {"1", 1.0},
    {"-1.5e3", -1500.0},
    {"0.1", 0.1},
    {"123456789012345678", 123456789012345678.0},
    {"9007199254740993", 9007199254740992.0},
    {"9007199254740993.00000000000000000001", 9007199254740994.0},
    {"1e22", 1e22},
    {"1e23", 1e23},
    {"8.5e22", 8.5e22},
    {"3.5e-22", 3.5e-22},
    {"2.2250738585072011e-308", 2.2250738585072011e-308},
    {"2.2250738585072014e-308", 2.2250738585072014e-308},
    {"4.9406564584124654e-324", 4.9406564584124654e-324},
    {"2.4703282292062327e-324", 0.0},
    {"1.7976931348623157e308", 1.7976931348623157e308},
    {"1e400", HUGE_VAL},
    {"-1e400", -HUGE_VAL},
    {"1e-400", 0.0},
    {"1e99999999999999999999999", HUGE_VAL},
    {"1e-99999999999999999999999", 0.0},
};

static void check_doubles(void)
{
    struct json doc;
    struct err e;

    json_init(&doc);
    for (size_t i = 0; i < COUNT_OF(doubles); i++)
        for (size_t in_array = 0; in_array < 2; in_array++) {
            const struct json_node *v;
            double got = -1;
            char text[100];

            snprintf(text, sizeof text, in_array ? "[%s]" : "%s", doubles[i].text);
            CHECK(json_parse(&doc, str_c(text), &e));
            v = in_array ? json_at(&doc, json_root(&doc), 0) : json_root(&doc);
            CHECK(json_double(&doc, v, &got));
            CHECK_F(got == doubles[i].value, "%s is %.17g", text, got);
        }
    json_release(&doc);
}

TEST(json_double_is_the_nearest_one)
{
    struct json doc;
    struct err e;
    double v;

    check_doubles();
    json_init(&doc);
    CHECK(json_parse(&doc, STR("-0.0"), &e));
    CHECK(json_double(&doc, json_root(&doc), &v) && v == 0 && signbit(v));
    CHECK(json_parse(&doc, STR("null"), &e));
    CHECK(!json_double(&doc, json_root(&doc), &v));
    json_release(&doc);
}

/* The fast path (one division) must round as strtod does. */
TEST(json_double_of_a_short_fraction_is_what_strtod_says)
{
    uint64_t x = 88172645463325252u;
    struct json doc;
    struct err e;

    json_init(&doc);
    for (int i = 0; i < 20000; i++) {
        char text[40];
        double v = -1;

        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        snprintf(text,
                 sizeof text,
                 "%llu.%0*llu",
                 (unsigned long long)(x % 1000000),
                 1 + i % 11,
                 (unsigned long long)(x >> 32) % 10);
        CHECK(json_parse(&doc, str_c(text), &e) && json_double(&doc, json_root(&doc), &v));
        CHECK_F(v == strtod(text, NULL), "%s is %.17g", text, v);
    }
    json_release(&doc);
}

TEST(json_double_does_not_mind_a_comma_in_the_locale)
{
    static const char *const names[] = {"de_DE.UTF-8", "de_DE", "fr_FR.UTF-8", "ru_RU.UTF-8"};
    const char *set = NULL;

    for (size_t i = 0; i < COUNT_OF(names) && !set; i++)
        set = setlocale(LC_ALL, names[i]);
    if (!set) {
        print_message("skipped: no locale with a comma\n");
        return;
    }
    CHECK(localeconv()->decimal_point[0] == ',');
    check_doubles();
    CHECK(localeconv()->decimal_point[0] == ',');
    setlocale(LC_ALL, "C");
}

TEST(json_equal_goes_by_value)
{
    static const struct {
        const char *a, *b;
        bool equal;
    } cases[] = {
        {"1", "1.0", true},
        {"100", "1e2", true},
        {"0.00120", "12e-4", true},
        {"12.5", "125e-1", true},
        {"0", "-0.0e7", true},
        {"1e400", "10e399", true},
        {"1e400", "1e401", false},
        {"12345678901234567890123", "12345678901234567890123.0", true},
        {"12345678901234567890123", "12345678901234567890124", false},
        {"1", "-1", false},
        {"12.5", "1.25", false},
        {"1", "true", false},
        {"0", "false", false},
        {"null", "null", true},
        {"true", "false", false},
        {"\"\\u00e9\\n\"", "\"\xC3\xA9\\u000a\"", true},
        {"\"\\uD83D\\uDE00\"", "\"\xF0\x9F\x98\x80\"", true},
        {"\"a\"", "\"b\"", false},
        {"\"a\"", "\"ab\"", false},
        {"\"1\"", "1", false},
        {"[]", "{}", false},
        {"[1,[2]]", "[1.0,[2]]", true},
        {"[1,2]", "[2,1]", false},
        {"[1,2]", "[1,2,3]", false},
        {"[1,2,3]", "[1,2]", false},
        {"{\"a\":1,\"b\":[{}]}", "{\"b\":[{}],\"\\u0061\":1.0}", true},
        {"{\"a\":1}", "{\"a\":1,\"b\":2}", false},
        {"{\"a\":1,\"b\":2}", "{\"a\":1}", false},
        {"{\"a\":1}", "{\"a\":2}", false},
        {"{\"a\":1}", "{\"b\":1}", false},
        {"{\"a\":2,\"a\":1}", "{\"a\":1}", true},
        {"{\"a\":2,\"b\":0,\"a\":1}", "{\"a\":1,\"b\":0}", true},
        {"{\"a\":1,\"a\":2}", "{\"a\":1}", false},
    };
    struct json a, b;
    struct err e;

    json_init(&a);
    json_init(&b);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        CHECK(json_parse(&a, str_c(cases[i].a), &e) && json_parse(&b, str_c(cases[i].b), &e));
        CHECK_F(json_equal(&a, json_root(&a), &b, json_root(&b)) == cases[i].equal,
                "%s and %s",
                cases[i].a,
                cases[i].b);
        CHECK(json_equal(&b, json_root(&b), &a, json_root(&a)) == cases[i].equal);
    }
    json_release(&a);
    json_release(&b);
}

/* Members in opposite order, with keys that share a prefix: a quadratic comparison would take
 * minutes. */
TEST(json_equal_of_large_objects_takes_no_time)
{
    enum { MEMBERS = 100000 };
    struct json a, b;
    struct buf x, y;
    struct err e;

    buf_init(&x, 1 << 24);
    buf_init(&y, 1 << 24);
    for (int i = 0; i < MEMBERS; i++) {
        buf_printf(&x, "%c\"key\\u0020%d\":%d", i ? ',' : '{', i, i);
        buf_printf(&y, "%c\"key %d\":%d.0", i ? ',' : '{', MEMBERS - 1 - i, MEMBERS - 1 - i);
    }
    buf_add_c(&x, '}');
    buf_add_c(&y, '}');
    json_init(&a);
    json_init(&b);
    CHECK(json_parse(&a, buf_str(&x), &e) && json_parse(&b, buf_str(&y), &e));
    CHECK(json_equal(&a, json_root(&a), &b, json_root(&b)));
    y.p[y.n - 4] = '7'; /* 0.0 of the last value becomes 7.0 */
    CHECK(json_parse(&b, buf_str(&y), &e));
    CHECK(!json_equal(&a, json_root(&a), &b, json_root(&b)));
    json_release(&a);
    json_release(&b);
    buf_release(&x);
    buf_release(&y);
}

TEST(json_long_numbers_take_no_time)
{
    struct json doc;
    struct buf b;
    struct err e;
    int64_t i;
    double d;

    buf_init(&b, 1 << 23);
    buf_add(&b, STR("[0."));
    for (int n = 0; n < 1000000; n++)
        buf_add_c(&b, '3');
    buf_add(&b, STR(",1"));
    for (int n = 0; n < 1000000; n++)
        buf_add_c(&b, '0');
    buf_add(&b, STR("e-1000000]"));
    json_init(&doc);
    CHECK(json_parse(&doc, buf_str(&b), &e));
    CHECK(json_double(&doc, json_at(&doc, json_root(&doc), 0), &d) && d == 1.0 / 3);
    CHECK(json_i64(&doc, json_at(&doc, json_root(&doc), 1), &i) && i == 1);
    CHECK(json_double(&doc, json_at(&doc, json_root(&doc), 1), &d) && d == 1);
    json_release(&doc);
    buf_release(&b);
}

/* The lookup must find the last of equal keys, whatever the number and order of the other keys. */
TEST(json_finds_the_last_of_equal_keys_among_any_others)
{
    struct json doc;
    struct buf b;
    struct err e;
    char key[16];

    json_init(&doc);
    buf_init(&b, 1 << 20);
    for (int n = 1; n < 60; n++)
        for (int twice = 0; twice < n; twice += 7) {
            buf_reset(&b);
            buf_add_c(&b, '{');
            for (int i = 0; i < n; i++)
                buf_printf(&b, "\"%d%c\":%d,", i * i, 'a' + i % 26, i);
            buf_printf(&b, "\"%d%c\":-1,\"\":-2,\"\\u0078y\":-3}", twice * twice, 'a' + twice % 26);
            CHECK(json_parse(&doc, buf_str(&b), &e));
            for (int i = 0; i < n; i++) {
                int64_t v = 0;

                (void)snprintf(key, sizeof key, "%d%c", i * i, 'a' + i % 26);
                CHECK(json_i64(&doc, json_find(&doc, json_root(&doc), str_c(key)), &v));
                CHECK_INT(v, i == twice ? -1 : i);
            }
            CHECK(json_find(&doc, json_root(&doc), STR("")));
            CHECK(json_find(&doc, json_root(&doc), STR("xy")));
            CHECK(!json_find(&doc, json_root(&doc), STR("nobody")));
        }
    CHECK(json_parse(&doc, STR("{\"id\":1,\"\\u0069d\":2}"), &e));
    CHECK(json_is(&doc, json_root(&doc) + 1, STR("id")));
    CHECK(json_find(&doc, json_root(&doc), STR("id")) == json_root(&doc) + 4);
    CHECK(json_parse(&doc, STR("{\"\\u0069d\":2,\"id\":1}"), &e));
    CHECK(json_find(&doc, json_root(&doc), STR("id")) == json_root(&doc) + 4);
    CHECK(json_parse(&doc, STR("{\"a\":1,\"bc\":2}"), &e));
    CHECK(!json_find(&doc, json_root(&doc), STR("b")) && !json_find(&doc, NULL, STR("a")));
    json_release(&doc);
    buf_release(&b);
}

TEST(json_copies_outlive_the_text)
{
    char text[] = "{\"a\":\"x\\ny\",\"b\":1,\"c\":\"\"}";
    struct arena a;
    str copy, number, none, other;

    arena_init(&a, 10000);
    copy = json_copy_member(str_c(text), "a", &a);
    number = json_copy_member(str_c(text), "b", &a);
    none = json_copy_member(str_c(text), "d", &a);
    other = json_copy_member(STR("no JSON"), "a", &a);
    memset(text, 'z', sizeof text - 1);
    CHECK_STR(copy, "x\ny");
    CHECK(number.n == 0 && none.n == 0 && other.n == 0);
    arena_release(&a);
}

TEST_MAIN(T(json_copies_outlive_the_text), T(json_finds_and_reads),
          T(json_finds_the_last_of_equal_keys_among_any_others), T(json_pointer_follows_rfc_6901),
          T(json_i64_takes_integers_that_fit_however_written), T(json_double_is_the_nearest_one),
          T(json_double_of_a_short_fraction_is_what_strtod_says),
          T(json_double_does_not_mind_a_comma_in_the_locale), T(json_equal_goes_by_value),
          T(json_equal_of_large_objects_takes_no_time), T(json_long_numbers_take_no_time))
