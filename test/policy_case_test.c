/* policy_case_test.c - cases, their facts, and results as JSON.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/case.h"
#include "apps/policy/case_checks.h"
#include "apps/policy/result.h"
#include "test.h"

#define ARENA_MAX ((size_t)64 << 20)

static struct policy_case read_case(const char *json, struct arena *a)
{
    struct policy_case c;
    struct err e;

    arena_init(a, ARENA_MAX);
    CHECK_F(policy_case_read(str_c(json), a, &c, &e), "%s", e.text);
    return c;
}

TEST(a_bundle_is_read_with_its_metadata)
{
    struct arena a;
    struct policy_case c = read_case(
        "{\"case_bundle\":{\"case_id\":\"c1\",\"policy_id\":\"p1\",\"fields\":[{\"field_name\":"
        "\"Patient "
        "Age\",\"value\":45,\"confidence\":0.9,\"doc_id\":\"d\",\"page\":2,\"bbox\":[0,1,2,"
        "3.5],\"field_class\":\"x\"}],\"metadata\":{\"policy_document_id\":\"doc\","
        "\"policy_version_id\":\"v2\",\"criteria\":[\"age\",{\"criterion_id\":\"weeks\"}],"
        "\"reasoning_hint\":\"look\",\"effective_start\":\"2024-01-01\"}},\"self_consistency\":"
        "true,"
        "\"options\":{\"samples\":1},\"name\":\"n\",\"expect\":[]}",
        &a);

    CHECK_STR(c.case_id, "c1");
    CHECK_STR(c.policy_id, "p1");
    CHECK_INT(c.criterion_count, 2);
    CHECK_STR(c.criteria[1], "weeks");
    CHECK_STR(c.policy_document_id, "doc");
    CHECK_STR(c.policy_version_id, "v2");
    CHECK_STR(c.reasoning_hint, "look");
    CHECK_STR(c.effective_start, "2024-01-01");
    CHECK_STR(c.options, "{\"samples\":1}");
    CHECK(c.self_consistency);
    CHECK_INT(c.field_count, 1);
    CHECK_STR(c.fields[0].key, "patient_age");
    CHECK_INT(c.fields[0].page, 2);
    CHECK(c.fields[0].has_bbox && c.fields[0].bbox[3] > 3.4);
    CHECK_STR(c.fields[0].field_class, "x");
    arena_release(&a);
}

TEST(a_fixture_is_read_and_its_defaults_are_filled_in)
{
    struct arena a;
    struct policy_case c = read_case(
        "{\"case_bundle\":{\"case_id\":\"c2\",\"facts\":[{\"field\":\"age\",\"value\":\"45\","
        "\"class\":"
        "\"demographic\"}]},\"policy\":{\"policy_id\":\"p\",\"version_id\":\"v\",\"doc_id\":\"d\","
        "\"section_path\":[\"A\",\"B\"]},\"criterion_id\":\"age\"}",
        &a);

    CHECK_STR(c.case_id, "c2");
    CHECK_STR(c.policy_id, "p");
    CHECK_STR(c.policy_version_id, "v");
    CHECK_STR(c.policy_document_id, "d");
    CHECK_STR(c.section_path, "A > B");
    CHECK_STR(c.criteria[0], "age");
    CHECK(c.fields[0].confidence > 0.89 && c.fields[0].confidence < 0.91);
    CHECK_INT(c.fields[0].page, 1);
    CHECK(c.fields[0].has_bbox && c.fields[0].bbox[2] == 0);
    CHECK_STR(c.fields[0].field_class, "demographic");
    arena_release(&a);
}

TEST(a_case_without_criteria_has_the_default_one)
{
    struct arena a;
    struct policy_case c =
        read_case("{\"case_id\":\"c\",\"policy_id\":\"LCD-1\",\"fields\":[]}", &a);

    CHECK_INT(c.criterion_count, 1);
    CHECK_STR(c.criteria[0], "LCD-1:default");
    arena_release(&a);
}

#define FIELD(members)                                                                             \
    "{\"case_id\":\"c\",\"policy_id\":\"p\",\"fields\":[{\"field_name\":\"a\",\"value\":1,"        \
    "\"confidence\":1},{" members "}]}"

TEST(criteria_of_the_bundle_replace_those_beside_it)
{
    struct policy_case c;
    struct buf json;
    struct arena a;
    struct err e;

    buf_init(&json, 65536);
    buf_add(&json, STR("{\"metadata\":{\"criteria\":[\"outer\""));
    for (int i = 0; i < 200; i++) /* more than the bundle's list can hold */
        buf_add(&json, STR(",\"outer\""));
    buf_add(&json,
            STR("]},\"case_bundle\":{\"case_id\":\"c\",\"policy_id\":\"p\",\"fields\":[],"
                "\"metadata\":{\"criteria\":[\"age\",\"weeks\"]}}}"));
    arena_init(&a, ARENA_MAX);
    CHECK_F(policy_case_read(buf_str(&json), &a, &c, &e), "%s", e.text);
    CHECK_INT(c.criterion_count, 2);
    CHECK_STR(c.criteria[0], "age");
    CHECK_STR(c.criteria[1], "weeks");
    arena_release(&a);
    buf_release(&json);
}

