/* policy_whole_test.c - the heuristic reads a whole document, and reports the evidence it used.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/heuristic.h"
#include "test.h"

#define sixteen                                                                                    \
    "{\"case_id\":\"c\",\"policy_id\":\"p\",\"fields\":[{\"field_name\":\"age\",\"value\":16,"     \
    "\"confidence\":0.95}]}"

/* A policy with one section of 107,000 bytes before its rule. */
static char *long_policy(const char *filler, const char *rule)
{
    struct buf b;
    char *out;

    buf_init(&b, 1 << 22);
    buf_add(&b, STR("# Visits\n\n"));
    while (b.n < 107000)
        buf_add(&b, str_c(filler));
    buf_add(&b, str_c(rule));
    out = base_alloc(b.n + 1);
    memcpy(out, b.p, b.n);
    out[b.n] = 0;
    buf_release(&b);
    return out;
}

TEST(the_end_of_a_long_section_counts)
{
    static const char sentences[] = "A record of visits is required. ";
    static const char words[] = "the office and the rooms and the garden ";
    static const struct {
        const char *filler, *rule, *status, *reason;
    } cases[] = {
        {sentences, "\n\nThe applicant must be 18 or older.\n", "missing", ""},
        {sentences, "\n\nThe applicant must be 15 or older.\n", "met", ""},
        {sentences,
         "\n\nThe applicant must be 15 or older.\n\nThe age rule is odd unless it rains.\n",
         "uncertain",
         "not_understood"},
        {words, ".\n\nThe applicant must be 18 or older.\n", "uncertain", "not_understood"},
        /* One sentence of 21,000 words, with the decisive words at its end. */
        {words, "must be of age.\n\n## Age\n\nThe age must be at least 15.\n", "uncertain", ""},
    };
    struct policy_result r;
    struct policy_doc *d;
    struct policy_case c;
    struct arena a;
    struct err e;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char *policy = long_policy(cases[i].filler, cases[i].rule);

        arena_init(&a, POLICY_ARENA_MAX);
        CHECK_F(policy_doc_parse(STR("p"), STR("p.md"), str_c(policy), &d, &e), "%s", e.text);
        CHECK_F(policy_case_read(STR(sixteen), &a, &c, &e), "%s", e.text);
        CHECK_F(policy_heuristic(d, &c, STR("age"), &a, &r, &e), "%s", e.text);
        CHECK_F(strcmp(policy_status_name(r.status), cases[i].status) == 0,
                "case %zu: %s, " STR_FMT,
                i,
                policy_status_name(r.status),
                STR_ARG(r.rationale));
        if (cases[i].reason[0])
            CHECK_STR(r.reason_code, cases[i].reason);
        policy_doc_free(d);
        arena_release(&a);
        free(policy);
    }
}

TEST(evidence_names_the_document_of_the_case_or_none)
{
    static const struct {
        const char *place, *json;
    } cases[] = {
        {",\"doc_id\":\"chart\",\"page\":2", "\"doc_id\":\"chart\",\"page\":2,"},
        {",\"doc_id\":\"\",\"page\":2", "\"doc_id\":null,\"page\":2,"},
        {",\"doc_id\":null", "\"doc_id\":null,\"page\":null,"},
        {"", "\"doc_id\":null,\"page\":null,"},
    };
    struct policy_result r, back;
    struct policy_doc *d;
    struct policy_case c;
    struct json_out o;
    struct json doc;
    struct arena a;
    struct buf b;
    struct err e;

    arena_init(&a, POLICY_ARENA_MAX);
    buf_init(&b, 1 << 16);
    CHECK(policy_doc_parse(STR("p"), STR("p.md"), STR("# A\nThe age must be over 17."), &d, &e));
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        str body = arena_printf(&a,
                                "{\"case_id\":\"case-7\",\"policy_id\":\"p\",\"fields\":[{"
                                "\"field_name\":\"age\",\"value\":18,\"confidence\":0.9%s}]}",
                                cases[i].place);

        CHECK_F(policy_case_read(body, &a, &c, &e), "%s", e.text);
        CHECK_F(policy_heuristic(d, &c, STR("age"), &a, &r, &e), "%s", e.text);
        CHECK(r.status == POLICY_MET && r.has_evidence);
        buf_reset(&b);
        json_out_init(&o, &b);
        policy_result_json(&r, &o);
        CHECK_F(str_find(buf_str(&b), str_c(cases[i].json)) != STR_NONE,
                "%zu: " STR_FMT,
                i,
                STR_ARG(buf_str(&b)));
        CHECK(str_find(buf_str(&b), STR("case-7")) == STR_NONE);
        json_init(&doc);
        CHECK(json_parse(&doc, buf_str(&b), &e));
        CHECK_F(policy_result_read(&doc, json_root(&doc), &a, &back, &e), "%s", e.text);
        CHECK(back.evidence.page == r.evidence.page);
        json_release(&doc);
    }
    policy_doc_free(d);
    buf_release(&b);
    arena_release(&a);
}

