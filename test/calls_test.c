/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"
#include "split/calls.h"
#include "test.h"

#define CALLS_MAX 64

#define TAGGED SPLIT_CALLS_TAGGED
#define INVOKE SPLIT_CALLS_INVOKE
#define JSON SPLIT_CALLS_JSON
#define DEEPSEEK SPLIT_CALLS_DEEPSEEK
#define KIMI_K2 SPLIT_CALLS_KIMI_K2
#define KIMI_K3 SPLIT_CALLS_KIMI_K3
#define MISTRAL SPLIT_CALLS_MISTRAL
#define GEMMA SPLIT_CALLS_GEMMA
#define PYTHONIC SPLIT_CALLS_PYTHONIC
#define FUNCTION SPLIT_CALLS_FUNCTION
#define APERTUS SPLIT_CALLS_APERTUS
#define SOLAR SPLIT_CALLS_SOLAR

struct got {
    struct arena *a;
    struct split_call calls[CALLS_MAX];
    size_t n;
    bool bad_json;
};

static bool equal_json(str a, str b)
{
    struct json da, db;
    struct err e;
    bool equal;

    json_init(&da);
    json_init(&db);
    equal = json_parse(&da, a, &e) && json_parse(&db, b, &e) &&
            json_equal(&da, json_root(&da), &db, json_root(&db));
    json_release(&da);
    json_release(&db);
    return equal;
}

static void on_call(void *ctx, const struct split_call *call)
{
    struct got *got = ctx;

    got->bad_json |= !equal_json(call->arguments, call->arguments);
    if (got->n < CALLS_MAX)
        got->calls[got->n] =
            (struct split_call){arena_dup(got->a, call->name), arena_dup(got->a, call->arguments)};
    got->n++;
}

static bool run(enum split_call_style style, str recipient, str raw, struct got *got)
{
    struct arena scratch;
    bool ok;

    arena_init(&scratch, SPLIT_CALLS_ARENA_MAX(raw.n));
    ok = split_calls(style, recipient, raw, &scratch, (struct split_call_sink){on_call, got});
    arena_release(&scratch);
    return ok;
}

/* `want` has a line for each call: its name, a space, its arguments. */
struct call_case {
    enum split_call_style style;
    bool understood;
    const char *raw, *want;
};

/* The next line of `want`. */
static bool next_want(str *want, str *name, str *arguments)
{
    size_t end = str_find(*want, STR("\n")), space;
    str line = str_slice(*want, 0, end);

    if (want->n == 0)
        return false;
    *want = end == STR_NONE ? STR("") : str_slice(*want, end + 1, want->n);
    space = str_find(line, STR(" {"));
    assert(space != STR_NONE);
    *name = str_slice(line, 0, space);
    *arguments = str_slice(line, space + 1, line.n);
    return true;
}

static void check_case(const struct call_case *k, const char *recipient)
{
    struct arena a;
    struct got got = {.a = &a};
    str want = str_c(k->want), name, arguments;
    size_t i = 0;
    bool understood;

    arena_init(&a, 1 << 20);
    understood = run(k->style, str_c(recipient), str_c(k->raw), &got);
    for (; next_want(&want, &name, &arguments); i++) {
        CHECK_F(i < got.n, "%s: %zu calls", k->raw, got.n);
        CHECK_F(str_eq(got.calls[i].name, name) && equal_json(got.calls[i].arguments, arguments),
                "%s: " STR_FMT " " STR_FMT,
                k->raw,
                STR_ARG(got.calls[i].name),
                STR_ARG(got.calls[i].arguments));
    }
    CHECK_F(got.n == i, "%s: %zu calls", k->raw, got.n);
    CHECK_F(understood == k->understood, "%s: %d", k->raw, understood);
    CHECK(!got.bad_json);
    arena_release(&a);
}