/* Memory of a request is limited to 256 MB; no case may need more. */
#define REQUEST_ARENA_MAX ((size_t)256 << 20)

/* A case with `n` copies of `item`, separated by commas, between `head` and `tail`. */
static bool read_repeated(str head, str item, size_t n, str tail, struct err *e)
{
    struct policy_case c;
    struct arena a;
    struct buf json;
    bool ok;

    buf_init(&json, POLICY_CASE_MAX);
    buf_add(&json, head);
    for (size_t i = 0; i < n; i++) {
        buf_add(&json, i ? STR(",") : STR(""));
        buf_add(&json, item);
    }
    buf_add(&json, tail);
    CHECK(!buf_full(&json));
    arena_init(&a, REQUEST_ARENA_MAX);
    ok = policy_case_read(buf_str(&json), &a, &c, e);
    arena_release(&a);
    buf_release(&json);
    return ok;
}

TEST(a_list_of_too_many_fields_is_refused)
{
    struct err e;

    CHECK(!read_repeated(STR("{\"case_id\":\"c\",\"policy_id\":\"p\",\"fields\":["),
                         STR("0"),
                         3000000,
                         STR("]}"),
                         &e));
    CHECK_STR(str_c(e.text), "fields: more than 4096");
    CHECK_INT(e.code, ERR_LIMIT);
    CHECK(!read_repeated(STR("{\"case_id\":\"c\",\"policy_id\":\"p\",\"fields\":[],"
                             "\"metadata\":{\"criteria\":["),
                         STR("\"a\""),
                         1000,
                         STR("]}}"),
                         &e));
    CHECK_STR(str_c(e.text), "metadata.criteria: more than 256");
}

TEST(a_long_section_path_takes_memory_of_its_size)
{
    struct err e;

    CHECK_F(read_repeated(STR("{\"case_id\":\"c\",\"policy_id\":\"p\",\"fields\":[],"
                              "\"policy\":{\"section_path\":["),
                          STR("\"a\""),
                          100000,
                          STR("]}}"),
                          &e),
            "%s",
            e.text);
}

TEST(values_with_too_many_entries_are_refused)
{
    static const char head[] = "{\"case_id\":\"c\",\"policy_id\":\"p\",\"fields\":["
                               "{\"field_name\":\"a\",\"confidence\":1,\"value\":[";
    struct err e;

    CHECK_F(read_repeated(str_c(head), STR("7"), 100000, STR("]}]}"), &e), "%s", e.text);
    CHECK(!read_repeated(str_c(head), STR("[[[[[[]]]]]]"), 700000, STR("]}]}"), &e));
    CHECK_STR(str_c(e.text), "fields[0].value: more than 500000 entries in the values of a case");
    CHECK_INT(e.code, ERR_LIMIT);
}

