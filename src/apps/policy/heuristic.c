/* heuristic.c - a criterion verified without a model. See heuristic.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/heuristic_run.h"

#define TREE_SURE 0.98 /* c_tree of a criterion all of whose words were found */

/* Titles of documents or sections that do not say what holds now, or for whom it holds. */
#define NOT_IN_FORCE                                                                               \
    "superseded former formerly old previous obsolete repealed draft example examples sample "     \
    "history historical archived withdrawn proposed deprecated expired faq glossary questions "    \
    "myths myth misconceptions not no until before since past future planned upcoming"
/* Titles that narrow the rules below them to some cases. */
#define NARROWING                                                                                  \
    "for if only student students senior seniors minor minors child children veteran veterans "    \
    "business commercial corporate staff exception exceptions optional international domestic"
/* Words of a section's title that say nothing about the cases it is for. Others must be in the rule
 * itself: "Companies" and "Pilot project" narrow it, "Exclusions" turns it around. */
#define NEUTRAL_TITLE                                                                              \
    "general requirement requirements rule rules policy condition conditions criterion "           \
    "criteria eligibility coverage covered scope section article chapter limit limits "            \
    "minimum maximum who what when how"
/* The same, unless they qualify another: the fee below "Application fee" is no other fee. */
#define TOPIC_TITLE                                                                                \
    "clinical medical financial formal request application admission joining approval "            \
    "document documents documentation paper papers evidence proof fee fees cost costs charge "     \
    "charges price prices payment payments money finance finances amount amounts age income "      \
    "date dates deadline deadlines duration period term terms size weight quantity number "        \
    "enrolment enrollment membership health safety security hygiene equipment conduct "            \
    "behaviour behavior identity identification qualification qualifications experience "          \
    "insurance luggage baggage facility procedure examination diagnosis treatment notice "         \
    "obligations duties"
/* A sentence with one of these may change any rule of the document. */
#define OVERRIDING                                                                                 \
    "notwithstanding foregoing preceding aforementioned aforesaid above below section sections "   \
    "clause clauses paragraph paragraphs article articles chapter annex appendix provision "       \
    "provisions requirement requirements rule rules regulation regulations criterion criteria "    \
    "limit limits threshold thresholds minimum maximum applies applicable force effect effective " \
    "suspend suspended repeal repealed replace replaced replaces delete deleted amend amended "    \
    "amends amendment supersede superseded supersedes void draft binding abolished lifted"
/* A sentence with one of these may allow what a rule of the document forbids. */
#define EASING                                                                                     \
    "welcome free entitled enough suffices sufficient waive waives waived waiver exempt exempted " \
    "exemption exemptions excepted exception exceptions optional voluntary discretion without "    \
    "nothing"
#define EVERYBODY "person persons individual individuals people"
/* Persons beside whom a document may have others; an applicant, a patient and a member are one. */
#define ROLES                                                                                      \
    "driver drivers employee employees insured policyholder policyholders borrower borrowers "     \
    "claimant claimants cardholder cardholders"
#define PLAIN_LABELS "note requirement requirements rule rules policy important"

static bool rule_decides(const struct rule *r)
{
    return r && (r->kind == RULE_REQUIRE || r->kind == RULE_PERMIT || r->kind == RULE_ROW ||
                 r->kind == RULE_ANY);
}

/* "See section 4" only points, and "welcome to our gym" only greets. */
static bool heuristic_has(const struct reading *r, const char *words)
{
    for (size_t i = 0; i < r->n; i++)
        if (word_among(&r->w[i], words) && !(i > 0 && word_is(&r->w[i - 1], "see")) &&
            !(i == 0 && word_is(&r->w[i], "welcome")))
            return true;
    return false;
}

/* Whether all sections are below one title, which is then the document's. */
static bool heuristic_has_title(const struct policy_tree *t)
{
    return t->nodes[0].span == t->node_count ||
           (t->nodes[0].level == 0 && 1 + t->nodes[1].span == t->node_count);
}

