/* result.c - a criterion's result: its numbers, and as JSON. See result.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/result.h"

#include "base/utf8.h"

#include <math.h>

static const struct {
    const char *name, *ready;
    double c_final;
} statuses[] = {
    [POLICY_MET] = {"met", "ready", 0.95},
    [POLICY_MISSING] = {"missing", "not_ready", 0.90},
    [POLICY_UNCERTAIN] = {"uncertain", "uncertain", 0.60},
};

double policy_c_final(enum policy_status s)
{
    assert((size_t)s < COUNT_OF(statuses));
    return statuses[s].c_final;
}

void policy_result_step(struct policy_result *r, struct arena *a, str action, str observation)
{
    size_t n = r->trace_count++;

    r->trace = arena_grow(a, r->trace, n, &r->trace_max, sizeof r->trace[0]);
    assert(n < r->trace_max);
    r->trace[n] = (struct policy_step){
        (unsigned)n + 1, action, utf8_cut_count(observation, POLICY_OBSERVATION_MAX)};
}

void policy_result_cite(struct policy_result *r, const struct policy_tree *t,
                        const struct policy_node *n, struct arena *a)
{
    assert(n >= t->nodes && n < t->nodes + t->node_count);
    r->citation.section = arena_dup(a, n->title_path);
    r->trajectory = policy_titles(t, n, a);
    r->trajectory_count = n->depth + 1;
}

str policy_fact_text(const struct policy_field *f, struct arena *a)
{
    return arena_printf(a,
                        STR_FMT ": " STR_FMT,
                        STR_ARG(f->name),
                        STR_ARG(f->value.text.n ? f->value.text : f->raw));
}

void policy_result_show(struct policy_result *r, const struct policy_field *f, struct arena *a)
{
    r->has_evidence = true;
    r->evidence = (struct policy_evidence){
        .doc_id = f->doc_id,
        .page = f->page,
        .has_bbox = f->has_bbox,
        .text_excerpt = utf8_cut_count(policy_fact_text(f, a), POLICY_EXCERPT_MAX)};
    memcpy(r->evidence.bbox, f->bbox, sizeof f->bbox);
}

const char *policy_status_name(enum policy_status s)
{
    assert((size_t)s < COUNT_OF(statuses));
    return statuses[s].name;
}

bool policy_status_find(str name, enum policy_status *out)
{
    for (size_t i = 0; i < COUNT_OF(statuses); i++)
        if (str_eq(name, str_c(statuses[i].name)) || str_eq(name, str_c(statuses[i].ready))) {
            *out = (enum policy_status)i;
            return true;
        }
    return false;
}

double policy_round(double v)
{
    v = v > 1 ? 1 : v > 0 ? v : 0; /* and no number is 0 */
    return round(v * 1000) / 1000;
}

void policy_confide(struct policy_result *r, double c_tree, double c_span)
{
    r->has_breakdown = true;
    r->c_tree = policy_round(c_tree);
    r->c_span = policy_round(c_span > POLICY_SPAN_FLOOR ? c_span : POLICY_SPAN_FLOOR);
    r->c_final = policy_c_final(r->status);
    r->c_joint = policy_round(r->c_tree * r->c_span * r->c_final);
    assert(r->c_joint <= r->c_final && r->c_span > 0);
    r->confidence = r->c_joint;
    if (r->status == POLICY_UNCERTAIN || r->c_joint >= POLICY_ABSTAIN)
        return;
    r->status = POLICY_UNCERTAIN;
    if (r->reason_code.n == 0)
        r->reason_code = STR("low_confidence");
}

static void policy_result_member(struct json_out *o, const char *key, str value)
{
    json_member_str(o, key, value.p ? value : STR("")); /* a result may be zeroed and half filled */
}

void policy_place_json(str doc_id, uint32_t page, struct json_out *o)
{
    json_member_str_or_null(o, "doc_id", doc_id);
    json_member_i64_or_null(o, "page", page > 0 ? (int64_t)page : -1);
}

void policy_box_json(const double box[4], struct json_out *o)
{
    json_out_key(o, STR("bbox"));
    if (!box) {
        json_out_null(o);
        return;
    }
    json_out_array(o);
    for (size_t i = 0; i < 4; i++)
        json_out_double(o, box[i]);
    json_out_end(o);
}

static void policy_evidence_json(const struct policy_evidence *e, struct json_out *o)
{
    json_out_object(o);
    policy_place_json(e->doc_id, e->page, o);
    policy_box_json(e->has_bbox ? e->bbox : NULL, o);
    json_member_str_or_null(
        o,
        "text_excerpt",
        utf8_cut_count(e->text_excerpt.n ? e->text_excerpt : STR(""), POLICY_EXCERPT_MAX));
    json_out_end(o);
}

