/* result.h - what was found about one criterion: status, citation, evidence, how sure and why.
 *
 *     struct policy_result r = {.criterion_id = id, .status = POLICY_MET, ...};
 *     policy_confide(&r, c_tree, c_span);            confidence, breakdown; abstains under 0.65
 *     policy_result_json(&r, &out);
 *
 * The JSON is the contract's CriterionResult to the letter: criterion_id, status, evidence or null,
 * citation, rationale, confidence, confidence_breakdown or null, search_trajectory,
 * retrieval_method, reason_code or null, reasoning_trace. A result on which the two readers
 * disagree has one member more, "readers": {"model": {status, rationale}, "rules": {...}}.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "apps/policy/case.h"
#include "apps/policy/tree.h"

#define POLICY_ABSTAIN 0.65
#define POLICY_SPAN_FLOOR 0.3
#define POLICY_OBSERVATION_MAX 500 /* characters that an observation in the trace has at most */
#define POLICY_EXCERPT_MAX 500     /* likewise */

enum policy_status { POLICY_MET, POLICY_MISSING, POLICY_UNCERTAIN };

/* Where a fact is. The case says so, or doc_id is "" and page is 0: null in JSON. */
struct policy_evidence {
    str doc_id;
    uint32_t page;
    bool has_bbox;
    double bbox[4];
    str text_excerpt; /* "": none */
};

struct policy_citation {
    str doc, version, section; /* the section's title path */
    const uint32_t *pages;
    size_t page_count;
};

struct policy_step {
    unsigned step; /* from 1 */
    str action;    /* "think", "retrieve", "read", "link", "decide", or a tool's name */
    str observation;
};

struct policy_result {
    str criterion_id;
    enum policy_status status;
    bool has_evidence, has_breakdown;
    struct policy_evidence evidence;
    struct policy_citation citation;
    str rationale;
    double confidence;
    double c_tree, c_span, c_final, c_joint;
    const str *trajectory; /* titles, or ids, from the top to the node */
    size_t trajectory_count;
    str retrieval_method; /* "bm25+reranker", "pageindex-llm", "pageindex-hybrid" */
    str reason_code;      /* "": null */
    struct policy_step *trace;
    size_t trace_count, trace_max;
    bool disagree; /* the model and the rules read it differently: both readings follow */
    enum policy_status by_model, by_rules;
    str model_rationale, rules_rationale;
};

/* 0.95 met, 0.90 missing, 0.60 uncertain. */
double policy_c_final(enum policy_status s);
double policy_round(double v); /* to three decimals, within 0 to 1 */
/* Sets the four and the confidence: c_joint = c_tree * max(c_span, floor) * c_final. A met or
 * missing that is under POLICY_ABSTAIN becomes uncertain with the code "low_confidence" (unless
 * it has one), and keeps the computed confidence. */
void policy_confide(struct policy_result *r, double c_tree, double c_span);

/* Adds a step to the trace; its observation is cut. */
void policy_result_step(struct policy_result *r, struct arena *a, str action, str observation);
/* Cites a section without its pages, with the titles above it as trajectory. */
void policy_result_cite(struct policy_result *r, const struct policy_tree *t,
                        const struct policy_node *n, struct arena *a);
/* A fact as text: "age: 17". */
str policy_fact_text(const struct policy_field *f, struct arena *a);
/* Makes a fact the evidence. */
void policy_result_show(struct policy_result *r, const struct policy_field *f, struct arena *a);

const char *policy_status_name(enum policy_status s); /* met, missing, uncertain */
/* Finds the status by such a name, or by the CLI's: ready, not_ready, uncertain. */
bool policy_status_find(str name, enum policy_status *out) MUST_USE;

/* Copies all of it into the arena. */
void policy_result_dup(const struct policy_result *r, struct arena *a, struct policy_result *out);
/* The members "doc_id" and "page" of a fact's place; null if the case does not say it. */
void policy_place_json(str doc_id, uint32_t page, struct json_out *o);
/* The member "bbox"; null if box is NULL. */
void policy_box_json(const double box[4], struct json_out *o);
void policy_result_json(const struct policy_result *r, struct json_out *o);
/* For tests and stored results; strict, errors with the path of the member. */
bool policy_result_read(const struct json *doc, const struct json_node *v, struct arena *a,
                        struct policy_result *out, struct err *e) MUST_USE;
