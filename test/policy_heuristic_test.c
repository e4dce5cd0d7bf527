/* policy_heuristic_test.c - criteria are verified without a model.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/heuristic.h"
#include "test.h"

/* A case with facts from one JSON object, each with the given confidence. */
static str case_of(const char *facts, double confidence, const char *criterion, struct arena *a)
{
    struct json doc;
    struct buf b;
    struct err e;
    str out;

    json_init(&doc);
    buf_init(&b, 1 << 16);
    CHECK_F(json_parse(&doc, str_c(facts), &e), "%s: %s", facts, e.text);
    buf_printf(&b, "{\"case_id\":\"c\",\"policy_id\":\"p\",\"fields\":[");
    for (const struct json_node *k = json_first(&doc, json_root(&doc)); k;
         k = json_next(&doc, json_root(&doc), k))
        buf_printf(&b,
                   "%s{\"field_name\":" STR_FMT ",\"value\":" STR_FMT
                   ",\"confidence\":%g,\"doc_id\":\"chart\",\"page\":2}",
                   b.p[b.n - 1] == '[' ? "" : ",",
                   STR_ARG(json_raw(&doc, k)),
                   STR_ARG(json_raw(&doc, json_value(k))),
                   confidence);
    buf_printf(&b, "],\"metadata\":{\"criterion_id\":\"%s\"}}", criterion);
    out = arena_dup(a, buf_str(&b));
    buf_release(&b);
    json_release(&doc);
    return out;
}

static void verify(const char *policy, const char *facts, double confidence, const char *criterion,
                   struct arena *a, struct policy_result *r)
{
    struct policy_doc *d;
    struct policy_case c;
    struct err e;

    CHECK_F(policy_doc_parse(STR("p"), STR("p.md"), str_c(policy), &d, &e), "%s", e.text);
    CHECK_F(policy_case_read(case_of(facts, confidence, criterion, a), a, &c, &e), "%s", e.text);
    CHECK_F(policy_heuristic(d, &c, c.criteria[0], a, r, &e), "%s", e.text);
    CHECK_INT(r->trace_count > 0 ? r->trace[r->trace_count - 1].step : 0, r->trace_count);
    policy_doc_free(d);
}

