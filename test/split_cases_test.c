/* The output of each format, by cases: ours in test/cases/split.jsonl and, if installed, the public
 * ones. Each is tested whole and divided in many ways.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/file.h"
#include "base/json.h"
#include "split/collect.h"
#include "test.h"

#define CASES_SIZE_MAX ((size_t)16 << 20)

struct want {
    const struct split_format *format;
    bool inside;
    str id, input, reasoning, content, join;
    const struct json_node *flags, *calls; /* NULL: not checked */
    str state;
};

static str member(const struct json *doc, const char *key, struct arena *a)
{
    str text = STR("");

    if (!json_text(doc, json_find(doc, json_root(doc), str_c(key)), a, &text))
        return STR("");
    return text;
}

static struct want read_case(const struct json *doc, struct arena *a)
{
    struct want w = {
        .format = split_format_find(member(doc, "format", a)),
        .id = member(doc, "id", a),
        .input = member(doc, "input", a),
        .reasoning = member(doc, "reasoning", a),
        .content = member(doc, "content", a),
        .join = member(doc, "join", a),
        .state = member(doc, "state", a),
        .flags = json_find(doc, json_root(doc), STR("flags")),
        .calls = json_find(doc, json_root(doc), STR("tool_calls")),
    };

    CHECK_F(w.format != NULL, STR_FMT, STR_ARG(w.id));
    CHECK(json_bool(json_find(doc, json_root(doc), STR("starts_in_reasoning")), &w.inside));
    return w;
}

static bool has_flag(const struct json *doc, const struct json_node *list, const char *name)
{
    const struct json_node *v = json_first(doc, list);

    while (v && !json_is(doc, v, str_c(name)))
        v = json_next(doc, list, v);
    return v != NULL;
}

static void check_flags(const struct json *doc, const struct want *w, const struct split *sp,
                        const struct split_collect *c)
{
    unsigned flags = sp->flags | (c->tools.unread ? SPLIT_UNREAD_TOOL : 0U);

    for (unsigned i = 0; i < SPLIT_FLAG_COUNT; i++)
        CHECK_F((flags >> i & 1) == has_flag(doc, w->flags, split_flag_name(i)),
                STR_FMT ": %s",
                STR_ARG(w->id),
                split_flag_name(i));
}

static void check_calls(const struct json *doc, const struct want *w, const struct split_collect *c)
{
    size_t i = 0;

    CHECK_F(json_count(doc, w->calls) == c->call_count, STR_FMT, STR_ARG(w->id));
    for (const struct json_node *v = json_first(doc, w->calls); v;
         v = json_next(doc, w->calls, v), i++) {
        CHECK_F(json_is(doc, json_find(doc, v, STR("name")), c->calls[i].name),
                STR_FMT,
                STR_ARG(w->id));
        CHECK_F(json_is(doc, json_find(doc, v, STR("arguments")), c->calls[i].arguments),
                STR_FMT ": " STR_FMT,
                STR_ARG(w->id),
                STR_ARG(c->calls[i].arguments));
    }
}

/* Splits the case in pieces that end at the cuts, and compares the result. */
static void check_case(const struct json *doc, const struct want *w, const size_t *cuts, size_t n)
{
    struct split_collect c;
    struct split sp;
    struct err e;
    size_t from = 0, sum = 0;

    split_collect_init(&c, w->join, CASES_SIZE_MAX);
    split_init(&sp, w->format, w->inside, split_collect_sink(&c));
    for (size_t i = 0; i <= n; i++) {
        size_t to = i < n ? cuts[i] : w->input.n;

        split_feed(&sp, str_slice(w->input, from, to));
        from = to;
    }
    split_finish(&sp);
    CHECK(split_collect_ok(&c, &e));
    for (int k = 0; k < SPLIT_KIND_COUNT; k++)
        sum += sp.size[k];
    CHECK_F(sum == w->input.n, STR_FMT, STR_ARG(w->id));
    CHECK_F(str_eq(buf_str(&c.reasoning), w->reasoning),
            STR_FMT ", %zu cuts, the first at %zu: reasoning \"" STR_FMT "\", not \"" STR_FMT "\"",
            STR_ARG(w->id),
            n,
            n ? cuts[0] : 0,
            STR_ARG(buf_str(&c.reasoning)),
            STR_ARG(w->reasoning));
    CHECK_F(str_eq(buf_str(&c.answer), w->content),
            STR_FMT ", %zu cuts, the first at %zu: answer \"" STR_FMT "\", not \"" STR_FMT "\"",
            STR_ARG(w->id),
            n,
            n ? cuts[0] : 0,
            STR_ARG(buf_str(&c.answer)),
            STR_ARG(w->content));
    CHECK_F(str_eq(str_c(split_state_name(sp.state)), w->state), STR_FMT, STR_ARG(w->id));
    check_flags(doc, w, &sp, &c);
    if (w->calls)
        check_calls(doc, w, &c);
    split_collect_release(&c);
}

/* Tests the case whole, byte by byte, in two pieces at every position and, if short, in three. */
static void check_cuts(const struct json *doc, const struct want *w)
{
    size_t n = w->input.n, cuts[4096];

    CHECK(n < COUNT_OF(cuts));
    check_case(doc, w, NULL, 0);
    for (size_t i = 0; i < n; i++)
        cuts[i] = i + 1;
    check_case(doc, w, cuts, n);
    for (size_t i = 0; i <= n; i++)
        for (size_t j = i; j <= (n < 64 ? n : i); j++) {
            size_t two[2] = {i, j};

            check_case(doc, w, two, 2);
        }
}