/* Whether a word of a section's title leaves the rule as it is; next: to another that says more. */
static bool heuristic_title_is_plain(const struct word *w, const struct reading *r, bool next)
{
    return w->kind == WORD_MARK || w->size == 1 || word_among(w, NEUTRAL_TITLE) ||
           (word_stops(w) && !word_among(w, "for if in at with")) || scope_says(r, w) ||
           (word_among(w, TOPIC_TITLE) && !next) ||
           (word_is(w, "exclusions") && heuristic_has(r, "must shall eligible"));
}

/* Whether a word says what a section is about. */
static bool heuristic_title_says(const struct word *w)
{
    return w->kind == WORD_TEXT && !word_stops(w) && !word_among(w, NEUTRAL_TITLE);
}

/* Whether one of the words of a rule's title path restricts it to cases that no fact identifies. */
static bool heuristic_title_narrows(const struct run *x, const struct reading *r,
                                    const struct word *path, size_t n)
{
    bool own = r->node->level == 0 || heuristic_has_title(&x->doc->tree);

    for (size_t i = 0, first = 0; i < n; i++) {
        const struct word *w = &path[i];
        bool next = (i > first && heuristic_title_says(w - 1)) ||
                    (i + 1 < n && heuristic_title_says(w + 1));

        if (word_is(w, ">")) {
            own = false;
            first = i + 1;
        } else if (word_among(w, NOT_IN_FORCE)) {
            return true;
        } else if (own) {
            if (word_among(w, NARROWING) &&
                word_find(x->question.w, x->question.n, w) == x->question.n)
                return true;
        } else if (!(w->kind == WORD_NUMBER && (i == first || path[i - 1].kind == WORD_MARK)) &&
                   !heuristic_title_is_plain(w, r, next)) {
            return true;
        }
    }
    return false;
}

/* Whether titles or a label restrict a rule to cases that no fact identifies. */
static bool heuristic_is_narrowed(const struct run *x, const struct reading *r)
{
    struct word *path;
    size_t n = words_of(r->node->title_path, x->a, &path);
    const struct phrase *label = r->rule ? &r->rule->label : NULL;

    for (size_t i = 0; label && i < label->n; i++)
        if (!word_among(&label->w[i], PLAIN_LABELS) && !word_stops(&label->w[i]) &&
            word_find(x->question.w, x->question.n, &label->w[i]) == x->question.n &&
            word_find(path, n, &label->w[i]) == n &&
            word_find(r->w + label->n + 1, r->n - label->n - 1, &label->w[i]) ==
                r->n - label->n - 1)
            return true;
    for (size_t i = 0; r->rule && i < r->rule->purpose.n; i++)
        if (word_find(path, n, r->rule->purpose.words[i]) == n &&
            (r->rule->kind != RULE_PERMIT ||
             word_find(x->question.w, x->question.n, r->rule->purpose.words[i]) == x->question.n))
            return true;
    return heuristic_title_narrows(x, r, path, n);
}

static bool heuristic_in_section(const struct run *x, const struct reading *r)
{
    const struct policy_node *n =
        x->c->section_path.n > 0 ? policy_node_titled(&x->doc->tree, x->c->section_path) : NULL;

    return !n || str_starts(r->node->title_path, n->title_path);
}

/* A table's header leads to its rows and is no sentence. */
static bool heuristic_is_header(const struct reading *r)
{
    return r->sentence->row && !r->lead;
}

static void heuristic_block(struct run *x, const struct reading *r)
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
        any = any || (own[i] && (rule_decides(r->rule) || r->part));
        *found = *found || titled[i];
    }
    return any ? own : titled;
}