static const struct {
    const char *policy, *facts, *criterion, *status;
} rows[] = {
    /* at least, at most, N or older */
    {"# A\nPatients must be 18 years of age or older.", "{\"age\":18}", "age", "met"},
    {"# A\nPatients must be 18 years of age or older.", "{\"age\":17}", "age", "missing"},
    {"# A\nPatients must be 18 years of age or older.", "{\"patient_age\":17}", "age", "missing"},
    {"# A\nThe patient must be at least eighteen years old.", "{\"Patient Age\":18}", "age", "met"},
    {"# A\nApplicants aged 65 and over are eligible.", "{\"age\":64}", "age", "uncertain"},
    {"# A\nApplicants aged 65 and over are eligible.", "{\"age\":65}", "age", "uncertain"},
    {"# A\nThe age must be between 18 and 64.", "{\"age\":64}", "age", "met"},
    {"# A\nThe age must be between 18 and 64.", "{\"age\":65}", "age", "missing"},
    {"# A\nMinimum age: 21.", "{\"age\":20}", "age", "missing"},
    {"# A\nAge >= 21", "{\"age\":21}", "age", "met"},
    {"# A\nAge \xE2\x89\xA5 21", "{\"age\":20}", "age", "missing"},
    {"# A\nMembers over the age of 65 are not covered.", "{\"age\":66}", "age", "missing"},
    {"# A\nMembers over the age of 65 are not covered.", "{\"age\":65}", "age", "met"},
    {"# A\nBody mass index must not exceed 40.",
     "{\"body_mass_index\":41}",
     "body_mass_index",
     "missing"},
    {"# A\nBody mass index must not exceed 40.",
     "{\"body_mass_index\":40}",
     "body_mass_index",
     "met"},
    {"# A\nThe claim amount may be up to $1,500.",
     "{\"claim_amount\":\"$1,500\"}",
     "claim_amount",
     "met"},
    {"# A\nThe claim amount may be up to $1,500.",
     "{\"claim_amount\":1500.5}",
     "claim_amount",
     "missing"},
    {"# A\nThe deductible is at most 20%.", "{\"deductible\":\"25%\"}", "deductible", "missing"},
    {"# A\nA minimum of six (6) weeks of conservative treatment is required.",
     "{\"conservative_treatment_weeks\":6}",
     "conservative_treatment",
     "met"},
    {"# A\nA minimum of six (6) weeks of conservative treatment is required.",
     "{\"conservative_treatment_weeks\":5}",
     "conservative_treatment",
     "missing"},
    {"# A\nAt least 6 weeks of conservative treatment are required.",
     "{\"conservative_treatment\":\"42 days\"}",
     "conservative_treatment",
     "met"},
    {"# A\nAt least 6 weeks of conservative treatment are required.",
     "{\"conservative_treatment\":\"1 month\"}",
     "conservative_treatment",
     "uncertain"},
    {"# A\nConservative treatment must last six weeks or longer.",
     "{\"conservative_treatment_days\":42}",
     "conservative_treatment",
     "met"},
    {"# A\nThe patient must complete 6 weeks of physical therapy.",
     "{\"physical_therapy_weeks\":8}",
     "physical_therapy",
     "uncertain"},
    {"# A\nEach reservation can have at most five passengers.",
     "{\"passengers\":6}",
     "passengers",
     "missing"},
    {"# A\nEach reservation can have at most five passengers.",
     "{\"passengers\":[\"a\",\"b\",\"c\"]}",
     "passengers",
     "uncertain"},
    {"# A\nUse at most one certificate, at most one credit card, and at most three gift cards.",
     "{\"certificate\":1,\"gift_cards\":4}",
     "gift_cards",
     "uncertain"},
    {"# A\nUse at most one certificate, at most one credit card, and at most three gift cards.",
     "{\"credit_card\":1,\"gift_cards\":3}",
     "gift_cards",
     "uncertain"},
    {"# A\nThe number of passengers may not be more than 5.",
     "{\"number_of_passengers\":5}",
     "passengers",
     "met"},
    {"# A\nThe number of passengers may not be more than 5.",
     "{\"number_of_passengers\":6}",
     "passengers",
     "missing"},
    /* one of */
    {"# A\nThe diagnosis code must be one of: M54.5, M54.16, or M51.26.",
     "{\"diagnosis_code\":\"M54.16\"}",
     "diagnosis",
     "met"},
    {"# A\nThe diagnosis code must be one of: M54.5, M54.16, or M51.26.",
     "{\"diagnosis_code\":\"m54.5\"}",
     "diagnosis",
     "met"},
    {"# A\nThe diagnosis code must be one of: M54.5, M54.16, or M51.26.",
     "{\"diagnosis_code\":\"M54.1\"}",
     "diagnosis",
     "uncertain"},
    {"# A\nThe diagnosis code must be one of: M54.5, M54.16, or M51.26.",
     "{\"diagnosis_code\":[\"Z99.9\",\"M51.26\"]}",
     "diagnosis",
     "uncertain"},
    {"# A\nThe diagnosis code must be one of the following:\n\n- M54.5 low back pain\n- M54.16 "
     "radiculopathy\n",
     "{\"diagnosis_code\":\"M54.16\"}",
     "diagnosis",
     "met"},
    {"# A\nThe diagnosis code must be one of the following:\n\n- M54.5 low back pain\n- M54.16 "
     "radiculopathy\n",
     "{\"diagnosis_code\":\"G43.1\"}",
     "diagnosis",
     "missing"},
    {"# A\nThe procedure code must be one of 72148, 72149 or 72158.",
     "{\"procedure_code\":72149}",
     "procedure",
     "met"},
    {"# A\nThe procedure code must be one of 72148, 72149 or 72158.",
     "{\"procedure_code\":\"72150\"}",
     "procedure",
     "missing"},
    {"# A\nThe diagnosis must be one of (sciatica, spinal stenosis, disc herniation).",
     "{\"diagnosis\":\"Spinal Stenosis\"}",
     "diagnosis",
     "met"},
    {"# A\nThe diagnosis must be one of (sciatica, spinal stenosis, disc herniation).",
     "{\"diagnosis\":\"migraine\"}",
     "diagnosis",
     "uncertain"},
    {"# A\nThe plan must be gold or platinum.", "{\"plan\":\"gold\"}", "plan", "met"},
    {"# A\nThe plan must be gold or platinum.", "{\"plan\":\"bronze\"}", "plan", "uncertain"},
    /* unless */
    {"# A\nAt least 6 weeks of conservative treatment are required unless a red flag is present.",
     "{\"conservative_treatment_weeks\":2,\"red_flag\":true}",
     "conservative_treatment",
     "met"},
    {"# A\nAt least 6 weeks of conservative treatment are required unless a red flag is present.",
     "{\"conservative_treatment_weeks\":2,\"red_flag\":false}",
     "conservative_treatment",
     "missing"},
    {"# A\nAt least 6 weeks of conservative treatment are required unless a red flag is present.",
     "{\"conservative_treatment_weeks\":2}",
     "conservative_treatment",
     "uncertain"},
    {"# A\nAt least 6 weeks of conservative treatment are required unless a red flag is present.",
     "{\"conservative_treatment_weeks\":7}",
     "conservative_treatment",
     "met"},
    {"# A\nAt least 6 weeks of conservative treatment are required unless a red flag is present.",
     "{\"red_flag\":\"cauda equina\"}",
     "conservative_treatment",
     "uncertain"},
    {"# A\nUnless a red flag is present, at least 6 weeks of conservative treatment are required.",
     "{\"conservative_treatment_weeks\":2,\"red_flag\":\"yes\"}",
     "conservative_treatment",
     "met"},
    {"# A\nAt least 6 weeks of treatment are required. This requirement is waived if a red flag is "
     "present.",
     "{\"treatment_weeks\":1,\"red_flag\":true}",
     "treatment",
     "uncertain"},
    {"# A\nAt least 6 weeks of treatment are required. This requirement is waived if a red flag is "
     "present.",
     "{\"treatment_weeks\":1,\"red_flag\":false}",
     "treatment",
     "uncertain"},
    {"# A\nAt least 6 weeks of treatment are required unless a red flag is present.\n\nRed flags "
     "are cauda equina syndrome, fever, and cancer.",
     "{\"treatment_weeks\":1,\"red_flag\":\"fever\"}",
     "treatment",
     "uncertain"},
    {"# A\nAt least 6 weeks of treatment are required unless a red flag is present.\n\nRed flags "
     "are cauda equina syndrome, fever, and cancer.",
     "{\"treatment_weeks\":1,\"red_flag\":\"tiredness\"}",
     "treatment",
     "uncertain"},
    /* yes and no */
    {"# A\nA physician referral is required.", "{\"physician_referral\":true}", "referral", "met"},
    {"# A\nA physician referral is required.",
     "{\"physician_referral\":\"no\"}",
     "referral",
     "missing"},
    {"# A\nThe patient must not be pregnant.", "{\"pregnant\":true}", "pregnant", "missing"},
    {"# A\nThe patient must not be pregnant.", "{\"pregnant\":false}", "pregnant", "met"},
    {"# A\nBasic flights cannot be changed. Other flights can be changed.",
     "{\"fare\":\"basic\"}",
     "change",
     "uncertain"},
    {"# A\nThe user cannot add insurance after booking.",
     "{\"add_insurance\":true}",
     "insurance",
     "uncertain"},
    /* if */
    {"# A\nIf the member is a smoker, the age must be at least 25.",
     "{\"smoker\":true,\"age\":20}",
     "age",
     "missing"},
    {"# A\nImaging is covered only if a referral is on file.",
     "{\"referral\":true}",
     "imaging",
     "uncertain"},
    {"# A\nImaging is covered only if a referral is on file.",
     "{\"referral\":false}",
     "imaging",
     "uncertain"},
    {"# A\nTrips longer than 5 days require manager approval.",
     "{\"trip_days\":6,\"manager_approval\":false}",
     "approval",
     "uncertain"},
    {"# A\nTrips longer than 5 days require manager approval.",
     "{\"trip_days\":3,\"manager_approval\":false}",
     "approval",
     "uncertain"},
    {"# A\nReceipts are required for expenses over $25.",
     "{\"expenses\":30,\"receipts\":false}",
     "receipts",
     "uncertain"},
    {"# A\nReceipts are required for expenses over $25.",
     "{\"expenses\":20,\"receipts\":false}",
     "receipts",
     "uncertain"},
    {"# A\nThe nightly rate may not exceed $220, except in New York where it may not exceed $350.",
     "{\"nightly_rate\":300,\"city\":\"New York\"}",
     "nightly_rate",
     "uncertain"},
    {"# A\nThe nightly rate may not exceed $220, except in New York where it may not exceed $350.",
     "{\"nightly_rate\":300,\"city\":\"Boston\"}",
     "nightly_rate",
     "uncertain"},
    {"# A\nThe nightly rate may not exceed $220, except in New York where it may not exceed $350.",
     "{\"nightly_rate\":400,\"city\":\"New York\"}",
     "nightly_rate",
     "uncertain"},
    {"# A\nBusiness class is allowed only for flights of 8 hours or more.",
     "{\"flight_hours\":7}",
     "business_class",
     "uncertain"},
    {"# A\nContractors are not eligible.", "{\"contractor\":true}", "contractors", "uncertain"},
    {"# MRI\nPatients with a pacemaker are not eligible for MRI.",
     "{\"pacemaker\":true}",
     "pacemaker",
     "missing"},
    {"# MRI\nPatients with a pacemaker are not eligible for MRI.",
     "{\"pacemaker\":false}",
     "pacemaker",
     "met"},
    {"# A\nPayment: each order can use at most two coupons. A coupon must be valid.",
     "{\"coupons\":3}",
     "coupons",
     "uncertain"},
    {"# A\nIf the member is regular, 0 free bags for each economy seat and 1 free bag for each "
     "business seat. If the member is gold, 2 free bags for each economy seat and 3 free bags for "
     "each business seat.\n\nAn economy meal is plain. A business meal is not.",
     "{\"membership\":\"gold\",\"cabin\":\"economy\",\"free_bags\":4,\"seats\":2}",
     "free_bags",
     "uncertain"},
    {"# A\nIf the member is regular, 0 free bags for each economy seat and 1 free bag for each "
     "business seat. If the member is gold, 2 free bags for each economy seat and 3 free bags for "
     "each business seat.\n\nAn economy meal is plain. A business meal is not.",
     "{\"membership\":\"regular\",\"cabin\":\"economy\",\"free_bags\":1,\"seats\":2}",
     "free_bags",
     "uncertain"},
    /* parts */
    {"# A\nBody weight must be over 50 kg and height must be under 200 cm.",
     "{\"body_weight\":51,\"height\":\"200 cm\"}",
     "height",
     "uncertain"},
    {"# A\nPhysical therapy of 6 weeks or more, or a surgical referral, is required.",
     "{\"physical_therapy_weeks\":3,\"surgical_referral\":true}",
     "therapy",
     "uncertain"},
    {"# A\nPhysical therapy of 6 weeks or more, or a surgical referral, is required.",
     "{\"physical_therapy_weeks\":3,\"surgical_referral\":false}",
     "therapy",
     "uncertain"},
    {"# A\nThe daily dose must not be more than 40 mg.",
     "{\"daily_dose\":\"45 mg\"}",
     "dose",
     "missing"},
    {"# A\nThe patient age must be 18 or older.\n# B\nMembers younger than 21 are not eligible.",
     "{\"patient_age\":18}",
     "age",
     "uncertain"},
    {"# A\nOnly residents of California, Oregon, or Washington are eligible.",
     "{\"resident_state\":\"Oregon\"}",
     "residents",
     "uncertain"},
    {"# A\nOnly residents of California, Oregon, or Washington are eligible.",
     "{\"residents_of\":\"Texas\"}",
     "residents",
     "uncertain"},
    {"# A\nThe minimum income is $20,000. Students are exempt from the minimum income requirement.",
     "{\"income\":15000,\"student\":true}",
     "income",
     "uncertain"},
    {"# A\nThe minimum income is $20,000. Students are exempt from the minimum income requirement.",
     "{\"income\":15000,\"student\":false}",
     "income",
     "uncertain"},
    {"# A\nA return is accepted when all of the following are met:\n\n1. The item was purchased "
     "within 30 days.\n2. A receipt is provided, unless the customer is a gold member.\n",
     "{\"purchased_days\":20,\"receipt\":false,\"membership\":\"gold\"}",
     "return",
     "uncertain"},
    {"# A\nA return is accepted when all of the following are met:\n\n1. The item was purchased "
     "within 30 days.\n2. A receipt is provided, unless the customer is a gold member.\n",
     "{\"purchased_days\":20,\"receipt\":false,\"membership\":\"silver\"}",
     "return",
     "uncertain"},
    {"# A\nReturns are refused if any of these apply:\n\n- the item was damaged\n- it is a gift\n",
     "{\"item_damaged\":true}",
     "returns",
     "uncertain"},
    {"# A\nThe product must be registered, or the serial number must be legible.",
     "{\"product_registered\":false,\"serial_number_legible\":true}",
     "product",
     "uncertain"},
    {"# A\nCovered diagnoses include M54.5, M54.16 and G83.4.",
     "{\"diagnosis\":\"M54.5\"}",
     "diagnosis",
     "uncertain"},
    {"# A\nCovered diagnoses include M54.5, M54.16 and G83.4.",
     "{\"diagnoses\":[\"X1\"]}",
     "diagnosis",
     "uncertain"},
    {"# A\nBMI of 30 or higher", "{\"bmi\":29.9}", "bmi", "missing"},
    {"# A\nHemoglobin A1c must be < 8%.", "{\"hemoglobin_a1c\":\"7.9%\"}", "hemoglobin", "met"},
    /* tables */
    {"# Shipping weight\n| Method | Maximum weight |\n|---|---|\n| air | 20 kg |\n| sea | 500 kg "
     "|\n",
     "{\"method\":\"air\",\"weight\":\"25 kg\"}",
     "weight",
     "missing"},
    {"# Shipping weight\n| Method | Maximum weight |\n|---|---|\n| air | 20 kg |\n| sea | 500 kg "
     "|\n",
     "{\"method\":\"sea\",\"weight\":\"25 kg\"}",
     "weight",
     "met"},
    {"# Shipping weight\n| Method | Maximum weight |\n|---|---|\n| air | 20 kg |\n| sea | 500 kg "
     "|\n",
     "{\"method\":\"rail\",\"weight\":\"25 kg\"}",
     "weight",
     "uncertain"},
    {"# Baggage\n\n| Tier | Bags |\n|---|---|\n| gold | at most 3 |\n| silver | at most 2 |\n",
     "{\"tier\":\"silver\",\"bags\":3}",
     "baggage",
     "uncertain"},
    {"# Baggage\n\n| Tier | Bags |\n|---|---|\n| gold | at most 3 |\n| silver | at most 2 |\n",
     "{\"tier\":\"gold\",\"bags\":3}",
     "baggage",
     "uncertain"},
    /* dates */
    {"# A\nThe request date must be on or before 2024-06-30.",
     "{\"request_date\":\"2024-06-30\"}",
     "request_date",
     "met"},
    {"# A\nThe request date must be on or before 2024-06-30.",
     "{\"request_date\":\"2024-07-01\"}",
     "request_date",
     "missing"},
    {"# A\nThe service date must be after 2024-02-28.",
     "{\"service_date\":\"2024-02-29T10:00:00\"}",
     "service_date",
     "uncertain"},
    {"# A\nThe service date must be after 2024-02-28.",
     "{\"service_date\":\"2024-02-29T10:00:00Z\"}",
     "service_date",
     "uncertain"},
    {"# A\nThe service date must be no later than 2024-02-28.",
     "{\"service_date\":\"2024-02-29\"}",
     "service_date",
     "missing"},
    {"# A\nThe service date must be between 2024-01-01 and 2024-03-31.",
     "{\"service_date\":\"2024-03-31\"}",
     "service_date",
     "met"},
    /* insufficient information */
    {"# A\nThe patient must be 18 or older.", "{\"weight\":70}", "age", "uncertain"},
    {"# A\nThe patient must be 18 or older.", "{\"age\":40}", "dental_implants", "uncertain"},
    {"# A\nThis section is about age.", "{\"age\":40}", "age", "uncertain"},
    {"# A\nThe patient must be 18 or older.", "{\"age\":null}", "age", "uncertain"},
    {"", "{\"age\":40}", "age", "uncertain"},
    /* a criterion without words of its own: all facts count, in every section */
    {"# A\nThe age must be at least 18.\n# B\nThe weight must be at most 90 kg.",
     "{\"age\":18,\"weight\":91}",
     "p:default",
     "uncertain"},
    {"# A\nThe age must be at least 18.\n# B\nThe weight must be at most 90 kg.",
     "{\"age\":18,\"weight\":90}",
     "p:default",
     "uncertain"},
    {"# A\nThe age must be at least 18.\n# B\nThe weight must be at most 90 kg.",
     "{\"age\":18}",
     "C-1",
     "uncertain"},
};

