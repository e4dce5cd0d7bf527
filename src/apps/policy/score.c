/* score.c - several results as one: their confidence together, and where they contradict. See
 * fact_tools.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/fact_tools.h"
#include "apps/policy/member.h"
#include "apps/policy/result.h"

#include <math.h>

#define FINDINGS_MAX 256

struct sum {
    size_t n, count[3];
    double log_sum, mean, least;
};

static void sum_json(const struct sum *s, struct json_out *o)
{
    static const char *const names[] = {"met", "missing", "uncertain"};
    enum policy_status overall = s->count[POLICY_MISSING] > 0     ? POLICY_MISSING
                                 : s->count[POLICY_UNCERTAIN] > 0 ? POLICY_UNCERTAIN
                                                                  : POLICY_MET;

    assert(s->n > 0);
    json_member_double(o, "score", policy_round(exp(s->log_sum / (double)s->n)));
    json_member_double(o, "mean", policy_round(s->mean / (double)s->n));
    json_member_double(o, "lowest", policy_round(s->least));
    json_member_u64(o, "count", s->n);
    for (size_t i = 0; i < COUNT_OF(names); i++)
        json_member_u64(o, names[i], s->count[i]);
    json_member_str(o, "overall_status", str_c(policy_status_name(overall)));
    json_member_bool(o, "abstain", s->least < POLICY_ABSTAIN);
}

/* One result into the sum; those under the bar are written by id. */
static bool policy_add_result(struct member *m, const struct json_node *v, struct sum *s)
{
    enum policy_status status;
    str name = STR("");
    double confidence = -1;

    if (!member_text(m, v, "status", true, &name) || !policy_status_find(name, &status) ||
        !member_between(m, v, "confidence", 0, 1, &confidence) || confidence < 0)
        return false;
    assert((size_t)status < COUNT_OF(s->count));
    s->n++;
    s->count[status]++;
    s->log_sum += log(confidence > 1e-6 ? confidence : 1e-6);
    s->mean += confidence;
    s->least = confidence < s->least ? confidence : s->least;
    return true;
}

void policy_confidence_score(const struct json *doc, const struct json_node *args, struct arena *a,
                             struct json_out *o)
{
    const struct json_node *list = json_find(doc, args, STR("criteria_results"));
    struct sum s = {.least = 1};
    struct err e;
    struct member m = {.doc = doc, .arena = a, .e = &e};

    if (!list || list->kind != JSON_ARRAY || json_count(doc, list) == 0) {
        policy_tool_refuse(
            o, "missing_results", "criteria_results is a list of {status, confidence}");
        return;
    }
    JSON_FOREACH(v, doc, list)
        if (!policy_add_result(&m, v, &s)) {
            policy_tool_refuse(
                o, "invalid_result", "each has a status and a confidence from 0 to 1");
            return;
        }
    json_out_object(o);
    json_member_bool(o, "success", true);
    sum_json(&s, o);
    json_out_end(o);
}

enum stance { SUPPORT, OPPOSE, NEUTRAL, STANCES };

struct piece {
    str criterion, node, snippet;
    enum stance stance;
};

struct pieces {
    struct piece all[FINDINGS_MAX];
    size_t n;
};

static bool policy_score_read_piece(struct member *m, const struct json_node *v, str criterion,
                                    struct pieces *p)
{
    static const char *const names[STANCES] = {"support", "oppose", "neutral"};
    struct piece one = {.criterion = criterion, .node = STR(""), .snippet = STR("")};
    str stance = STR("neutral");

    member_text(m, v, "node_id", false, &one.node);
    member_text(m, v, "snippet", false, &one.snippet);
    member_text(m, v, "stance", false, &stance);
    while (one.stance < STANCES && !str_eq(stance, str_c(names[one.stance])))
        one.stance++;
    if (p->n < FINDINGS_MAX)
        p->all[p->n++] = one;
    return v->kind == JSON_OBJECT && one.stance < STANCES && !m->failed;
}

static bool policy_read_finding(struct member *m, const struct json_node *v, struct pieces *p)
{
    const struct json_node *list = member_kind(m, v, "evidence", JSON_ARRAY);
    str criterion = STR("");

    member_text(m, v, "criterion_id", true, &criterion);
    JSON_FOREACH(n, m->doc, list)
        if (!policy_score_read_piece(m, n, criterion, p))
            return false;
    return !m->failed;
}

static void piece_json(const struct piece *p, const char *key, struct json_out *o)
{
    json_member_object(o, key);
    json_member_str(o, "criterion_id", p->criterion);
    json_member_str(o, "node_id", p->node);
    json_member_str(o, "snippet", p->snippet);
    json_out_end(o);
}

/* Two pieces contradict if one is for and one against, of one criterion or of one node. */
static size_t policy_contradictions_json(const struct pieces *p, struct json_out *o)
{
    size_t n = 0;

    assert(p->n <= FINDINGS_MAX);
    json_member_array(o, "contradictions");
    for (size_t i = 0; i < p->n; i++)
        for (size_t k = 0; k < p->n && n < FINDINGS_MAX; k++) {
            const struct piece *x = &p->all[i], *y = &p->all[k];
            bool same = str_eq(x->criterion, y->criterion);

            if (x->stance != SUPPORT || y->stance != OPPOSE ||
                (!same && (x->node.n == 0 || !str_eq(x->node, y->node))))
                continue;
            json_out_object(o);
            json_member_str(o, "kind", same ? STR("same_criterion") : STR("same_node"));
            piece_json(x, "support", o);
            piece_json(y, "oppose", o);
            json_out_end(o);
            n++;
        }
    json_out_end(o);
    return n;
}

void policy_contradictions(const struct json *doc, const struct json_node *args, struct arena *a,
                           struct json_out *o)
{
    const struct json_node *list = json_find(doc, args, STR("findings"));
    struct pieces *p = arena_zero(a, 1, sizeof *p);
    struct err e;
    struct member m = {.doc = doc, .arena = a, .e = &e};
    size_t n;

    if (!list || list->kind != JSON_ARRAY) {
        policy_tool_refuse(
            o, "missing_findings", "findings is a list of {criterion_id, evidence[]}");
        return;
    }
    JSON_FOREACH(v, doc, list)
        if (!policy_read_finding(&m, v, p)) {
            policy_tool_refuse(
                o,
                "invalid_finding",
                "evidence is a list of {node_id?, snippet?, stance support|oppose|neutral}");
            return;
        }
    json_out_object(o);
    json_member_bool(o, "success", true);
    n = policy_contradictions_json(p, o);
    json_member_u64(o, "count", n);
    json_member_bool(o, "has_contradictions", n > 0);
    json_out_end(o);
}