static str cases_text(struct arena *a)
{
    const char *root = getenv("RATIONALE_SOURCE");
    char path[4096];
    struct err e;
    str text;

    snprintf(path, sizeof path, "%s/test/cases/split.jsonl", root ? root : ".");
    CHECK_F(file_read(a, path, CASES_SIZE_MAX, &text, &e), "%s", e.text);
    return text;
}

static bool next_line(str *text, str *line)
{
    size_t end = str_find(*text, STR("\n"));

    if (text->n == 0)
        return false;
    *line = str_slice(*text, 0, end);
    *text = str_slice(*text, end == STR_NONE ? text->n : end + 1, text->n);
    return true;
}

TEST(every_case_splits_as_it_says_at_every_cut)
{
    struct arena a;
    struct json doc;
    struct err e;
    str text, line;
    size_t n = 0;

    arena_init(&a, CASES_SIZE_MAX * 2);
    json_init(&doc);
    text = cases_text(&a);
    while (next_line(&text, &line)) {
        struct want w;

        CHECK_F(json_parse(&doc, line, &e), "%s", e.text);
        w = read_case(&doc, &a);
        check_cuts(&doc, &w);
        n++;
    }
    CHECK(n > 100);
    json_release(&doc);
    arena_release(&a);
}

/* ---- the public cases ---- */

/* The text before the first tool marker of any family; text after it is not part of `content`. */
static str before_tools(str text)
{
    static const char *const markers[] = {
        "<tool_call>",
        "<｜tool▁calls▁begin｜>",
        "<｜DSML｜",
        "<|tool_calls_section_begin|>",
        "<|open|>tools",
        "<minimax:tool_call>",
        "]<]minimax[>[<tool_call>",
        "<seed:tool_call>",
        "<tool_calls>",
        "<TOOLCALL>",
        "[TOOL_CALLS]",
        "<|tool_call>",
        "<|START_ACTION|>",
        "<|tool_call_start|>",
        "<function name=",
        "<|content_invoke",
    };

    for (size_t i = 0; i < COUNT_OF(markers); i++)
        text = str_slice(text, 0, str_find(text, str_c(markers[i])));
    return text;
}

static void check_public(const struct json *doc, struct arena *a, size_t size)
{
    struct want w = read_case(doc, a);
    bool trim = json_is(doc, json_find(doc, json_root(doc), STR("whitespace")), STR("trim"));
    bool tools = !json_is(doc, json_find(doc, json_root(doc), STR("tool_markup")), STR("none"));
    str reasoning = member(doc, "expected_reasoning", a);
    str content = member(doc, "expected_content", a);
    struct split_collect c;
    struct split sp;
    str got_reasoning, got_content;

    split_collect_init(&c, w.join, CASES_SIZE_MAX);
    split_init(&sp, w.format, w.inside, split_collect_sink(&c));
    for (size_t at = 0; at < w.input.n; at += size)
        split_feed(&sp, str_slice(w.input, at, at + size));
    split_finish(&sp);
    got_reasoning = buf_str(&c.reasoning);
    got_content = buf_str(&c.answer);
    if (tools)
        content = before_tools(content);
    if (trim) {
        reasoning = str_trim(reasoning), got_reasoning = str_trim(got_reasoning);
        content = str_trim(content), got_content = str_trim(got_content);
    }
    CHECK_F(str_eq(reasoning, got_reasoning) && str_eq(content, got_content),
            STR_FMT " by %zu bytes: reasoning " STR_FMT ", content " STR_FMT,
            STR_ARG(w.id),
            size,
            STR_ARG(got_reasoning),
            STR_ARG(got_content));
    CHECK(sp.size[0] + sp.size[1] + sp.size[2] + sp.size[3] == w.input.n);
    split_collect_release(&c);
}

static void check_public_file(const char *name)
{
    static const size_t sizes[] = {SIZE_MAX / 2, 1, 2, 3, 5, 7, 11, 23};
    const char *path = test_corpora(name);
    struct arena a;
    struct json doc;
    struct err e;
    str text, line;

    if (!path)
        return;
    arena_init(&a, CASES_SIZE_MAX * 4);
    json_init(&doc);
    CHECK_F(file_read(&a, path, CASES_SIZE_MAX, &text, &e), "%s", e.text);
    while (next_line(&text, &line)) {
        CHECK_F(json_parse(&doc, line, &e), "%s", e.text);
        if (json_is(&doc, json_find(&doc, json_root(&doc), STR("tier")), STR("policy")))
            continue; /* the reference implementations disagree */
        for (size_t i = 0; i < COUNT_OF(sizes); i++)
            check_public(&doc, &a, sizes[i]);
    }
    json_release(&doc);
    arena_release(&a);
}

TEST(every_public_case_splits_as_its_origin_says_at_every_size)
{
    check_public_file("split/cases.jsonl");
    check_public_file("split/hard-cases.jsonl");
}

TEST_MAIN(T(every_case_splits_as_it_says_at_every_cut),
          T(every_public_case_splits_as_its_origin_says_at_every_size))