TEST(two_tables_have_a_header_each)
{
    static const char policy[] =
        "# Fees\n\n| Plan | Maximum fee |\n|---|---|\n| gold | 20 |\n\n"
        "| Region | Minimum age |\n|---|---|\n| north | 18 |\n| south | 21 |\n";
    static const struct {
        const char *facts, *criterion, *status;
    } cases[] = {
        {"\"plan\",\"value\":\"gold\"},{\"field_name\":\"fee\",\"value\":21", "fee", "missing"},
        {"\"plan\",\"value\":\"gold\"},{\"field_name\":\"fee\",\"value\":19", "fee", "met"},
        {"\"region\",\"value\":\"south\"},{\"field_name\":\"age\",\"value\":20", "age", "missing"},
        {"\"region\",\"value\":\"north\"},{\"field_name\":\"age\",\"value\":20", "age", "met"},
    };
    struct policy_result r;
    struct policy_doc *d;
    struct policy_case c;
    struct arena a;
    struct buf b;
    struct err e;

    arena_init(&a, POLICY_ARENA_MAX);
    CHECK_F(policy_doc_parse(STR("p"), STR("p.md"), str_c(policy), &d, &e), "%s", e.text);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        buf_init(&b, 4096);
        buf_add(&b, STR("{\"case_id\":\"c\",\"policy_id\":\"p\",\"fields\":[{\"field_name\":"));
        for (const char *p = cases[i].facts; *p; p++) {
            if (*p == '}')
                buf_add(&b, STR(",\"confidence\":0.95"));
            buf_add_c(&b, *p);
        }
        buf_add(&b, STR(",\"confidence\":0.95}]}"));
        CHECK_F(policy_case_read(arena_dup(&a, buf_str(&b)), &a, &c, &e), "%s", e.text);
        CHECK_F(policy_heuristic(d, &c, str_c(cases[i].criterion), &a, &r, &e), "%s", e.text);
        CHECK_F(strcmp(policy_status_name(r.status), cases[i].status) == 0,
                "case %zu: %s, " STR_FMT,
                i,
                policy_status_name(r.status),
                STR_ARG(r.rationale));
        buf_release(&b);
    }
    policy_doc_free(d);
    arena_release(&a);
}

/* Section "Date" must not be confused with section "Date of filing". */
TEST(a_case_that_names_a_section_is_judged_by_that_section)
{
    static const char policy[] =
        "# Plan\n\n## Date\n\nThe claim date must be before 2024-05-05.\n\n"
        "## Date of filing\n\nThe filing date must be after 2024-05-05.\n";
    static const struct {
        const char *section;
        enum policy_status status;
    } cases[] = {{"Plan > Date", POLICY_MET}, {"Plan > Date of filing", POLICY_MISSING}};
    struct policy_result r;
    struct policy_doc *d;
    struct policy_case c;
    struct arena a;
    struct err e;

    arena_init(&a, (size_t)1 << 24);
    CHECK(policy_doc_parse(STR("p"), STR("p.md"), str_c(policy), &d, &e));
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        str json = arena_printf(&a,
                                "{\"policy_id\":\"p\",\"facts\":["
                                "{\"field\":\"claim_date\",\"value\":\"2024-01-01\"},"
                                "{\"field\":\"filing_date\",\"value\":\"2024-01-01\"}],"
                                "\"policy\":{\"section_path\":\"%s\"}}",
                                cases[i].section);

        CHECK_F(policy_case_read(json, &a, &c, &e), "%s", e.text);
        CHECK_F(policy_heuristic(d, &c, STR("date"), &a, &r, &e), "%s", e.text);
        CHECK_F(r.status == cases[i].status,
                "%s: " STR_FMT ": " STR_FMT,
                cases[i].section,
                STR_ARG(r.reason_code),
                STR_ARG(r.rationale));
    }
    policy_doc_free(d);
    arena_release(&a);
}

TEST_MAIN(T(a_case_that_names_a_section_is_judged_by_that_section),
          T(two_tables_have_a_header_each), T(the_end_of_a_long_section_counts),
          T(evidence_names_the_document_of_the_case_or_none))
