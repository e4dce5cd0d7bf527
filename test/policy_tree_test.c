/* policy_tree_test.c - policies in Markdown and JSON are converted to trees.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/tree.h"
#include "test.h"

#include "base/clock.h"
#include "base/utf8.h"

/* A tree in one line: each node as LEVEL:TITLE, followed by its children in (…). */
static str outline(const struct policy_tree *t, struct arena *a)
{
    uint32_t open = 0;
    struct buf b;
    str out;

    buf_init(&b, 1 << 16);
    for (uint32_t i = 0; i < t->node_count; i++) {
        const struct policy_node *n = &t->nodes[i];

        for (; open > n->depth; open--)
            buf_add(&b, STR(")"));
        if (b.n > 0 && b.p[b.n - 1] != '(')
            buf_add(&b, STR(" "));
        buf_printf(&b, "%u:" STR_FMT, (unsigned)n->level, STR_ARG(n->title));
        if (n->span > 1) {
            buf_add(&b, STR("("));
            open++;
        }
    }
    for (; open > 0; open--)
        buf_add(&b, STR(")"));
    out = arena_dup(a, buf_str(&b));
    buf_release(&b);
    return out;
}

static const struct {
    const char *text, *want;
} headings[] = {
    /* ATX */
    {"# foo\n## foo\n### foo\n#### foo\n##### foo\n###### foo\n",
     "1:foo(2:foo(3:foo(4:foo(5:foo(6:foo)))))"},
    {"####### foo\n", "0:doc"},
    {"#5 bolt\n\n#hashtag\n", "0:doc"},
    {"#\tFoo\n", "1:Foo"},
    {"\\## foo\n", "0:doc"},
    {"#                  foo                     \n", "1:foo"},
    {" ### foo\n  ## foo\n   # foo\n", "3:foo 2:foo 1:foo"},
    {"    # foo\n", "0:doc"},
    {"\t# foo\n", "0:doc"},
    {"foo\n    # bar\n", "0:doc"},
    {"## foo ##\n  ###   bar    ###\n", "2:foo(3:bar)"},
    {"# foo ##################################\n##### foo ##\n", "1:foo(5:foo)"},
    {"### foo ###     \n", "3:foo"},
    {"### foo ### b\n", "3:foo ### b"},
    {"# foo#\n", "1:foo#"},
    {"### foo \\###\n## foo #\\##\n# foo \\#\n", "3:foo ### 2:foo ### 1:foo #"},
    {"****\n## foo\n****\n", "2:foo"},
    {"Foo bar\n# baz\nBar foo\n", "0:doc 1:baz"},
    {"## \n#\n### ###\n", "2: 1:(3:)"},
    {"# a\r\n## b\r\n", "1:a(2:b)"},
    {"# a\r## b\r", "1:a(2:b)"},
    {"# last without an end", "1:last without an end"},
    {"# A\n\n### B\n\n## C\n", "1:A(3:B 2:C)"},
    {"### A\n# B\n## C\n", "3:A 1:B(2:C)"},
    /* setext */
    {"Foo *bar*\n=========\n\nFoo *bar*\n---------\n", "1:Foo *bar*(2:Foo *bar*)"},
    {"Foo *bar\nbaz*\n====\n", "1:Foo *bar baz*"},
    {"  Foo *bar\nbaz*\t\n====\n", "1:Foo *bar baz*"},
    {"Foo\n-------------------------\n\nFoo\n=\n", "2:Foo 1:Foo"},
    {"   Foo\n---\n\n  Foo\n-----\n\n  Foo\n  ===\n", "2:Foo 2:Foo 1:Foo"},
    {"    Foo\n    ---\n\n    Foo\n---\n", "0:doc"},
    {"Foo\n   ----      \n", "2:Foo"},
    {"Foo\n    ---\n", "0:doc"},
    {"Foo\n= =\n\nFoo\n--- -\n", "0:doc"},
    {"Foo  \n-----\n", "2:Foo"},
    {"> Foo\n---\n", "0:doc"},
    {"> foo\nbar\n===\n", "0:doc"},
    {"- Foo\n---\n", "0:doc"},
    {"- foo\nbar\n---\n", "0:doc"},
    {"Foo\nBar\n---\n", "2:Foo Bar"},
    {"---\nFoo\n---\nBar\n---\nBaz\n", "2:Foo 2:Bar"},
    {"\n====\n", "0:doc"},
    {"---\n---\n", ""},
    {"- foo\n-----\n", "0:doc"},
    {"    foo\n---\n", "0:doc"},
    {"> foo\n-----\n", "0:doc"},
    {"\\> foo\n------\n", "2:> foo"},
    {"Foo\n\nbar\n---\nbaz\n", "0:doc 2:bar"},
    {"Foo\nbar\n\n---\n\nbaz\n", "0:doc"},
    {"Foo\nbar\n* * *\nbaz\n", "0:doc"},
    {"Foo\nbar\n\\---\nbaz\n", "0:doc"},
    {"Foo\n-\n", "2:Foo"},
    {"# a\n===\n", "1:a"},
    {"[foo]: /url\n===\n", "0:doc"},
    {"14. bar\n---\n", "0:doc"},
    {"foo\n14. bar\n---\n", "2:foo 14. bar"},
    {"foo\n1. bar\n---\n", "0:doc"},
    /* code */
    {"```\n# no\n```\n# yes\n", "0:doc 1:yes"},
    {"~~~\n# no\n```\n# no\n~~~\n# yes\n", "0:doc 1:yes"},
    {"````\n# no\n```\n# no\n`````\n# yes\n", "0:doc 1:yes"},
    {"```\n# no\n    ```\n# no\n", "0:doc"},
    {"# yes\n```\n# no to the end\n", "1:yes"},
    {"``` a`b\n# yes\n", "0:doc 1:yes"},
    {"~~~ a~b `\n# no\n~~~ x\n# no\n~~~\n", "0:doc"},
    {"foo\n```\n# no\n```\nbar\n===\n", "0:doc 1:bar"},
    {"   ```\n# no\n  ```\n# yes\n", "0:doc 1:yes"},
    {"``\n# yes\n", "0:doc 1:yes"},
    {"- a\n\n  ```\n  # no\n  ```\n# yes\n", "0:doc 1:yes"},
    {"1. a\n\n   # inside the item\n\n# yes\n", "0:doc 1:yes"},
    {"-\tfoo\n\n    # inside\n# yes\n", "0:doc 1:yes"},
    /* HTML */
    {"<!-- # no -->\n# yes\n", "1:yes"},
    {"<!--\n# no\n\n## no\n-->\n# yes\n", "1:yes"},
    {"# a <!-- hidden -->\n", "1:a"},
    {"<div>\n# no\n\n# yes\n", "0:doc 1:yes"},
    {"<script>\n# no\n\n# no\n</script>\n# yes\n", "0:doc 1:yes"},
    {"<pre># no\n# no</pre>\n# yes\n", "0:doc 1:yes"},
    {"<b>\n# no\n\n# yes\n", "0:doc 1:yes"},
    {"a\n<b>\n# yes\n", "0:doc 1:yes"},
    {"<?php\n# no\n?>\n# yes\n", "0:doc 1:yes"},
    {"<!DOCTYPE\n# no\n>\n# yes\n", "0:doc 1:yes"},
    {"<![CDATA[\n# no\n]]>\n# yes\n", "0:doc 1:yes"},
    {"<!-- never closed\n# no\n", ""},
    /* front matter */
    {"---\ntitle: T\n---\n# a\n", "1:a"},
    {"---\ntitle: T\n---\nbefore\n# a\n", "0:T 1:a"},
    {"---\ntitle: T\n...\n# a\n", "1:a"},
    {"---\ntitle: never closed\n# a\n", "0:doc 1:a"},
    {"\n---\ntitle: T\n---\n", "2:title: T"},
    {"\xEF\xBB\xBF---\ntitle: T\n---\n# a\n", "1:a"},
    {"---\n# only a comment\n---\n# a\n", "1:a"},
    {"", ""},
    {" \n\t\n", ""},
};