static const struct call_case json_cases[] = {
    {JSON,
     true,
     "<tool_calls>[{\"name\": \"f\", \"arguments\": {\"a\": 1}}]</tool_calls>",
     "f {\"a\":1}"},
    {JSON,
     true,
     "<|START_ACTION|>[\n  {\"tool_call_id\": \"0\", \"tool_name\": \"f\", \"parameters\": {}},\n"
     "  {\"tool_call_id\": \"1\", \"tool_name\": \"g\", \"parameters\": {\"b\": [1, 2]}}\n]"
     "<|END_ACTION|>",
     "f {}\ng {\"b\":[1,2]}"},
    {JSON,
     true,
     "<|message_model|><|content_invoke_tool_json|>{\"name\":\"f\",\"args\":{\"c\":\"SF\"}}"
     "<|end_message|>",
     "f {\"c\":\"SF\"}"},
    {JSON, true, "{\"name\": \"f\"}", "f {}"},
    {JSON, true, "{\"name\": \"f\", \"arguments\": null}", "f {}"},
    {JSON, true, "{\"name\": \"f\", \"arguments\": \"\"}", "f {}"},
    {JSON, true, "{\"name\": \"f\", \"arguments\": \"{\\\"a\\\": \\\"b\\\"}\"}", "f {\"a\":\"b\"}"},
    {JSON,
     true,
     "[{\"id\":\"x\",\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]",
     "f {}"},
    {JSON, true, "{\"function\": \"f\", \"input\": {\"a\": 1}}", "f {\"a\":1}"},
    {JSON, true, "{\"name\": \"f\", \"arguments\": {\"t\": \"a\nb\"}}", "f {\"t\":\"a\\nb\"}"},
    {JSON, true, "```json\n{\"name\": \"f\"}\n```", "f {}"},
    {JSON, true, "{\"name\": \"f\"}\n{\"name\": \"g\"}", "f {}\ng {}"},
    {JSON,
     true,
     "{\"name\": \"f\", \"arguments\": {\"t\": \"</tool_calls>]\"}}",
     "f {\"t\":\"</tool_calls>]\"}"},
    {JSON, false, "[{\"name\": \"f\"}, {\"name\": \"g\", \"argum", "f {}"},
    {JSON,
     false,
     "[{\"name\": \"f\"}, {\"name\": \"g\" \"arguments\": {}}, {\"name\": \"h\"}]",
     "f {}"},
    {JSON, false, "{\"name\": \"f\", \"arguments\": {\"a\": 1}", ""},
    {JSON, false, "{\"name\": \"f\", \"arguments\": [1]}", ""},
    {JSON, false, "{\"name\": \"f\", \"arguments\": \"[1]\"}", ""},
    {JSON, false, "{\"name\": \"\"}", ""},
    {JSON, false, "{\"name\": \"a\\nb\"}", ""},
    {JSON, false, "{\"name\": 1}", ""},
    {JSON, false, "{\"a\": {\"name\": \"f\"}}", ""},
    {JSON, false, "say {\"name\": \"f\"}", ""},
    {JSON, false, "[]", ""},
    {JSON, false, "", ""},
    {APERTUS,
     true,
     "<|tools_prefix|>[{\"f\": {\"a\": 1}}, {\"g\": {}}]<|tools_suffix|>",
     "f {\"a\":1}\ng {}"},
    {APERTUS, true, "[{\"name\": \"f\", \"arguments\": {\"a\": 1}}]", "f {\"a\":1}"},
    {APERTUS, true, "[{\"f\": {\"arguments\": 1}}]", "f {\"arguments\":1}"},
    {APERTUS, false, "[{\"f\": 1}, {\"g\": {}}]", "g {}"},
    {APERTUS, false, "[{}]", ""},
};

