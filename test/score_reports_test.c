/* score_reports_test.c - scores of incident analyses against labelled ones, most of them
 * adversarial: empty statements, quotations, a wrong cause in the right words.
 *
 * Each line of test/cases/reports.jsonl is a case (cause, object, not_cause, facts, evidence) or a
 * report of a case, which is labelled right or wrong. A right one must score SCORE_FOUND or more, a
 * wrong one less than WRONG_BELOW. The test prints the confusion matrix.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/incidents/score.h"
#include "base/file.h"
#include "base/json.h"
#include "test.h"

#define WRONG_BELOW 0.3
#define REPORTS_LEAST 60
#define DECEIVING_LEAST 30
#define CASES_MAX 50
#define TEXTS_MAX 50

struct labelled {
    str name, evidence;
    struct score_expected expected;
};

struct tally {
    struct arena arena;
    struct labelled cases[CASES_MAX];
    size_t case_count;
    size_t right_high, right_low, wrong_high, wrong_low; /* label, then score */
    size_t between;                                      /* score between the two limits */
};

static str reports_text(const struct json *doc, const char *key, struct arena *a)
{
    str out = STR("");

    (void)!json_text(doc, json_find(doc, json_root(doc), str_c(key)), a, &out);
    return arena_dup(a, out);
}

static struct score_texts reports_list(const struct json *doc, const char *key, struct arena *a)
{
    const struct json_node *list = json_find(doc, json_root(doc), str_c(key));
    struct score_texts out = {.at = arena_zero(a, TEXTS_MAX, sizeof *out.at)};

    for (const struct json_node *v = list ? json_first(doc, list) : NULL; v;
         v = json_next(doc, list, v)) {
        CHECK(out.n < TEXTS_MAX && json_text(doc, v, a, &out.at[out.n]));
        out.at[out.n] = arena_dup(a, out.at[out.n]);
        out.n++;
    }
    return out;
}

static void reports_add_case(struct tally *t, const struct json *doc)
{
    CHECK(t->case_count < CASES_MAX);
    t->cases[t->case_count++] =
        (struct labelled){.name = reports_text(doc, "case", &t->arena),
                          .evidence = reports_text(doc, "evidence", &t->arena),
                          .expected = {.facts = reports_list(doc, "facts", &t->arena),
                                       .cause = reports_list(doc, "cause", &t->arena),
                                       .object = reports_list(doc, "object", &t->arena),
                                       .not_cause = reports_list(doc, "not_cause", &t->arena)}};
}

static const struct labelled *reports_case(const struct tally *t, str name)
{
    for (size_t i = 0; i < t->case_count; i++)
        if (str_eq(t->cases[i].name, name))
            return &t->cases[i];
    CHECK_F(false, "no case " STR_FMT, STR_ARG(name));
    return NULL;
}

static void reports_score(struct tally *t, const struct json *doc)
{
    const struct labelled *c = reports_case(t, reports_text(doc, "of", &t->arena));
    bool right = false, high, low;
    struct score_result r;

    CHECK(json_bool(json_find(doc, json_root(doc), STR("right")), &right));
    score_analysis(reports_text(doc, "text", &t->arena), c->evidence, &c->expected, &t->arena, &r);
    CHECK(r.score >= 0 && r.score <= 1);
    high = r.score >= SCORE_FOUND;
    low = r.score < WRONG_BELOW;
    t->right_high += right && high;
    t->right_low += right && !high;
    t->wrong_low += !right && low;
    t->wrong_high += !right && !low;
    if (right ? !high : !low)
        print_error("%s scored %.2f (%s; " STR_FMT "): " STR_FMT ", " STR_FMT "\n  " STR_FMT "\n",
                    right ? "right one" : "wrong one",
                    r.score,
                    score_verdict_name(r.verdict),
                    STR_ARG(r.missing),
                    STR_ARG(c->name),
                    STR_ARG(reports_text(doc, "kind", &t->arena)),
                    STR_ARG(reports_text(doc, "text", &t->arena)));
}

TEST(right_reports_score_high_and_deceiving_ones_low)
{
    static struct tally t;
    const char *root = getenv("RATIONALE_SOURCE");
    char path[4096];
    struct json doc;
    struct err e;
    str all;

    arena_init(&t.arena, (size_t)256 << 20);
    snprintf(path, sizeof path, "%s/test/cases/reports.jsonl", root ? root : ".");
    CHECK_F(file_read(&t.arena, path, (size_t)4 << 20, &all, &e), "%s", e.text);
    json_init(&doc);
    while (all.n) {
        size_t end = str_find(all, STR("\n"));

        CHECK_F(json_parse(&doc, str_slice(all, 0, end), &e), "%s", e.text);
        if (json_find(&doc, json_root(&doc), STR("case")))
            reports_add_case(&t, &doc);
        else
            reports_score(&t, &doc);
        all = end == STR_NONE ? STR("") : str_slice(all, end + 1, all.n);
    }
    json_release(&doc);
    print_message("%zu cases          %.1f and more  below\n", t.case_count, SCORE_FOUND);
    print_message("right reports     %12zu %6zu\n", t.right_high, t.right_low);
    print_message("deceiving reports %12s %6zu below %.1f, %zu above\n",
                  "",
                  t.wrong_low,
                  WRONG_BELOW,
                  t.wrong_high);
    CHECK_INT(t.right_low, 0);
    CHECK_INT(t.wrong_high, 0);
    CHECK(t.wrong_low >= DECEIVING_LEAST && t.wrong_low + t.right_high >= REPORTS_LEAST);
    arena_release(&t.arena);
}

TEST_MAIN(T(right_reports_score_high_and_deceiving_ones_low))
