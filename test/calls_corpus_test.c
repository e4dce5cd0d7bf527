/* SPDX-License-Identifier: Apache-2.0 */
#include "base/file.h"
#include "base/json.h"
#include "split/calls.h"
#include "test.h"

#define CORPUS_SIZE_MAX (16u << 20)
#define CALLS_MAX 16

/* The call style of each format, and the marker that begins its block of calls. */
static const struct {
    const char *format, *mark;
    enum split_call_style style;
} formats[] = {
    {"apriel", "<tool_calls>", SPLIT_CALLS_JSON},
    {"cohere", "<|START_ACTION|>", SPLIT_CALLS_JSON},
    {"deepseek_v3", "<｜tool▁calls▁begin｜>", SPLIT_CALLS_DEEPSEEK},
    {"deepseek_v32", "<｜DSML｜function_calls>", SPLIT_CALLS_INVOKE},
    {"deepseek_v4", "<｜DSML｜tool_calls>", SPLIT_CALLS_INVOKE},
    {"gemma4", "<|tool_call>", SPLIT_CALLS_GEMMA},
    {"glm45", "<tool_call>", SPLIT_CALLS_TAGGED},
    {"hy_v3", "<tool_calls>", SPLIT_CALLS_TAGGED},
    {"inkling", "<|content_invoke_tool_json|>", SPLIT_CALLS_JSON},
    {"kimi_k2", "<|tool_calls_section_begin|>", SPLIT_CALLS_KIMI_K2},
    {"kimi_k3", "<|open|>tools<|sep|>", SPLIT_CALLS_KIMI_K3},
    {"lfm2", "<|tool_call_start|>", SPLIT_CALLS_PYTHONIC},
    {"minicpm5", "<function name=", SPLIT_CALLS_FUNCTION},
    {"minimax_m2", "<minimax:tool_call>", SPLIT_CALLS_INVOKE},
    {"minimax_m3", "]<]minimax[>[<tool_call>", SPLIT_CALLS_INVOKE},
    {"mistral", "[TOOL_CALLS]", SPLIT_CALLS_MISTRAL},
    {"muse", "<atem:function_calls>", SPLIT_CALLS_INVOKE},
    {"nemotron_v3", "<tool_call>", SPLIT_CALLS_TAGGED},
    {"nemotron_v3", "<TOOLCALL>", SPLIT_CALLS_TAGGED},
    {"qwen3", "<tool_call>", SPLIT_CALLS_TAGGED},
    {"reka", "<tool_call>", SPLIT_CALLS_TAGGED},
    {"seed_oss", "<seed:tool_call>", SPLIT_CALLS_TAGGED},
    {"step3", "<tool_call>", SPLIT_CALLS_TAGGED},
};

/* Cases that need the tool's schema, which declares a text of digits a string. */
static const char *const needs_schema[] = {
    "llamacpp-step3-002", /* "ref": "5123123" */
};

struct got {
    struct arena *a;
    struct split_call calls[CALLS_MAX];
    size_t n;
    bool understood;
};

static void on_call(void *ctx, const struct split_call *call)
{
    struct got *got = ctx;

    CHECK(got->n < CALLS_MAX);
    got->calls[got->n++] =
        (struct split_call){arena_dup(got->a, call->name), arena_dup(got->a, call->arguments)};
}

static void read_block(enum split_call_style style, str recipient, str raw, struct got *got)
{
    got->understood &=
        split_calls(style, recipient, raw, got->a, (struct split_call_sink){on_call, got});
}

static size_t find_from(str s, size_t from, const char *needle)
{
    size_t at = str_find(str_slice(s, from, s.n), str_c(needle));

    return at == STR_NONE ? s.n : from + at;
}

/* Each message with a recipient is a call; it ends at the next special token. */
static void read_harmony(str input, struct got *got)
{
    size_t header = 0, body, end;

    for (; (body = find_from(input, header, "<|message|>")) < input.n; header = end) {
        size_t to = find_from(input, header, "to=");
        str recipient = str_slice(input, to + 3, body);

        body += strlen("<|message|>");
        end = find_from(input, body, "<|");
        recipient = str_slice(recipient, 0, str_find(recipient, STR("<|")));
        recipient = str_slice(recipient, 0, str_find(recipient, STR(" ")));
        if (to < body)
            read_block(SPLIT_CALLS_BODY, recipient, str_slice(input, body, end), got);
    }
}