static const struct call_case tagged_cases[] = {
    {TAGGED,
     true,
     "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n</tool_call>",
     "f {\"a\":1}"},
    {TAGGED,
     true,
     "<tool_call>{\"name\": \"f\"}</tool_call>\n<tool_call>{\"name\": \"g\"}</tool_call>",
     "f {}\ng {}"},
    {TAGGED, true, "<tool_call>{\"name\": \"f\"}\n{\"name\": \"g\"}</tool_call>", "f {}\ng {}"},
    {TAGGED,
     true,
     "<tool_call>{\"name\": \"f\", \"arguments\": {\"t\": \"</tool_call>\"}}</tool_call>",
     "f {\"t\":\"</tool_call>\"}"},
    {TAGGED, true, "<tool_call>{\"name\": \"f\"}", "f {}"},
    {TAGGED,
     true,
     "<TOOLCALL>[{\"name\": \"f\", \"arguments\": {\"a\": 1}}]</TOOLCALL>",
     "f {\"a\":1}"},
    {TAGGED, true, "<tool_calls>[{\"name\": \"f\"}]</tool_calls>", "f {}"},
    {TAGGED,
     false,
     "<tool_call>{\"name\": \"f\", \"arguments\": {</tool_call>"
     "<tool_call>{\"name\": \"g\"}</tool_call>",
     "g {}"},
    {TAGGED, false, "<tool_call>{\"name\": \"f\" {\"name\": \"g\"}}</b>h</tool_call>", ""},
    {TAGGED,
     true,
     "<tool_call>\n<function=f>\n<parameter=a>\n1\n</parameter>\n<parameter=b>\nx\ny\n"
     "</parameter>\n</function>\n</tool_call>",
     "f {\"a\":1,\"b\":\"x\\ny\"}"},
    {TAGGED,
     true,
     "<tool_call><function=f><parameter=a>x</parameter></function><function=g></function>"
     "</tool_call>",
     "f {\"a\":\"x\"}\ng {}"},
    {TAGGED,
     true,
     "<seed:tool_call>\n<function=f>\n<parameter=c>Tokyo</parameter>\n</function>\n"
     "</seed:tool_call>",
     "f {\"c\":\"Tokyo\"}"},
    {TAGGED,
     true,
     "<tool_call><function=f><parameter=a>\n\n x \n\n</parameter><parameter=b>True</parameter>"
     "<parameter=c>None</parameter><parameter=d>{\"k\": [1.50, \"v\"]}</parameter>"
     "<parameter=e>{'k': ('v', None)}</parameter><parameter=g>007</parameter>"
     "<parameter=h></parameter><parameter=i>{oops}</parameter></function></tool_call>",
     "f {\"a\":\"\\n x "
     "\\n\",\"b\":true,\"c\":null,\"d\":{\"k\":[1.5,\"v\"]},\"e\":{\"k\":[\"v\",null]},"
     "\"g\":\"007\",\"h\":\"\",\"i\":\"{oops}\"}"},
    {TAGGED,
     true,
     "<tool_call><function=f><parameter=a>a < b && c > d &lt; <i>e</i></parameter></function>"
     "</tool_call>",
     "f {\"a\":\"a < b && c > d &lt; <i>e</i>\"}"},
    {TAGGED,
     true,
     "<tool_call><function=f>\n<parameter=a>\n1\n<parameter=b>\n2\n</function>\n</tool_call>",
     "f {\"a\":1,\"b\":2}"},
    {TAGGED,
     true,
     "<tool_call><function=f><parameter=a>1</parameter></tool_call>"
     "<tool_call><function=g><parameter=a>2</parameter></function></tool_call>",
     "f {\"a\":1}\ng {\"a\":2}"},
    {TAGGED,
     true,
     "<tool_call><function=f><parameter=a>see <parameter=b></parameter></function></tool_call>",
     "f {\"a\":\"see <parameter=b>\"}"},
    {TAGGED, true, "<tool_call><function=f>{\"a\": 1}</function></tool_call>", "f {\"a\":1}"},
    {TAGGED,
     true,
     "<tool_call><function=f><parameter=a>x\n</parameter></function></tool_call>",
     "f {\"a\":\"x\\n\"}"},
    {TAGGED, false, "<tool_call><function=f>", ""},
    {TAGGED, false, "<tool_call><function=f><parameter=a>1", ""},
    {TAGGED, false, "<tool_call><function=f><parameter=a>1</parameter>", ""},
    {TAGGED, false, "<tool_call><function=f>x {\"name\": \"g\"}</function></tool_call>", ""},
    {TAGGED, false, "<tool_call><function=></function></tool_call>", ""},
    {TAGGED,
     true,
     "<tool_call>f\n<arg_key>a</arg_key>\n<arg_value>1</arg_value>\n<arg_key>b</arg_key>\n"
     "<arg_value> x </arg_value>\n</tool_call>",
     "f {\"a\":1,\"b\":\" x \"}"},
    {TAGGED,
     true,
     "<tool_call>f<arg_key>a</arg_key><arg_value>[1]</arg_value></tool_call>",
     "f {\"a\":[1]}"},
    {TAGGED, true, "<tool_call>f</tool_call>", "f {}"},
    {TAGGED, true, "<tool_call>f<arg_key>a</arg_key><arg_value>x</tool_call>", "f {\"a\":\"x\"}"},
    {TAGGED, true, "<tool_call>f\n{\"a\": 1}</tool_call>", "f {\"a\":1}"},
    {TAGGED,
     true,
     "<tool_calls><tool_call>f<tool_sep></tool_call>\n<tool_call>g<tool_sep>\n<arg_key>a</arg_key>"
     "\n<arg_value>x</arg_value>\n</tool_call></tool_calls>",
     "f {}\ng {\"a\":\"x\"}"},
    {TAGGED,
     true,
     "<tool_calls:opensource>\n<tool_call:opensource>f<tool_sep:opensource>\n"
     "<arg_key:opensource>a</arg_key:opensource>\n<arg_value:opensource>true"
     "</arg_value:opensource>\n</tool_call:opensource>\n</tool_calls:opensource>",
     "f {\"a\":true}"},
    {TAGGED, false, "<tool_call>f", ""},
    {TAGGED, false, "<tool_call>f<arg_key>a</arg_key>", ""},
    {TAGGED, false, "<tool_call>f<arg_key>a</arg_key></tool_call>", ""},
    {TAGGED, false, "<tool_call>tool call", ""},
    {TAGGED, false, "<tool_call>I'm nested tool call</tool_call></think>", ""},
    {TAGGED, false, "<tool_call>x y</tool_call><tool_call>f</tool_call>", "f {}"},
    {TAGGED, false, "<tool_call></tool_call>", ""},
    {TAGGED,
     false,
     "<tool_call><function=f><parameter=a>\xff</parameter></function></tool_call>",
     ""},
};

