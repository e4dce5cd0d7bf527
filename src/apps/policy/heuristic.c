/* heuristic.c - a criterion verified without a model. See heuristic.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/heuristic_run.h"

#define TREE_SURE 0.98 /* c_tree of a criterion all of whose words were found */

bool heuristic_rule_decides(const struct rule *r)
{
    return r && (r->kind == RULE_REQUIRE || r->kind == RULE_ROW);
}

static bool heuristic_in_section(const struct run *x, const struct reading *r)
{
    const struct policy_node *n =
        x->c->section_path.n > 0 ? policy_node_titled(&x->doc->tree, x->c->section_path) : NULL;

    return !n || str_starts(r->node->title_path, n->title_path);
}

bool heuristic_is_header(const struct reading *r)
{
    return r->sentence->row && !r->lead;
}

void heuristic_block(struct run *x, const struct reading *r)
{
    if (!x->blocked)
        x->blocked = r;
}

/* The sentences that the criterion is about: those with all of its words, or, if none of them
 * decides, those below titles that complete it. */
static bool *heuristic_select(struct run *x, bool *found)
{
    bool *own = arena_zero(x->a, x->scope.n + 1, sizeof own[0]);
    bool *titled = arena_zero(x->a, x->scope.n + 1, sizeof titled[0]);
    bool any = false;

    *found = false;
    for (size_t i = 0; i < x->scope.n; i++) {
        const struct reading *r = &x->scope.all[i];

        if (!heuristic_in_section(x, r))
            continue;
        own[i] = scope_covers(r, &x->question, false, x->a) == x->question.n;
        titled[i] = own[i] || scope_covers(r, &x->question, true, x->a) == x->question.n;
        any = any || (own[i] && (heuristic_rule_decides(r->rule) || r->part));
        *found = *found || titled[i];
    }
    return any ? own : titled;
}

static void heuristic_judge(struct run *x, const bool *about)
{
    for (size_t i = 0; i < x->scope.n && x->n < RULES_MAX; i++) {
        const struct reading *r = &x->scope.all[i];

        if (!about[i] || !heuristic_rule_decides(r->rule))
            continue;
        if (!heuristic_asks_for(x, r))
            x->other = r;
        x->rules[x->n++] = (struct judged){r, rule_hold(r->rule, &x->facts)};
    }
    if (x->n == RULES_MAX)
        heuristic_block(x, x->rules[RULES_MAX - 1].r);
}

static const struct judged *heuristic_first(const struct run *x, enum truth t)
{
    for (size_t i = 0; i < x->n; i++)
        if (x->rules[i].h.truth == t && (t == TRUTH_NO || x->rules[i].h.applies))
            return &x->rules[i];
    return NULL;
}

/* Rules about the same that do not agree may be for different cases; a fact without a person's name
 * cannot be two persons'. */
static bool heuristic_disagrees(const struct run *x)
{
    for (size_t i = 0; i < x->n; i++)
        for (size_t k = 0; k < x->n; k++) {
            const struct judged *a = &x->rules[i], *b = &x->rules[k];

            if ((a->h.truth == TRUTH_NO && b->h.truth != TRUTH_NO && b->h.applies &&
                 rules_meet(a->r->rule, b->r->rule)) ||
                (a->h.dropped && b->h.dropped && rules_differ_in_person(a->r->rule, b->r->rule)))
                return true;
        }
    return false;
}

static struct decision heuristic_decide(struct run *x)
{
    static const char *const doubts[] = {[DOUBT_NONE] = "insufficient_policy_context",
                                         [DOUBT_NO_FACT] = "missing_evidence",
                                         [DOUBT_UNIT] = "missing_evidence",
                                         [DOUBT_UNSURE] = "low_confidence",
                                         [DOUBT_CONFLICT] = "conformal_ambiguity"};
    const struct judged *j, *open = NULL;

    if (heuristic_disagrees(x))
        return (struct decision){POLICY_UNCERTAIN, &x->rules[0], "conformal_ambiguity"};
    if ((j = heuristic_first(x, TRUTH_NO)))
        return (struct decision){POLICY_MISSING, j, ""};
    for (size_t i = 0; i < x->n; i++)
        if (x->rules[i].h.truth == TRUTH_UNKNOWN && (!open || open->h.doubt < x->rules[i].h.doubt))
            open = &x->rules[i];
    if (open)
        return (struct decision){POLICY_UNCERTAIN, open, doubts[open->h.doubt]};
    if ((j = heuristic_first(x, TRUTH_YES)))
        return (struct decision){POLICY_MET, j, ""};
    for (size_t i = 0; i < x->n; i++)
        if (x->rules[i].r->rule->kind != RULE_ROW)
            return (struct decision){POLICY_MET, &x->rules[i], ""}; /* its condition is not met */
    return (struct decision){POLICY_UNCERTAIN, NULL, "insufficient_policy_context"};
}