TEST(sentences_decide_as_they_read)
{
    size_t bad = 0;

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct policy_result r;
        struct arena a;

        arena_init(&a, POLICY_ARENA_MAX);
        verify(rows[i].policy, rows[i].facts, 0.95, rows[i].criterion, &a, &r);
        if (strcmp(policy_status_name(r.status), rows[i].status) != 0) {
            print_error("%s\n  %s %s: %s, not %s\n  " STR_FMT " [" STR_FMT "] %g %g\n",
                        rows[i].policy,
                        rows[i].criterion,
                        rows[i].facts,
                        policy_status_name(r.status),
                        rows[i].status,
                        STR_ARG(r.rationale),
                        STR_ARG(r.reason_code),
                        r.c_tree,
                        r.c_span);
            bad++;
        }
        arena_release(&a);
    }
    CHECK_INT(bad, 0);
}

static const char lumbar[] =
    "---\nversion: 7\n---\n# Plan\nThis policy lists the rules.\n<!-- page 4 -->\n## Age\nThe "
    "patient age must be at\n"
    "<!-- page 5 -->\nleast 18 years.\n## Codes\n<!-- page 6 -->\nThe code must be one of A1 or "
    "B2.\n";

TEST(a_result_says_where_how_sure_and_why)
{
    static const char *const steps[] = {"think", "retrieve", "read", "link", "decide"};
    struct policy_result r;
    struct arena a;

    arena_init(&a, POLICY_ARENA_MAX);
    verify(lumbar, "{\"patient_age\":17}", 0.95, "age", &a, &r);
    CHECK_INT(r.status, POLICY_MISSING);
    CHECK_STR(r.citation.doc, "p");
    CHECK_STR(r.citation.version, "7");
    CHECK_STR(r.citation.section, "Plan > Age");
    CHECK_INT(r.citation.page_count, 2); /* the sentence spans two pages */
    CHECK_INT(r.citation.pages[0], 4);
    CHECK_INT(r.citation.pages[1], 5);
    CHECK(r.has_evidence && r.evidence.page == 2);
    CHECK_STR(r.evidence.doc_id, "chart");
    CHECK_STR(r.evidence.text_excerpt, "patient_age: 17");
    CHECK(r.has_breakdown && r.c_tree > 0.9 && r.c_span > 0.9 && r.c_final < 0.91);
    CHECK(policy_round(r.c_tree * r.c_span * r.c_final) >= r.c_joint &&
          policy_round(r.c_tree * r.c_span * r.c_final) <= r.c_joint);
    CHECK_STR(r.retrieval_method, "bm25+reranker");
    CHECK_STR(r.reason_code, "");
    CHECK_INT(r.trajectory_count, 2);
    CHECK_INT(r.trace_count, COUNT_OF(steps));
    for (size_t i = 0; i < COUNT_OF(steps); i++) {
        CHECK_STR(r.trace[i].action, steps[i]);
        CHECK(r.trace[i].observation.n > 0);
    }
    CHECK(str_find(r.rationale, STR("at least 18")) != STR_NONE);
    arena_release(&a);
}

