/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"
#include "split/calls.h"
#include "test.h"

#define NASTY_SIZE ((size_t)128 * 1024)

#define NS "]<]minimax[>["
#define DS_BEGIN "<｜tool▁call▁begin｜>"
#define DS_SEP "<｜tool▁sep｜>"
#define K3_CALL(name) "<|open|>call tool=\"" name "\" index=\"1\"<|sep|>"

struct seen {
    size_t calls;
    bool bad_json;
    char last[256]; /* arguments, truncated to fit */
};

static void on_call(void *ctx, const struct split_call *call)
{
    struct seen *seen = ctx;
    struct json doc;
    struct err e;

    json_init(&doc);
    seen->calls++;
    snprintf(seen->last, sizeof seen->last, STR_FMT, STR_ARG(call->arguments));
    seen->bad_json |= !json_parse(&doc, call->arguments, &e);
    json_release(&doc);
}

/* The arena has exactly the documented size; allocating more ends the process. */
static struct seen run(enum split_call_style style, str raw)
{
    struct seen seen = {0};
    struct arena scratch;

    arena_init(&scratch, SPLIT_CALLS_ARENA_MAX(raw.n));
    split_calls(style, STR("f"), raw, &scratch, (struct split_call_sink){on_call, &seen});
    arena_release(&scratch);
    return seen;
}

/* Fills bytes[from..to) with as many copies of a piece as fit; returns the end of the last. */
static size_t fill(char *bytes, size_t from, size_t to, const char *piece)
{
    size_t n = strlen(piece);

    for (; from + n <= to; from += n)
        memcpy(bytes + from, piece, n);
    return from;
}

/* Pieces that, repeated, would cost a naive reader quadratic time or all of its stack. */
static const char *const pieces[] = {
    "{",
    "[",
    "{\"name\":",
    "<",
    "\"",
    "'",
    "(",
    "f(",
    "[f(",
    "f(a=[",
    "<|open|>",
    "<tool_call>",
    "<tool_call>{",
    "<tool_call>[",
    "<tool_call>f<arg_key>",
    "<tool_call>f<arg_key>k</arg_key><arg_value>",
    "</arg_keys>",
    "<tool_call><function=f>",
    "<function=f>\n<parameter=a>\n",
    "<parameter=a>\n",
    "</params>",
    "</function>",
    "<function name=\"f\"><param name=\"a\"><![CDATA[",
    "<invoke name=\"f\">",
    "<invoke name=\"f\"><parameter name=\"a\">",
    NS "<invoke name=\"f\">",
    NS "<a>",
    NS "<a>" NS "<b>" NS "</b>",
    NS "<invoke name=\"f\">" NS "<a>",
    DS_BEGIN,
    DS_BEGIN "f" DS_SEP,
    DS_BEGIN "f" DS_SEP "{",
    "<|tool_call_begin|>f<|tool_call_argument_begin|>{\"",
    "[TOOL_CALLS]f[ARGS]{",
    "[TOOL_CALLS]f[CALL_ID]",
    K3_CALL("f"),
    K3_CALL("f") "<|open|>argument key=\"a\"<|sep|>",
    "call:f{",
    "call:f{a:<|\"|>",
    "call:f{a:[",
    "<|tool_call:begin|>a<|tool_call:name|>f<|tool_call:args|>{",
    "<a=\"",
    " ",
    "\n",
};

TEST(calls_take_linear_time)
{
    char *bytes = malloc(NASTY_SIZE);

    for (size_t p = 0; p < COUNT_OF(pieces); p++)
        for (int style = 0; style < SPLIT_CALLS_COUNT; style++)
            for (size_t first = 0; first < COUNT_OF(pieces); first += 11) {
                size_t n = fill(bytes, 0, NASTY_SIZE / 2, pieces[first]);

                n = fill(bytes, n, NASTY_SIZE, pieces[p]);
                CHECK(!run((enum split_call_style)style, (str){bytes, n}).bad_json);
            }
    free(bytes);
}

/* Values up to this depth are parsed; deeper ones are reported as not understood. */
TEST(calls_nest_no_deeper_than_json_does)
{
    static const struct {
        enum split_call_style style;
        const char *front, *open, *close, *back;
        size_t good, bad;
    } cases[] = {
        {SPLIT_CALLS_JSON, "{\"name\":\"f\",\"args\":{\"a\":", "[", "]", "}}", 500, 520},
        {SPLIT_CALLS_TAGGED,
         "<tool_call><function=f><parameter=a>",
         "[",
         "]",
         "</parameter></function></tool_call>",
         511,
         0},
        {SPLIT_CALLS_PYTHONIC, "f(a=", "[", "]", ")", 100, 200},
        {SPLIT_CALLS_PYTHONIC, "f(a=1, b=", "{'k':", "}", ")", 0, 100000},
        {SPLIT_CALLS_GEMMA, "call:f{a:", "[", "]", "}", 100, 200},
        {SPLIT_CALLS_GEMMA, "call:f{a:", "{k:", "}", "}", 0, 100000},
        {SPLIT_CALLS_INVOKE,
         NS "<invoke name=\"f\">",
         NS "<a>",
         NS "</a>",
         NS "</invoke>",
         100,
         20000},
    };
    struct arena a;

    for (size_t i = 0; i < COUNT_OF(cases); i++)
        for (int bad = 0; bad < 2; bad++) {
            size_t depth = bad ? cases[i].bad : cases[i].good;
            size_t size = 256 + depth * (strlen(cases[i].open) + strlen(cases[i].close));
            size_t n;
            char *bytes;
            struct seen seen;

            arena_init(&a, size + 64);
            bytes = arena_alloc(&a, size);
            n = fill(bytes, 0, strlen(cases[i].front), cases[i].front);
            n = fill(bytes, n, n + depth * strlen(cases[i].open), cases[i].open);
            if (cases[i].style != SPLIT_CALLS_INVOKE)
                n = fill(bytes, n, n + 1, "1");
            n = fill(bytes, n, n + depth * strlen(cases[i].close), cases[i].close);
            n = fill(bytes, n, n + strlen(cases[i].back), cases[i].back);
            seen = run(cases[i].style, (str){bytes, n});
            if (depth > 0)
                CHECK_F(seen.calls == !bad && !seen.bad_json, "%zu at %zu", i, depth);
            arena_release(&a);
        }
}

TEST(calls_keep_numbers_to_the_byte)
{
    const str raw = STR("<tool_call>{\"name\": \"f\", \"arguments\": {\"a\":1.0e+05 , \"b\" : "
                        "12345678901234567890123}}</tool_call>");
    struct seen seen = run(SPLIT_CALLS_TAGGED, raw);

    CHECK_INT(seen.calls, 1);
    CHECK_STR(str_c(seen.last), "{\"a\":1.0e+05 , \"b\" : 12345678901234567890123}");
}

TEST_MAIN(T(calls_keep_numbers_to_the_byte), T(calls_take_linear_time),
          T(calls_nest_no_deeper_than_json_does))
