/* result_read.c - a criterion's result from JSON. See result.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/member.h"
#include "apps/policy/result.h"

static bool policy_result_read_status(struct member *m, const struct json_node *v,
                                      struct policy_result *out)
{
    str name = STR("");

    if (!member_text(m, v, "status", true, &name))
        return false;
    return policy_status_find(name, &out->status) ||
           member_wrong(m, "status", "met, missing or uncertain is expected");
}

static bool read_evidence(struct member *m, const struct json_node *v, struct policy_result *out)
{
    struct policy_evidence *e = &out->evidence;
    const struct json_node *o;
    size_t at;

    if (!member_kind(m, v, "evidence", JSON_OBJECT, &o))
        return false;
    if (!o)
        return true;
    at = member_into(m, "evidence");
    out->has_evidence = true;
    e->doc_id = e->text_excerpt = STR("");
    if (!member_text(m, o, "doc_id", false, &e->doc_id) ||
        !member_page(m, o, "page", false, &e->page) ||
        !member_box(m, o, "bbox", &e->has_bbox, e->bbox) ||
        !member_text(m, o, "text_excerpt", false, &e->text_excerpt))
        return false;
    member_back(m, at);
    return true;
}

static bool read_pages(struct member *m, const struct json_node *v, struct policy_citation *c)
{
    const struct json_node *list;
    uint32_t *pages;

    if (!member_kind(m, v, "pages", JSON_ARRAY, &list))
        return false;
    if (!list)
        return true;
    c->pages = pages = arena_zero(m->arena, json_count(m->doc, list) + 1, sizeof pages[0]);
    JSON_FOREACH(n, m->doc, list) {
        int64_t page;

        if (!json_i64(m->doc, n, &page) || page < 1 || page > UINT32_MAX)
            return member_wrong(m, "pages", "a page is a whole number from 1");
        pages[c->page_count++] = (uint32_t)page;
    }
    return true;
}

static bool read_citation(struct member *m, const struct json_node *v, struct policy_result *out)
{
    struct policy_citation *c = &out->citation;
    const struct json_node *o;
    size_t at;

    c->doc = c->version = c->section = STR("");
    if (!member_kind(m, v, "citation", JSON_OBJECT, &o))
        return false;
    if (!o)
        return member_wrong(m, "citation", "is missing");
    at = member_into(m, "citation");
    if (!member_text(m, o, "doc", false, &c->doc) ||
        !member_text(m, o, "version", false, &c->version) ||
        !member_text(m, o, "section", false, &c->section) || !read_pages(m, o, c))
        return false;
    member_back(m, at);
    return true;
}

static bool read_breakdown(struct member *m, const struct json_node *v, struct policy_result *out)
{
    const struct json_node *o;
    size_t at;

    if (!member_kind(m, v, "confidence_breakdown", JSON_OBJECT, &o))
        return false;
    if (!o)
        return true;
    at = member_into(m, "confidence_breakdown");
    out->has_breakdown = true;
    if (!member_between(m, o, "c_tree", 0, 1, &out->c_tree) ||
        !member_between(m, o, "c_span", 0, 1, &out->c_span) ||
        !member_between(m, o, "c_final", 0, 1, &out->c_final) ||
        !member_between(m, o, "c_joint", 0, 1, &out->c_joint))
        return false;
    member_back(m, at);
    return true;
}

static bool read_trajectory(struct member *m, const struct json_node *v, struct policy_result *out)
{
    const struct json_node *list;
    str *titles;

    if (!member_kind(m, v, "search_trajectory", JSON_ARRAY, &list))
        return false;
    if (!list)
        return true;
    out->trajectory = titles = arena_zero(m->arena, json_count(m->doc, list) + 1, sizeof titles[0]);
    JSON_FOREACH(n, m->doc, list)
        if (!json_text(m->doc, n, m->arena, &titles[out->trajectory_count++]))
            return member_wrong(m, "search_trajectory", "a list of strings is expected");
    return true;
}

static bool read_trace(struct member *m, const struct json_node *v, struct policy_result *out)
{
    const struct json_node *list;
    struct policy_step *steps;

    if (!member_kind(m, v, "reasoning_trace", JSON_ARRAY, &list))
        return false;
    if (!list)
        return true;
    out->trace = steps = arena_zero(m->arena, json_count(m->doc, list) + 1, sizeof steps[0]);
    JSON_FOREACH(n, m->doc, list) {
        struct policy_step *s = &steps[out->trace_count++];
        uint32_t step = 0;

        s->action = s->observation = STR("");
        if (!member_page(m, n, "step", true, &step) ||
            !member_text(m, n, "action", true, &s->action) ||
            !member_text(m, n, "observation", false, &s->observation))
            return err_prefix(m->e, "reasoning_trace[%zu].", out->trace_count - 1);
        s->step = step;
    }
    return true;
}

static bool read_reading(struct member *m, const struct json_node *v, const char *key,
                         enum policy_status *status, str *rationale)
{
    const struct json_node *o;
    struct policy_result one = {.rationale = STR("")};
    size_t at;

    if (!member_kind(m, v, key, JSON_OBJECT, &o))
        return false;
    if (!o)
        return member_wrong(m, key, "is missing");
    at = member_into(m, key);
    if (!policy_result_read_status(m, o, &one) ||
        !member_text(m, o, "rationale", false, &one.rationale))
        return false;
    member_back(m, at);
    *status = one.status;
    *rationale = one.rationale;
    return true;
}

static bool read_readers(struct member *m, const struct json_node *v, struct policy_result *out)
{
    const struct json_node *o;
    size_t at;

    if (!member_kind(m, v, "readers", JSON_OBJECT, &o))
        return false;
    if (!o)
        return true;
    at = member_into(m, "readers");
    out->disagree = true;
    if (!read_reading(m, o, "model", &out->by_model, &out->model_rationale) ||
        !read_reading(m, o, "rules", &out->by_rules, &out->rules_rationale))
        return false;
    member_back(m, at);
    return true;
}

bool policy_result_read(const struct json *doc, const struct json_node *v, struct arena *a,
                        struct policy_result *out, struct err *e)
{
    struct member m = {.doc = doc, .arena = a, .e = e};

    memset(out, 0, sizeof *out);
    out->rationale = out->reason_code = out->retrieval_method = STR("");
    if (!v || v->kind != JSON_OBJECT)
        return err_set(e, ERR_INPUT, "a result is an object");
    return member_text(&m, v, "criterion_id", true, &out->criterion_id) &&
           policy_result_read_status(&m, v, out) && read_evidence(&m, v, out) &&
           read_citation(&m, v, out) && member_text(&m, v, "rationale", false, &out->rationale) &&
           member_between(&m, v, "confidence", 0, 1, &out->confidence) &&
           read_breakdown(&m, v, out) && read_trajectory(&m, v, out) &&
           member_text(&m, v, "retrieval_method", false, &out->retrieval_method) &&
           member_text(&m, v, "reason_code", false, &out->reason_code) && read_trace(&m, v, out) &&
           read_readers(&m, v, out);
}
