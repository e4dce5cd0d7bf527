/* heuristic.c - a criterion verified without a model. See heuristic.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/heuristic.h"

#include "apps/policy/scope.h"
#include "apps/policy/tree_in.h"
#include "base/utf8.h"

#define RULES_MAX 400    /* clauses that are judged for one criterion */
#define NEAR 0.8         /* of the best score: what a criterion is about */
#define FAR 0.45         /* if nothing there decides */
#define TREE_LEAST 0.75  /* c_tree where none of the words were found, */
#define TREE_MOST 0.98   /* and where all were */
#define WEAKLY 0.85      /* of a permission that no fact was needed for */
#define LOOSE_LEAST 0.95 /* a link that is worse is a loose one */
#define STEPS 5

/* A clause that was judged, and where it stands. */
struct judged {
    const struct reading *r;
    struct clause c;
    struct verdict v;
};

struct run {
    const struct policy_doc *doc;
    const struct policy_case *c;
    struct arena *a;
    struct scope scope;
    struct scores scores;
    struct facts facts;
    struct judge judge;
    struct judged *rules;
    size_t n;
    size_t read;  /* clauses that are rules, decided or not */
    size_t unmet; /* requirements among them that no fact speaks of */
    struct policy_hits hits;
    struct policy_result *out;
    struct policy_step *steps;
};

static void step(struct run *x, const char *action, str observation)
{
    size_t at = x->out->trace_count++;

    assert(at < STEPS);
    x->steps[at] = (struct policy_step){
        (unsigned)at + 1, str_c(action), utf8_cut_count(observation, POLICY_OBSERVATION_MAX)};
}

static void add(struct run *x, const struct reading *r, const struct clause *c,
                const struct verdict *v)
{
    x->read += c->kind != CLAUSE_NONE;
    x->unmet += c->kind == CLAUSE_REQUIRE && c->verb && v->found == FOUND_NOTHING;
    if (v->found == FOUND_NOTHING || x->n == RULES_MAX)
        return;
    x->rules[x->n++] = (struct judged){r, *c, *v};
}

/* Whether items are what a lead lists: values, or ways of which one is enough. */
static bool is_list(const struct reading *r, const struct clause *c)
{
    struct range whole = {0, r->n};

    return r->item_n > 0 &&
           (range_has(r->w, whole, "any one either unless except list listed codes") ||
            c->kind == CLAUSE_FORBID || c->kind == CLAUSE_WAIVE ||
            (c->kind != CLAUSE_NONE && !range_has(r->w, whole, "all each both")));
}

static bool in_list(const struct reading *r)
{
    struct clause c[CLAUSES_MAX];

    if (!r->lead)
        return false;
    return clauses_of(r->lead->w, 0, r->lead->n, false, c) > 0 && is_list(r->lead, &c[0]);
}

static void judge_reading(struct run *x, const struct reading *r)
{
    struct clause c[CLAUSES_MAX];
    size_t n;

    if (r->sentence->row) {
        const struct clause c_row = {.kind = CLAUSE_REQUIRE};
        struct verdict v;

        if (!r->lead)
            return;
        judge_row(&x->judge, r, &v);
        add(x, r, &c_row, &v);
        return;
    }
    if (in_list(r))
        return; /* with its lead */
    n = clauses_of(r->w, 0, r->n, r->lead != NULL, c);
    for (size_t i = 0; i < n; i++) {
        struct verdict v;

        if (is_list(r, &c[i])) {
            judge_group(&x->judge, r, &c[i], &v);
            add(x, r, &c[i], &v);
            if (range_empty(c[i].except))
                continue;
        }
        judge_clause(&x->judge, r, &c[i], &v);
        add(x, r, &c[i], &v);
    }
}

