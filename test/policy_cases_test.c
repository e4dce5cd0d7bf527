/* policy_cases_test.c - our own policy and its cases: each verdict, and the section that it cites.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/heuristic.h"
#include "base/file.h"
#include "test.h"

#include <dirent.h>

#define CASES_LEAST 30
#define CASE_SIZE_MAX 65536
#define ROWS_LEAST 400
#define ROWS_SIZE_MAX ((size_t)4 << 20)

static const char *source(void)
{
    const char *root = getenv("RATIONALE_SOURCE");

    return root ? root : ".";
}

static struct policy_doc *policy(void)
{
    char path[FILE_PATH_MAX];
    struct policy_doc *d;
    struct err e;

    snprintf(path, sizeof path, "%s/example/policy/lumbar-mri.md", source());
    CHECK_F(policy_doc_load("lumbar-mri", path, &d, &e), "%s", e.text);
    return d;
}

static bool is_text(const struct json *doc, const struct json_node *want, const char *key, str got)
{
    const struct json_node *v = json_find(doc, want, str_c(key));

    return !v || json_is(doc, v, got);
}

static bool has_pages(const struct json *doc, const struct json_node *want,
                      const struct policy_citation *c)
{
    const struct json_node *list = json_find(doc, want, STR("pages"));
    size_t i = 0;

    for (const struct json_node *p = json_first(doc, list); p; p = json_next(doc, list, p), i++) {
        int64_t page;

        if (i >= c->page_count || !json_i64(doc, p, &page) || page != c->pages[i])
            return false;
    }
    return !list || i == c->page_count;
}

static bool well_formed(const struct policy_result *r, struct arena *a)
{
    struct policy_result back;
    struct json_out o;
    struct json doc;
    struct buf b;
    struct err e;
    bool ok;

    buf_init(&b, 1 << 20);
    json_out_init(&o, &b);
    policy_result_json(r, &o);
    json_init(&doc);
    ok = json_out_ok(&o, &e) && json_parse(&doc, buf_str(&b), &e) &&
         policy_result_read(&doc, json_root(&doc), a, &back, &e) && back.status == r->status &&
         back.trace_count == r->trace_count;
    json_release(&doc);
    buf_release(&b);
    return ok;
}

/* The number of expectations that a case does not meet. */
static size_t wrong_in(const struct policy_doc *d, const char *path)
{
    struct policy_case c;
    struct arena a;
    struct json doc;
    struct err e;
    size_t bad = 0, i = 0;
    const struct json_node *list;
    str text;

    arena_init(&a, POLICY_ARENA_MAX);
    json_init(&doc);
    CHECK_F(file_read(&a, path, CASE_SIZE_MAX, &text, &e), "%s", e.text);
    CHECK_F(json_parse(&doc, text, &e), "%s: %s", path, e.text);
    CHECK_F(policy_case_read(text, &a, &c, &e), "%s: %s", path, e.text);
    list = json_find(&doc, json_root(&doc), STR("expect"));
    CHECK_INT(json_count(&doc, list), c.criterion_count);
    for (const struct json_node *want = json_first(&doc, list); want;
         want = json_next(&doc, list, want), i++) {
        const struct json_node *open = json_find(&doc, want, STR("without_model"));
        struct policy_result r;
        str status;

        CHECK_F(policy_heuristic(d, &c, c.criteria[i], &a, &r, &e), "%s", e.text);
        status = str_c(policy_status_name(r.status));
        CHECK(is_text(&doc, want, "criterion_id", r.criterion_id));
        /* A case that needs a model has two labels: the truth, and the result without a model. */
        if (open && is_text(&doc, open, "status", status) &&
            is_text(&doc, open, "reason_code", r.reason_code))
            continue;
        CHECK_F(well_formed(&r, &a), "%s", path);
        if (is_text(&doc, want, "status", status) &&
            is_text(&doc, want, "section", r.citation.section) &&
            is_text(&doc, want, "reason_code", r.reason_code) && has_pages(&doc, want, &r.citation))
            continue;
        print_error("%s: " STR_FMT " is " STR_FMT " in \"" STR_FMT "\" [" STR_FMT "]\n  " STR_FMT
                    "\n",
                    path,
                    STR_ARG(c.criteria[i]),
                    STR_ARG(status),
                    STR_ARG(r.citation.section),
                    STR_ARG(r.reason_code),
                    STR_ARG(r.rationale));
        bad++;
    }
    json_release(&doc);
    arena_release(&a);
    return bad;
}