#define NS "]<]minimax[>["

static const struct call_case invoke_cases[] = {
    {INVOKE,
     true,
     "<minimax:tool_call>\n<invoke name=\"f\">\n<parameter name=\"a\">1</parameter>\n"
     "<parameter name='b'>\nx\n</parameter>\n</invoke>\n<invoke name=\"g\">\n</invoke>\n"
     "</minimax:tool_call>",
     "f {\"a\":1,\"b\":\"x\"}\ng {}"},
    {INVOKE,
     true,
     "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"f\">\n"
     "<｜DSML｜parameter name=\"a\" string=\"true\">1</｜DSML｜parameter>\n"
     "<｜DSML｜parameter name=\"b\" string=\"false\">-14</｜DSML｜parameter>\n"
     "<｜DSML｜parameter name=\"c\" string=\"false\">{\"k\": [1]}</｜DSML｜parameter>\n"
     "<｜DSML｜parameter name=\"d\" string=\"true\">\n<parameter>\n</｜DSML｜parameter>\n"
     "<｜DSML｜parameter name=\"e\" string=\"false\">\"x\"</｜DSML｜parameter>\n"
     "</｜DSML｜invoke>\n</｜DSML｜function_calls>",
     "f {\"a\":\"1\",\"b\":-14,\"c\":{\"k\":[1]},\"d\":\"\\n<parameter>\\n\",\"e\":\"x\"}"},
    {INVOKE,
     true,
     "<｜DSML｜tool_calls><｜DSML｜invoke name=\"s\"></｜DSML｜invoke></｜DSML｜tool_calls>",
     "s {}"},
    {INVOKE,
     true,
     "<｜DSML｜tool_calls><｜DSML｜invoke name=\"s\">{\"a\": "
     "1}</｜DSML｜invoke></｜DSML｜tool_calls>",
     "s {\"a\":1}"},
    {INVOKE,
     false,
     "<｜DSML｜tool_calls><｜DSML｜invoke name=\"s\"><｜DSML｜parameter name=\"a\" "
     "string=\"false\">"
     "{\"k\": </｜DSML｜parameter><｜DSML｜parameter "
     "name=\"b\">1</｜DSML｜parameter></｜DSML｜invoke>",
     ""},
    {INVOKE, false, "<｜DSML｜tool_calls></think>answer", ""},
    {INVOKE,
     true,
     "<atem:function_calls>\n<atem:invoke name=\"a.f\">\n<atem:parameter name=\"x\"> two\nlines\n"
     "</atem:parameter>\n<atem:parameter name=\"y\">[1, null]</atem:parameter>\n</atem:invoke>\n"
     "</atem:function_calls><|eom|>",
     "a.f {\"x\":\" two\\nlines\\n\",\"y\":[1,null]}"},
    {INVOKE,
     false,
     "<minimax:tool_call><invoke name=\"f\"><parameter name=\"a\">1</parameter>",
     ""},
    {INVOKE,
     false,
     "<minimax:tool_call><invoke><parameter name=\"a\">1</parameter></invoke></minimax:tool_call>",
     ""},
    {INVOKE,
     true,
     NS "<tool_call>\n" NS "<invoke name=\"f\">" NS "<city>Paris" NS "</city>" NS "</invoke>\n" NS
        "<invoke name=\"g\">" NS "</invoke>\n" NS "</tool_call>",
     "f {\"city\":\"Paris\"}\ng {}"},
    {INVOKE,
     true,
     NS "<tool_call>" NS "<invoke name=\"f\">" NS "<a>" NS "<b>1" NS "</b>" NS "<c>true" NS
        "</c>" NS "</a>" NS "<l>" NS "<item>x <b>y</b>" NS "</item>" NS "<item>" NS "<k>null" NS
        "</k>" NS "</item>" NS "</l>" NS "<d>" NS "<t>a" NS "</t>" NS "<t>2" NS "</t>" NS "</d>" NS
        "<e>" NS "</e>" NS "</invoke>" NS "</tool_call>",
     "f {\"a\":{\"b\":1,\"c\":true},\"l\":[\"x "
     "<b>y</b>\",{\"k\":\"null\"}],\"d\":{\"t\":[\"a\",2]},"
     "\"e\":\"\"}"},
    {INVOKE,
     true,
     NS "<tool_call>" NS "<invoke name=\"f\">" NS "<parameter name=\"a\">1.5" NS "</parameter>" NS
        "</invoke>" NS "</tool_call>",
     "f {\"a\":1.5}"},
    {INVOKE,
     false,
     NS "<tool_call>" NS "<invoke name=\"f\">" NS "<a>1" NS "</b>" NS "</invoke>",
     ""},
    {INVOKE, false, NS "<tool_call>" NS "<invoke name=\"f\">" NS "<a>1" NS "</a>", ""},
    {INVOKE,
     false,
     NS "<tool_call>" NS "<invoke name=\"f\">" NS "<a>1" NS "</tool_call>" NS "<tool_call>" NS
        "<invoke name=\"g\">" NS "</invoke>" NS "</tool_call>",
     "g {}"},
    {FUNCTION,
     true,
     "<function name=\"f\"><param name=\"code\">print('hey')</param></function>",
     "f {\"code\":\"print('hey')\"}"},
    {FUNCTION,
     true,
     "<function name=\"f\"><param name=\"m\"><![CDATA[<a href=\"/x\">&amp;</a> </param>]]></param>"
     "<param name=\"n\">1 &lt; 2</param><param name=\"o\">['a']</param></function>\n"
     "<function name=\"g\"></function>",
     "f {\"m\":\"<a href=\\\"/x\\\">&amp;</a> </param>\",\"n\":\"1 < 2\",\"o\":[\"a\"]}\ng {}"},
    {FUNCTION, true, "<functionname=\"f\"><paramname=\"a\">1</param></function>", "f {\"a\":1}"},
    {FUNCTION, false, "<function name=\"f\"><param name=\"a\"><![CDATA[x</param></function>", ""},
    {FUNCTION, false, "<function name=\"f\"><param name=\"a\">x</param>", ""},
    {FUNCTION, false, "<function name=\"f\"><param>x</param></function>", ""},
};