/* Sentences from a score on; those of the section that the best stands in come along only then. */
static void judge_from(struct run *x, double least)
{
    x->n = x->read = x->unmet = 0;
    for (size_t i = 0; i < x->scope.n; i++) {
        const struct reading *r = &x->scope.all[i];

        if (x->scores.open ||
            (x->scores.score[i] > 0 && x->scores.score[i] >= least * x->scores.most))
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

static double score_of(const struct run *x, const struct judged *j)
{
    return x->scores.score[j->r - x->scope.all];
}

static const struct judged *first_of(const struct run *x, enum finding found, bool weak)
{
    const struct judged *best = NULL;

    for (size_t i = 0; i < x->n; i++)
        if (x->rules[i].v.found == found && x->rules[i].v.weak == weak &&
            (!best || score_of(x, &x->rules[i]) > score_of(x, best)))
            best = &x->rules[i];
    return best;
}

/* A requirement is lifted by a waiver in its own block or section. */
static const struct judged *waiver_of(const struct run *x, const struct judged *of)
{
    for (size_t i = 0; i < x->n; i++)
        if (x->rules[i].v.found == FOUND_WAIVES && x->rules[i].r->node == of->r->node)
            return &x->rules[i];
    return NULL;
}

/* Waivers of a section count though they are not about the criterion in words. */
static void add_waivers(struct run *x)
{
    size_t n = x->n;

    for (size_t i = 0; i < x->scope.n; i++) {
        const struct reading *r = &x->scope.all[i];
        struct clause c[CLAUSES_MAX];
        bool here = false;
        size_t count;

        for (size_t k = 0; k < n && !here; k++)
            here = x->rules[k].v.found == FOUND_BROKEN && x->rules[k].r->node == r->node;
        count = here ? clauses_of(r->w, 0, r->n, false, c) : 0;
        for (size_t k = 0; k < count; k++) {
            struct verdict v;

            if (c[k].kind != CLAUSE_WAIVE)
                continue;
            if (is_list(r, &c[k]))
                judge_group(&x->judge, r, &c[k], &v);
            else
                judge_clause(&x->judge, r, &c[k], &v);
            add(x, r, &c[k], &v);
        }
    }
}

struct decision {
    enum policy_status status;
    const struct judged *by;
    const struct judged *also; /* what waived it */
    const char *reason;        /* "": none */
};

static const struct judged *broken(const struct run *x, const struct judged **waiver)
{
    for (size_t i = 0; i < x->n; i++) {
        if (x->rules[i].v.found != FOUND_BROKEN)
            continue;
        *waiver = waiver_of(x, &x->rules[i]);
        if (!*waiver)
            return &x->rules[i];
    }
    return NULL;
}

static const struct judged *open_rule(const struct run *x)
{
    const struct judged *j = first_of(x, FOUND_OPEN, false);

    if (j || x->scores.open)
        return j;
    /* A rule for which there is no fact at all counts if it says what it is about itself. */
    for (size_t i = 0; i < x->n; i++)
        if (x->rules[i].v.found == FOUND_OPEN && x->rules[i].c.verb &&
            x->scores.own[x->rules[i].r - x->scope.all])
            return &x->rules[i];
    return NULL;
}

static struct decision decide(const struct run *x)
{
    const struct judged *waiver = NULL, *asks, *j;

    if ((j = first_of(x, FOUND_DISAGREES, false)))
        return (struct decision){POLICY_UNCERTAIN, j, NULL, "conformal_ambiguity"};
    if ((j = broken(x, &waiver)))
        return (struct decision){POLICY_MISSING, j, NULL, ""};
    if (waiver)
        return (struct decision){POLICY_MET, waiver, NULL, ""};
    if ((j = open_rule(x)))
        return (struct decision){POLICY_UNCERTAIN, j, NULL, "missing_evidence"};
    if ((j = first_of(x, FOUND_PERMITS, false)))
        return (struct decision){POLICY_MET, j, NULL, ""};
    asks = first_of(x, FOUND_ASKS, false);
    if ((j = first_of(x, FOUND_REFUSES, false)) && !(asks && score_of(x, asks) >= score_of(x, j)))
        return (struct decision){POLICY_MISSING, j, NULL, ""};
    if (asks)
        return (struct decision){POLICY_UNCERTAIN, asks, NULL, "missing_evidence"};
    if ((j = first_of(x, FOUND_HOLDS, false)) ||
        (x->unmet == 0 && (j = first_of(x, FOUND_PERMITS, true))) ||
        (j = first_of(x, FOUND_HOLDS, true)) || (j = first_of(x, FOUND_WAIVES, false)))
        return (struct decision){POLICY_MET, j, NULL, ""};
    return (struct decision){POLICY_UNCERTAIN,
                             first_of(x, FOUND_OPEN, true),
                             NULL,
                             x->read > 0 ? "missing_evidence" : "insufficient_policy_context"};
}

/* Facts that cannot be relied on make what rests on them uncertain. */
static void doubt(const struct run *x, struct decision *d)
{
    for (size_t i = 0; i < x->n && d->by; i++) {
        const struct used *u = &x->rules[i].v.used;
        bool counts = &x->rules[i] == d->by || !x->rules[i].v.weak;

        for (size_t k = 0; k < u->n && counts; k++) {
            if (!u->facts[k]->conflict && !u->facts[k]->unsure)
                continue;
            d->status = POLICY_UNCERTAIN;
            d->by = &x->rules[i];
            d->reason = u->facts[k]->conflict ? "conformal_ambiguity" : "low_confidence";
            return;
        }
    }
}

static void cite(struct run *x, const struct judged *j)
{
    struct policy_result *out = x->out;
    const struct policy_node *n = j ? j->r->node : x->hits.n > 0 ? x->hits.hits[0].node : NULL;
    uint32_t first = n ? n->start_index : 0, last = n ? n->end_index : 0, *pages;
    str *titles;

    out->citation.section = n ? arena_dup(x->a, n->title_path) : STR("");
    if (!n)
        return;
    if (j) {
        first = policy_page_at(n, j->r->sentence->from);
        last = policy_page_at(n, j->r->sentence->to - 1);
    }
    last = last - first < 50 ? last : first + 50;
    out->citation.pages = pages = arena_alloc(x->a, (last - first + 1) * sizeof pages[0]);
    for (uint32_t p = first; p <= last; p++)
        pages[out->citation.page_count++] = p;
    out->trajectory_count = n->depth + 1;
    out->trajectory = titles = arena_alloc(x->a, out->trajectory_count * sizeof titles[0]);
    for (size_t i = out->trajectory_count; n && i > 0; i--, n = policy_parent(&x->doc->tree, n))
        titles[i - 1] = arena_dup(x->a, n->title);
}

static void show_evidence(struct run *x, const struct judged *j)
{
    const struct policy_field *f;
    struct policy_result *out = x->out;
    str value;

    if (!j || j->v.used.n == 0)
        return;
    f = j->v.used.facts[0]->field;
    value = f->value.kind == POLICY_TEXT ? f->value.text : f->raw;
    out->has_evidence = true;
    out->evidence = (struct policy_evidence){
        .doc_id = f->doc_id.n > 0 ? f->doc_id : x->c->case_id,
        .page = f->page,
        .has_bbox = f->has_bbox,
        .text_excerpt = arena_printf(x->a,
                                     STR_FMT ": " STR_FMT,
                                     STR_ARG(f->name),
                                     STR_ARG(utf8_cut_count(value, POLICY_EXCERPT_MAX)))};
    memcpy(out->evidence.bbox, f->bbox, sizeof f->bbox);
}

/* How well the evidence matches: how it was linked, and how sure the least sure fact is. */
static double span_of(const struct run *x, const struct decision *d)
{
    double least = 1, quality = 1;

    for (size_t i = 0; i < x->n && d->by; i++) {
        const struct verdict *v = &x->rules[i].v;
        bool same = &x->rules[i] == d->by ||
                    (d->status == POLICY_MET && v->found == FOUND_HOLDS && !v->weak);

        for (size_t k = 0; k < v->used.n && same; k++)
            if (v->used.facts[k]->field->confidence < least)
                least = v->used.facts[k]->field->confidence;
        if (same && v->used.n > 0 && v->used.quality < quality)
            quality = v->used.quality;
    }
    if (!d->by)
        return 0;
    return least * quality * (d->by->v.used.n == 0 ? WEAKLY : 1);
}

static const struct {
    const char *code, *words;
} reasons[] = {
    {"conformal_ambiguity", "the facts contradict each other"},
    {"low_confidence", "a fact it rests on is not sure enough"},
    {"missing_evidence", "the case has no fact for what the policy asks"},
    {"insufficient_policy_context",
     "the policy has no rule about it that can be held against facts"},
    {"no_relevant_nodes", "no section of the policy is about it"},
    {"treestore_no_nodes", "the policy has no sections"},
    {"treestore_missing_text", "the policy's sections have no text"},
    {"missing_policy_document_id", "there is no policy document to verify against"},
};

static const char *reason_words(str code)
{
    for (size_t i = 0; i < COUNT_OF(reasons); i++)
        if (str_eq(code, str_c(reasons[i].code)))
            return reasons[i].words;
    return "it cannot be told";
}

static void tell(struct run *x, const struct decision *d)
{
    static const char *const ends[] = {"so it is met", "so it is not met", "so it is uncertain"};
    struct policy_result *out = x->out;
    str why = d->by && d->by->v.why.n > 0 ? d->by->v.why : STR("");
    str text = d->by ? utf8_cut_count(policy_one_line(d->by->r->text, x->a), 240) : STR("");
    bool doubt = out->status == POLICY_UNCERTAIN;

    out->rationale = arena_printf(x->a,
                                  STR_FMT "%s%s%s%s" STR_FMT "%s%s.",
                                  STR_ARG(why),
                                  why.n > 0 ? "; " : "",
                                  doubt ? reason_words(out->reason_code) : "",
                                  doubt ? ", " : "",
                                  text.n > 0 ? "by \"" : "",
                                  STR_ARG(text),
                                  text.n > 0 ? "\" " : "",
                                  ends[out->status]);
}

/* An end before anything could be read. */
static void give_up(struct run *x, const char *code)
{
    struct policy_result *out = x->out;

    out->status = POLICY_UNCERTAIN;
    out->reason_code = str_c(code);
    policy_confide(out, 0, 0);
    out->rationale = arena_printf(x->a, "%s.", reason_words(out->reason_code));
    step(x, "decide", out->rationale);
}

static str question(struct run *x, str criterion)
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

static void tell_retrieved(struct run *x)
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
    step(x, "retrieve", arena_dup(x->a, buf_str(&b)));
    buf_release(&b);
}

static void tell_read(struct run *x)
{
    struct buf b;

    buf_init(&b, 8000);
    buf_printf(&b, "%zu rule%s read", x->read, x->read == 1 ? "" : "s");
    for (size_t i = 0; i < x->n && i < 4; i++)
        buf_printf(&b,
                   "%s \"" STR_FMT "\"",
                   i == 0 ? ":" : ",",
                   STR_ARG(utf8_cut_count(policy_one_line(x->rules[i].r->text, x->a), 160)));
    step(x, "read", arena_dup(x->a, buf_str(&b)));
    buf_reset(&b);
    for (size_t i = 0; i < x->n && i < 6; i++)
        if (x->rules[i].v.why.n > 0)
            buf_printf(&b, "%s" STR_FMT, b.n > 0 ? "; " : "", STR_ARG(x->rules[i].v.why));
    step(x, "link", arena_dup(x->a, b.n > 0 ? buf_str(&b) : STR("no fact is named by them")));
    buf_release(&b);
}

static bool has_text(const struct policy_tree *t)
{
    for (uint32_t i = 0; i < t->node_count; i++)
        if (t->nodes[i].text.n > 0)
            return true;
    return false;
}

static void verify(struct run *x, str criterion)
{
    struct policy_result *out = x->out;
    struct decision d;

    if (x->doc->scope)
        x->scope = *x->doc->scope;
    else
        scope_read(x->doc, &x->hits, x->a, &x->scope);
    scope_score(&x->scope, x->doc, x->c, criterion, x->a, &x->scores);
    if (!x->scores.open && x->scores.most <= 0) {
        give_up(x, "no_relevant_nodes");
        return;
    }
    facts_of(&x->facts, x->c, POLICY_FACT_FLOOR, x->scope.words, x->scope.word_n, x->a);
    x->judge = (struct judge){&x->facts, x->a, x->scope.all, x->scope.n};
    judge_from(x, NEAR);
    if (!x->scores.open && !uses_facts(x))
        judge_further(x, criterion);
    drop_loose(x);
    add_waivers(x);
    tell_read(x);
    d = decide(x);
    doubt(x, &d);
    out->status = d.status;
    out->reason_code = str_c(d.reason);
    cite(x, d.by);
    show_evidence(x, d.by);
    policy_confide(out, TREE_LEAST + (TREE_MOST - TREE_LEAST) * x->scores.coverage, span_of(x, &d));
    tell(x, &d);
    step(x, "decide", out->rationale);
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
    query = question(&x, criterion);
    step(&x, "think", arena_printf(a, "what the policy says about: " STR_FMT, STR_ARG(query)));
    if (!doc) {
        give_up(&x, "missing_policy_document_id");
        return true;
    }
    out->citation.doc = arena_dup(a, doc->id);
    out->citation.version = arena_dup(a, policy_doc_version(doc));
    if (!policy_search(doc, query, POLICY_TOP_MAX, NULL, a, &x.hits, e))
        return false;
    tell_retrieved(&x);
    if (doc->tree.node_count == 0)
        give_up(&x, "treestore_no_nodes");
    else if (!has_text(&doc->tree))
        give_up(&x, "treestore_missing_text");
    else
        verify(&x, criterion);
    return true;
}
