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

/* Rules about the same that do not agree may be for different cases. */
static bool heuristic_disagrees(const struct run *x)
{
    for (size_t i = 0; i < x->n; i++)
        for (size_t k = 0; k < x->n; k++) {
            const struct judged *a = &x->rules[i], *b = &x->rules[k];

            if (a->h.truth == TRUTH_NO && b->h.truth != TRUTH_NO && b->h.applies &&
                rules_meet(a->r->rule, b->r->rule))
                return true;
        }
    return false;
}

/* The rule to name for the truth of all of them: the first that applies has most to say. A row for
 * other cases says nothing. */
static const struct judged *heuristic_find(const struct run *x, enum truth t)
{
    const struct judged *found = NULL;

    for (size_t i = 0; i < x->n; i++) {
        const struct judged *j = &x->rules[i];

        if (j->h.truth == t && (j->h.applies || j->r->rule->kind != RULE_ROW) &&
            (!found || (j->h.applies && !found->h.applies) || j->h.doubt > found->h.doubt))
            found = j;
    }
    return found;
}

static struct decision heuristic_leave_open(struct run *x, const struct reading *r,
                                            const struct fact *fact, const char *reason)
{
    struct judged *j = &x->rules[RULES_MAX];

    *j = (struct judged){.r = r, .h = {.truth = TRUTH_UNKNOWN, .used = {fact}}};
    j->h.used_n = fact != NULL;
    return (struct decision){POLICY_UNCERTAIN, j, reason};
}

/* A verdict holds only if the document and every fact are understood, and the criterion asks what
 * its rules ask. */
static struct decision heuristic_decide(struct run *x)
{
    static const char *const doubts[] = {[DOUBT_NONE] = "insufficient_policy_context",
                                         [DOUBT_NO_FACT] = "missing_evidence",
                                         [DOUBT_UNIT] = "missing_evidence",
                                         [DOUBT_UNSURE] = "low_confidence",
                                         [DOUBT_CONFLICT] = "conformal_ambiguity"};
    const struct fact *foreign = heuristic_foreign_fact(x);
    const struct judged *no = heuristic_find(x, TRUTH_NO), *yes = heuristic_find(x, TRUTH_YES),
                        *open = heuristic_find(x, TRUTH_UNKNOWN);

    if (x->blocked)
        return heuristic_leave_open(x, x->blocked, NULL, "not_understood");
    if (heuristic_disagrees(x))
        return (struct decision){POLICY_UNCERTAIN, &x->rules[0], "conformal_ambiguity"};
    if (!no && (open || !yes))
        return (struct decision){POLICY_UNCERTAIN, open, doubts[open ? open->h.doubt : DOUBT_NONE]};
    if (x->other)
        return heuristic_leave_open(x, x->other, NULL, "insufficient_policy_context");
    if (foreign)
        return heuristic_leave_open(x, no ? no->r : yes->r, foreign, "conformal_ambiguity");
    return no ? (struct decision){POLICY_MISSING, no, ""} : (struct decision){POLICY_MET, yes, ""};
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

static void policy_heuristic_verify(struct run *x)
{
    struct policy_result *out = x->out;
    struct decision d;
    bool *about, found;

    x->scope = *scope_of(x->doc, x->a);
    about = heuristic_select(x, &found);
    if (x->scope.cut || !found) {
        policy_heuristic_give_up(x,
                                 x->scope.cut      ? "policy_too_long"
                                 : x->scope.n == 0 ? "treestore_missing_text"
                                                   : "no_relevant_nodes");
        return;
    }
    case_facts_read(&x->facts, x->c, POLICY_FACT_FLOOR, x->a);
    heuristic_judge(x, about);
    heuristic_close_document(x);
    heuristic_trace_read(x);
    d = heuristic_decide(x);
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
    else
        policy_heuristic_verify(&x);
    return true;
}