#define DS_CALLS "<｜tool▁calls▁begin｜>"
#define DS_BEGIN "<｜tool▁call▁begin｜>"
#define DS_SEP "<｜tool▁sep｜>"
#define DS_END "<｜tool▁call▁end｜>"

static const struct call_case marked_cases[] = {
    {DEEPSEEK,
     true,
     DS_CALLS DS_BEGIN "f" DS_SEP "{\"a\": 1}" DS_END DS_BEGIN "g" DS_SEP "{}" DS_END
                       "<｜tool▁calls▁end｜>",
     "f {\"a\":1}\ng {}"},
    {DEEPSEEK,
     true,
     DS_CALLS DS_BEGIN "function" DS_SEP "f\n```json\n{\"a\": \"```\"}\n```" DS_END "\n" DS_BEGIN
                       "function" DS_SEP "g\n```json\n{}\n```" DS_END
                       "<｜tool▁calls▁end｜><｜end▁of▁sentence｜>",
     "f {\"a\":\"```\"}\ng {}"},
    {DEEPSEEK, true, DS_BEGIN "function" DS_SEP "{\"a\": 1}" DS_END, "function {\"a\":1}"},
    {DEEPSEEK, true, DS_BEGIN "f" DS_SEP DS_END, "f {}"},
    {DEEPSEEK,
     true,
     "<｜tool_calls_begin｜><｜tool_call_begin｜>f<｜tool_sep｜>{}<｜tool_call_end｜>",
     "f {}"},
    {DEEPSEEK, false, DS_BEGIN "f" DS_SEP "{\"a\": 1", ""},
    {DEEPSEEK,
     false,
     DS_BEGIN "f" DS_SEP "{\"a\" 1}" DS_END DS_BEGIN "g" DS_SEP "{}" DS_END,
     "g {}"},
    {DEEPSEEK,
     false,
     DS_BEGIN "f" DS_SEP "{\"a\": {" DS_END DS_BEGIN "g" DS_SEP "{}" DS_END,
     "g {}"},
    {DEEPSEEK, false, DS_BEGIN "f" DS_SEP, ""},
    {DEEPSEEK, false, DS_BEGIN "f" DS_BEGIN "g" DS_SEP "{}" DS_END, "g {}"},
    {DEEPSEEK, false, DS_BEGIN "f" DS_SEP "[1]" DS_END, ""},
    {DEEPSEEK, false, DS_BEGIN "two words" DS_SEP "{}" DS_END, ""},
    {KIMI_K2,
     true,
     "<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>"
     "{\"a\": \"<|tool_call_end|>\"}<|tool_call_end|><|tool_call_begin|> functions.g:11 "
     "<|tool_call_argument_begin|> {} <|tool_call_end|><|tool_calls_section_end|>",
     "f {\"a\":\"<|tool_call_end|>\"}\ng {}"},
    {KIMI_K2, true, "<|tool_call_begin|>f<|tool_call_argument_begin|>{}<|tool_call_end|>", "f {}"},
    {KIMI_K2, true, "<|tool_call_begin|>a.f:3<|tool_call_argument_begin|>{}", "a.f {}"},
    {KIMI_K2,
     false,
     "<|tool_call_begin|>functions.:0<|tool_call_argument_begin|>{}<|tool_call_end|>",
     ""},
    {KIMI_K2, false, "<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0", ""},
    {SOLAR,
     true,
     "<|begin|>assistant<|tool_calls|><|tool_call:begin|>a1b2<|tool_call:name|>f<|tool_call:args|>"
     "{\"a\": 1}<|tool_call:end|><|tool_call:begin|>c3<|tool_call:name|>g<|tool_call:args|>{}"
     "<|tool_call:end|><|calls|>",
     "f {\"a\":1}\ng {}"},
    {SOLAR, false, "<|tool_call:begin|>a1<|tool_call:args|>{}<|tool_call:end|>", ""},
    {MISTRAL, true, "[TOOL_CALLS]f[ARGS]{\"a\":1}", "f {\"a\":1}"},
    {MISTRAL,
     true,
     "[TOOL_CALLS]f[ARGS]{\"a\":\"[TOOL_CALLS]\"}[TOOL_CALLS]g[ARGS]{}",
     "f {\"a\":\"[TOOL_CALLS]\"}\ng {}"},
    {MISTRAL, true, "[TOOL_CALLS]f[CALL_ID]123456789[ARGS]{\"a\":1}</s>", "f {\"a\":1}"},
    {MISTRAL, true, "[TOOL_CALLS]f{\"a\":1}", "f {\"a\":1}"},
    {MISTRAL, true, "[TOOL_CALLS]f[ARGS]{}g[ARGS]{}", "f {}\ng {}"},
    {MISTRAL, true, "[TOOL_CALLS] [{\"name\": \"f\", \"arguments\": {\"a\": 1}}]", "f {\"a\":1}"},
    {MISTRAL, false, "[TOOL_CALLS]f[ARGS]{\"a\":", ""},
    {MISTRAL, false, "[TOOL_CALLS]f[ARGS]", ""},
    {MISTRAL, false, "[TOOL_CALLS]f", ""},
    {MISTRAL, false, "[TOOL_CALLS][ARGS]{\"a\":1}", ""},
    {MISTRAL, false, "[TOOL_CALLS]a b[ARGS]{}[TOOL_CALLS]g[ARGS]{}", "g {}"},
};

