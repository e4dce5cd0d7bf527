/* policy_search_test.c - search in a policy, and the tools that need no model.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/fact_tools.h"
#include "base/utf8.h"
#include "test.h"

#include <pthread.h>

static const char policy[] =
    "---\ntitle: Plan\nversion: v3\neffective_start: 2024-01-01\neffective_end: 2024-06-30\n---\n"
    "# Plan\nAbout this plan.\n"
    "## Age\nThe patient must be 18 or older. Children are not covered; see section Exclusions.\n"
    "## Treatment\n<!-- page 2 -->\nSix weeks of conservative treatment are required. Physical "
    "therapy counts. Rest does not.\n"
    "### Red flags\nA red flag such as na\xC3\xAFve \xE2\x80\x9Cquoted\xE2\x80\x9D text waives "
    "it.\n"
    "## Codes\nAccepted codes: M54.5, M54.16, G83.x and 72141-72158.\n"
    "## Exclusions\n\n### Empty\n";

static struct policy_doc *open_doc(const char *id, const char *text)
{
    struct policy_doc *d;
    struct err e;

    CHECK_F(policy_doc_parse(str_c(id), STR("plan.md"), str_c(text), &d, &e), "%s", e.text);
    return d;
}

static struct policy_hits search(const struct policy_doc *d, str query, unsigned k,
                                 const struct policy_pick *pick, struct arena *a)
{
    struct policy_hits h;
    struct err e;

    CHECK_F(policy_search(d, &(struct policy_question){query, k, pick}, a, &h, &e), "%s", e.text);
    return h;
}

TEST(the_section_that_answers_comes_first)
{
    static const struct {
        const char *query, *title;
    } cases[] = {
        {"how old must the patient be", "Age"},
        {"age", "Age"},
        {"conservative treatment weeks", "Treatment"},
        {"red flag", "Red flags"},
        {"M54.16", "Codes"},
        {"RED-FLAGS", "Red flags"},
    };
    struct policy_doc *d = open_doc("plan", policy);

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct arena a;
        struct policy_hits h;

        arena_init(&a, POLICY_ARENA_MAX);
        h = search(d, str_c(cases[i].query), 3, NULL, &a);
        CHECK_F(h.n > 0 && h.n <= 3, "%s", cases[i].query);
        CHECK_STR(h.hits[0].node->title, cases[i].title);
        CHECK(h.confidence > 0 && h.confidence <= 1);
        CHECK_STR(str_c(h.method), "bm25+reranker");
        CHECK_STR(h.trajectory[0], "Plan");
        CHECK(str_eq(h.trajectory[h.trajectory_n - 1], h.hits[0].node->title));
        arena_release(&a);
    }
    policy_doc_free(d);
}

/* Quotes, hyphens, operators and column names of FTS5 in a query are ordinary words. */
TEST(any_query_is_safe)
{
    static const char *const queries[] = {
        "",
        " ",
        "\"",
        "\"\"\"",
        "red-flag",
        "NEAR(",
        "NEAR/3",
        "age OR",
        "AND",
        "NOT age",
        "title:age",
        "-age",
        "a*",
        "^age",
        "(age",
        "{title} : age",
        "age + treatment",
        "'; DROP TABLE passage; --",
        "\xE2\x80\x94",
        "na\xC3\xAFve",
        "\xF0\x9F\x9A\x80",
        "\xFF\xFE bad bytes",
        "%s%n",
    };
    struct policy_doc *d = open_doc("plan", policy);
    struct arena a;
    struct buf big;

    arena_init(&a, POLICY_ARENA_MAX);
    for (size_t i = 0; i < COUNT_OF(queries); i++) {
        struct policy_hits h = search(d, str_c(queries[i]), 3, NULL, &a);
        struct policy_spans s;
        struct err e;

        CHECK(h.n > 0 || strcmp(h.reason_code, "no_matches") == 0);
        CHECK_F(policy_spans(d, &d->tree.nodes[1], str_c(queries[i]), &a, &s, &e), "%s", e.text);
    }
    CHECK_INT(search(d, STR(""), 3, NULL, &a).n, 0);
    CHECK_INT(search(d, (str){"a\0b", 3}, 3, NULL, &a).n > 3, 0);
    buf_init(&big, 1 << 20);
    for (int i = 0; i < 20000; i++)
        buf_printf(&big, "w%d \"( ", i);
    buf_add(&big, STR(" age"));
    (void)search(d, buf_str(&big), 3, NULL, &a);
    buf_release(&big);
    arena_release(&a);
    policy_doc_free(d);
}