/* Writes the issues of a case, in a request's memory; returns whether all fit into `out`. */
static bool check_case(const struct buf *json, struct buf *out)
{
    struct policy_case c;
    struct json_out o;
    struct arena a;
    struct err e;

    arena_init(&a, REQUEST_ARENA_MAX);
    CHECK_F(policy_case_read(buf_str(json), &a, &c, &e), "%s", e.text);
    json_out_init(&o, out);
    policy_case_check(&c, NULL, &a, &o);
    arena_release(&a);
    return json_out_ok(&o, &e);
}

static void add_dates(struct buf *json, const char *name, const char *day, size_t n)
{
    for (size_t i = 0; i < n; i++)
        buf_printf(json,
                   "%s{\"field_name\":\"%s\",\"value\":\"%s\",\"confidence\":1,"
                   "\"doc_id\":\"d\"}",
                   json->p[json->n - 1] == '}' ? "," : "",
                   name,
                   day);
}

TEST(each_pair_of_dates_in_the_wrong_order_is_an_issue)
{
    struct buf json, out;

    buf_init(&json, POLICY_CASE_MAX);
    buf_init(&out, (size_t)1 << 20);
    buf_add(&json, STR("{\"case_id\":\"c\",\"policy_id\":\"p\",\"fields\":["));
    add_dates(&json, "start date", "2026-02-01", 1);
    add_dates(&json, "end date", "2026-01-01", 1);
    add_dates(&json, "birth date", "2027-01-01", 1);
    add_dates(&json, "visit date", "never", 1);
    buf_add(&json, STR("]}"));
    CHECK(check_case(&json, &out));
    CHECK(str_find(buf_str(&out), STR("start date (2026-02-01) is after end date (2026-01-01)")) !=
          STR_NONE);
    CHECK(str_find(buf_str(&out),
                   STR("birth date (2027-01-01) is after start date (2026-02-01)")) != STR_NONE);
    CHECK(str_find(buf_str(&out), STR("which is no date")) != STR_NONE);
    CHECK(str_find(buf_str(&out), STR("birth date (2027-01-01) is after end")) == STR_NONE);
    buf_release(&json);
    buf_release(&out);
}

/* Together the sentences exceed a request's memory. */
TEST(issues_without_end_fill_the_reply_and_no_more)
{
    struct buf json, out;

    buf_init(&json, POLICY_CASE_MAX);
    buf_init(&out, (size_t)1 << 20);
    buf_add(&json, STR("{\"case_id\":\"c\",\"policy_id\":\"p\",\"fields\":["));
    add_dates(&json, "start date of the period of coverage as it was agreed", "2026-02-01", 2000);
    add_dates(&json, "end date of the period of coverage as it was agreed", "2026-01-01", 2000);
    buf_add(&json, STR("]}"));
    CHECK(!check_case(&json, &out));
    buf_reset(&json);
    buf_reset(&out);
    buf_add(&json,
            STR("{\"case_id\":\"c\",\"policy_id\":\"p\",\"fields\":[{\"field_name\":"
                "\"icd codes of all the diagnoses that were ever made of this patient, in the "
                "order in which they were made, with those that were withdrawn again, and those "
                "of which nobody knows who made them, as far as the record of the hospital has "
                "them, and as far as the practice has sent what it has, and whatever else there "
                "is, among it the codes of the insurer, which may differ\",\"confidence\":1,"
                "\"value\":[0"));
    for (size_t i = 1; i < POLICY_VALUES_MAX; i++)
        buf_add(&json, STR(",0"));
    buf_add(&json, STR("]}]}"));
    CHECK(!check_case(&json, &out));
    buf_release(&json);
    buf_release(&out);
}

TEST(a_stored_case_may_have_members_that_an_earlier_version_accepted)
{
    static const char json[] = "{\"case_id\":\"c\",\"policy_id\":\"p\",\"fields\":[],\"other\":1}";
    struct policy_case c;
    struct arena a;
    struct err e;

    arena_init(&a, ARENA_MAX);
    CHECK(!policy_case_read(str_c(json), &a, &c, &e));
    CHECK_F(policy_case_read_stored(str_c(json), &a, &c, &e), "%s", e.text);
    CHECK_STR(c.case_id, "c");
    arena_release(&a);
}