#define K3_CALL(name) "<|open|>call tool=\"" name "\" index=\"1\"<|sep|>"
#define K3_ARG(key, type, text)                                                                    \
    "<|open|>argument key=\"" key "\" type=\"" type "\"<|sep|>" text "<|close|>argument<|sep|>"
#define K3_END "<|close|>call<|sep|>"

static const struct call_case literal_cases[] = {
    {KIMI_K3,
     true,
     "<|open|>tools<|sep|>" K3_CALL("f") K3_ARG("a", "number", "1.50") K3_ARG("b", "string", "1")
         K3_ARG("c", "object", "{\"k\": []}") K3_ARG("d", "null", "null")
             K3_ARG("e&quot;&amp;", "boolean", "true") K3_END K3_CALL("g") K3_END
     "<|close|>tools<|sep|><|close|>message<|sep|><|end_of_msg|>",
     "f {\"a\":1.5,\"b\":\"1\",\"c\":{\"k\":[]},\"d\":null,\"e\\\"&\":true}\ng {}"},
    {KIMI_K3,
     true,
     K3_CALL("f") "<|open|>json type=\"object\"<|sep|>{\"a\": 1}<|close|>json<|sep|>" K3_END,
     "f {\"a\":1}"},
    {KIMI_K3,
     true,
     "<|open|>call tool=\"f\"<|open|>argument key=\"a\"<|sep|>x<|close|>argument<|close|>call",
     "f {\"a\":\"x\"}"},
    {KIMI_K3, false, K3_CALL("f") K3_ARG("a", "null", "x") K3_ARG("b", "null", "1") K3_END, ""},
    {KIMI_K3, false, K3_CALL("f") "x" K3_END K3_CALL("g") K3_END, "g {}"},
    {KIMI_K3, false, K3_CALL("f") K3_ARG("a", "number", "1"), ""},
    {KIMI_K3, false, K3_CALL("f") "<|open|>argument key=\"a\"<|sep|>x", ""},
    {KIMI_K3, false, "<|open|>call index=\"1\"<|sep|>" K3_END, ""},
    {KIMI_K3, false, K3_END, ""},
    {GEMMA,
     true,
     "<|tool_call>call:f{a:<|\"|>Paris, \"x\"\n<|\"|>,n:42,o:-1.5}<tool_call|>",
     "f {\"a\":\"Paris, \\\"x\\\"\\n\",\"n\":42,\"o\":-1.5}"},
    {GEMMA,
     true,
     "<|tool_call>call:f{o:{p:true,q:null,r:{}},l:[<|\"|>a\\b<|\"|>,{k:1},[],[2]]}<tool_call|>"
     "<|tool_call>call:g{}<tool_call|>",
     "f {\"o\":{\"p\":true,\"q\":null,\"r\":{}},\"l\":[\"a\\\\b\",{\"k\":1},[],[2]]}\ng {}"},
    {GEMMA,
     true,
     "<|tool_call>call:f{ a : Paris , <|\"|>b c<|\"|>: \"q \\\"r\\\"\" }",
     "f {\"a\":\"Paris\",\"b c\":\"q \\\"r\\\"\"}"},
    {GEMMA,
     true,
     "<start_function_call>call:f{a:<escape>x<escape>}<end_function_call>",
     "f {\"a\":\"x\"}"},
    {GEMMA, false, "<|tool_call>", ""},
    {GEMMA, false, "<|tool_call>call:f{a:<|\"|>x", ""},
    {GEMMA, false, "<|tool_call>call:f{a:1", ""},
    {GEMMA, false, "<|tool_call>call:f{a:}<tool_call|><|tool_call>call:g{}<tool_call|>", "g {}"},
    {GEMMA, false, "<|tool_call>call:f{a:{b:1}<tool_call|>", ""},
    {PYTHONIC,
     true,
     "<|tool_call_start|>[f(city=\"Paris\"), g()]<|tool_call_end|>",
     "f {\"city\":\"Paris\"}\ng {}"},
    {PYTHONIC,
     true,
     "[a.f(s='it\\'s \\x41\\u00e9\\n\\d', n=-1_000, z=07, d=.5, e=1., b=True, c=None,"
     " l=[1, 'x', (2, 3)], o={'k': {\"v\": false}}, from=null, t='''a'b''')]",
     "a.f {\"s\":\"it's "
     "A\xc3\xa9\\n\\\\d\",\"n\":-1000,\"z\":7,\"d\":0.5,\"e\":1.0,\"b\":true,\"c\":null,"
     "\"l\":[1,\"x\",[2,3]],\"o\":{\"k\":{\"v\":false}},\"from\":null,\"t\":\"a'b\"}"},
    {PYTHONIC, true, "f(a='\\ud83d\\ude00')", "f {\"a\":\"\xf0\x9f\x98\x80\"}"},
    {PYTHONIC, true, "f(a=1)\ng(b=2,)", "f {\"a\":1}\ng {\"b\":2}"},
    {PYTHONIC, true, "f(a='two\nlines')", "f {\"a\":\"two\\nlines\"}"},
    {PYTHONIC, true, "[{\"name\": \"f\", \"arguments\": {\"a\": 1}}]", "f {\"a\":1}"},
    {PYTHONIC, false, "[f('Paris'), g(a=1)]", "g {\"a\":1}"},
    {PYTHONIC, false, "[f(a=g(b=1))]", ""},
    {PYTHONIC, false, "[f(a=x), g()]", "g {}"},
    {PYTHONIC, false, "[f(a=1), g(b=\"x", "f {\"a\":1}"},
    {PYTHONIC, false, "[f(a=1)", "f {\"a\":1}"},
    {PYTHONIC, false, "[f(a='\\ud83d')]", ""},
    {PYTHONIC, false, "f", ""},
    {PYTHONIC, false, "call f(a=1)", ""},
    {SPLIT_CALLS_NONE, false, "{\"name\": \"f\"}", ""},
};