TEST(a_preview_is_at_most_200_characters_and_whole_ones)
{
    struct policy_doc *d;
    struct policy_hits h;
    struct arena a;
    struct buf b;

    buf_init(&b, 1 << 16);
    buf_add(&b, STR("# Zebra\n"));
    for (int i = 0; i < 500; i++)
        buf_add(&b, STR("\xC3\xA9"));
    buf_add_c(&b, 0);
    d = open_doc("p", b.p);
    arena_init(&a, POLICY_ARENA_MAX);
    h = search(d, STR("zebra"), 0, NULL, &a);
    CHECK_INT(h.n, 1);
    CHECK_INT(utf8_count(h.hits[0].preview), 200);
    CHECK(utf8_valid(h.hits[0].preview));
    arena_release(&a);
    policy_doc_free(d);
    buf_release(&b);
}

struct picks {
    const char *ids[4];
    size_t n;
    bool fails;
    bool saw_text;
};

static bool pick(void *ctx, str question, str tree, struct arena *a, struct policy_ids *out,
                 struct err *e)
{
    struct picks *p = ctx;

    (void)question, (void)a;
    p->saw_text = str_find(tree, STR("\"text\"")) != STR_NONE;
    for (out->n = 0; out->n < p->n; out->n++)
        out->at[out->n] = str_c(p->ids[out->n]);
    return !p->fails || err_set(e, ERR_UPSTREAM, "no model");
}

TEST(a_models_picks_come_first_and_ids_it_made_up_are_left_out)
{
    struct policy_doc *d = open_doc("plan", policy);
    struct picks p = {.ids = {"0099", "0005", "0002"}, .n = 3};
    struct policy_pick with = {pick, &p};
    struct policy_hits h;
    struct arena a;

    arena_init(&a, POLICY_ARENA_MAX);
    h = search(d, STR("age"), 3, &with, &a);
    CHECK(h.n >= 2);
    CHECK_STR(h.hits[0].node->node_id, "0005");
    CHECK(!p.saw_text);
    CHECK(strcmp(h.method, "pageindex-llm") == 0 || strcmp(h.method, "pageindex-hybrid") == 0);
    p.fails = true;
    h = search(d, STR("age"), 3, &with, &a);
    CHECK_STR(str_c(h.method), "bm25+reranker");
    CHECK_STR(h.hits[0].node->title, "Age");
    p = (struct picks){.ids = {"9999"}, .n = 1};
    h = search(d, STR("age"), 3, &with, &a);
    CHECK_STR(str_c(h.method), "bm25+reranker");
    arena_release(&a);
    policy_doc_free(d);
}

/* A model that selects the given titles, from the top of the tree down to the answer. */
struct guide {
    const char *way[4]; /* titles, from the top */
    size_t prompts, largest, most_nodes, wrong;
    unsigned fails_at; /* the prompt that fails; 0: none */
};

static bool guide_pick(void *ctx, str question, str tree, struct arena *a, struct policy_ids *out,
                       struct err *e)
{
    struct guide *g = ctx;
    const struct json_node *list;
    struct json doc;
    str title, id;
    size_t nodes = 0;