/* The block begins with its marker after the reasoning, which may itself contain the marker. */
static bool read_case(str format, str input, str reasoning, struct got *got)
{
    size_t from = str_find(input, str_trim(reasoning));

    if (str_eq(format, STR("harmony"))) {
        read_harmony(input, got);
        return true;
    }
    from = from == STR_NONE ? 0 : from + str_trim(reasoning).n;
    for (size_t i = 0; i < COUNT_OF(formats); i++) {
        size_t at = find_from(input, from, formats[i].mark);

        if (str_eq(format, str_c(formats[i].format)) && at < input.n) {
            read_block(formats[i].style, STR(""), str_slice(input, at, input.n), got);
            return true;
        }
    }
    return false;
}

static bool is_call(const struct split_call *call, const struct json *doc,
                    const struct json_node *want, struct arena *a)
{
    struct json got, args;
    str text;
    struct err e;
    bool same;

    json_init(&got);
    json_init(&args);
    same = json_is(doc, json_find(doc, want, STR("name")), call->name) &&
           json_text(doc, json_find(doc, want, STR("arguments")), a, &text) &&
           json_parse(&args, text, &e) && json_parse(&got, call->arguments, &e) &&
           json_equal(&args, json_root(&args), &got, json_root(&got));
    json_release(&got);
    json_release(&args);
    return same;
}

static bool listed(str id)
{
    for (size_t i = 0; i < COUNT_OF(needs_schema); i++)
        if (str_eq(id, str_c(needs_schema[i])))
            return true;
    return false;
}

/* Returns true if the line has calls to compare. */
static bool check_line(struct json *doc, str line)
{
    const struct json_node *want, *root;
    str id, format, input, reasoning;
    struct arena a;
    struct got got = {.a = &a, .understood = true};
    struct err e;
    bool same;

    arena_init(&a, 16 << 20);
    CHECK_F(json_parse(doc, line, &e), "%s", e.text);
    root = json_root(doc);
    want = json_find(doc, root, STR("tool_calls"));
    CHECK(json_text(doc, json_find(doc, root, STR("id")), &a, &id));
    CHECK(json_text(doc, json_find(doc, root, STR("format")), &a, &format));
    CHECK(json_text(doc, json_find(doc, root, STR("input")), &a, &input));
    CHECK(json_text(doc, json_find(doc, root, STR("expected_reasoning")), &a, &reasoning));
    if (want) {
        CHECK_F(read_case(format, input, reasoning, &got), "no mark in " STR_FMT, STR_ARG(id));
        same = got.understood && got.n == json_count(doc, want);
        for (size_t i = 0; same && i < got.n; i++)
            same = is_call(&got.calls[i], doc, json_at(doc, want, i), &a);
        CHECK_F(same != listed(id), STR_FMT " is %d", STR_ARG(id), same);
    }
    arena_release(&a);
    return want;
}

TEST(calls_of_the_corpus_are_those_that_other_readers_find)
{
    const char *folder = test_corpora("split");
    struct arena a;
    struct json doc;
    struct err e;
    char path[FILE_PATH_MAX];
    size_t checked = 0;
    str all;

    if (!folder)
        skip();
    snprintf(path, sizeof path, "%s/cases.jsonl", folder);
    arena_init(&a, CORPUS_SIZE_MAX + 4096);
    json_init(&doc);
    CHECK_F(file_read(&a, path, CORPUS_SIZE_MAX, &all, &e), "%s", e.text);
    for (size_t at = 0, end; at < all.n; at = end + 1) {
        end = find_from(all, at, "\n");
        if (end > at)
            checked += check_line(&doc, str_slice(all, at, end));
    }
    print_message(
        "%zu cases with calls, %zu of them need a schema\n", checked, COUNT_OF(needs_schema));
    CHECK(checked > 0);
    json_release(&doc);
    arena_release(&a);
}

TEST_MAIN(T(calls_of_the_corpus_are_those_that_other_readers_find))