static const struct {
    const struct call_case *cases;
    size_t n;
} tables[] = {
    {json_cases, COUNT_OF(json_cases)},
    {tagged_cases, COUNT_OF(tagged_cases)},
    {invoke_cases, COUNT_OF(invoke_cases)},
    {marked_cases, COUNT_OF(marked_cases)},
    {literal_cases, COUNT_OF(literal_cases)},
};

TEST(calls_are_read_in_every_style)
{
    for (size_t t = 0; t < COUNT_OF(tables); t++)
        for (size_t i = 0; i < tables[t].n; i++)
            check_case(&tables[t].cases[i], "");
}

/* Calls of a truncated stream are a prefix of the calls of the whole stream. */
TEST(calls_of_cut_markup_are_the_first_of_the_whole)
{
    for (size_t t = 0; t < COUNT_OF(tables); t++)
        for (size_t i = 0; i < tables[t].n; i++) {
            const struct call_case *k = &tables[t].cases[i];
            struct arena a;
            struct got whole = {.a = &a};

            arena_init(&a, 1 << 22);
            run(k->style, STR(""), str_c(k->raw), &whole);
            for (size_t n = 0; n < strlen(k->raw); n++) {
                struct got got = {.a = &a};

                run(k->style, STR(""), (str){k->raw, n}, &got);
                CHECK_F(got.n <= whole.n, "%.*s", (int)n, k->raw);
                for (size_t c = 0; c < got.n; c++)
                    CHECK_F(str_eq(got.calls[c].name, whole.calls[c].name) &&
                                equal_json(got.calls[c].arguments, whole.calls[c].arguments),
                            "%.*s",
                            (int)n,
                            k->raw);
            }
            arena_release(&a);
        }
}