    (void)question;
    g->prompts++;
    g->largest = tree.n > g->largest ? tree.n : g->largest;
    json_init(&doc);
    CHECK_F(json_parse(&doc, tree, e), "%s", e->text);
    list = json_find(&doc, json_root(&doc), STR("structure"));
    out->n = 0;
    for (const struct json_node *v = json_first(&doc, list); v; v = json_next(&doc, list, v)) {
        CHECK(json_text(&doc, json_find(&doc, v, STR("title")), a, &title));
        CHECK(json_text(&doc, json_find(&doc, v, STR("node_id")), a, &id));
        CHECK(!json_find(&doc, v, STR("nodes"))); /* the prompt has one level only */
        for (size_t i = 0; i < COUNT_OF(g->way) && out->n < 4; i++)
            if (g->way[i] && str_eq(title, str_c(g->way[i])))
                out->at[out->n++] = arena_dup(a, id);
    }
    nodes = 0;
    for (const struct json_node *v = json_first(&doc, list); v; v = json_next(&doc, list, v)) {
        CHECK(json_text(&doc, json_find(&doc, v, STR("node_id")), a, &id));
        if (nodes++ < g->wrong && out->n < 4) /* and then some wrong nodes */
            out->at[out->n++] = arena_dup(a, id);
    }
    g->most_nodes = nodes > g->most_nodes ? nodes : g->most_nodes;
    json_release(&doc);
    return g->prompts != g->fails_at || err_set(e, ERR_UPSTREAM, "no model");
}

/* 21 chapters with 20 parts of 25 sections each. */
static struct policy_doc *large_doc(void)
{
    struct policy_doc *d;
    struct buf b;
    struct err e;

    buf_init(&b, (size_t)16 << 20);
    for (int c = 0; c < 21; c++) {
        buf_printf(&b, "# Chapter %d\n\nAbout part %d of the work.\n\n", c, c);
        for (int p = 0; p < 20; p++) {
            buf_printf(&b, "## Part %d.%d\n\n", c, p);
            for (int s = 0; s < 25; s++)
                buf_printf(&b,
                           "### Section %d.%d.%d\n\nThe desk is cleaned every week by the office, "
                           "which keeps a list of names for it and a key for the room.\n\n",
                           c,
                           p,
                           s);
        }
    }
    CHECK_F(policy_doc_parse(STR("big"), STR("big.md"), buf_str(&b), &d, &e), "%s", e.text);
    buf_release(&b);
    CHECK_INT(d->tree.node_count, 21 + 21 * 20 + 10500);
    return d;
}

TEST(a_large_tree_is_searched_level_by_level_in_bounded_prompts)
{
    static const struct {
        struct guide g;
        const char *title, *method;
        size_t prompts_max;
    } cases[] = {
        {{.way = {"Chapter 13", "Part 13.7", "Section 13.7.21"}},
         "Section 13.7.21",
         "pageindex-",
         3},
        {{.way = {"Chapter 20", "Part 20.19", "Section 20.19.24"}, .wrong = 3},
         "Section 20.19.24",
         "pageindex-",
         9},
        {{.way = {"Chapter 4"}}, "Chapter 4", "pageindex-", 2}, /* the chapter's own text */
        {{.way = {"Chapter 1", "Part 1.1"}, .fails_at = 2}, NULL, "bm25+reranker", 2},
        {{.way = {"Nothing"}}, NULL, "bm25+reranker", 1},
    };
    struct policy_doc *d = large_doc();

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct guide g = cases[i].g;
        struct policy_pick with = {guide_pick, &g};
        struct policy_hits h;
        bool found = !cases[i].title;
        struct arena a;

        arena_init(&a, POLICY_ARENA_MAX);
        h = search(d, STR("who cleans the desk"), 5, &with, &a);
        for (size_t k = 0; k < h.n; k++)
            found = found || str_eq(h.hits[k].node->title, str_c(cases[i].title));
        CHECK_F(found, "case %zu: not found", i);
        CHECK_F(str_starts(str_c(h.method), str_c(cases[i].method)), "case %zu: %s", i, h.method);
        CHECK_F(g.prompts <= cases[i].prompts_max, "case %zu: %zu prompts", i, g.prompts);
        CHECK_F(g.largest <= 32768 && g.most_nodes <= 64, "%zu bytes", g.largest);
        arena_release(&a);
    }
    policy_doc_free(d);
}