TEST(headings_are_those_of_commonmark_and_nest_by_level)
{
    for (size_t i = 0; i < COUNT_OF(headings); i++) {
        struct policy_tree t;
        struct arena a;
        struct err e;
        str got;

        arena_init(&a, POLICY_ARENA_MAX);
        CHECK_F(policy_tree_markdown(str_c(headings[i].text), STR("doc"), &a, &t, &e),
                "%zu: %s",
                i,
                e.text);
        got = outline(&t, &a);
        CHECK_F(str_eq(got, str_c(headings[i].want)),
                "%s\ngives %s\nnot   %s",
                headings[i].text,
                got.p,
                headings[i].want);
        arena_release(&a);
    }
}

static const char paged[] = "---\n"
                            "title: \"Imaging: lumbar\" # label\n"
                            "version: 2024-03\n"
                            "effective_start: 2024-01-01\n"
                            "effective_end: '2024-12-31'\n"
                            "---\n"
                            "Before.\n"
                            "# One\n"
                            "first page\n"
                            "<!-- page 2 -->\n"
                            "second page\n"
                            "## Two\n"
                            "also second\n"
                            "<!-- page 5 -->\n"
                            "## Three\n"
                            "\n"
                            "fifth `<!-- page 9 -->` and <!-- page 6 --> sixth\n"
                            "```\n<!-- page 7 -->\n```\n"
                            "<!-- page 8 -->\n";

