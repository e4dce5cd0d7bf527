/* heuristic.c - a criterion verified without a model. See heuristic.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/heuristic_in.h"

#define NEAR 0.8         /* of the best score: what a criterion is about */
#define FAR 0.45         /* if nothing there decides */
#define TREE_LEAST 0.75  /* c_tree where none of the words were found, */
#define TREE_MOST 0.98   /* and where all were */
#define LOOSE_LEAST 0.95 /* a link that is worse is a loose one */

void heuristic_add(struct run *x, const struct reading *r, const struct clause *c,
                   const struct verdict *v)
{
    x->read += c->kind != CLAUSE_NONE;
    x->unmet += c->kind == CLAUSE_REQUIRE && c->verb && v->found == FOUND_NOTHING;
    if (v->found == FOUND_NOTHING || x->n == RULES_MAX)
        return;
    x->rules[x->n++] = (struct judged){r, *c, *v};
}

/* Whether items are what a lead lists: values, or ways of which one is enough. */
bool heuristic_is_list(const struct reading *r, const struct clause *c)
{
    struct range whole = {0, r->n};

    return r->item_n > 0 &&
           (range_has(r->w, whole, "any one either unless except list listed codes") ||
            c->kind == CLAUSE_FORBID || c->kind == CLAUSE_WAIVE ||
            (c->kind != CLAUSE_NONE && !range_has(r->w, whole, "all each both")));
}

static bool policy_heuristic_in_list(const struct reading *r)
{
    return r->lead && r->lead->alone_n > 0 && heuristic_is_list(r->lead, &r->lead->alone[0]);
}

static void judge_reading(struct run *x, const struct reading *r)
{
    const struct clause *c = r->clauses;

    if (r->sentence->row) {
        const struct clause c_row = {.kind = CLAUSE_REQUIRE};
        struct verdict v;

        if (!r->lead)
            return;
        judge_row(&x->judge, r, &v);
        heuristic_add(x, r, &c_row, &v);
        return;
    }
    if (policy_heuristic_in_list(r))
        return; /* with its lead */
    for (size_t i = 0; i < r->clause_n; i++) {
        struct verdict v;

        if (heuristic_is_list(r, &c[i])) {
            judge_group(&x->judge, r, &c[i], &v);
            heuristic_add(x, r, &c[i], &v);
            if (range_empty(c[i].except))
                continue;
        }
        judge_clause(&x->judge, r, &c[i], &v);
        heuristic_add(x, r, &c[i], &v);
    }
}

/* Sentences from a score on; those of the section that the best stands in come along only then. */
static void judge_from(struct run *x, double least)
{
    x->n = x->read = x->unmet = 0;
    for (size_t i = 0; i < x->scope.n; i++) {
        const struct reading *r = &x->scope.all[i];

        if (x->scores.open || (x->scores.score[i] > 0 &&
                               x->scores.score[i] >= least * x->scores.most && !x->scores.aside[i]))
            judge_reading(x, r);
    }
}

static bool uses_facts(const struct run *x)
{
    for (size_t i = 0; i < x->n; i++)
        if (x->rules[i].v.used.n > 0)
            return true;
    return false;
}

/* Whether all that a rule rests on is linked more surely by another. */
static bool better_elsewhere(const struct run *x, const struct judged *j)
{
    for (size_t i = 0; i < j->v.used.n; i++) {
        bool found = false;

        for (size_t k = 0; k < x->n && !found; k++)
            for (size_t m = 0; m < x->rules[k].v.used.n && !found; m++)
                found = x->rules[k].v.used.facts[m] == j->v.used.facts[i] &&
                        x->rules[k].v.used.quality >= LOOSE_LEAST;
        if (!found)
            return false;
    }
    return j->v.used.n > 0;
}

/* Where a sentence that says what it is about itself was decided, what stands around it and was
 * linked loosely does not count. */
static void drop_loose(struct run *x)
{
    struct judged *kept_rules = arena_alloc(x->a, (x->n + 1) * sizeof kept_rules[0]);
    bool own = false;
    size_t kept = 0;

    for (size_t i = 0; i < x->n; i++)
        own = own || (x->rules[i].v.used.n > 0 && x->scores.own[x->rules[i].r - x->scope.all]);
    for (size_t i = 0; i < x->n; i++)
        if (x->rules[i].v.used.n == 0 || x->rules[i].v.used.quality >= LOOSE_LEAST ||
            (!better_elsewhere(x, &x->rules[i]) &&
             (!own || x->scores.own[x->rules[i].r - x->scope.all])))
            kept_rules[kept++] = x->rules[i];
    memcpy(x->rules, kept_rules, kept * sizeof x->rules[0]);
    x->n = kept;
}

/* Whether a rule rests on a fact that is named as the criterion is. */
static bool is_about(const struct judged *j, const struct word *q, size_t n)
{
    for (size_t i = 0; i < j->v.used.n; i++)
        for (size_t k = 0; k < j->v.used.facts[i]->name_n; k++)
            if (word_find(q, n, &j->v.used.facts[i]->name[k]) < n)
                return true;
    return false;
}