TEST(a_level_that_is_too_wide_is_narrowed_by_the_index)
{
    struct guide g = {.way = {"Rule of the lighthouse"}};
    struct policy_pick with = {guide_pick, &g};
    struct policy_doc *d;
    struct policy_hits h;
    struct arena a;
    struct buf b;
    struct err e;

    buf_init(&b, (size_t)16 << 20);
    for (int i = 0; i < 5000; i++)
        buf_printf(&b,
                   "# %s %d\n\nIt is clean.\n\n",
                   i == 4321 ? "Rule of the lighthouse\n\nNumber" : "Rule",
                   i);
    CHECK_F(policy_doc_parse(STR("f"), STR("f.md"), buf_str(&b), &d, &e), "%s", e.text);
    buf_release(&b);
    arena_init(&a, POLICY_ARENA_MAX);
    h = search(d, STR("lighthouse"), 3, &with, &a);
    CHECK(h.n > 0);
    CHECK_STR(h.hits[0].node->title, "Rule of the lighthouse");
    CHECK_F(g.prompts <= 5 && g.largest <= 32768, "%zu prompts", g.prompts);
    arena_release(&a);
    policy_doc_free(d);
}

TEST(spans_are_sentences_with_their_places)
{
    struct policy_doc *d = open_doc("plan", policy);
    const struct policy_node *n = policy_node_titled(&d->tree, STR("Treatment"));
    struct policy_spans s;
    struct json_out o;
    struct arena a;
    struct buf b;
    struct err e;

    arena_init(&a, POLICY_ARENA_MAX);
    CHECK(policy_spans(d, n, STR("does physical therapy count"), &a, &s, &e));
    CHECK(s.n > 0);
    CHECK_STR(s.spans[0].text, "Physical therapy counts.");
    CHECK(str_eq(str_slice(n->text, s.spans[0].from, s.spans[0].to), s.spans[0].text));
    CHECK_INT(s.spans[0].page, 2);
    CHECK(s.spans[0].score > 0 && s.spans[0].score <= 1);
    n = policy_node_titled(&d->tree, STR("Red flags"));
    CHECK(policy_spans(d, n, STR("\"quoted\""), &a, &s, &e));
    CHECK_INT(s.n, 1);
    buf_init(&b, 1 << 16);
    json_out_init(&o, &b);
    policy_spans_json(n, &s, &o);
    CHECK(json_out_ok(&o, &e));
    CHECK(str_find(buf_str(&b), STR("\"start\":0,\"end\":49")) != STR_NONE);
    buf_release(&b);
    arena_release(&a);
    policy_doc_free(d);
}

static void *ask_often(void *ctx)
{
    const struct policy_doc *d = ctx;
    struct arena a;

    arena_init(&a, POLICY_ARENA_MAX);
    for (int i = 0; i < 200; i++) {
        struct policy_hits h;
        struct err e;

        if (!policy_search(d, &(struct policy_question){STR("red flag"), 2, NULL}, &a, &h, &e) ||
            !str_eq(h.hits[0].node->title, STR("Red flags")))
            return ctx;
        arena_reset(&a);
    }
    arena_release(&a);
    return NULL;
}

TEST(threads_may_ask_one_document)
{
    struct policy_doc *d = open_doc("plan", policy);
    pthread_t threads[4];

    for (size_t i = 0; i < COUNT_OF(threads); i++)
        CHECK(pthread_create(&threads[i], NULL, ask_often, d) == 0);
    for (size_t i = 0; i < COUNT_OF(threads); i++) {
        void *wrong;

        CHECK(pthread_join(threads[i], &wrong) == 0 && !wrong);
    }
    policy_doc_free(d);
}

static bool has(struct buf *b, const char *part)
{
    return str_find(buf_str(b), str_c(part)) != STR_NONE;
}

