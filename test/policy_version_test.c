/* policy_version_test.c - versions of policies by name and by date, and quotes found in texts.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/passage.h"
#include "apps/policy/version.h"
#include "test.h"

static struct policy_doc *version_doc(const char *id, const char *version, const char *from,
                                      const char *to)
{
    struct policy_doc *d;
    struct buf b;
    struct err e;

    buf_init(&b, 4096);
    buf_printf(&b, "---\nversion: %s\n", version);
    if (from)
        buf_printf(&b, "effective_from: %s\n", from);
    if (to)
        buf_printf(&b, "effective_to: %s\n", to);
    buf_add(&b, STR("---\n# Rule\n\nText.\n"));
    CHECK(policy_doc_parse(str_c(id), STR("p.md"), buf_str(&b), &d, &e));
    buf_release(&b);
    return d;
}

TEST(days_are_days_of_the_calendar)
{
    static const struct {
        const char *text;
        bool good;
    } cases[] = {
        {"2026-11-17", true},
        {"2024-02-29", true},
        {"2023-02-29", false},
        {"2000-02-29", true},
        {"1900-02-29", false},
        {"2026-04-31", false},
        {"2026-00-01", false},
        {"2026-13-01", false},
        {"2026-1-1", false},
        {"20261117", false},
        {"", false},
        {"2026-11-17T", false},
        {"2026/11/17", false},
        {"2026-12-00", false},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++)
        CHECK(policy_is_day(str_c(cases[i].text)) == cases[i].good);
}

TEST(a_version_is_found_by_name_and_by_day)
{
    static const struct {
        const char *id, *version, *as_of;
        const char *want; /* the version; "" no such document; NULL: refused */
    } cases[] = {
        {"plan", "", "", "3"},
        {"plan", "1", "", "1"},
        {"plan", "", "2020-01-01", "1"},
        {"plan", "", "2020-12-31", "1"},
        {"plan", "", "2021-06-01", "2"}, /* version 3 applies too, but started earlier */
        {"plan", "", "2022-01-01", "3"},
        {"plan", "2", "2021-06-01", "2"},
        {"plan", "1", "2021-06-01", NULL},
        {"plan", "", "2019-12-31", NULL},
        {"plan", "9", "", NULL},
        {"plan", "", "soon", NULL},
        {"other", "9", "2019-12-31", ""},
        {"", "", "", ""},
        {"PLAN", "2", "", "2"},
    };
    struct policy_doc *docs[] = {version_doc("plan", "1", "2020-01-01", "2020-12-31"),
                                 version_doc("plan", "3", "2021-01-01", NULL),
                                 version_doc("plan", "2", "2021-06-01", "2021-12-31")};
    const struct policy_doc *const *all = (const struct policy_doc *const *)docs;
    struct err e;

    CHECK(policy_versions_check(all, COUNT_OF(docs), &e));
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct policy_want w = {
            str_c(cases[i].id), str_c(cases[i].version), str_c(cases[i].as_of), STR("2026-11-17")};
        const struct policy_doc *d;
        bool ok = policy_version_find(all, COUNT_OF(docs), &w, &d, &e);

        CHECK(ok == (cases[i].want != NULL));
        if (ok)
            CHECK_STR(d ? policy_doc_version(d) : STR(""), cases[i].want);
    }
    for (size_t i = 0; i < COUNT_OF(docs); i++)
        policy_doc_free(docs[i]);
}

TEST(versions_under_ids_of_their_own_are_told_apart_or_refused)
{
    static const struct {
        const char *id, *version, *as_of;
        const char *want;    /* the document's id; NULL: refused */
        const char *refusal; /* part of the error */
    } cases[] = {
        {"plan@a", "", "", "plan@a", NULL},
        {"plan", "1", "", "plan@a", NULL},
        {"plan", "2", "", "plan:b", NULL},
        {"plan", "", "2026-01-01", NULL, "\"plan@a\" and \"plan:b\" are both versions of \"plan\""},
        {"plan",
         "",
         "",
         "plan@c",
         NULL}, /* the latest start; its date has spaces and a time */
        {"plan", "", "2026-02-01", "plan@c", NULL},
        {"rent", "", "", "rent", NULL}, /* an exact id */
        {"rent", "7", "", "rent", NULL},
        {"rent@2", "", "", "rent@2", NULL},
        {"loan", "5", "", NULL, "\"loan@x\" and \"loan@y\" are both version \"5\"; name one"},
    };
    struct policy_doc *docs[] = {version_doc("plan@a", "1", "2026-01-01", NULL),
                                 version_doc("plan:b", "2", "2026-01-01T00:00:00Z", NULL),
                                 version_doc("plan@c", "3", "\" 2026-02-01T08:00\"", NULL),
                                 version_doc("rent@2", "7", NULL, NULL),
                                 version_doc("rent", "7", NULL, NULL),
                                 version_doc("loan@x", "5", "2026-01-01", NULL),
                                 version_doc("loan@y", "5", "2026-02-01", NULL)};
    const struct policy_doc *const *all = (const struct policy_doc *const *)docs;
    struct err e;

    CHECK_F(policy_versions_check(all, COUNT_OF(docs), &e), "%s", e.text);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct policy_want w = {
            str_c(cases[i].id), str_c(cases[i].version), str_c(cases[i].as_of), STR("2026-11-17")};
        const struct policy_doc *d;
        bool ok = policy_version_find(all, COUNT_OF(docs), &w, &d, &e);

        CHECK_F(ok == (cases[i].want != NULL), "%zu", i);
        if (ok)
            CHECK_STR(d ? d->id : STR(""), cases[i].want);
        else
            CHECK_F(strstr(e.text, cases[i].refusal), "%s", e.text);
    }
    for (size_t i = 0; i < COUNT_OF(docs); i++)
        policy_doc_free(docs[i]);
}