/* Where the best sentences say nothing of the facts, others may that are about it less plainly. */
static void judge_further(struct run *x, str criterion)
{
    struct word *q;
    size_t n = scope_question(criterion, x->a, &q), kept = 0, read = x->read;

    if (x->n == 0) {
        judge_from(x, FAR);
        return;
    }
    judge_from(x, FAR);
    for (size_t i = 0; i < x->n; i++)
        if (is_about(&x->rules[i], q, n))
            x->rules[kept++] = x->rules[i];
    x->n = kept;
    if (kept > 0)
        return;
    judge_from(x, NEAR);
    x->read = read;
}

/* An end before anything could be read. */
static void policy_heuristic_give_up(struct run *x, const char *code)
{
    struct policy_result *out = x->out;

    out->status = POLICY_UNCERTAIN;
    out->reason_code = str_c(code);
    policy_confide(out, 0, 0);
    out->rationale = arena_printf(x->a, "%s.", heuristic_reason_words(out->reason_code));
    heuristic_step(x, "decide", out->rationale);
}

static str policy_heuristic_question(struct run *x, str criterion)
{
    struct word *w;
    struct buf b;
    str out;

    buf_init(&b, POLICY_QUERY_MAX);
    if (scope_question(criterion, x->a, &w) > 0)
        buf_add(&b, policy_key(x->a, criterion));
    else
        for (size_t i = 0; i < x->c->field_count && i < 64; i++)
            buf_printf(&b, STR_FMT " ", STR_ARG(x->c->fields[i].key));
    buf_printf(&b, " " STR_FMT, STR_ARG(x->c->reasoning_hint));
    for (size_t i = 0; i < b.n; i++)
        if (b.p[i] == '_')
            b.p[i] = ' ';
    out = arena_dup(x->a, str_trim(buf_str(&b)));
    buf_release(&b);
    return out;
}

static bool has_text(const struct policy_tree *t)
{
    for (uint32_t i = 0; i < t->node_count; i++)
        if (t->nodes[i].text.n > 0)
            return true;
    return false;
}

static void policy_heuristic_verify(struct run *x, str criterion)
{
    struct policy_result *out = x->out;
    struct decision d;

    if (x->doc->scope)
        x->scope = *x->doc->scope;
    else
        scope_read(x->doc, &x->hits, x->a, &x->scope);
    scope_score(&x->scope, x->doc, x->c, criterion, x->a, &x->scores);
    if (!x->scores.open && x->scores.most <= 0) {
        policy_heuristic_give_up(x, "no_relevant_nodes");
        return;
    }
    facts_of(&x->facts, x->c, POLICY_FACT_FLOOR, x->scope.words, x->scope.word_n, x->a);
    x->judge = (struct judge){&x->facts, x->a, x->scope.all, x->scope.n};
    judge_from(x, NEAR);
    if (!x->scores.open && !uses_facts(x))
        judge_further(x, criterion);
    drop_loose(x);
    d = heuristic_decide(x);
    out->status = d.status;
    out->reason_code = str_c(d.reason);
    policy_confide(
        out, TREE_LEAST + (TREE_MOST - TREE_LEAST) * x->scores.coverage, heuristic_span(x, &d));
    heuristic_tell(x, &d);
    heuristic_step(x, "decide", out->rationale);
}

bool policy_heuristic(const struct policy_doc *doc, const struct policy_case *c, str criterion,
                      struct arena *a, struct policy_result *out, struct err *e)
{
    struct run x = {.doc = doc, .c = c, .a = a, .out = out};
    str query;

    memset(out, 0, sizeof *out);
    out->criterion_id = criterion;
    out->citation.doc = out->citation.version = out->citation.section = STR("");
    out->retrieval_method = STR("bm25+reranker");
    out->reason_code = STR("");
    x.steps = arena_zero(a, STEPS, sizeof x.steps[0]);
    x.rules = arena_alloc(a, RULES_MAX * sizeof x.rules[0]);
    out->trace = x.steps;
    query = policy_heuristic_question(&x, criterion);
    heuristic_step(
        &x, "think", arena_printf(a, "what the policy says about: " STR_FMT, STR_ARG(query)));
    if (!doc) {
        policy_heuristic_give_up(&x, "missing_policy_document_id");
        return true;
    }
    out->citation.doc = arena_dup(a, policy_doc_cited(doc, c->policy_document_id));
    out->citation.version = arena_dup(a, policy_doc_version(doc));
    if (!policy_search(doc, query, POLICY_TOP_MAX, NULL, a, &x.hits, e))
        return false;
    heuristic_tell_retrieved(&x);
    if (doc->tree.node_count == 0)
        policy_heuristic_give_up(&x, "treestore_no_nodes");
    else if (!has_text(&doc->tree))
        policy_heuristic_give_up(&x, "treestore_missing_text");
    else
        policy_heuristic_verify(&x, criterion);
    return true;
}