TEST(what_is_wrong_with_a_case_begins_with_its_path)
{
    static const struct {
        const char *json, *want;
    } cases[] = {
        {"[]", "case: an object is expected"},
        {"{}", "case_id: is missing"},
        {"{\"case_id\":7}", "case_id: a string is expected, not a number"},
        {"{\"case_bundle\":7}", "case_bundle: an object is expected, not a number"},
        {"{\"case_bundle\":{\"case_id\":\"c\"}}", "case_bundle.policy_id: is missing"},
        {"{\"case_id\":\"c\",\"policy_id\":\"p\"}", "fields: is missing"},
        {"{\"case_id\":\"c\",\"policy_id\":\"p\",\"fields\":{}}",
         "fields: a list is expected, not an object"},
        {"{\"case_id\":\"c\",\"policy_id\":\"p\",\"facts\":\"age\"}",
         "facts: a list is expected, not a string"},
        {"{\"case_id\":\"c\",\"policy_id\":\"p\",\"facts\":[{\"field\":\"a\",\"value\":1},7]}",
         "facts[1]: an object is expected, not a number"},
        {FIELD(""), "fields[1].field_name: is missing"},
        {FIELD("\"field_name\":\"\""), "fields[1].field_name: is empty"},
        {FIELD("\"field_name\":\"b\""), "fields[1].value: is missing"},
        {FIELD("\"field_name\":\"b\",\"value\":1"), "fields[1].confidence: is missing"},
        {FIELD("\"field_name\":\"b\",\"value\":1,\"confidence\":1.1"),
         "fields[1].confidence: a number from 0 to 1 is expected"},
        {FIELD("\"field_name\":\"b\",\"value\":1,\"confidence\":\"high\""),
         "fields[1].confidence: a number from 0 to 1 is expected"},
        {FIELD("\"field_name\":\"b\",\"value\":1,\"confidence\":1,\"page\":0"),
         "fields[1].page: a page is a whole number from 1"},
        {FIELD("\"field_name\":\"b\",\"value\":1,\"confidence\":1,\"page\":1.5"),
         "fields[1].page: a page is a whole number from 1"},
        {FIELD("\"field_name\":\"b\",\"value\":1,\"confidence\":1,\"bbox\":[1,2,3]"),
         "fields[1].bbox: a list of exactly 4 numbers is expected"},
        {FIELD("\"field_name\":\"b\",\"value\":1,\"confidence\":1,\"bbox\":[1,2,3,\"4\"]"),
         "fields[1].bbox: a list of exactly 4 numbers is expected"},
        {"{\"case_bundle\":{\"case_id\":\"c\",\"policy_id\":\"p\",\"fields\":[],\"metadata\":{"
         "\"criteria\":[7]}}}",
         "case_bundle.metadata.criteria: a list of criterion ids is expected"},
        {FIELD("\"field_name\":\"b\",\"value\":1,\"confidence\":1,\"pages\":2"),
         "fields[1].pages: there is no such member here, did you mean \"page\"?"},
        {"{\"case_id\":\"c\",\"policy_id\":\"p\",\"fields\":[],\"selfconsistency\":true}",
         "selfconsistency: there is no such member here, did you mean \"self_consistency\"?"},
        {"{\"case_bundle\":{\"case_id\":\"c\",\"policy_id\":\"p\",\"fields\":[]},\"fields\":[]}",
         "fields: there is no such member here: there are case_bundle, case_id, metadata, "
         "criterion_id, policy and others"},
        {"{\"case_bundle\":{\"case_id\":\"c\",\"policy_id\":\"p\",\"fields\":[],\"metdata\":{}}}",
         "case_bundle.metdata: there is no such member here, did you mean \"metadata\"?"},
        {"{\"case_id\":\"c\",\"policy_id\":\"p\",\"fields\":[],\"options\":{\"sample\":3}}",
         "options.sample: there is no such member here, did you mean \"samples\"?"},
        {"{\"case_id\":\"c\",\"facts\":[],\"policy\":{\"policy_id\":\"p\",\"version\":\"2\"}}",
         "policy.version: there is no such member here, did you mean \"version_id\"?"},
        {"{\"case_id\":\"c\",\"policy_id\":\"p\",\"fields\":[],\"self_consistency\":1}",
         "self_consistency: true or false is expected, not a number"},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct policy_case c;
        struct arena a;
        struct err e;

        arena_init(&a, ARENA_MAX);
        CHECK_F(!policy_case_read(str_c(cases[i].json), &a, &c, &e), "%s", cases[i].json);
        CHECK_STR(str_c(e.text), cases[i].want);
        CHECK_INT(e.code, ERR_INPUT);
        arena_release(&a);
    }
}