static void parse(const char *text, struct arena *a, struct policy_tree *t)
{
    struct err e;

    arena_init(a, POLICY_ARENA_MAX);
    CHECK_F(policy_tree_markdown(str_c(text), STR("doc.md"), a, t, &e), "%s", e.text);
}

TEST(pages_begin_at_their_markers_and_markers_are_no_text)
{
    static const struct {
        const char *id, *path;
        unsigned start, end;
    } want[] = {
        {"0001", "Imaging: lumbar", 1, 1},
        {"0002", "One", 1, 6},
        {"0003", "One > Two", 2, 2},
        {"0004", "One > Three", 5, 6},
    };
    struct policy_tree t;
    struct arena a;

    parse(paged, &a, &t);
    CHECK_INT(t.node_count, 4);
    CHECK_INT(t.page_count, 8);
    CHECK_STR(t.title, "Imaging: lumbar");
    CHECK_STR(t.version, "2024-03");
    CHECK_STR(t.effective_start, "2024-01-01");
    CHECK_STR(t.effective_end, "2024-12-31");
    for (size_t i = 0; i < COUNT_OF(want); i++) {
        CHECK_STR(t.nodes[i].node_id, want[i].id);
        CHECK_STR(t.nodes[i].title_path, want[i].path);
        CHECK_INT(t.nodes[i].start_index, want[i].start);
        CHECK_INT(t.nodes[i].end_index, want[i].end);
    }
    CHECK_STR(t.nodes[1].text, "first page\nsecond page");
    CHECK_STR(t.nodes[2].text, "also second");
    CHECK_STR(t.nodes[3].text, "fifth `<!-- page 9 -->` and  sixth\n```\n<!-- page 7 -->\n```");
    CHECK_INT(policy_page_at(&t.nodes[1], 0), 1);
    CHECK_INT(policy_page_at(&t.nodes[1], 10), 1);
    CHECK_INT(policy_page_at(&t.nodes[1], 11), 2);
    CHECK_INT(policy_page_at(&t.nodes[3], 0), 5);
    CHECK_INT(policy_page_at(&t.nodes[3], 40), 6);
    CHECK_INT(t.nodes[1].line, 8);
    arena_release(&a);
}

TEST(what_is_wrong_has_its_line)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"a\n<!-- page 3 -->\nb\n<!-- page 2 -->\n",
         "line 4: page 2 comes after page 3; number the pages in order"},
        {"<!-- page 0 -->\n", "line 1: a page is from 1 to 1000000"},
        {"a\n\n<!-- page 99999999999999999999 -->\n", "line 3: a page is from 1 to 1000000"},
        {"a\nb\n\xff\n", "line 3: a byte that is not text; save the file as UTF-8"},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct policy_tree t;
        struct arena a;
        struct err e;

        arena_init(&a, POLICY_ARENA_MAX);
        CHECK(!policy_tree_markdown(str_c(cases[i].text), STR("doc"), &a, &t, &e));
        CHECK_STR(str_c(e.text), cases[i].want);
        arena_release(&a);
    }
}

