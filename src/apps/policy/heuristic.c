/* heuristic.c - a criterion verified without a model. See heuristic.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/heuristic_run.h"
#include "apps/policy/tree_build.h"
#include "base/utf8.h"

#define TREE_SURE 0.98 /* c_tree of a criterion if all of its words were found */

/* ---- the trace, the citation, the evidence and the rationale ---- */

#define PAGES_MAX 50

/* The pages of a sentence, without page numbers that the markers skip. A tree from JSON has no
 * page positions within a section: then all pages up to the first child are cited. */
static void heuristic_cite_pages(struct run *x, const struct policy_node *n, size_t from, size_t to)
{
    uint32_t *pages = arena_alloc(x->a, PAGES_MAX * sizeof pages[0]);
    uint32_t first = policy_page_at(n, from), last = policy_page_at(n, to > from ? to - 1 : to);
    bool json = n->line == 0 && n->page_count <= 1;
    size_t count = 0;

    assert(from <= to && to <= n->text.n);
    if (json)
        last = n->span > 1 && n[1].start_index >= first ? n[1].start_index : n->end_index;
    for (uint32_t p = first, i = 0; p <= last && count < PAGES_MAX; p++) {
        while (i < n->page_count && n->pages[i].page < p)
            i++;
        if (json || p == first || (i < n->page_count && n->pages[i].page == p))
            pages[count++] = p;
    }
    x->out->citation.pages = pages;
    x->out->citation.page_count = count;
}

static void heuristic_cite(struct run *x, const struct judged *j)
{
    const struct policy_node *n = j ? j->r->node : x->hits.n > 0 ? x->hits.hits[0].node : NULL;

    if (n) {
        policy_result_cite(x->out, &x->doc->tree, n, x->a);
        heuristic_cite_pages(
            x, n, j ? j->r->sentence->from : 0, j ? j->r->sentence->to : n->text.n);
    }
    if (j && j->h.used_n > 0)
        policy_result_show(x->out, j->h.used[0]->field, x->a);
}

/* "age is 17, income is 500": the facts that a rule was held against. */
static str heuristic_facts_text(struct run *x, const struct judged *j)
{
    str out = STR("");

    assert(j->h.used_n <= HOLDING_FACTS_MAX);
    for (size_t i = 0; i < j->h.used_n; i++)
        out = arena_printf(x->a,
                           STR_FMT "%s" STR_FMT " is " STR_FMT,
                           STR_ARG(out),
                           i ? ", " : "",
                           STR_ARG(utf8_cut_count(j->h.used[i]->field->name, 60)),
                           STR_ARG(utf8_cut_count(j->h.used[i]->field->raw, 80)));
    return out;
}

static const struct {
    const char *code, *words;
} reasons[] = {
    {"conformal_ambiguity", "the facts contradict each other, or one may change another"},
    {"low_confidence", "a fact it rests on is not sure enough"},
    {"missing_evidence", "the case has no fact that compares with what the policy asks"},
    {"not_understood", "not understood"},
    {"insufficient_policy_context",
     "the policy has no rule about it that can be held against facts"},
    {"policy_too_long", "the policy is longer than can be read whole"},
    {"no_relevant_nodes", "no section of the policy is about it"},
    {"treestore_no_nodes", "the policy has no sections"},
    {"treestore_missing_text", "the policy's sections have no text"},
    {"missing_policy_document_id", "there is no policy document to verify against"},
};

static const char *heuristic_reason_words(str code)
{
    for (size_t i = 0; i < COUNT_OF(reasons); i++)
        if (str_eq(code, str_c(reasons[i].code)))
            return reasons[i].words;
    return "it cannot be told";
}

static void heuristic_write_rationale(struct run *x, const struct judged *by)
{
    struct policy_result *out = x->out;
    str why = by ? heuristic_facts_text(x, by) : STR(""), text = STR("");

    if (by)
        text = utf8_cut_count(policy_one_line(by->r->text, x->a), 240);
    out->rationale = arena_printf(
        x->a,
        STR_FMT "%s%s%s%s" STR_FMT "%sso it is %s.",
        STR_ARG(why),
        why.n > 0 ? "; " : "",
        out->status == POLICY_UNCERTAIN ? heuristic_reason_words(out->reason_code) : "",
        out->status == POLICY_UNCERTAIN ? ", " : "",
        text.n > 0 ? "by \"" : "",
        STR_ARG(text),
        text.n > 0 ? "\" " : "",
        NAME_OF(out->status, "met", "not met", "uncertain"));
}

