/* json_loose_test.c - JSON as models write it: every known deviation is read, and nothing is
 * guessed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/json_loose.h"
#include "base/rand.h"
#include "test.h"

static struct arena arena;

static bool any(void *ctx, const struct json *doc)
{
    (void)ctx, (void)doc;
    return true;
}

/* A list of objects, or an object with "tool". */
static bool calls(void *ctx, const struct json *doc)
{
    const struct json_node *root = json_root(doc);

    (void)ctx;
    if (root->kind == JSON_OBJECT)
        return json_find(doc, root, STR("tool")) != NULL;
    for (const struct json_node *v = json_first(doc, root); v; v = json_next(doc, root, v))
        if (v->kind != JSON_OBJECT)
            return false;
    return true;
}

static str found(str text, json_loose_wanted *wanted)
{
    struct buf out;
    struct err e;
    str got = STR("none");

    buf_init(&out, 1 << 20);
    if (json_loose(text, wanted, NULL, &out, &e))
        got = arena_dup(&arena, buf_str(&out));
    buf_release(&out);
    return got;
}

static const struct {
    const char *text, *want;
} habits[] = {
    {"[{\"tool\":\"a\"}]", "[{\"tool\":\"a\"}]"},
    {"```json\n[{\"tool\": \"a\"}]\n```", "[{\"tool\":\"a\"}]"},
    {"```\n{\"tool\":\"a\"}\n```\nThat is all.", "{\"tool\":\"a\"}"},
    {"I will look at it [1], see {this}:\n[{\"tool\":\"a\"}] Done.", "[{\"tool\":\"a\"}]"},
    {"[{\"tool\":\"a\",},]", "[{\"tool\":\"a\"}]"},
    {"[{'tool': 'it\\'s \"a\"', n: None, ok: True}]",
     "[{\"tool\":\"it's \\\"a\\\"\",\"n\":null,\"ok\":true}]"},
    {"// first\n[ /* one */ {\"tool\": \"a\" # why\n}]", "[{\"tool\":\"a\"}]"},
    {"{\"tool\": \"a\nb\tc\"}", "{\"tool\":\"a\\nb\\tc\"}"},
    {"{\"tool\": \"C:\\dir\\new\", \"n\": -1.50e3}", "{\"tool\":\"C:\\\\dir\\new\",\"n\":-1.50e3}"},
    {"A draft: [{\"tool\":\"x\"}]. Better: [{\"tool\":\"a\"}]", "[{\"tool\":\"a\"}]"},
    {"{\"answer\": [{\"tool\":\"a\"}]}", "[{\"tool\":\"a\"}]"},
    {"[]", "[]"},
    {"[{\"tool\":\"\\ud83d\\ude00 \\ud83d\"}]", "[{\"tool\":\"\\ud83d\\ude00 \\ufffd\"}]"},
    {"[{\"tool\":\"a\"}\n{\"tool\":\"b\"}]", "[{\"tool\":\"a\"},{\"tool\":\"b\"}]"},
    {"[{\"tool\":\"a\"", "none"},
    {"[{\"tool\":a b}]", "none"},
    {"Nothing to do.", "none"},
    {"", "none"},
    {"{tool}", "none"},
    {"[1, 2]", "none"},
};

TEST(every_habit_of_models_is_read)
{
    arena_init(&arena, 1 << 24);
    for (size_t i = 0; i < COUNT_OF(habits); i++) {
        str got = found(str_c(habits[i].text), calls);

        if (!str_eq(got, str_c(habits[i].want)))
            fail_msg(
                "%s\n gave " STR_FMT "\n not %s", habits[i].text, STR_ARG(got), habits[i].want);
    }
    arena_release(&arena);
}

TEST(what_is_wrong_is_told_by_its_line)
{
    struct buf out;
    struct err e;

    buf_init(&out, 1 << 20);
    CHECK(!json_loose(STR("so:\n[{\"tool\": \"a\",\n  \"n\": maybe}]"), calls, NULL, &out, &e));
    CHECK(e.code == ERR_INPUT && strstr(e.text, "line 3"));
    CHECK(out.n == 0);
    buf_release(&out);
}

TEST(hostile_texts_take_no_longer_than_others)
{
    static const char *const pieces[] = {"[", "{", "[[{", "{\"a\":[", "[\"", "{'", "[//", "/*["};
    const size_t size = 1 << 20;
    char *text = base_alloc(size);

    for (size_t i = 0; i < COUNT_OF(pieces); i++) {
        struct buf out;
        struct err e;

        for (size_t at = 0; at < size; at++)
            text[at] = pieces[i][at % strlen(pieces[i])];
        buf_init(&out, 1 << 20);
        CHECK(!json_loose((str){text, size}, any, NULL, &out, &e));
        buf_release(&out);
    }
    free(text);
}

TEST(whatever_comes_out_is_json)
{
    static const char chars[] = "[]{}\",:'\\u12ae-.+ \n/*#truefalsNo";
    struct rand r;

    rand_init(&r, 7);
    arena_init(&arena, (size_t)1 << 28);
    for (int i = 0; i < 50000; i++) {
        char text[24];
        size_t n = (size_t)rand_below(&r, sizeof text);
        struct json doc;
        struct err e;
        str got;

        for (size_t j = 0; j < n; j++)
            text[j] = chars[rand_below(&r, sizeof chars - 1)];
        got = found((str){text, n}, any);
        json_init(&doc);
        if (!str_eq(got, STR("none")) && !json_parse(&doc, got, &e))
            fail_msg(STR_FMT " gave " STR_FMT, (int)n, text, STR_ARG(got));
        json_release(&doc);
    }
    arena_release(&arena);
}

TEST_MAIN(T(every_habit_of_models_is_read), T(what_is_wrong_is_told_by_its_line),
          T(hostile_texts_take_no_longer_than_others), T(whatever_comes_out_is_json))
