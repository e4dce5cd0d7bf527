/* policy_labelled_test.c - the controller without a model against labelled cases, most of them
 * adversarial. A verdict may be absent (uncertain), but never wrong.
 *
 * Each line of test/cases/policy_labelled.jsonl is a document or a case of a document. The truth of
 * a case is met, missing or unclear; unclear means that the policy or the facts do not decide, so
 * every verdict would be wrong. A plain question counts as adversarial if its document has other
 * text that may mislead.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/heuristic.h"
#include "base/file.h"
#include "test.h"

#define CASES_LEAST 7000
#define DECEIVING_LEAST 6600
#define DOCUMENTS_LEAST 10
#define COVERED_LEAST 0.65 /* share of the plain cases */
#define TEXT_MAX ((size_t)4 << 20)

struct tally {
    size_t cases, deceiving, documents;
    size_t plain, plain_decided, deceiving_clear, deceiving_decided;
    size_t false_met, false_missing;
    struct policy_doc *doc[4000];
    struct arena arena;
};

static str labelled_text(const struct json *doc, const char *key, struct arena *a)
{
    str out = STR("");

    CHECK(json_text(doc, json_find(doc, json_root(doc), str_c(key)), a, &out));
    return out;
}

static const struct policy_doc *labelled_document(const struct tally *t, str id)
{
    for (size_t i = 0; i < t->documents; i++)
        if (str_eq(t->doc[i]->id, id))
            return t->doc[i];
    CHECK_F(false, "no document " STR_FMT, STR_ARG(id));
    return NULL;
}

static str labelled_bundle(const struct json *doc, struct arena *a)
{
    const struct json_node *facts = json_find(doc, json_root(doc), STR("facts"));
    struct buf b;
    str out;

    buf_init(&b, 1 << 16);
    buf_printf(&b, "{\"case_id\":\"c\",\"policy_id\":\"p\",\"fields\":[");
    for (const struct json_node *k = json_first(doc, facts); k; k = json_next(doc, facts, k))
        buf_printf(&b,
                   "%s{\"field_name\":" STR_FMT ",\"value\":" STR_FMT
                   ",\"confidence\":0.95,\"doc_id\":\"d\",\"page\":1}",
                   b.p[b.n - 1] == '[' ? "" : ",",
                   STR_ARG(json_raw(doc, k)),
                   STR_ARG(json_raw(doc, json_value(k))));
    buf_printf(&b,
               "],\"metadata\":{\"criterion_id\":" STR_FMT "}}",
               STR_ARG(json_raw(doc, json_find(doc, json_root(doc), STR("criterion")))));
    out = arena_dup(a, buf_str(&b));
    buf_release(&b);
    return out;
}

static void labelled_case(struct tally *t, const struct json *doc, str line, struct arena *a)
{
    const struct policy_doc *d = labelled_document(t, labelled_text(doc, "document", a));
    str truth = labelled_text(doc, "truth", a), got;
    bool deceives = false, decided;
    struct policy_result r;
    struct policy_case c;
    struct err e;

    CHECK(json_bool(json_find(doc, json_root(doc), STR("deceives")), &deceives));
    CHECK_F(policy_case_read(labelled_bundle(doc, a), a, &c, &e), "%s", e.text);
    CHECK_F(policy_heuristic(d, &c, c.criteria[0], a, &r, &e), "%s", e.text);
    got = str_c(policy_status_name(r.status));
    decided = r.status != POLICY_UNCERTAIN;
    t->cases++;
    t->deceiving += deceives;
    if (deceives && !str_eq(truth, STR("unclear"))) {
        t->deceiving_clear++;
        t->deceiving_decided += decided;
    } else if (!deceives) {
        t->plain++;
        t->plain_decided += decided;
    }
    if (!decided && !deceives)
        print_message(
            "not decided: " STR_FMT "\n  " STR_FMT "\n", STR_ARG(line), STR_ARG(r.rationale));
    if (!decided || str_eq(truth, got))
        return;
    t->false_met += r.status == POLICY_MET;
    t->false_missing += r.status == POLICY_MISSING;
    print_error("false " STR_FMT ": " STR_FMT "\n  " STR_FMT "\n",
                STR_ARG(got),
                STR_ARG(line),
                STR_ARG(r.rationale));
}

static void labelled_line(struct tally *t, str line)
{
    struct json doc;
    struct arena a;
    struct err e;

    arena_init(&a, POLICY_ARENA_MAX);
    json_init(&doc);
    CHECK_F(json_parse(&doc, line, &e), "%s", e.text);
    if (json_find(&doc, json_root(&doc), STR("policy"))) {
        CHECK(t->documents < COUNT_OF(t->doc));
        CHECK_F(policy_doc_parse(labelled_text(&doc, "document", &a),
                                 STR("p.md"),
                                 labelled_text(&doc, "policy", &a),
                                 &t->doc[t->documents],
                                 &e),
                "%s",
                e.text);
        t->documents++;
    } else {
        labelled_case(t, &doc, line, &a);
    }
    json_release(&doc);
    arena_release(&a);
}

TEST(no_verdict_is_wrong)
{
    const char *root = getenv("RATIONALE_SOURCE");
    static struct tally t;
    char path[FILE_PATH_MAX];
    struct err e;
    str text;

    arena_init(&t.arena, POLICY_ARENA_MAX);
    snprintf(path, sizeof path, "%s/test/cases/policy_labelled.jsonl", root ? root : ".");
    CHECK_F(file_read(&t.arena, path, TEXT_MAX, &text, &e), "%s", e.text);
    while (text.n > 0) {
        size_t end = str_find(text, STR("\n"));

        end = end == STR_NONE ? text.n : end;
        labelled_line(&t, str_slice(text, 0, end));
        text = str_slice(text, end + (end < text.n), text.n);
    }
    print_message("%zu cases of %zu documents: %zu of %zu plain ones decided, %zu of %zu deceiving "
                  "ones that can be; %zu false met, %zu false missing\n",
                  t.cases,
                  t.documents,
                  t.plain_decided,
                  t.plain,
                  t.deceiving_decided,
                  t.deceiving_clear,
                  t.false_met,
                  t.false_missing);
    CHECK_INT(t.false_met, 0);
    CHECK_INT(t.false_missing, 0);
    CHECK(t.cases >= CASES_LEAST && t.deceiving >= DECEIVING_LEAST);
    CHECK(t.documents >= DOCUMENTS_LEAST);
    CHECK((double)t.plain_decided >= COVERED_LEAST * (double)t.plain);
    for (size_t i = 0; i < t.documents; i++)
        policy_doc_free(t.doc[i]);
    arena_release(&t.arena);
}

TEST_MAIN(T(no_verdict_is_wrong))
