/* policy_cases_test.c - our own policy and its cases: each verdict and the section it rests on.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/heuristic.h"
#include "base/file.h"
#include "test.h"

#include <dirent.h>

#define CASES_LEAST 30
#define CASE_SIZE_MAX 65536

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

/* How many of its expectations a case does not meet. */
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
        struct policy_result r;
        str status;

        CHECK_F(policy_heuristic(d, &c, c.criteria[i], &a, &r, &e), "%s", e.text);
        status = str_c(policy_status_name(r.status));
        CHECK(is_text(&doc, want, "criterion_id", r.criterion_id));
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

TEST_MAIN(T(each_case_has_the_verdict_and_the_section_it_should))