static str fact_json(const struct policy_case *c, const char *name, struct buf *b)
{
    struct json_out o;
    struct err e;

    buf_init(b, 1 << 16);
    json_out_init(&o, b);
    policy_fact_json(c, str_c(name), &o);
    CHECK_F(json_out_ok(&o, &e), "%s", e.text);
    return buf_str(b);
}

TEST(a_fact_is_found_however_its_name_is_written)
{
    static const char *const names[] = {
        "patient_age", "Patient Age", "PATIENT-AGE", " patient  age ", "patient-age."};
    struct arena a;
    struct policy_case c = read_case(
        "{\"case_id\":\"c\",\"policy_id\":\"p\",\"fields\":[{\"field_name\":\"Patient-Age\","
        "\"value\":"
        "45,\"confidence\":0.9},{\"field_name\":\"sex\",\"value\":\"f\",\"confidence\":1},{\"field_"
        "name\":\"patient "
        "age\",\"value\":\"45\",\"confidence\":0.8},{\"field_name\":\"patient_age\","
        "\"value\":46,\"confidence\":0.8}]}",
        &a);
    struct buf b;

    for (size_t i = 0; i < COUNT_OF(names); i++)
        CHECK_F(policy_fact(&c, str_c(names[i])) == &c.fields[0], "%s", names[i]);
    CHECK(!policy_fact(&c, STR("age")) && !policy_fact(&c, STR("patient_ages")) &&
          !policy_fact(&c, STR("")));
    CHECK_STR(fact_json(&c, "Patient Age", &b),
              "{\"success\":true,\"field_name\":\"Patient-Age\",\"value\":45,\"confidence\":0.9,"
              "\"doc_id\":null,\"page\":null,\"bbox\":null,\"conflicts\":[{\"value\":46,"
              "\"confidence\":0.8,"
              "\"doc_id\":null,\"page\":null,\"bbox\":null}]}");
    buf_release(&b);
    CHECK_STR(fact_json(&c, "weight", &b),
              "{\"success\":false,\"error\":\"field_not_found\",\"field_name\":\"weight\","
              "\"available_fields\":[\"Patient-Age\",\"sex\"]}");
    buf_release(&b);
    arena_release(&a);
}

TEST(values_that_say_the_same_are_equal)
{
    static const struct {
        const char *x, *y;
        bool equal;
    } cases[] = {
        {"18", "\"18\"", true},
        {"18", "18.0", true},
        {"true", "\"Yes\"", true},
        {"false", "\"no\"", true},
        {"\"A\"", "\" a \"", true},
        {"[1,\"b\"]", "[\"1\",\"B\"]", true},
        {"null", "null", true},
        {"18", "19", false},
        {"true", "1", false},
        {"[1]", "[1,2]", false},
        {"\"\"", "null", false},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char json[400];
        struct arena a;
        struct policy_case c;

        snprintf(
            json,
            sizeof json,
            "{\"case_id\":\"c\",\"policy_id\":\"p\",\"fields\":[{\"field_name\":\"a\",\"value\":%s,"
            "\"confidence\":1},{\"field_name\":\"a\",\"value\":%s,\"confidence\":1}]}",
            cases[i].x,
            cases[i].y);
        c = read_case(json, &a);
        CHECK_F(policy_value_equal(&c.fields[0].value, &c.fields[1].value) == cases[i].equal,
                "%s %s",
                cases[i].x,
                cases[i].y);
        arena_release(&a);
    }
}