TEST(each_way_to_be_uncertain_has_its_code)
{
    static const struct {
        const char *policy, *facts;
        double confidence;
        const char *criterion, *code;
    } cases[] = {
        {lumbar, "{\"patient_age\":30}", 0.5, "age", "low_confidence"},
        {lumbar, "{\"patient_age\":30}", 0.66, "age", "low_confidence"}, /* product below 0.65 */
        {lumbar, "{\"patient_age\":30,\"Patient Age\":17}", 0.9, "age", "conformal_ambiguity"},
        {lumbar, "{\"weight\":70}", 0.9, "age", "missing_evidence"},
        {lumbar, "{\"weight\":70}", 0.9, "dental implants", "no_relevant_nodes"},
        {"# Age\nSee section age.", "{\"age\":70}", 0.9, "age", "insufficient_policy_context"},
        {"", "{\"age\":70}", 0.9, "age", "treestore_no_nodes"},
        {"# A\n## Age\n", "{\"age\":70}", 0.9, "age", "treestore_missing_text"},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct policy_result r;
        struct arena a;

        arena_init(&a, POLICY_ARENA_MAX);
        verify(cases[i].policy, cases[i].facts, cases[i].confidence, cases[i].criterion, &a, &r);
        CHECK_INT(r.status, POLICY_UNCERTAIN);
        CHECK_STR(r.reason_code, cases[i].code);
        CHECK(r.rationale.n > 0 && r.confidence < POLICY_ABSTAIN);
        arena_release(&a);
    }
}