static void heuristic_judge(struct run *x, const bool *about)
{
    for (size_t i = 0; i < x->scope.n; i++) {
        const struct reading *r = &x->scope.all[i];

        if (r->rule && r->rule->kind == RULE_DEFINE)
            x->define[x->define_n++] = r->rule;
    }
    for (size_t i = 0; i < x->scope.n && x->n < RULES_MAX; i++) {
        const struct reading *r = &x->scope.all[i];

        if (!about[i] || r->part || heuristic_is_header(r))
            continue;
        if (!r->rule)
            heuristic_block(x, r);
        if (!rule_decides(r->rule))
            continue;
        if (heuristic_is_narrowed(x, r))
            heuristic_block(x, r);
        x->rules[x->n++] = (struct judged){
            r, rule_hold(r->rule, &x->facts, (const struct rule *const *)x->define, x->define_n)};
    }
    if (x->n == RULES_MAX)
        heuristic_block(x, x->rules[RULES_MAX - 1].r);
}

static bool rule_is_of_age(const struct rule *r)
{
    for (size_t i = 0; i < r->main.n; i++)
        if (r->main.all[i].limit.age)
            return true;
    return false;
}

/* "Guests must be over 21" beside "members must be over 18": another person's age, perhaps. */
static bool rule_may_be_an_age(const struct rule *r)
{
    for (size_t i = 0; r && i < r->main.n; i++) {
        const struct test *t = &r->main.all[i];
        const struct quantity *q = t->limit.has_low ? &t->limit.low : &t->limit.high;

        if (t->kind == TEST_LIMIT && t->noun.n == 1 && !q->unit && !q->date && !t->limit.relative)
            return true;
    }
    return false;
}

/* "An applicant is the parent of the child": who a rule is about may be somebody else. */
static bool heuristic_redefines(const struct reading *r, const struct judged *j)
{
    size_t at = r->n > 0 && word_among(&r->w[0], "a an the each");

    return r->n > at + 2 && word_names_person(&r->w[at]) &&
           word_among(&r->w[at + 1], "is are means includes") &&
           word_find(j->r->w, j->r->n, &r->w[at]) < j->r->n;
}

/* "The minimum age is not enforced": a note about what a rule is about. */
static bool heuristic_doubts(const struct run *x, const struct reading *r)
{
    if (!r->rule || r->rule->kind != RULE_NOTE || r->rule->main.n == 0)
        return false;
    for (size_t k = 0; k < x->n; k++)
        for (size_t i = 0; i < r->rule->main.all[0].noun.n; i++)
            if (scope_says(x->rules[k].r, r->rule->main.all[0].noun.words[i]))
                return true;
    return false;
}

/* "Adults pay 30 euros" beside a rule about euros: it may be about the same under another name. */
static bool heuristic_shares_unit(const struct reading *r, const struct rule *rule)
{
    for (size_t i = 0; i < r->n; i++) {
        struct quantity q;

        if (quantity_read(r->w + i, r->n - i, &q) == 0 || !q.unit || unit_is_time(q.unit))
            continue;
        for (size_t k = 0; k < rule->main.n; k++) {
            const struct limit *l = &rule->main.all[k].limit;
            const struct unit *u = l->low.unit ? l->low.unit : l->high.unit;

            if (rule->main.all[k].kind == TEST_LIMIT && u && u->dimension == q.unit->dimension)
                return true;
        }
    }
    return false;
}

/* A driver's fact without "driver" in its name may be that of another person whom the document
 * names. */
static bool heuristic_names_others(const struct run *x, const struct judged *j)
{
    const struct word *p = j->r->rule->person;

    if (!j->h.dropped || j->h.truth == TRUTH_UNKNOWN || !p || !word_among(p, ROLES))
        return false;
    for (size_t i = 0; i < x->scope.n; i++)
        for (size_t k = 0; k < x->scope.all[i].n; k++) {
            const struct word *w = &x->scope.all[i].w[k];

            if (word_names_person(w) && !word_among(w, EVERYBODY) && !noun_word_same(w, p))
                return true;
        }
    return false;
}

/* Rows of one table that both apply are alternatives, perhaps. */
static bool heuristic_rows_compete(const struct run *x, const struct judged *j)
{
    for (size_t k = 0; k < x->n; k++)
        if (&x->rules[k] != j && j->r->rule->kind == RULE_ROW && j->h.applies &&
            x->rules[k].r->lead == j->r->lead && x->rules[k].h.applies)
            return true;
    return false;
}