TEST(calls_of_a_body_are_named_by_the_recipient)
{
    static const struct {
        const char *recipient;
        struct call_case k;
    } bodies[] = {
        {"functions.f", {SPLIT_CALLS_BODY, true, "{\"a\": 1}", "f {\"a\":1}"}},
        {"functions.f", {SPLIT_CALLS_BODY, true, " {\"a\": 1} <|call|>", "f {\"a\":1}"}},
        {"functions.f", {SPLIT_CALLS_BODY, true, "", "f {}"}},
        {"f", {SPLIT_CALLS_BODY, true, "{}", "f {}"}},
        {"browser.search", {SPLIT_CALLS_BODY, true, "{\"q\": 1}", "browser.search {\"q\":1}"}},
        {"python",
         {SPLIT_CALLS_BODY, true, "print(\"x\")\n", "python {\"input\":\"print(\\\"x\\\")\"}"}},
        {"python", {SPLIT_CALLS_BODY, true, "1", "python {\"input\":\"1\"}"}},
        {"functions.f <|constrain|>json", {SPLIT_CALLS_BODY, true, "{}", "f {}"}},
        {"",
         {SPLIT_CALLS_BODY,
          true,
          "<|channel|>commentary to=functions.f <|constrain|>json<|message|>{\"a\": 1}<|call|>",
          "f {\"a\":1}"}},
        {"functions.f", {SPLIT_CALLS_BODY, false, "{\"a\": 1", ""}},
        {"functions.", {SPLIT_CALLS_BODY, false, "{}", ""}},
        {"", {SPLIT_CALLS_BODY, false, "{}", ""}},
    };

    for (size_t i = 0; i < COUNT_OF(bodies); i++)
        check_case(&bodies[i].k, bodies[i].recipient);
}

TEST_MAIN(T(calls_are_read_in_every_style), T(calls_of_cut_markup_are_the_first_of_the_whole),
          T(calls_of_a_body_are_named_by_the_recipient))