TEST(comments_are_no_text)
{
    struct policy_tree t;
    struct arena a;

    parse("# A\nkept <!-- not --> kept\n<!--\nnot\n--> rest\n", &a, &t);
    CHECK_STR(t.nodes[0].text, "kept  kept\n rest");
    arena_release(&a);
    parse("<!-- before all text -->\n# A\nkept\n", &a, &t);
    CHECK(t.node_count == 1);
    CHECK_STR(t.nodes[0].text, "kept");
    arena_release(&a);
}

TEST(a_summary_is_whole_sentences_from_the_front)
{
    struct policy_tree t;
    struct arena a;
    struct buf b;

    buf_init(&b, 1 << 16);
    buf_add(&b, STR("# A\n"));
    for (int i = 0; i < 20; i++)
        buf_add(&b, STR("One two three four e.g. six seven eight nine ten.\n"));
    buf_add_c(&b, 0);
    parse(b.p, &a, &t);
    CHECK(str_ends(t.nodes[0].summary, STR("nine ten.")));
    CHECK_INT(t.nodes[0].summary.n, 6 * 50 - 1);
    arena_release(&a);
    parse("# A\n## B\nx\n## C\ny\n", &a, &t);
    CHECK_STR(t.nodes[0].summary, "B; C");
    CHECK_STR(t.nodes[1].summary, "x");
    arena_release(&a);
    buf_release(&b);
}

static str written(const struct policy_tree *t, bool with_text, struct buf *b)
{
    struct json_out o;
    struct err e;

    buf_init(b, 1 << 20);
    json_out_init(&o, b);
    policy_tree_json(t, with_text, &o);
    CHECK_F(json_out_ok(&o, &e), "%s", e.text);
    return buf_str(b);
}

TEST(a_tree_read_back_from_its_json_is_the_same)
{
    struct policy_tree t, u;
    struct arena a, c;
    struct buf b;
    struct err e;

    parse(paged, &a, &t);
    arena_init(&c, POLICY_ARENA_MAX);
    CHECK_F(policy_tree_read(written(&t, true, &b), STR("x"), &c, &u, &e), "%s", e.text);
    CHECK_INT(u.node_count, t.node_count);
    CHECK_STR(u.version, "2024-03");
    for (uint32_t i = 0; i < t.node_count; i++) {
        CHECK(str_eq(t.nodes[i].title_path, u.nodes[i].title_path));
        CHECK(str_eq(t.nodes[i].node_id, u.nodes[i].node_id));
        CHECK(str_eq(t.nodes[i].text, u.nodes[i].text));
        CHECK(str_eq(t.nodes[i].summary, u.nodes[i].summary));
        CHECK(strcmp(t.nodes[i].hash, u.nodes[i].hash) == 0);
        CHECK_INT(u.nodes[i].start_index, t.nodes[i].start_index);
        CHECK_INT(u.nodes[i].end_index, t.nodes[i].end_index);
        CHECK_INT(u.nodes[i].span, t.nodes[i].span);
    }
    buf_release(&b);
    CHECK(str_find(written(&t, false, &b), STR("second page")) != STR_NONE); /* from a summary */
    CHECK(str_find(buf_str(&b), STR("\"text\"")) == STR_NONE);
    buf_release(&b);
    arena_release(&c);
    arena_release(&a);
}