TEST(many_versions_fit_into_a_refusal)
{
    struct policy_doc *docs[40];
    struct policy_want w = {STR("plan"), STR("none"), STR(""), STR("2026-11-17")};
    const struct policy_doc *d;
    struct err e;

    for (size_t i = 0; i < COUNT_OF(docs); i++) {
        char name[16], day[16];

        (void)snprintf(name, sizeof name, "%zu", i);
        (void)snprintf(day, sizeof day, "20%02zu-01-01", i);
        docs[i] = version_doc("plan", name, day, NULL);
    }
    CHECK(!policy_version_find((const struct policy_doc *const *)docs, COUNT_OF(docs), &w, &d, &e));
    CHECK(strstr(e.text, "0 (from 2000-01-01), 1 (from 2001-01-01)") != NULL);
    CHECK(strstr(e.text, " more") != NULL);
    for (size_t i = 0; i < COUNT_OF(docs); i++)
        policy_doc_free(docs[i]);
}

TEST(a_quote_is_found_whatever_its_white_space)
{
    static const struct {
        const char *text, *quote;
        int from, to; /* -1: not found */
    } cases[] = {
        {"one two three", "two", 4, 7},
        {"one  two\n three", "two three", 5, 15},
        {"one two", " two ", 4, 7},
        {"one two", "one two three", -1, 0},
        {"onetwo", "one two", -1, 0},
        {"one two", "", -1, 0},
        {"", "one", -1, 0},
        {"aab", "ab", 1, 3},
        {"caf\xC3\xA9 noir", "caf\xC3\xA9", 0, 5},
        {"One", "one", -1, 0},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        size_t from = 0, to = 0;
        bool found = policy_quote_find(str_c(cases[i].text), str_c(cases[i].quote), &from, &to);

        CHECK(found == (cases[i].from >= 0));
        if (found) {
            CHECK_INT((int64_t)from, cases[i].from);
            CHECK_INT((int64_t)to, cases[i].to);
        }
    }
}

TEST(a_long_page_is_shown_around_its_sentence)
{
    struct policy_result r = {.criterion_id = STR("age"),
                              .rationale = STR("by \"The \xC3\xA4ge must be 18.\" so it is met."),
                              .citation = {.section = STR("Rule")}};
    struct policy_passage p;
    struct policy_doc *d;
    struct json_out o;
    struct arena a;
    struct buf text, json;
    struct err e;

    arena_init(&a, 1 << 26);
    buf_init(&text, 1 << 20);
    buf_init(&json, 1 << 20);
    buf_add(&text, STR("# Rule\n\n"));
    for (int i = 0; i < 3000; i++)
        buf_add(&text, STR("W\xC3\xB6rter vorher. "));
    buf_add(&text, STR("The \xC3\xA4ge must\nbe 18. "));
    for (int i = 0; i < 3000; i++)
        buf_add(&text, STR("Words after it. "));
    CHECK(policy_doc_parse(STR("p"), STR("p.md"), buf_str(&text), &d, &e));
    policy_passage(d, &r, &a, &p);
    CHECK_STR(str_slice(p.node->text, p.from, p.to), "The \xC3\xA4ge must\nbe 18.");
    json_out_init(&o, &json);
    policy_passage_json(d, &p, &o);
    CHECK(json_out_ok(&o, &e));
    CHECK(json.n < 2 * POLICY_PASSAGE_MAX);
    CHECK(str_find(buf_str(&json), STR("\"truncated\":true")) != STR_NONE);
    CHECK(str_find(buf_str(&json), STR("The \xC3\xA4ge must\\nbe 18.")) != STR_NONE);
    policy_doc_free(d);
    buf_release(&text);
    buf_release(&json);
    arena_release(&a);
}

/* A model may write any rationale, so the search for its quotes must end. */
TEST(a_rationale_of_endless_quotes_is_read_in_time)
{
    struct policy_result r = {.criterion_id = STR("age"), .citation = {.section = STR("Rule")}};
    struct policy_passage p;
    struct policy_doc *d;
    struct arena a;
    struct buf text, said;
    struct err e;

    arena_init(&a, 1 << 26);
    buf_init(&text, 1 << 20);
    buf_init(&said, 1 << 20);
    buf_add(&text, STR("# Rule\n\nThe age must be 18. "));
    for (int i = 0; i < 1000; i++)
        buf_add(&text, STR("\"x\" is no word. "));
    buf_add(&said, STR("\"The age must be 18.\" "));
    for (int i = 0; i < 20000; i++)
        buf_add(&said, STR("\"x"));
    r.rationale = buf_str(&said);
    CHECK(policy_doc_parse(STR("p"), STR("p.md"), buf_str(&text), &d, &e));
    policy_passage(d, &r, &a, &p);
    CHECK_STR(str_slice(p.node->text, p.from, p.to), "The age must be 18.");
    policy_doc_free(d);
    buf_release(&text);
    buf_release(&said);
    arena_release(&a);
}

TEST_MAIN(T(days_are_days_of_the_calendar), T(a_version_is_found_by_name_and_by_day),
          T(versions_under_ids_of_their_own_are_told_apart_or_refused),
          T(many_versions_fit_into_a_refusal), T(a_quote_is_found_whatever_its_white_space),
          T(a_long_page_is_shown_around_its_sentence),
          T(a_rationale_of_endless_quotes_is_read_in_time))
