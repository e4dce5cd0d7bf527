/* result_read.c - a criterion's result from JSON. See result.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/member.h"
#include "apps/policy/result.h"

static void read_status(struct member *m, const struct json_node *v, enum policy_status *out)
{
    str name = STR("");

    if (member_text(m, v, "status", true, &name) && !policy_status_find(name, out))
        member_wrong(m, "status", "met, missing or uncertain is expected");
}

static void read_evidence(struct member *m, const struct json_node *v, struct policy_result *out)
{
    struct policy_evidence *e = &out->evidence;
    size_t at;
    const struct json_node *o = member_enter(m, v, "evidence", false, &at);

    if (!o)
        return;
    out->has_evidence = true;
    e->doc_id = e->text_excerpt = STR("");
    member_text(m, o, "doc_id", false, &e->doc_id);
    member_page(m, o, "page", false, &e->page);
    member_box(m, o, "bbox", &e->has_bbox, e->bbox);
    member_text(m, o, "text_excerpt", false, &e->text_excerpt);
    member_back(m, at);
}

static void read_citation(struct member *m, const struct json_node *v, struct policy_citation *c)
{
    size_t at;
    const struct json_node *o = member_enter(m, v, "citation", true, &at), *list;
    uint32_t *pages;

    assert(c->page_count == 0);
    c->doc = c->version = c->section = STR("");
    if (!o)
        return;
    member_text(m, o, "doc", false, &c->doc);
    member_text(m, o, "version", false, &c->version);
    member_text(m, o, "section", false, &c->section);
    list = member_kind(m, o, "pages", JSON_ARRAY);
    c->pages = pages = arena_zero(m->arena, json_count(m->doc, list) + 1, sizeof pages[0]);
    JSON_FOREACH(n, m->doc, list) {
        int64_t page = 0;

        if (!json_i64(m->doc, n, &page) || page < 1 || page > UINT32_MAX)
            member_wrong(m, "pages", "a page is a whole number from 1");
        pages[c->page_count++] = (uint32_t)page;
    }
    member_back(m, at);
}

static void read_breakdown(struct member *m, const struct json_node *v, struct policy_result *out)
{
    size_t at;
    const struct json_node *o = member_enter(m, v, "confidence_breakdown", false, &at);

    if (!o)
        return;
    out->has_breakdown = true;
    member_between(m, o, "c_tree", 0, 1, &out->c_tree);
    member_between(m, o, "c_span", 0, 1, &out->c_span);
    member_between(m, o, "c_final", 0, 1, &out->c_final);
    member_between(m, o, "c_joint", 0, 1, &out->c_joint);
    member_back(m, at);
}

static void read_trajectory(struct member *m, const struct json_node *v, struct policy_result *out)
{
    const struct json_node *list = member_kind(m, v, "search_trajectory", JSON_ARRAY);
    str *titles = arena_zero(m->arena, json_count(m->doc, list) + 1, sizeof titles[0]);

    assert(out->trajectory_count == 0 && out->trace_count == 0);
    out->trajectory = titles;
    JSON_FOREACH(n, m->doc, list)
        if (!json_text(m->doc, n, m->arena, &titles[out->trajectory_count++]))
            member_wrong(m, "search_trajectory", "a list of strings is expected");
}

static void read_trace(struct member *m, const struct json_node *v, struct policy_result *out)
{
    const struct json_node *list = member_kind(m, v, "reasoning_trace", JSON_ARRAY);
    struct policy_step *steps = arena_zero(m->arena, json_count(m->doc, list) + 1, sizeof *steps);

    out->trace = steps;
    JSON_FOREACH(n, m->doc, list) {
        size_t at = member_into(m, "reasoning_trace");
        struct policy_step *s = &steps[out->trace_count];

        member_into_at(m, out->trace_count++);
        s->action = s->observation = STR("");
        member_page(m, n, "step", true, &s->step);
        member_text(m, n, "action", true, &s->action);
        member_text(m, n, "observation", false, &s->observation);
        member_back(m, at);
    }
}

static void read_reading(struct member *m, const struct json_node *v, const char *key,
                         enum policy_status *status, str *rationale)
{
    size_t at;
    const struct json_node *o = member_enter(m, v, key, true, &at);

    if (!o)
        return;
    *rationale = STR("");
    read_status(m, o, status);
    member_text(m, o, "rationale", false, rationale);
    member_back(m, at);
}

static void read_readers(struct member *m, const struct json_node *v, struct policy_result *out)
{
    size_t at;
    const struct json_node *o = member_enter(m, v, "readers", false, &at);

    if (!o)
        return;
    out->disagree = true;
    read_reading(m, o, "model", &out->by_model, &out->model_rationale);
    read_reading(m, o, "rules", &out->by_rules, &out->rules_rationale);
    member_back(m, at);
}

bool policy_result_read(const struct json *doc, const struct json_node *v, struct arena *a,
                        struct policy_result *out, struct err *e)
{
    struct member m = {.doc = doc, .arena = a, .e = e};

    memset(out, 0, sizeof *out);
    out->rationale = out->reason_code = out->retrieval_method = STR("");
    if (!v || v->kind != JSON_OBJECT)
        return err_input(e, "a result is an object");
    member_text(&m, v, "criterion_id", true, &out->criterion_id);
    read_status(&m, v, &out->status);
    read_evidence(&m, v, out);
    read_citation(&m, v, &out->citation);
    member_text(&m, v, "rationale", false, &out->rationale);
    member_between(&m, v, "confidence", 0, 1, &out->confidence);
    read_breakdown(&m, v, out);
    read_trajectory(&m, v, out);
    member_text(&m, v, "retrieval_method", false, &out->retrieval_method);
    member_text(&m, v, "reason_code", false, &out->reason_code);
    read_trace(&m, v, out);
    read_readers(&m, v, out);
    return !m.failed;
}