/* A noun has a maximum number of words; the words after it do not form another noun. */
TEST(a_value_of_too_many_words_names_no_fact)
{
    struct policy_result r;
    struct arena a;

    arena_init(&a, (size_t)1 << 24);
    verify("# A\nThe form must be big wide flat clean dry warm soft plain new tall slim valid "
           "signed.",
           "{\"signed\":true}",
           1,
           "form",
           &a,
           &r);
    CHECK_INT(r.status, POLICY_UNCERTAIN);
    arena_release(&a);
}

TEST(without_a_document_it_is_uncertain)
{
    struct policy_result r;
    struct policy_case c;
    struct arena a;
    struct err e;

    arena_init(&a, POLICY_ARENA_MAX);
    CHECK(policy_case_read(case_of("{\"age\":1}", 1, "age", &a), &a, &c, &e));
    CHECK(policy_heuristic(NULL, &c, STR("age"), &a, &r, &e));
    CHECK_INT(r.status, POLICY_UNCERTAIN);
    CHECK_STR(r.reason_code, "missing_policy_document_id");
    arena_release(&a);
}

TEST_MAIN(T(sentences_decide_as_they_read), T(a_result_says_where_how_sure_and_why),
          T(each_way_to_be_uncertain_has_its_code), T(without_a_document_it_is_uncertain),
          T(a_value_of_too_many_words_names_no_fact))