static void heuristic_trace_retrieved(struct run *x)
{
    str text = arena_printf(
        x->a, "%zu section%s by %s:", x->hits.n, x->hits.n == 1 ? "" : "s", x->hits.method);

    assert(x->hits.n <= POLICY_TOP_MAX && x->hits.method);
    for (size_t i = 0; i < x->hits.n && i < 5; i++)
        text = arena_printf(x->a,
                            STR_FMT " " STR_FMT " " STR_FMT " (page %u)%s",
                            STR_ARG(text),
                            STR_ARG(x->hits.hits[i].node->node_id),
                            STR_ARG(utf8_cut_count(x->hits.hits[i].node->title, 60)),
                            (unsigned)x->hits.hits[i].node->start_index,
                            i + 1 < x->hits.n ? "," : "");
    policy_result_step(x->out, x->a, STR("retrieve"), text);
}

static void heuristic_trace_read(struct run *x)
{
    str rules = arena_printf(x->a, "%zu rule%s read", x->n, x->n == 1 ? "" : "s");
    str facts = STR("");

    for (size_t i = 0; i < x->n && i < 6; i++) {
        str used = heuristic_facts_text(x, &x->rules[i]);

        if (i < 4)
            rules = arena_printf(
                x->a,
                STR_FMT "%s \"" STR_FMT "\"",
                STR_ARG(rules),
                i == 0 ? ":" : ",",
                STR_ARG(utf8_cut_count(policy_one_line(x->rules[i].r->text, x->a), 160)));
        if (used.n > 0)
            facts = arena_join(x->a, facts, facts.n > 0 ? STR("; ") : STR(""), used);
    }
    policy_result_step(x->out, x->a, STR("read"), rules);
    policy_result_step(
        x->out, x->a, STR("link"), facts.n > 0 ? facts : STR("no fact is named by them"));
}

/* ---- the verdict ---- */

/* Whether a rule can make a criterion met or missing. */
static bool heuristic_rule_decides(const struct rule *r)
{
    return r && (r->kind == RULE_REQUIRE || r->kind == RULE_ROW);
}

void heuristic_block(struct run *x, const struct reading *r)
{
    assert(r);
    if (!x->blocked)
        x->blocked = r;
}

/* Whether a node is a section or one below it, by its path: several may have the same path. */
static bool heuristic_is_below(const struct policy_node *n, const struct policy_node *section)
{
    str path = n->title_path, top = section->title_path;

    return str_starts(path, top) && (path.n == top.n || str_starts(str_slice(path, top.n, path.n),
                                                                   STR(POLICY_PATH_BETWEEN)));
}

/* The sentences, of the case's section if it names one, that have all words of the criterion; with
 * titles, those whose titles complete it. False if none decides (with titles: if none is found). */