static void policy_citation_json(const struct policy_citation *c, struct json_out *o)
{
    json_out_object(o);
    policy_result_member(o, "doc", c->doc);
    policy_result_member(o, "version", c->version);
    policy_result_member(o, "section", c->section);
    json_member_array(o, "pages");
    for (size_t i = 0; i < c->page_count; i++)
        json_out_u64(o, c->pages[i]);
    json_out_close(o, 2);
}

static void policy_breakdown_json(const struct policy_result *r, struct json_out *o)
{
    if (!r->has_breakdown) {
        json_out_null(o);
        return;
    }
    json_out_object(o);
    json_member_double(o, "c_tree", r->c_tree);
    json_member_double(o, "c_span", r->c_span);
    json_member_double(o, "c_final", r->c_final);
    json_member_double(o, "c_joint", r->c_joint);
    json_out_end(o);
}

static void trace_json(const struct policy_result *r, struct json_out *o)
{
    json_out_array(o);
    for (size_t i = 0; i < r->trace_count; i++) {
        json_out_object(o);
        json_member_u64(o, "step", r->trace[i].step);
        policy_result_member(o, "action", r->trace[i].action);
        policy_result_member(
            o, "observation", utf8_cut_count(r->trace[i].observation, POLICY_OBSERVATION_MAX));
        json_out_end(o);
    }
    json_out_end(o);
}

void policy_result_dup(const struct policy_result *r, struct arena *a, struct policy_result *out)
{
    uint32_t *pages = arena_zero(a, r->citation.page_count + 1, sizeof *pages);
    struct policy_step *trace = arena_zero(a, r->trace_count + 1, sizeof *trace);
    str *path = arena_zero(a, r->trajectory_count + 1, sizeof *path);

    *out = *r;
    str *const texts[] = {&out->criterion_id,
                          &out->evidence.doc_id,
                          &out->evidence.text_excerpt,
                          &out->citation.doc,
                          &out->citation.version,
                          &out->citation.section,
                          &out->rationale,
                          &out->retrieval_method,
                          &out->reason_code,
                          &out->model_rationale,
                          &out->rules_rationale};

    for (size_t i = 0; i < COUNT_OF(texts); i++)
        *texts[i] = arena_dup(a, texts[i]->p ? *texts[i] : STR(""));
    for (size_t i = 0; i < r->citation.page_count; i++)
        pages[i] = r->citation.pages[i];
    for (size_t i = 0; i < r->trajectory_count; i++)
        path[i] = arena_dup(a, r->trajectory[i]);
    for (size_t i = 0; i < r->trace_count; i++)
        trace[i] = (struct policy_step){r->trace[i].step,
                                        arena_dup(a, r->trace[i].action),
                                        arena_dup(a, r->trace[i].observation)};
    out->citation.pages = pages;
    out->trajectory = path;
    out->trace = trace;
}

static void reading_json(struct json_out *o, const char *key, enum policy_status s, str rationale)
{
    json_member_object(o, key);
    policy_result_member(o, "status", str_c(policy_status_name(s)));
    policy_result_member(o, "rationale", rationale);
    json_out_end(o);
}

void policy_result_json(const struct policy_result *r, struct json_out *o)
{
    json_out_object(o);
    policy_result_member(o, "criterion_id", r->criterion_id);
    policy_result_member(o, "status", str_c(policy_status_name(r->status)));
    json_out_key(o, STR("evidence"));
    if (r->has_evidence)
        policy_evidence_json(&r->evidence, o);
    else
        json_out_null(o);
    json_out_key(o, STR("citation"));
    policy_citation_json(&r->citation, o);
    policy_result_member(o, "rationale", r->rationale);
    json_member_double(o, "confidence", policy_round(r->confidence));
    json_out_key(o, STR("confidence_breakdown"));
    policy_breakdown_json(r, o);
    json_member_texts(o, "search_trajectory", r->trajectory, r->trajectory_count);
    policy_result_member(o, "retrieval_method", r->retrieval_method);
    json_member_str_or_null(o, "reason_code", r->reason_code);
    json_out_key(o, STR("reasoning_trace"));
    trace_json(r, o);
    if (r->disagree) {
        json_member_object(o, "readers");
        reading_json(o, "model", r->by_model, r->model_rationale);
        reading_json(o, "rules", r->by_rules, r->rules_rationale);
        json_out_end(o);
    }
    json_out_end(o);
}