/* The text around the rules must be understood too: every sentence of their sections, and in the
 * rest of the document those that could change a rule. */
static void heuristic_look_around(struct run *x, const bool *about)
{
    for (size_t i = 0; i < x->scope.n; i++) {
        const struct reading *r = &x->scope.all[i];
        bool block = !r->rule && heuristic_has(r, OVERRIDING), node = false, dropped = false;

        for (size_t k = 0; k < x->n; k++) {
            block = block || (!r->rule && (heuristic_redefines(r, &x->rules[k]) ||
                                           heuristic_shares_unit(r, x->rules[k].r->rule)));
            block = block || x->rules[k].r->block == r->block;
            node = node || x->rules[k].r->node == r->node;
            dropped = dropped || (x->rules[k].h.dropped && x->rules[k].r->node == r->node &&
                                  rule_is_of_age(x->rules[k].r->rule));
        }
        if (heuristic_doubts(x, r))
            heuristic_block(x, r);
        if (about[i] || r->part || heuristic_is_header(r))
            continue;
        if (!r->rule && (block || node))
            heuristic_block(x, r);
        if (!r->rule && heuristic_has(r, EASING))
            x->eased = r;
        if (dropped && rule_decides(r->rule) && rule_may_be_an_age(r->rule))
            heuristic_block(x, r);
        if (block && r->rule && r->rule->kind == RULE_NOTE && r->rule->main.n > 0 &&
            facts_mention(&x->facts, &r->rule->main.all[0].noun))
            heuristic_block(x, r);
    }
}

static bool noun_covers(const struct noun *n, const struct noun *other)
{
    for (size_t i = 0; i < other->n; i++) {
        bool found = other->drop >> i & 1;

        for (size_t k = 0; k < n->n && !found; k++)
            found = noun_word_same(n->words[k], other->words[i]);
        if (!found)
            return false;
    }
    return true;
}

/* Whether a waiver is about a rule: it names the rule's noun, or is next to it. Unknown if it names
 * a part of the rule's words, or follows it at a distance. */
static enum truth waiver_is_about(const struct reading *waiver, const struct judged *j)
{
    const struct tests *of = &waiver->rule->main;
    const struct noun *noun = of->n > 0 ? &of->all[0].noun : NULL;

    if (!noun)
        return waiver->block != j->r->block || waiver < j->r ? TRUTH_NO
               : waiver == j->r + 1                          ? TRUTH_YES
                                                             : TRUTH_UNKNOWN;
    for (size_t i = 0; i < noun->n; i++)
        if (word_find(j->r->w, j->r->n, noun->words[i]) == j->r->n)
            return TRUTH_NO;
    return j->r->rule->main.n == 1 && noun_covers(noun, &j->r->rule->main.all[0].noun)
               ? TRUTH_YES
               : TRUTH_UNKNOWN;
}

static void heuristic_waive(struct run *x)
{
    for (size_t i = 0; i < x->scope.n; i++) {
        const struct reading *r = &x->scope.all[i];

        for (size_t k = 0; k < x->n; k++) {
            struct judged *j = &x->rules[k];
            struct holding h;
            enum truth about;

            if (!r->rule || r->rule->kind != RULE_WAIVE ||
                (about = waiver_is_about(r, j)) == TRUTH_NO)
                continue;
            h = rule_hold(r->rule, &x->facts, NULL, 0);
            if (h.truth == TRUTH_YES && about == TRUTH_YES)
                *j = (struct judged){r, h};
            else if (h.truth != TRUTH_NO && j->h.truth == TRUTH_NO)
                j->h.truth = TRUTH_UNKNOWN;
        }
    }
}