/* Results use one set of names, the CLI and the database another; both are read. */
TEST(status_names_of_both_kinds_are_one)
{
    static const char *const names[][2] = {
        {"met", "ready"}, {"missing", "not_ready"}, {"uncertain", "uncertain"}};

    for (size_t i = 0; i < COUNT_OF(names); i++) {
        enum policy_status a, b;

        CHECK(policy_status_find(str_c(names[i][0]), &a) &&
              policy_status_find(str_c(names[i][1]), &b) && a == b);
        CHECK_STR(str_c(policy_status_name(a)), names[i][0]);
    }
    CHECK(!policy_status_find(STR("MET"), &(enum policy_status){0}));
}

TEST(confidence_is_the_product_rounded_and_abstains_below_the_bar)
{
    static const struct {
        enum policy_status status;
        double tree, span, joint;
        enum policy_status after;
        const char *reason;
    } cases[] = {
        {POLICY_MET, 0.9, 0.9, 0.770, POLICY_MET, ""},
        {POLICY_MISSING, 1, 0.8, 0.720, POLICY_MISSING, ""},
        {POLICY_MET, 0.9, 0.7, 0.598, POLICY_UNCERTAIN, "low_confidence"},
        {POLICY_MET, 0.9, 0.1, 0.257, POLICY_UNCERTAIN, "low_confidence"}, /* a factor is >= 0.3 */
        {POLICY_UNCERTAIN, 1, 1, 0.6, POLICY_UNCERTAIN, ""},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct policy_result r = {.status = cases[i].status, .reason_code = STR("")};

        policy_confide(&r, cases[i].tree, cases[i].span);
        CHECK_F(r.c_joint > cases[i].joint - 1e-9 && r.c_joint < cases[i].joint + 1e-9,
                "%zu: %g",
                i,
                r.c_joint);
        CHECK(r.confidence >= r.c_joint && r.confidence <= r.c_joint && r.has_breakdown);
        CHECK_INT(r.status, cases[i].after);
        CHECK_STR(r.reason_code, cases[i].reason);
    }
    CHECK(policy_round(0.12345) > 0.1229 && policy_round(0.12345) < 0.1231);
    CHECK(policy_round(-1) == 0 && policy_round(2) == 1);
}

TEST(a_result_has_the_members_of_the_contract_and_reads_back)
{
    static const uint32_t pages[] = {2, 3};
    static const str path[] = {STR_INIT("A"), STR_INIT("B")};
    static struct policy_step steps[] = {{1, STR_INIT("think"), STR_INIT("x")}};
    static const char want[] =
        "{\"criterion_id\":\"age\",\"status\":\"met\",\"evidence\":{\"doc_id\":\"d\",\"page\":4,"
        "\"bbox\":"
        "[1,2,3,4],\"text_excerpt\":\"age: 18\"},\"citation\":{\"doc\":\"p\",\"version\":\"v\","
        "\"section\":\"A > B\",\"pages\":[2,3]},\"rationale\":\"because\",\"confidence\":0.77,"
        "\"confidence_breakdown\":{\"c_tree\":0.9,\"c_span\":0.9,\"c_final\":0.95,\"c_joint\":0.77}"
        ","
        "\"search_trajectory\":[\"A\",\"B\"],\"retrieval_method\":\"bm25+reranker\",\"reason_"
        "code\":"
        "null,\"reasoning_trace\":[{\"step\":1,\"action\":\"think\",\"observation\":\"x\"}]}";
    struct policy_result r = {
        .criterion_id = STR("age"),
        .status = POLICY_MET,
        .has_evidence = true,
        .evidence = {STR("d"), 4, true, {1, 2, 3, 4}, STR("age: 18")},
        .citation = {STR("p"), STR("v"), STR("A > B"), pages, 2},
        .rationale = STR("because"),
        .trajectory = path,
        .trajectory_count = 2,
        .retrieval_method = STR("bm25+reranker"),
        .trace = steps,
        .trace_count = 1,
    };
    struct policy_result back;
    struct json_out o;
    struct json doc;
    struct arena a;
    struct buf b, c;
    struct err e;

    policy_confide(&r, 0.9, 0.9);
    buf_init(&b, 1 << 16);
    json_out_init(&o, &b);
    policy_result_json(&r, &o);
    CHECK_STR(buf_str(&b), want);
    arena_init(&a, ARENA_MAX);
    json_init(&doc);
    CHECK(json_parse(&doc, buf_str(&b), &e));
    CHECK_F(policy_result_read(&doc, json_root(&doc), &a, &back, &e), "%s", e.text);
    buf_init(&c, 1 << 16);
    json_out_init(&o, &c);
    policy_result_json(&back, &o);
    CHECK_STR(buf_str(&c), want);
    buf_reset(&c);
    json_out_init(&o, &c);
    policy_result_json(&(struct policy_result){.status = POLICY_UNCERTAIN}, &o);
    CHECK_F(json_out_ok(&o, &e), "%s", e.text);
    CHECK(str_find(buf_str(&c), STR("\"evidence\":null")) != STR_NONE);
    CHECK(str_find(buf_str(&c), STR("\"confidence_breakdown\":null")) != STR_NONE);
    json_release(&doc);
    buf_release(&b);
    buf_release(&c);
    arena_release(&a);
}