TEST(trees_of_pageindex_are_read)
{
    static const char *const texts[] = {
        "{\"doc_name\":\"d\",\"structure\":[{\"title\":\"A\",\"node_id\":\"0007\","
        "\"start_index\":2,\"end_index\":4,\"prefix_summary\":\"s\",\"nodes\":[{\"title\":\"B\","
        "\"start_index\":3,\"end_index\":3,\"summary\":\"t\"}]}]}",
        "[{\"title\":\"A\",\"node_id\":\"0007\",\"page_index\":2,\"summary\":\"s\",\"nodes\":"
        "[{\"title\":\"B\",\"page_index\":3,\"end_index\":4,\"nodes\":[]}]}]",
        "{\"nodes\":[{\"title\":\"A\",\"node_id\":7,\"start_index\":2,\"text\":null,\"nodes\":"
        "[{\"title\":\"B\",\"start_index\":3,\"end_index\":4,\"text\":\"x\"}]}]}",
    };

    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        struct policy_tree t;
        struct arena a;
        struct err e;

        arena_init(&a, POLICY_ARENA_MAX);
        CHECK_F(policy_tree_read(str_c(texts[i]), STR("n"), &a, &t, &e), "%s", e.text);
        CHECK_INT(t.node_count, 2);
        CHECK_STR(t.nodes[0].node_id, "0007");
        CHECK_STR(t.nodes[1].node_id, "0002");
        CHECK_STR(t.nodes[1].title_path, "A > B");
        CHECK_INT(t.nodes[0].start_index, 2);
        CHECK_INT(t.nodes[0].end_index, 4);
        CHECK_INT(t.nodes[1].start_index, 3);
        arena_release(&a);
    }
}

TEST(a_bad_tree_is_refused_with_the_path_of_what_is_wrong)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"7", "a tree is an object or a list of nodes"},
        {"{}", "structure: is missing: a list of nodes is expected"},
        {"{\"structure\":7}", "structure: a list of nodes is expected"},
        {"[{\"title\":\"A\"},{}]", "[1].title: is missing"},
        {"[{\"title\":7}]", "[0].title: a string is expected, not a number"},
        {"[7]", "[0]: an object is expected, not a number"},
        {"{\"nodes\":[{\"title\":\"A\",\"nodes\":[{\"title\":\"B\",\"start_index\":0}]}]}",
         "nodes[0].nodes[0].start_index: a page is a whole number from 1"},
        {"[{\"title\":\"A\",\"start_index\":3,\"end_index\":2}]",
         "[0].end_index: is before start_index"},
        {"[{\"title\":\"A\",\"node_id\":\"1\"},{\"title\":\"B\",\"node_id\":\"1\"}]",
         "[1].node_id: another node has it too"},
        {"[{\"title\":\"A\",\"nodes\":{}}]", "[0].nodes: a list of nodes is expected"},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct policy_tree t;
        struct arena a;
        struct err e;

        arena_init(&a, POLICY_ARENA_MAX);
        CHECK(!policy_tree_read(str_c(cases[i].text), STR("n"), &a, &t, &e));
        CHECK_STR(str_c(e.text), cases[i].want);
        arena_release(&a);
    }
}

TEST(a_tree_too_deep_or_too_wide_is_refused)
{
    struct policy_tree t;
    struct arena a;
    struct buf b;
    struct err e;

    buf_init(&b, 1 << 20);
    for (int i = 0; i < 65; i++)
        buf_add(&b, STR("[{\"title\":\"A\",\"nodes\":"));
    buf_add(&b, STR("[]"));
    for (int i = 0; i < 65; i++)
        buf_add(&b, STR("}]"));
    arena_init(&a, POLICY_ARENA_MAX);
    CHECK(!policy_tree_read(buf_str(&b), STR("n"), &a, &t, &e));
    CHECK_INT(e.code, ERR_LIMIT);
    buf_reset(&b);
    for (int i = 0; i <= POLICY_NODES_MAX; i++)
        buf_add(&b, STR("#\n"));
    CHECK(!policy_tree_markdown(buf_str(&b), STR("n"), &a, &t, &e));
    CHECK_INT(e.code, ERR_LIMIT);
    arena_release(&a);
    buf_release(&b);
}

/* Texts that cost a naive reader quadratic time. */
TEST(large_policies_are_read_in_linear_time)
{
    static const char *const pieces[] = {
        "<!-- ", "`", "# a <!--\n", "[", "- ", "> ", "a\n", "<a b='"};
    size_t size = 8 << 20;

    for (size_t i = 0; i < COUNT_OF(pieces); i++) {
        uint64_t began = clock_mono_ms(&clock_real);
        struct policy_tree t;
        struct arena a;
        struct buf b;
        struct err e;

        buf_init(&b, size + 64);
        while (b.n < size)
            buf_add(&b, str_c(pieces[i]));
        arena_init(&a, POLICY_ARENA_MAX);
        (void)!policy_tree_markdown(buf_str(&b), STR("n"), &a, &t, &e);
        CHECK_F(clock_mono_ms(&clock_real) - began < 20000, "slow on %s", pieces[i]);
        arena_release(&a);
        buf_release(&b);
    }
}