static const struct judged *heuristic_first(const struct run *x, enum truth t)
{
    for (size_t i = 0; i < x->n; i++)
        if (x->rules[i].h.truth == t && (t == TRUTH_NO || x->rules[i].h.applies))
            return &x->rules[i];
    return NULL;
}

/* Rules of different sections about one fact that do not agree may be for different cases; a fact
 * without a person's name cannot be two persons'. */
static bool heuristic_disagrees(const struct run *x)
{
    for (size_t i = 0; i < x->n; i++)
        for (size_t k = 0; k < x->n; k++) {
            const struct judged *a = &x->rules[i], *b = &x->rules[k];
            const struct word *p = a->r->rule->person, *q = b->r->rule->person;

            if (a->h.used_n == 0 || b->h.used_n == 0)
                continue;
            if (a->h.dropped && b->h.dropped && p && q && !noun_word_same(p, q))
                return true;
            if (a->r->node != b->r->node && a->h.truth == TRUTH_NO && b->h.truth == TRUTH_YES &&
                a->h.used[0] == b->h.used[0])
                return true;
        }
    return false;
}

/* The verdict of the rules. Of alternative sufficient conditions, one that holds is enough. */
static struct decision heuristic_decide(struct run *x)
{
    static const char *const doubts[] = {[DOUBT_NONE] = "insufficient_policy_context",
                                         [DOUBT_NO_FACT] = "missing_evidence",
                                         [DOUBT_UNIT] = "missing_evidence",
                                         [DOUBT_UNSURE] = "low_confidence",
                                         [DOUBT_CONFLICT] = "conformal_ambiguity"};
    const struct judged *j, *open = NULL;
    bool permitted = false;

    if (heuristic_disagrees(x))
        return (struct decision){POLICY_UNCERTAIN, &x->rules[0], "conformal_ambiguity"};
    if ((j = heuristic_first(x, TRUTH_NO)))
        return (struct decision){POLICY_MISSING, j, ""};
    for (size_t i = 0; i < x->n; i++)
        permitted = permitted ||
                    (x->rules[i].r->rule->kind == RULE_PERMIT && x->rules[i].h.truth == TRUTH_YES);
    for (size_t i = 0; i < x->n; i++)
        if (x->rules[i].h.truth == TRUTH_UNKNOWN &&
            !(permitted && x->rules[i].r->rule->kind == RULE_PERMIT) &&
            (!open || open->h.doubt < x->rules[i].h.doubt))
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
    x->define = arena_zero(x->a, x->scope.n + 1, sizeof x->define[0]);
    about = heuristic_select(x, &found);
    if (!found) {
        policy_heuristic_give_up(x, "no_relevant_nodes");
        return;
    }
    case_facts_read(&x->facts, x->c, POLICY_FACT_FLOOR, x->a);
    heuristic_judge(x, about);
    heuristic_look_around(x, about);
    for (size_t i = 0; i < x->n; i++)
        if (heuristic_names_others(x, &x->rules[i]) || heuristic_rows_compete(x, &x->rules[i]))
            heuristic_block(x, x->rules[i].r);
    heuristic_waive(x);
    heuristic_tell_read(x);
    d = heuristic_decide(x);
    if (!x->blocked && d.status == POLICY_MISSING)
        x->blocked = x->eased;
    if (x->blocked) {
        struct judged *j = &x->rules[RULES_MAX];

        *j = (struct judged){.r = x->blocked, .h = {.truth = TRUTH_UNKNOWN}};
        d = (struct decision){POLICY_UNCERTAIN, j, "not_understood"};
    }
    out->status = d.status;
    out->reason_code = str_c(d.reason);
    policy_confide(out, TREE_SURE, heuristic_span(x, &d));
    heuristic_tell(x, &d);
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
    heuristic_tell_retrieved(&x);
    if (doc->tree.node_count == 0)
        policy_heuristic_give_up(&x, "treestore_no_nodes");
    else if (!has_text(&doc->tree))
        policy_heuristic_give_up(&x, "treestore_missing_text");
    else
        policy_heuristic_verify(&x);
    return true;
}