TEST(cross_references_lead_to_their_sections)
{
    struct policy_doc *d = open_doc("plan", policy);
    struct json_out o;
    struct arena a;
    struct buf b;
    struct err e;

    arena_init(&a, POLICY_ARENA_MAX);
    buf_init(&b, 1 << 16);
    json_out_init(&o, &b);
    policy_xref(d, STR("plan:age"), &a, &o);
    CHECK_F(json_out_ok(&o, &e), "%s", e.text);
    CHECK(has(&b, "\"sections\":[{\"node_id\":\"0002\""));
    CHECK(has(&b, "\"target_section\":\"Plan > Exclusions\""));
    buf_reset(&b);
    json_out_init(&o, &b);
    policy_xref(d, STR(""), &a, &o);
    CHECK(has(&b, "\"success\":false"));
    buf_release(&b);
    arena_release(&a);
    policy_doc_free(d);
}

TEST(the_version_in_force_is_told_by_the_day)
{
    static const struct {
        const char *id, *date, *want;
    } cases[] = {
        {"plan", "2024-01-01", "\"version\":\"v3\""},
        {"plan", "2024-06-30", "\"document_id\":\"plan@1\""},
        {"Plan", "2024-07-01", "\"version\":\"v4\""},
        {"plan@1", "2024-03-01", "\"version\":\"v3\""},
        {"plan", "2023-12-31", "\"error\":\"no_version_in_force\""},
        {"other", "2024-01-01", "\"error\":\"policy_not_found\""},
        {"plan", "2024-13-01", "\"error\":\"invalid_date\""},
        {"plan", "yesterday", "\"error\":\"invalid_date\""},
    };
    struct policy_doc *docs[] = {
        open_doc("plan@1", policy),
        open_doc("plan@2",
                 "---\ntitle: Plan\nversion: v4\neffective_start: 2024-07-01\n---\n# P\nx"),
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct json_out o;
        struct buf b;
        struct err e;

        buf_init(&b, 1 << 16);
        json_out_init(&o, &b);
        policy_temporal((const struct policy_doc *const *)docs,
                        2,
                        str_c(cases[i].id),
                        str_c(cases[i].date),
                        &o);
        CHECK_F(json_out_ok(&o, &e), "%s", e.text);
        CHECK_F(has(&b, cases[i].want), "%s: " STR_FMT, cases[i].want, STR_ARG(buf_str(&b)));
        buf_release(&b);
    }
    policy_doc_free(docs[0]);
    policy_doc_free(docs[1]);
}

TEST(codes_have_a_form_and_may_be_listed)
{
    static const struct {
        const char *icd10, *cpt, *want;
    } cases[] = {
        {"M54.5", "", "\"valid_format\":true,\"listed\":true"},
        {"m54.16", "", "\"valid_format\":true,\"listed\":true"},
        {"M54.1", "", "\"valid_format\":true,\"listed\":false"},
        {"G83.4", "", "\"valid_format\":true,\"listed\":true"},
        {"54.5", "", "\"valid_format\":false,\"listed\":false"},
        {"M54.", "", "\"valid_format\":false"},
        {"M54.12345", "", "\"valid_format\":false"},
        {"S72.001A", "", "\"valid_format\":true"},
        {"C4A.0", "", "\"valid_format\":true"},
        {"", "72148", "\"valid_format\":true,\"listed\":true"},
        {"", "72140", "\"valid_format\":true,\"listed\":false"},
        {"", "0001F", "\"valid_format\":true"},
        {"", "7214", "\"valid_format\":false"},
        {"", "7214A", "\"valid_format\":false"},
        {"", "", "\"success\":false,\"error\":\"missing_code\""},
        {"M54.5, E11.9", "72148", "\"valid\":true"},
        {"M54.5, ???", "72148", "\"valid\":false"},
    };
    struct policy_doc *d = open_doc("plan", policy);

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct json_out o;
        struct arena a;
        struct buf b;
        struct err e;

        arena_init(&a, POLICY_ARENA_MAX);
        buf_init(&b, 1 << 16);
        json_out_init(&o, &b);
        policy_codes(d, str_c(cases[i].icd10), str_c(cases[i].cpt), &a, &o);
        CHECK_F(json_out_ok(&o, &e), "%s", e.text);
        CHECK_F(has(&b, cases[i].want), "%s: " STR_FMT, cases[i].want, STR_ARG(buf_str(&b)));
        buf_release(&b);
        arena_release(&a);
    }
    policy_doc_free(d);
}