TEST(a_title_cut_between_two_words_is_the_same_after_it_is_read_back)
{
    struct policy_tree t, back;
    struct buf text, json;
    struct arena a;
    struct err e;

    buf_init(&text, 1 << 16);
    buf_add(&text, STR("# "));
    while (text.n < POLICY_TITLE_MAX + 1)
        buf_add_c(&text, 'x');
    buf_add(&text, STR(" more words\n"));
    buf_add_c(&text, 0);
    parse(text.p, &a, &t);
    CHECK_INT(t.nodes[0].title.n, POLICY_TITLE_MAX - 1);
    CHECK_F(policy_tree_read(written(&t, true, &json), STR("x"), &a, &back, &e), "%s", e.text);
    CHECK(str_eq(back.nodes[0].title, t.nodes[0].title));
    arena_release(&a);
    buf_release(&json);
    buf_release(&text);
}

TEST(nodes_are_found_by_id_title_and_place)
{
    const struct policy_node *n;
    struct policy_tree t;
    struct arena a;

    parse("# A\n## B\n### C\n## D\n# E\n## B\n", &a, &t);
    CHECK(policy_node_find(&t, STR("0003")) == &t.nodes[2]);
    CHECK(!policy_node_find(&t, STR("3")));
    CHECK(policy_node_titled(&t, STR("a > b > c")) == &t.nodes[2]);
    CHECK(policy_node_titled(&t, STR("D")) == &t.nodes[3]);
    CHECK(!policy_node_titled(&t, STR("B"))); /* ambiguous: two nodes have this title */
    CHECK(policy_node_titled(&t, STR("E > B")) == &t.nodes[5]);
    n = policy_child(&t, &t.nodes[0]);
    CHECK(n == &t.nodes[1] && policy_sibling(&t, n) == &t.nodes[3]);
    CHECK(!policy_sibling(&t, &t.nodes[3]) && policy_sibling(&t, &t.nodes[0]) == &t.nodes[4]);
    CHECK(policy_parent(&t, &t.nodes[2]) == &t.nodes[1] && !policy_parent(&t, &t.nodes[4]));
    arena_release(&a);
}

TEST(comments_of_a_heading_are_read_once)
{
    struct policy_tree t;
    struct arena a;
    struct buf b;
    struct err e;

    arena_init(&a, POLICY_ARENA_MAX);
    buf_init(&b, (size_t)8 << 20);
    buf_add(&b, STR("# Age "));
    for (int i = 0; i < 1000000; i++)
        buf_add(&b, STR("<!--"));
    buf_add(&b, STR("--> <!-- page 7 -->\n\ntext\n"));
    CHECK_F(policy_tree_markdown(buf_str(&b), STR("doc"), &a, &t, &e), "%s", e.text);
    CHECK_STR(t.nodes[0].title, "Age");
    CHECK_INT(t.nodes[0].end_index, 7);
    buf_release(&b);
    arena_release(&a);
}

TEST_MAIN(T(comments_of_a_heading_are_read_once),
          T(headings_are_those_of_commonmark_and_nest_by_level),
          T(pages_begin_at_their_markers_and_markers_are_no_text), T(what_is_wrong_has_its_line),
          T(comments_are_no_text), T(a_summary_is_whole_sentences_from_the_front),
          T(a_tree_read_back_from_its_json_is_the_same), T(trees_of_pageindex_are_read),
          T(a_bad_tree_is_refused_with_the_path_of_what_is_wrong),
          T(a_tree_too_deep_or_too_wide_is_refused), T(large_policies_are_read_in_linear_time),
          T(a_title_cut_between_two_words_is_the_same_after_it_is_read_back),
          T(nodes_are_found_by_id_title_and_place))
