/* surroundings.c - the titles, labels and other sentences that may change a rule.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/heuristic_run.h"

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
    "amends amendment supersede superseded supersedes void draft binding abolished lifted "        \
    "until formerly previously temporarily temporary transitional"
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
/* Words that compare with a rule which is elsewhere, if no "than" follows: "can be taller". */
#define COMPARING                                                                                  \
    "half twice double triple taller higher lower longer shorter heavier lighter larger bigger "   \
    "smaller cheaper older younger later earlier"
#define PLAIN_LABELS "note requirement requirements rule rules policy important"

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

bool heuristic_is_narrowed(const struct run *x, const struct reading *r)
{
    struct word *path;
    size_t n = words_of(r->node->title_path, x->a, &path);
    const struct phrase *label = r->rule ? &r->rule->label : NULL;

    for (size_t i = 0; label && i < label->n; i++)
        if (!word_among(&label->w[i], PLAIN_LABELS) && !word_stops(&label->w[i]) &&
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

static bool heuristic_compares(const struct reading *r)
{
    for (size_t i = 1; i < r->n; i++)
        if (word_among(&r->w[i], COMPARING) && !word_among(&r->w[i - 1], "or and") &&
            (i + 1 == r->n || !word_is(&r->w[i + 1], "than")))
            return true;
    return false;
}

/* "This document explains who may join": it does not say for whom the rules below are. */
static bool heuristic_introduces(const struct reading *r)
{
    size_t texts = 0;

    for (size_t i = 0; i < r->n; i++)
        texts += r->w[i].kind == WORD_TEXT;
    if (heuristic_has(r, NARROWING) || (texts < 3 && heuristic_has(r, NOT_IN_FORCE)))
        return false;
    if (texts < 3) /* no sentence */
        return true;
    if (word_is(&r->w[0], "welcome") ||
        (r->n > 3 && word_is(&r->w[0], "this") && word_is(&r->w[1], "is") &&
         word_is(&r->w[2], "the") && word_among(&r->w[3], "policy document handbook manual")))
        return true;
    for (size_t i = 1; i < 3 && i < r->n; i++)
        if (word_among(&r->w[i], "explains describes says defines lists summarizes states"))
            return true;
    return false;
}

/* Whether a sentence that was not understood may be about a rule: it is in its section, opens a
 * section around it, or the title of its own section is about the criterion or the rule. */
static bool heuristic_is_near(const struct run *x, const struct reading *r)
{
    struct word *title;
    size_t n = words_of(r->node->title, x->a, &title), held = 0;

    for (size_t k = 0; k < x->n; k++) {
        const struct reading *rule = x->rules[k].r;

        if (r->node->depth > 0 && n > 0 && word_among(&title[0], TOPIC_TITLE) &&
            scope_says(rule, &title[0])) /* "Weight of skis" */
            return true;
        if (rule->node == r->node ||
            (rule->node_at > r->node_at && rule->node_at < r->node_at + r->node->span &&
             !heuristic_introduces(r)))
            return true;
    }
    for (size_t k = 0; k < x->question.n; k++)
        held += word_find(title, n, &x->question.w[k]) < n;
    return x->question.n > 0 && held == x->question.n;
}

/* Whether the title of a sentence's section is who or what it is for: "Cyclists", "Bald guests". */
static bool heuristic_is_of_group(const struct run *x, const struct reading *r)
{
    struct word *w;
    size_t n = words_of(r->node->title, x->a, &w);
    const struct word *last = NULL;

    for (size_t i = 0; i < n; i++) {
        if (word_among(&w[i], NEUTRAL_TITLE) || word_among(&w[i], TOPIC_TITLE))
            return false;
        last = w[i].kind == WORD_TEXT ? &w[i] : last;
    }
    return last && r->node->depth > 0 && last->size > 3 && last->lower[last->size - 1] == 's';
}

/* The text around the rules must be understood too: every sentence near them, and in the rest of
 * the document those that could change a rule. */
void heuristic_look_around(struct run *x, const bool *about)
{
    for (size_t i = 0; i < x->scope.n && !x->blocked; i++) {
        const struct reading *r = &x->scope.all[i];
        bool block = !r->rule && (heuristic_has(r, OVERRIDING) || heuristic_compares(r)),
             dropped = false;

        for (size_t k = 0; k < x->n; k++) {
            block = block || (!r->rule && (heuristic_redefines(r, &x->rules[k]) ||
                                           heuristic_shares_unit(r, x->rules[k].r->rule)));
            block = block || x->rules[k].r->block == r->block;
            dropped = dropped || (x->rules[k].h.dropped && x->rules[k].r->node == r->node &&
                                  rule_is_of_age(x->rules[k].r->rule));
        }
        if (heuristic_doubts(x, r))
            heuristic_block(x, r);
        if (about[i] || r->part || heuristic_is_header(r))
            continue;
        if (!r->rule && (block || heuristic_is_near(x, r)))
            heuristic_block(x, r);
        if (!r->rule && (heuristic_has(r, EASING) || heuristic_is_of_group(x, r)))
            x->eased = r;
        if (dropped && heuristic_rule_decides(r->rule) && rule_may_be_an_age(r->rule))
            heuristic_block(x, r);
        if (block && r->rule && r->rule->kind == RULE_NOTE && r->rule->main.n > 0 &&
            facts_mention(&x->facts, &r->rule->main.all[0].noun))
            heuristic_block(x, r);
    }
    for (size_t i = 0; i < x->n; i++)
        if (heuristic_names_others(x, &x->rules[i]) || heuristic_rows_compete(x, &x->rules[i]))
            heuristic_block(x, x->rules[i].r);
}