TEST(a_result_on_which_readers_disagree_reads_back)
{
    struct policy_result r = {.criterion_id = STR("age"),
                              .status = POLICY_UNCERTAIN,
                              .reason_code = STR("readers_disagree"),
                              .disagree = true,
                              .by_model = POLICY_MET,
                              .by_rules = POLICY_MISSING,
                              .model_rationale = STR("sixteen will do"),
                              .rules_rationale = STR("16 is under 18")};
    struct policy_result back;
    struct json_out o;
    struct json doc;
    struct arena a;
    struct buf b, c;
    struct err e;

    arena_init(&a, ARENA_MAX);
    json_init(&doc);
    buf_init(&b, 1 << 16);
    buf_init(&c, 1 << 16);
    json_out_init(&o, &b);
    policy_result_json(&r, &o);
    CHECK(json_parse(&doc, buf_str(&b), &e));
    CHECK_F(policy_result_read(&doc, json_root(&doc), &a, &back, &e), "%s", e.text);
    CHECK(back.disagree && back.by_model == POLICY_MET && back.by_rules == POLICY_MISSING);
    CHECK_STR(back.model_rationale, "sixteen will do");
    json_out_init(&o, &c);
    policy_result_json(&back, &o);
    CHECK(str_eq(buf_str(&b), buf_str(&c)));
    CHECK(json_parse(&doc,
                     STR("{\"criterion_id\":\"a\",\"status\":\"met\",\"citation\":{},"
                         "\"readers\":{\"model\":{\"status\":\"maybe\"}}}"),
                     &e));
    CHECK(!policy_result_read(&doc, json_root(&doc), &a, &back, &e));
    CHECK_STR(str_c(e.text), "readers.model.status: met, missing or uncertain is expected");
    json_release(&doc);
    buf_release(&b);
    buf_release(&c);
    arena_release(&a);
}

TEST_MAIN(T(a_result_on_which_readers_disagree_reads_back), T(a_bundle_is_read_with_its_metadata),
          T(a_fixture_is_read_and_its_defaults_are_filled_in),
          T(a_case_without_criteria_has_the_default_one),
          T(criteria_of_the_bundle_replace_those_beside_it),
          T(a_stored_case_may_have_members_that_an_earlier_version_accepted),
          T(what_is_wrong_with_a_case_begins_with_its_path),
          T(each_pair_of_dates_in_the_wrong_order_is_an_issue),
          T(issues_without_end_fill_the_reply_and_no_more), T(a_list_of_too_many_fields_is_refused),
          T(a_long_section_path_takes_memory_of_its_size),
          T(values_with_too_many_entries_are_refused),
          T(a_fact_is_found_however_its_name_is_written), T(values_that_say_the_same_are_equal),
          T(status_names_of_both_kinds_are_one),
          T(confidence_is_the_product_rounded_and_abstains_below_the_bar),
          T(a_result_has_the_members_of_the_contract_and_reads_back))