/* A verdict holds only if the criterion asks what its rules ask, and every fact is understood. */
static struct decision heuristic_confirm(struct run *x, struct decision d)
{
    const struct fact *foreign = heuristic_foreign_fact(x);
    struct judged *j = &x->rules[RULES_MAX];

    if (!x->other && !foreign)
        return d;
    *j = (struct judged){.r = x->other ? x->other : d.by->r, .h = {.truth = TRUTH_UNKNOWN}};
    if (x->other)
        return (struct decision){POLICY_UNCERTAIN, j, "insufficient_policy_context"};
    j->h.used[j->h.used_n++] = foreign;
    return (struct decision){POLICY_UNCERTAIN, j, "conformal_ambiguity"};
}

/* The lowest confidence of the facts that the verdict uses. */
static double heuristic_span(const struct run *x, const struct decision *d)
{
    double least = 1;

    for (size_t i = 0; i < x->n; i++)
        for (size_t k = 0; k < x->rules[i].h.used_n; k++)
            if ((d->status == POLICY_MET || &x->rules[i] == d->by) &&
                x->rules[i].h.used[k]->field->confidence < least)
                least = x->rules[i].h.used[k]->field->confidence;
    return d->by ? least : 0;
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

static bool has_text(const struct policy_tree *t)
{
    for (uint32_t i = 0; i < t->node_count; i++)
        if (t->nodes[i].text.n > 0)
            return true;
    return false;
}

static void policy_heuristic_verify(struct run *x)
{
    struct policy_result *out = x->out;
    struct decision d;
    bool *about, found;

    x->scope = *scope_of(x->doc, x->a);
    if (x->scope.cut) {
        policy_heuristic_give_up(x, "policy_too_long");
        return;
    }
    about = heuristic_select(x, &found);
    if (!found) {
        policy_heuristic_give_up(x, "no_relevant_nodes");
        return;
    }
    case_facts_read(&x->facts, x->c, POLICY_FACT_FLOOR, x->a);
    heuristic_judge(x, about);
    heuristic_close_document(x);
    heuristic_trace_read(x);
    d = heuristic_decide(x);
    if (x->blocked) {
        struct judged *j = &x->rules[RULES_MAX];

        *j = (struct judged){.r = x->blocked, .h = {.truth = TRUTH_UNKNOWN}};
        d = (struct decision){POLICY_UNCERTAIN, j, "not_understood"};
    } else if (d.status != POLICY_UNCERTAIN) {
        d = heuristic_confirm(x, d);
    }
    out->status = d.status;
    out->reason_code = str_c(d.reason);
    policy_confide(out, TREE_SURE, heuristic_span(x, &d));
    heuristic_trace_decision(x, &d);
    heuristic_step(x, "decide", out->rationale);
}

static str policy_heuristic_query(const struct policy_case *c, str criterion, struct arena *a)
{
    str key = policy_key(a, criterion);
    char *text = arena_alloc(a, key.n + 1);

    for (size_t i = 0; i < key.n; i++)
        text[i] = (char)(key.p[i] == '_' ? ' ' : key.p[i]);
    return str_trim(arena_join(a, (str){text, key.n}, STR(" "), c->reasoning_hint));
}

bool policy_heuristic(const struct policy_doc *doc, const struct policy_case *c, str criterion,
                      struct arena *a, struct policy_result *out, struct err *e)
{
    struct run x = {.doc = doc, .c = c, .a = a, .out = out};
    str query = policy_heuristic_query(c, criterion, a);

    memset(out, 0, sizeof *out);
    out->criterion_id = criterion;
    out->citation.doc = out->citation.version = out->citation.section = STR("");
    out->retrieval_method = STR("bm25+reranker");
    out->reason_code = STR("");
    x.steps = arena_zero(a, STEPS, sizeof x.steps[0]);
    x.rules = arena_alloc(a, (RULES_MAX + 1) * sizeof x.rules[0]);
    out->trace = x.steps;
    scope_question(criterion, a, &x.question);
    heuristic_step(
        &x, "think", arena_printf(a, "what the policy says about: " STR_FMT, STR_ARG(query)));
    if (!doc) {
        policy_heuristic_give_up(&x, "missing_policy_document_id");
        return true;
    }
    out->citation.doc = arena_dup(a, policy_doc_cited(doc, c->policy_document_id));
    out->citation.version = arena_dup(a, policy_doc_version(doc));
    if (!policy_search(
            doc, str_slice(query, 0, POLICY_QUERY_MAX), POLICY_TOP_MAX, NULL, a, &x.hits, e))
        return false;
    heuristic_trace_retrieved(&x);
    if (doc->tree.node_count == 0)
        policy_heuristic_give_up(&x, "treestore_no_nodes");
    else if (!has_text(&doc->tree))
        policy_heuristic_give_up(&x, "treestore_missing_text");
    else
        policy_heuristic_verify(&x);
    return true;
}