static void tool(void (*fn)(const struct json *, const struct json_node *, struct arena *,
                            struct json_out *),
                 const char *args, const char *want)
{
    struct json_out o;
    struct json doc;
    struct arena a;
    struct buf b;
    struct err e;

    arena_init(&a, POLICY_ARENA_MAX);
    json_init(&doc);
    CHECK_F(json_parse(&doc, str_c(args), &e), "%s", e.text);
    buf_init(&b, 1 << 16);
    json_out_init(&o, &b);
    fn(&doc, json_root(&doc), &a, &o);
    CHECK_F(json_out_ok(&o, &e), "%s", e.text);
    CHECK_F(has(&b, want), "%s: " STR_FMT, want, STR_ARG(buf_str(&b)));
    buf_release(&b);
    json_release(&doc);
    arena_release(&a);
}

TEST(several_results_have_one_confidence)
{
    tool(policy_confidence_score,
         "{\"criteria_results\":[{\"status\":\"met\",\"confidence\":0.8},{\"status\":\"ready\","
         "\"confidence\":0.2}]}",
         "\"score\":0.4,\"mean\":0.5,\"lowest\":0.2,\"count\":2,\"met\":2,\"missing\":0,"
         "\"uncertain\":0,"
         "\"overall_status\":\"met\",\"abstain\":true");
    tool(policy_confidence_score, "{\"criteria_results\":[]}", "\"error\":\"missing_results\"");
    tool(policy_confidence_score, "{}", "\"success\":false");
    tool(policy_confidence_score,
         "{\"criteria_results\":[{\"status\":\"fine\",\"confidence\":0.8}]}",
         "\"error\":\"invalid_result\"");
    tool(policy_confidence_score,
         "{\"criteria_results\":[{\"status\":\"met\"}]}",
         "\"error\":\"invalid_result\"");
}

TEST(support_and_opposition_of_one_criterion_contradict)
{
    tool(policy_contradictions,
         "{\"findings\":[{\"criterion_id\":\"age\",\"evidence\":[{\"node_id\":\"1\",\"stance\":"
         "\"support\"},{\"snippet\":\"no\",\"stance\":\"oppose\"},{\"stance\":\"neutral\"}]}]}",
         "\"count\":1,\"has_contradictions\":true");
    tool(policy_contradictions,
         "{\"findings\":[{\"criterion_id\":\"a\",\"evidence\":[{\"node_id\":\"1\",\"stance\":"
         "\"support\"}]},{\"criterion_id\":\"b\",\"evidence\":[{\"node_id\":\"1\",\"stance\":"
         "\"oppose\"}]}]}",
         "\"kind\":\"same_node\"");
    tool(policy_contradictions,
         "{\"findings\":[{\"criterion_id\":\"a\",\"evidence\":[{\"stance\":\"support\"}]},"
         "{\"criterion_id\":\"b\",\"evidence\":[{\"stance\":\"oppose\"}]}]}",
         "\"count\":0,\"has_contradictions\":false");
    tool(policy_contradictions,
         "{\"findings\":[{\"criterion_id\":\"a\",\"evidence\":[{\"stance\":\"maybe\"}]}]}",
         "\"error\":\"invalid_finding\"");
    tool(policy_contradictions, "{\"findings\":7}", "\"error\":\"missing_findings\"");
}

TEST_MAIN(T(a_large_tree_is_searched_level_by_level_in_bounded_prompts),
          T(a_level_that_is_too_wide_is_narrowed_by_the_index),
          T(the_section_that_answers_comes_first), T(any_query_is_safe),
          T(a_preview_is_at_most_200_characters_and_whole_ones),
          T(a_models_picks_come_first_and_ids_it_made_up_are_left_out),
          T(spans_are_sentences_with_their_places), T(threads_may_ask_one_document),
          T(cross_references_lead_to_their_sections), T(the_version_in_force_is_told_by_the_day),
          T(codes_have_a_form_and_may_be_listed), T(several_results_have_one_confidence),
          T(support_and_opposition_of_one_criterion_contradict))