static bool heuristic_select(struct run *x, bool titles, bool *about)
{
    const struct policy_node *only =
        x->c->section_path.n > 0 ? policy_node_titled(&x->doc->tree, x->c->section_path) : NULL;
    struct scope_titles path;
    bool any = false;

    scope_titles_init(&path);
    for (size_t i = 0; i < x->scope.n; i++) {
        const struct reading *r = &x->scope.all[i];

        about[i] = (!only || heuristic_is_below(r->node, only)) &&
                   scope_covers(r, &x->question, titles ? &path : NULL);
        any = any || (about[i] && (titles || heuristic_rule_decides(r->rule) || r->part));
    }
    scope_titles_release(&path);
    return any;
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
    assert(x->n <= RULES_MAX);
    if (x->n == RULES_MAX)
        heuristic_block(x, x->rules[RULES_MAX - 1].r);
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

/* Sets the verdict and returns the rule that it rests on. */
static const struct judged *heuristic_conclude(struct run *x, enum policy_status status,
                                               const struct judged *by, const char *reason)
{
    assert((status == POLICY_UNCERTAIN) == (reason[0] != 0) && (by || reason[0]));
    x->out->status = status;
    x->out->reason_code = str_c(reason);
    return by;
}

/* The criterion is uncertain because of a sentence, and of a fact if it is not NULL. */
static const struct judged *heuristic_leave_open(struct run *x, const struct reading *r,
                                                 const struct fact *fact, const char *reason)
{
    struct judged *j = &x->rules[RULES_MAX];

    assert(r);
    *j = (struct judged){.r = r, .h = {.truth = TRUTH_UNKNOWN, .used = {fact}}};
    j->h.used_n = fact != NULL;
    return heuristic_conclude(x, POLICY_UNCERTAIN, j, reason);
}

/* A verdict holds only if the document and every fact are understood, and the criterion asks what
 * its rules ask. */
static const struct judged *heuristic_decide(struct run *x)
{
    static const char *const doubts[] = {[DOUBT_NONE] = "insufficient_policy_context",
                                         [DOUBT_NO_FACT] = "missing_evidence",
                                         [DOUBT_UNIT] = "missing_evidence",
                                         [DOUBT_UNSURE] = "low_confidence",
                                         [DOUBT_CONFLICT] = "conformal_ambiguity"};
    const struct fact *foreign;
    const struct judged *no = heuristic_find(x, TRUTH_NO), *yes = heuristic_find(x, TRUTH_YES),
                        *open = heuristic_find(x, TRUTH_UNKNOWN);

    assert(!open || (size_t)open->h.doubt < COUNT_OF(doubts));
    if (x->blocked)
        return heuristic_leave_open(x, x->blocked, NULL, "not_understood");
    if (heuristic_disagrees(x))
        return heuristic_conclude(x, POLICY_UNCERTAIN, &x->rules[0], "conformal_ambiguity");
    if (!no && (open || !yes))
        return heuristic_conclude(
            x, POLICY_UNCERTAIN, open, doubts[open ? open->h.doubt : DOUBT_NONE]);
    assert(no || yes);
    if (x->other)
        return heuristic_leave_open(x, x->other, NULL, "insufficient_policy_context");
    foreign = heuristic_foreign_fact(x);
    if (foreign)
        return heuristic_leave_open(x, no ? no->r : yes->r, foreign, "conformal_ambiguity");
    return heuristic_conclude(x, no ? POLICY_MISSING : POLICY_MET, no ? no : yes, "");
}

/* The lowest confidence of the facts that the verdict uses. */
static double heuristic_span(const struct run *x, const struct judged *by)
{
    double least = 1;

    for (size_t i = 0; i < x->n; i++)
        for (size_t k = 0; k < x->rules[i].h.used_n; k++)
            if ((x->out->status == POLICY_MET || &x->rules[i] == by) &&
                x->rules[i].h.used[k]->field->confidence < least)
                least = x->rules[i].h.used[k]->field->confidence;
    assert(least >= 0 && least <= 1);
    return by ? least : 0;
}

static void heuristic_end(struct run *x, const struct judged *by, double c_tree)
{
    assert(by || x->out->status == POLICY_UNCERTAIN);
    policy_confide(x->out, c_tree, heuristic_span(x, by));
    heuristic_write_rationale(x, by);
    policy_result_step(x->out, x->a, STR("decide"), x->out->rationale);
}

/* An end before anything could be read. */
static void policy_heuristic_give_up(struct run *x, const char *code)
{
    heuristic_end(x, heuristic_conclude(x, POLICY_UNCERTAIN, NULL, code), 0);
}

static void policy_heuristic_verify(struct run *x)
{
    const struct judged *by;
    bool *about;

    x->scope = *scope_of(x->doc, x->a);
    about = arena_alloc(x->a, x->scope.n + 1);
    assert(x->scope.n <= SCOPE_SENTENCES_MAX && x->n == 0);
    if (x->scope.cut || !(heuristic_select(x, false, about) || heuristic_select(x, true, about))) {
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
    by = heuristic_decide(x);
    heuristic_cite(x, by);
    heuristic_end(x, by, TREE_SURE);
}

bool policy_heuristic(const struct policy_doc *doc, const struct policy_case *c, str criterion,
                      struct arena *a, struct policy_result *out, struct err *e)
{
    struct run x = {.doc = doc, .c = c, .a = a, .out = out};
    str query = str_trim(arena_join(a, criterion, STR(" "), c->reasoning_hint));
    struct word *asked;

    memset(out, 0, sizeof *out);
    out->criterion_id = criterion;
    out->citation.doc = out->citation.version = out->citation.section = STR("");
    out->retrieval_method = STR("bm25+reranker");
    out->reason_code = STR("");
    x.rules = arena_alloc(a, (RULES_MAX + 1) * sizeof x.rules[0]);
    x.question = scope_question(criterion, a);
    x.asked.n = words_of_full_name(scope_criterion(criterion), a, &asked);
    x.asked.w = asked;
    policy_result_step(out,
                       a,
                       STR("think"),
                       arena_printf(a, "what the policy says about: " STR_FMT, STR_ARG(query)));
    if (!doc) {
        policy_heuristic_give_up(&x, "missing_policy_document_id");
        return true;
    }
    out->citation.doc = arena_dup(a, policy_doc_cited(doc, c->policy_document_id));
    out->citation.version = arena_dup(a, policy_doc_version(doc));
    if (!policy_search(doc, &(struct policy_question){query, POLICY_TOP_MAX, NULL}, a, &x.hits, e))
        return false;
    heuristic_trace_retrieved(&x);
    if (doc->tree.node_count == 0)
        policy_heuristic_give_up(&x, "treestore_no_nodes");
    else
        policy_heuristic_verify(&x);
    return true;
}
