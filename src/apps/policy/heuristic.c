/* heuristic.c - a criterion verified without a model. See heuristic.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/heuristic_run.h"
#include "apps/policy/tree_build.h"
#include "base/utf8.h"

#define TREE_SURE 0.98 /* c_tree of a criterion all of whose words were found */

#define STEPS 5

struct decision {
    enum policy_status status;
    const struct judged *by;
    const char *reason; /* "": none */
};

/* ---- the steps, the citation, the evidence and the rationale ---- */

static void heuristic_step(struct run *x, const char *action, str observation)
{
    size_t at = x->out->trace_count++;

    assert(at < STEPS);
    x->steps[at] = (struct policy_step){
        (unsigned)at + 1, str_c(action), utf8_cut_count(observation, POLICY_OBSERVATION_MAX)};
}

#define PAGES_MAX 50

/* The pages of a sentence, without page numbers that the markers skip. A tree from JSON has no
 * page positions within a section: then all pages up to the first child are cited. */
static void cite_pages(struct run *x, const struct policy_node *n, size_t from, size_t to)
{
    const struct policy_node *child = n->span > 1 ? n + 1 : NULL;
    uint32_t last =
        child && child->start_index >= n->start_index ? child->start_index : n->end_index;
    uint32_t *pages = arena_alloc(x->a, (PAGES_MAX + 1) * sizeof pages[0]);
    size_t count = 0;

    if (n->line == 0 && n->page_count <= 1)
        for (uint32_t p = n->start_index; p <= last && count < PAGES_MAX; p++)
            pages[count++] = p;
    for (uint32_t i = 0; i < n->page_count && count < PAGES_MAX && n->page_count > 1; i++) {
        size_t end = i + 1 < n->page_count ? n->pages[i + 1].at : n->text.n + 1;

        if (n->pages[i].at < to && end > from &&
            (count == 0 || pages[count - 1] != n->pages[i].page))
            pages[count++] = n->pages[i].page;
    }
    if (count == 0)
        pages[count++] = policy_page_at(n, from);
    x->out->citation.pages = pages;
    x->out->citation.page_count = count;
}

static void policy_trace_cite(struct run *x, const struct judged *j)
{
    struct policy_result *out = x->out;
    const struct policy_node *n = j ? j->r->node : x->hits.n > 0 ? x->hits.hits[0].node : NULL;
    str *titles;

    out->citation.section = n ? arena_dup(x->a, n->title_path) : STR("");
    if (!n)
        return;
    cite_pages(x, n, j ? j->r->sentence->from : 0, j ? j->r->sentence->to : n->text.n);
    out->trajectory_count = n->depth + 1;
    out->trajectory = titles = arena_alloc(x->a, out->trajectory_count * sizeof titles[0]);
    for (size_t i = out->trajectory_count; n && i > 0; i--, n = policy_parent(&x->doc->tree, n))
        titles[i - 1] = arena_dup(x->a, n->title);
}

static void policy_trace_evidence(struct run *x, const struct judged *j)
{
    const struct policy_field *f;
    struct policy_result *out = x->out;
    str value;

    if (!j || j->h.used_n == 0)
        return;
    f = j->h.used[0]->field;
    value = f->value.kind == POLICY_TEXT ? f->value.text : f->raw;
    out->has_evidence = true;
    out->evidence = (struct policy_evidence){
        .doc_id = f->doc_id,
        .page = f->page,
        .has_bbox = f->has_bbox,
        .text_excerpt = arena_printf(x->a,
                                     STR_FMT ": " STR_FMT,
                                     STR_ARG(f->name),
                                     STR_ARG(utf8_cut_count(value, POLICY_EXCERPT_MAX)))};
    memcpy(out->evidence.bbox, f->bbox, sizeof f->bbox);
}

/* "age is 17, income is 500": the facts that a rule was held against. */
static str heuristic_facts_text(struct run *x, const struct judged *j)
{
    struct buf b;
    str out;

    buf_init(&b, 2000);
    for (size_t i = 0; i < j->h.used_n && b.n < 600; i++)
        buf_printf(&b,
                   "%s" STR_FMT " is " STR_FMT,
                   i ? ", " : "",
                   STR_ARG(utf8_cut_count(j->h.used[i]->field->name, 60)),
                   STR_ARG(utf8_cut_count(j->h.used[i]->field->raw, 80)));
    out = arena_dup(x->a, buf_str(&b));
    buf_release(&b);
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

static void heuristic_write_rationale(struct run *x, const struct decision *d)
{
    static const char *const ends[] = {"so it is met", "so it is not met", "so it is uncertain"};
    struct policy_result *out = x->out;
    str text = d->by ? utf8_cut_count(policy_one_line(d->by->r->text, x->a), 240) : STR("");
    str why = d->by ? heuristic_facts_text(x, d->by) : STR("");
    bool doubt = out->status == POLICY_UNCERTAIN;

    out->rationale = arena_printf(x->a,
                                  STR_FMT "%s%s%s%s" STR_FMT "%s%s.",
                                  STR_ARG(why),
                                  why.n > 0 ? "; " : "",
                                  doubt ? heuristic_reason_words(out->reason_code) : "",
                                  doubt ? ", " : "",
                                  text.n > 0 ? "by \"" : "",
                                  STR_ARG(text),
                                  text.n > 0 ? "\" " : "",
                                  ends[out->status]);
}

static void heuristic_trace_retrieved(struct run *x)
{
    struct buf b;

    buf_init(&b, 4000);
    buf_printf(&b, "%zu section%s by %s:", x->hits.n, x->hits.n == 1 ? "" : "s", x->hits.method);
    for (size_t i = 0; i < x->hits.n && i < 5; i++)
        buf_printf(&b,
                   " " STR_FMT " " STR_FMT " (page %u)%s",
                   STR_ARG(x->hits.hits[i].node->node_id),
                   STR_ARG(utf8_cut_count(x->hits.hits[i].node->title, 60)),
                   (unsigned)x->hits.hits[i].node->start_index,
                   i + 1 < x->hits.n ? "," : "");
    heuristic_step(x, "retrieve", arena_dup(x->a, buf_str(&b)));
    buf_release(&b);
}

static void heuristic_trace_read(struct run *x)
{
    struct buf b;

    buf_init(&b, 8000);
    buf_printf(&b, "%zu rule%s read", x->n, x->n == 1 ? "" : "s");
    for (size_t i = 0; i < x->n && i < 4; i++)
        buf_printf(&b,
                   "%s \"" STR_FMT "\"",
                   i == 0 ? ":" : ",",
                   STR_ARG(utf8_cut_count(policy_one_line(x->rules[i].r->text, x->a), 160)));
    heuristic_step(x, "read", arena_dup(x->a, buf_str(&b)));
    buf_reset(&b);
    for (size_t i = 0; i < x->n && i < 6; i++)
        if (x->rules[i].h.used_n > 0)
            buf_printf(&b,
                       "%s" STR_FMT,
                       b.n > 0 ? "; " : "",
                       STR_ARG(heuristic_facts_text(x, &x->rules[i])));
    heuristic_step(
        x, "link", arena_dup(x->a, b.n > 0 ? buf_str(&b) : STR("no fact is named by them")));
    buf_release(&b);
}

static void heuristic_trace_decision(struct run *x, const struct decision *d)
{
    policy_trace_cite(x, d->by);
    policy_trace_evidence(x, d->by);
    heuristic_write_rationale(x, d);
}

/* ---- the verdict ---- */

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