TEST(each_case_has_the_verdict_and_the_section_it_should)
{
    struct policy_doc *d = policy();
    char folder[FILE_PATH_MAX - 300], path[FILE_PATH_MAX];
    size_t n = 0, bad = 0;
    DIR *dir;

    snprintf(folder, sizeof folder, "%s/example/policy/cases", source());
    dir = opendir(folder);
    CHECK_F(dir != NULL, "%s", folder);
    for (struct dirent *f; (f = readdir(dir));) {
        if (!str_ends(str_c(f->d_name), STR(".json")))
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, f->d_name);
        bad += wrong_in(d, path);
        n++;
    }
    closedir(dir);
    policy_doc_free(d);
    CHECK_INT(bad, 0);
    CHECK_F(n >= CASES_LEAST, "only %zu cases", n);
}

/* ---- policies of one or a few rules, one per line of test/cases/policy.jsonl ---- */

/* Facts are [name, value, confidence]. */
static str bundle_of(const struct json *doc, const struct json_node *row, struct arena *a)
{
    const struct json_node *facts = json_find(doc, row, STR("facts"));
    struct buf b;
    str out;

    buf_init(&b, CASE_SIZE_MAX);
    buf_printf(&b, "{\"case_id\":\"c\",\"policy_id\":\"p\",\"fields\":[");
    for (const struct json_node *f = json_first(doc, facts); f; f = json_next(doc, facts, f)) {
        const struct json_node *name = json_first(doc, f), *value = json_next(doc, f, name);

        buf_printf(&b,
                   "%s{\"field_name\":" STR_FMT ",\"value\":" STR_FMT ",\"confidence\":" STR_FMT
                   ",\"doc_id\":\"doc\",\"page\":3}",
                   b.p[b.n - 1] == '[' ? "" : ",",
                   STR_ARG(json_raw(doc, name)),
                   STR_ARG(json_raw(doc, value)),
                   STR_ARG(json_raw(doc, json_next(doc, f, value))));
    }
    buf_printf(&b,
               "],\"metadata\":{\"criterion_id\":" STR_FMT "}}",
               STR_ARG(json_raw(doc, json_find(doc, row, STR("criterion")))));
    out = arena_dup(a, buf_str(&b));
    buf_release(&b);
    return out;
}

static bool row_holds(str line, struct arena *a)
{
    const struct json_node *row;
    struct policy_result r;
    struct policy_case c;
    struct policy_doc *d;
    struct json doc;
    struct err e;
    str text;
    bool ok;

    json_init(&doc);
    CHECK_F(json_parse(&doc, line, &e), "%s", e.text);
    row = json_root(&doc);
    CHECK(json_text(&doc, json_find(&doc, row, STR("policy")), a, &text));
    CHECK_F(policy_doc_parse(STR("p"), STR("p.md"), text, &d, &e), "%s", e.text);
    CHECK_F(policy_case_read(bundle_of(&doc, row, a), a, &c, &e), "%s", e.text);
    CHECK_F(policy_heuristic(d, &c, c.criteria[0], a, &r, &e), "%s", e.text);
    CHECK(well_formed(&r, a));
    ok = is_text(&doc, row, "status", str_c(policy_status_name(r.status))) &&
         is_text(&doc, row, "section", r.citation.section) &&
         is_text(&doc, row, "reason_code", r.reason_code) && has_pages(&doc, row, &r.citation);
    if (!ok)
        print_error(STR_FMT "\n  %s in \"" STR_FMT "\" [" STR_FMT "]\n  " STR_FMT "\n",
                    STR_ARG(line),
                    policy_status_name(r.status),
                    STR_ARG(r.citation.section),
                    STR_ARG(r.reason_code),
                    STR_ARG(r.rationale));
    policy_doc_free(d);
    json_release(&doc);
    return ok;
}

TEST(rules_in_many_forms_decide_as_they_read)
{
    char path[FILE_PATH_MAX];
    struct arena a, row;
    size_t bad = 0, n = 0;
    struct err e;
    str text;

    arena_init(&a, POLICY_ARENA_MAX);
    snprintf(path, sizeof path, "%s/test/cases/policy.jsonl", source());
    CHECK_F(file_read(&a, path, ROWS_SIZE_MAX, &text, &e), "%s", e.text);
    while (text.n > 0) {
        size_t end = str_find(text, STR("\n"));

        end = end == STR_NONE ? text.n : end;
        arena_init(&row, POLICY_ARENA_MAX);
        bad += !row_holds(str_slice(text, 0, end), &row);
        arena_release(&row);
        text = str_slice(text, end + (end < text.n), text.n);
        n++;
    }
    arena_release(&a);
    CHECK_INT(bad, 0);
    CHECK_F(n >= ROWS_LEAST, "only %zu rows", n);
}

TEST_MAIN(T(each_case_has_the_verdict_and_the_section_it_should),
          T(rules_in_many_forms_decide_as_they_read))
