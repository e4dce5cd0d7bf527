/* closed_world.c - whether the whole document, all facts of the case and the criterion were
 * understood.
 *
 * A rule decides only if nothing else can change it. So every sentence, title and line of front
 * matter must be of a known kind. Anything unknown leaves all criteria of the document uncertain,
 * whatever it says.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/heuristic_run.h"
#include "base/ctype.h"

#define SECTIONS_MAX 1000 /* a larger number in front of a title is a year */
#define BEGINNING 5       /* letters */
#define TITLE_WORDS_MAX 3 /* of a title that only names a thing */
#define ASKED_MAX 1000    /* words: a longer criterion says more than any rule */

/* Words of titles that say nothing about the cases that a section is for. */
#define NEUTRAL_TITLE                                                                              \
    "a an the of and or is are to who what when how must be "                                      \
    "general requirement requirements rule rules policy condition conditions criterion criteria "  \
    "eligibility eligible coverage covered scope section article chapter part limit limits "       \
    "minimum maximum term terms regulation regulations"
/* Words of titles that say that the text does not hold. */
#define DISOWNING                                                                                  \
    "superseded former formerly old previous obsolete repealed draft example sample history "      \
    "historical archive archived archives withdrawn proposal proposals deprecated expired past "   \
    "future upcoming template novel satire joke void invalid test demo trial pilot preview beta "  \
    "alpha myth myths misconceptions not non never without unless except only nothing optional "   \
    "voluntary recommendation recommendations recommended suggestion suggestions suggested "       \
    "advice advisory guidance consultation paper tentative provisional informal unofficial "       \
    "fictional hypothetical rejected revoked rescinded annulled cancelled suspended outdated "     \
    "retired planned intended idea ideas wish wishes goal goals aim aims quiz exercise essay"
/* Words of a title: such a document has no rules, or has them for other people. */
#define DISTANT                                                                                    \
    "faq glossary questions exception exceptions exemption exemptions partner our your their my "  \
    "we us they minutes report summary notes comments discussion news blog story students staff "  \
    "children minors juniors adults seniors"
/* A rule about one of these is about other rules: "No limits on Sundays." */
#define RULES_OF_RULES                                                                             \
    "rule rules requirement requirements exception exceptions exemption exemptions regulation "    \
    "regulations provision provisions criterion criteria limits conditions sections policies "     \
    "extension extensions tolerance grace waiver waivers page text version use reliance"
/* What may be asked of a thing so that another rule is read in another way: "Weekends must be
 * excluded." */
#define READING                                                                                    \
    "included excluded counted ignored disregarded waived applied extended reduced doubled "       \
    "halved suspended adjusted rounded treated considered added deducted subtracted multiplied "   \
    "converted measured calculated assumed deemed exempted relaxed lifted repealed replaced "      \
    "amended postponed"

/* General topics, which are no persons. */
#define TOPICS                                                                                     \
    "clinical medical financial formal request application admission approval document documents " \
    "evidence proof fee fees cost costs price prices payment payments amount age income date "     \
    "dates duration period size weight enrolment enrollment membership health safety security "    \
    "equipment identity insurance luggage baggage examination treatment notice"
/* Names of facts that only identify: one of the first, beside any of the others. */
#define IDENTIFIERS "name surname id identifier email phone telephone address street city town zip"
#define IDENTIFIED "first last full case policy e mail number"
/* Words of a criterion that say nothing. */
#define CRITERION_SAYS "a an the of for to in on at and s"
#define CRITERION_WANTS "must be required is are has have needed"

/* Things of these are different if their first words are: the claim date and the filing date. */
#define MEASURES                                                                                   \
    "date code status score amount weight length height width size number count name distance"
#define PERIODS "hourly daily weekly monthly quarterly annual yearly"

/* ---- the topic of a rule ---- */

/* Whether a word is one of a rule's nouns, or its person; subject: only those that the rule is
 * about. */
static bool rule_names(const struct rule *r, const struct word *w, bool subject)
{
    const struct test *const tests[] = {&r->main, &r->when, &r->unless};

    for (size_t i = 0; i < (subject ? 1 : COUNT_OF(tests)); i++)
        if (noun_has(&tests[i]->noun, w) || noun_has(&tests[i]->limit.other, w))
            return true;
    return noun_has(&r->purpose, w) || (r->person && word_same(r->person, w));
}

/* The words of a test's topic, without its person; for "must be employed", of its value. */
static struct noun closed_subject_of(const struct test *t)
{
    struct noun s = t->noun;

    assert(s.n <= NOUN_WORDS_MAX && s.drop <= s.n && t->value_n <= RULE_VALUES_MAX);
    if (noun_is_person(&s) && t->kind == TEST_IS && t->value_n > 0)
        s = noun_with_value(t, 0);
    return noun_without_person(&s);
}

/* Whether a noun has a word, or one that begins like it: "cancelled" and "cancellation" may have
 * the same topic. */
static bool subject_has(const struct noun *n, const struct word *w)
{
    bool found = noun_has(n, w);

    for (size_t i = 0; i < n->n && w->size >= BEGINNING; i++)
        found = found || strncmp(n->words[i]->lower, w->lower, BEGINNING) == 0;
    return found;
}

/* Whether a subject has only words of another, or its last word, which says what it is: "fee" of
 * "monthly fee" and "student fee". Two of a measure or a period are different things if their first
 * words are: the claim date and the filing date, the annual and the monthly income. */
static bool subject_meets(const struct noun *a, const struct noun *b)
{
    const struct word *head = a->n > 0 ? a->words[a->n - 1] : NULL;
    bool within = true;

    for (size_t i = 0; i < a->n; i++)
        within = within && subject_has(b, a->words[i]);
    return within || (subject_has(b, head) && !word_among(head, MEASURES) &&
                      !(word_among(a->words[0], PERIODS) && word_among(b->words[0], PERIODS)));
}

/* Whether two rules may have the same topic: "the fee" and "the student fee", but not the annual
 * and the monthly income. */
static bool closed_rules_meet(const struct rule *a, const struct rule *b)
{
    struct noun x = closed_subject_of(&a->main), y = closed_subject_of(&b->main);

    return subject_meets(&x, &y) || subject_meets(&y, &x);
}

/* Rules with the same topic that contradict each other may be for different cases. */
bool heuristic_disagrees(const struct run *x)
{
    for (size_t i = 0; i < x->n; i++)
        for (size_t k = 0; k < x->n; k++) {
            const struct judged *a = &x->rules[i], *b = &x->rules[k];

            if (a->h.truth == TRUTH_NO && b->h.truth != TRUTH_NO && b->h.applies &&
                closed_rules_meet(a->r->rule, b->r->rule))
                return true;
        }
    return false;
}

static void closed_block(struct run *x, const struct policy_node *n, str text)
{
    static const struct policy_sentence whole;
    struct reading *r = arena_zero(x->a, 1, sizeof *r);

    assert(n >= x->doc->tree.nodes && n < x->doc->tree.nodes + x->doc->tree.node_count);
    r->node = n;
    r->sentence = &whole;
    r->text = text;
    heuristic_block(x, r);
}

/* ---- titles ---- */

/* A number in front of a title: "3.1", "Section 2". */
static bool closed_numbers(const struct word *w)
{
    return w->kind == WORD_NUMBER ? w->number < SECTIONS_MAX
                                  : word_among(w, "\xC2\xA7 section article chapter part");
}

/* Whether a title says nothing about the cases that the rules are for. One above the rule that
 * decides has only words of that rule, or is one topic alone: the "Application fee" may be another
 * fee than "the fee". Any other title names a thing in a few words: "Library card". The scratch
 * arena is emptied: a document has many titles, and each rule is below several. */
static bool closed_title_fits(str title, const struct reading *decides, bool document,
                              struct arena *scratch)
{
    size_t said = 0, unknown = 0, topics = 0, n;
    bool front = true; /* only numbers so far */
    struct word *w;

    assert(!decides || decides->rule);
    arena_reset(scratch);
    n = words_of(title, scratch, &w);
    for (size_t i = 0; i < n; i++) {
        bool mark = w[i].kind == WORD_MARK;

        front = front && (mark || closed_numbers(&w[i]));
        if (mark ? !word_among(&w[i], ". : - , & /") : !front && w[i].kind == WORD_NUMBER)
            return false;
        if (mark || front || w[i].size == 1 || word_among(&w[i], NEUTRAL_TITLE))
            continue;
        said++;
        topics += word_among(&w[i], TOPICS);
        unknown += decides ? !rule_names(decides->rule, &w[i], false) &&
                                 !(word_is(&w[i], "exclusions") && decides->rule->main.not_)
                           : w[i].size < 3 || word_stops(&w[i]) || word_among(&w[i], DISOWNING) ||
                                 (document && word_among(&w[i], DISTANT)) ||
                                 (w[i].size > 3 && strcmp(w[i].lower + w[i].size - 2, "ed") == 0);
    }
    return decides ? unknown == 0 || (said == 1 && topics == 1)
                   : unknown == 0 && said <= TITLE_WORDS_MAX;
}

/* Whether all sections are below this one, whose title is then the document's. */
static bool closed_is_document(const struct run *x, const struct policy_node *n)
{
    const struct policy_tree *t = &x->doc->tree;

    assert(n >= t->nodes && n < t->nodes + t->node_count);
    return n + n->span == t->nodes + t->node_count &&
           (n == t->nodes || (n == t->nodes + 1 && t->nodes[0].level == 0));
}

/* The titles, and the lines of the front matter; a version is a number, such as "2026.1". */
static void closed_titles(struct run *x, struct arena *a)
{
    const struct policy_tree *t = &x->doc->tree;

    if (t->front_other.n > 0)
        closed_block(x, &t->nodes[0], t->front_other);
    if (!closed_title_fits(t->title, NULL, true, a))
        closed_block(x, &t->nodes[0], t->title);
    for (size_t i = 0; i < t->version.n; i++)
        if (!char_is_digit(t->version.p[i]) && !memchr(".-v", t->version.p[i], 3))
            closed_block(x, &t->nodes[0], t->version);
    for (const struct policy_node *n = t->nodes; n < t->nodes + t->node_count; n++) {
        if (n->level > 0 && !closed_title_fits(n->title, NULL, closed_is_document(x, n), a))
            closed_block(x, n, n->title);
    }
}

/* The titles above a rule that decides. */
static bool closed_path_fits(const struct run *x, const struct reading *r, struct arena *a)
{
    for (const struct policy_node *n = r->node; n; n = policy_parent(&x->doc->tree, n))
        if (n->level > 0 && !closed_is_document(x, n) && !closed_title_fits(n->title, r, false, a))
            return false;
    return true;
}

/* ---- sentences ---- */

/* Whether the words of a noun are in titles of the document: "see section Exclusions". */
static bool closed_points(const struct run *x, const struct noun *noun)
{
    for (size_t i = 0; i < noun->n; i++) {
        bool found = word_among(noun->words[i], NEUTRAL_TITLE);

        for (uint32_t k = 0; k < x->doc->tree.node_count && !found; k++)
            found = words_text_has(x->doc->tree.nodes[k].title, noun->words[i]);
        if (!found)
            return false;
    }
    return true;
}

static bool closed_leads(const struct run *x, const struct reading *r)
{
    assert(r >= x->scope.all && r < x->scope.all + x->scope.n);
    return r + 1 < x->scope.all + x->scope.n && r[1].lead == r;
}

/* Whether a rule is about things, and not about other rules, their units or how they are read. */
static bool closed_is_of_things(const struct test *t)
{
    bool things = false;
    size_t took;

    for (size_t i = 0; i < t->noun.n; i++) {
        if (word_among(t->noun.words[i], RULES_OF_RULES))
            return false;
        things = things || !word_among(t->noun.words[i], NEUTRAL_TITLE);
    }
    return things && !(t->noun.n == 1 && unit_read(t->noun.words[0], 1, &took)) &&
           !(t->value_n == 1 && word_among(&t->values[0].w[0], READING));
}

static bool closed_sentence_fits(const struct run *x, const struct reading *r)
{
    const struct test *t = r->rule ? &r->rule->main : NULL;

    assert(!r->part || r->lead);
    if (r->part)
        return true;
    if (!r->rule) /* a table's header leads to its rows */
        return r->sentence->row && !r->lead && closed_leads(x, r);
    if (r->rule->kind == RULE_NOTE)
        return closed_points(x, &t->noun);
    if ((r->rule->kind == RULE_ALL || r->rule->wants_items) && !closed_leads(x, r))
        return false;
    return r->rule->kind == RULE_ALL || closed_is_of_things(t);
}

/* The words of its section's title that a rule contains; none of the document's title. */
static struct phrase closed_title_words(const struct run *x, const struct reading *r,
                                        struct arena *a)
{
    struct word *w = NULL;
    size_t n = closed_is_document(x, r->node) ? 0 : words_of(r->node->title, a, &w), kept = 0;

    for (size_t i = 0; i < n; i++)
        if (!word_among(&w[i], NEUTRAL_TITLE) && rule_names(r->rule, &w[i], true))
            w[kept++] = w[i];
    assert(r->rule && kept <= n);
    return (struct phrase){w, kept};
}

/* Whether the title of a rule's section names another rule of it only: "Period" of "the hire period
 * must be ..." and of "weekends must be free". title: its words that the other rule has. */
static bool closed_is_beside(const struct rule *r, const struct phrase *title)
{
    for (size_t i = 0; i < title->n; i++)
        if (!rule_names(r, &title->w[i], false))
            return true;
    return false;
}

/* Whether a rule may change one that the criterion is about, but is not one of these itself; or the
 * fact may be that of the other rule's person. titles: closed_title_words of each judged rule. */
static bool closed_interferes(const struct run *x, const struct reading *r,
                              const struct phrase *titles)
{
    bool judged = !r->rule || r->rule->kind == RULE_NOTE || r->rule->kind == RULE_ALL;

    for (size_t k = 0; k < x->n; k++)
        judged = judged || x->rules[k].r == r;
    for (size_t k = 0; k < x->n && r->rule; k++) {
        const struct judged *j = &x->rules[k];
        const struct word *person = j->r->rule->person, *other = r->rule->person;

        if ((j->h.dropped && person && other && !word_same(person, other)) ||
            (!judged && ((r->node == j->r->node && closed_is_beside(r->rule, &titles[k])) ||
                         closed_rules_meet(r->rule, j->r->rule))))
            return true;
    }
    return false;
}

static void closed_interference(struct run *x, struct arena *scratch)
{
    struct phrase *titles;

    assert(!x->blocked && x->n <= RULES_MAX);
    arena_reset(scratch);
    titles = arena_zero(scratch, x->n + 1, sizeof titles[0]);
    for (size_t k = 0; k < x->n; k++)
        titles[k] = closed_title_words(x, x->rules[k].r, scratch);
    for (size_t i = 0; i < x->scope.n && !x->blocked; i++)
        if (closed_interferes(x, &x->scope.all[i], titles))
            heuristic_block(x, &x->scope.all[i]);
}

void heuristic_close_document(struct run *x)
{
    struct arena titles;

    assert(x->scope.n > 0 && !x->scope.cut);
    arena_init(&titles, POLICY_ARENA_MAX);
    for (size_t i = 0; i < x->scope.n && !x->blocked; i++)
        if (!closed_sentence_fits(x, &x->scope.all[i]))
            heuristic_block(x, &x->scope.all[i]);
    closed_titles(x, &titles);
    for (size_t i = 0; i < x->n && !x->blocked; i++)
        if (!closed_path_fits(x, x->rules[i].r, &titles) ||
            !closed_points(x, &x->rules[i].r->rule->purpose))
            heuristic_block(x, x->rules[i].r);
    if (!x->blocked)
        closed_interference(x, &titles);
    arena_release(&titles);
}

/* ---- facts ---- */

static bool closed_identifies(const struct noun *name)
{
    bool found = false;

    for (size_t i = 0; i < name->n; i++) {
        found = found || word_among(name->words[i], IDENTIFIERS);
        if (!word_among(name->words[i], IDENTIFIERS) && !word_among(name->words[i], IDENTIFIED) &&
            !word_names_person(name->words[i]))
            return false;
    }
    return found;
}

/* Whether a rule has a noun that is the fact's name. */
static bool closed_binds(const struct rule *r, const struct fact *f)
{
    const struct test *const tests[] = {&r->main, &r->when, &r->unless};
    bool dropped = false;

    for (size_t i = 0; i < COUNT_OF(tests); i++)
        if (test_names(tests[i], f, &dropped) != TEST_OTHER ||
            fact_is_named(f, &tests[i]->limit.other, &dropped))
            return true;
    return false;
}

const struct fact *heuristic_foreign_fact(const struct run *x)
{
    for (size_t i = 0; i < x->facts.n; i++) {
        const struct fact *f = &x->facts.all[i];
        bool known = closed_identifies(&f->name);

        for (size_t k = 0; k < x->scope.n && !known; k++)
            known = x->scope.all[k].rule && closed_binds(x->scope.all[k].rule, f);
        if (!known)
            return f;
    }
    return NULL;
}

/* ---- the criterion ---- */

/* A word that a rule's topic may have: of its nouns, its titles, or its only value. */
static bool closed_topic_has(const struct reading *r, const struct word *w)
{
    const struct test *t = &r->rule->main;

    if (words_text_has(r->node->title_path, w) || rule_names(r->rule, w, true))
        return true;
    if (t->value_n == 1 && word_find(t->values[0].w, t->values[0].n, w) < t->values[0].n)
        return true;
    return word_among(w, CRITERION_WANTS) && !t->not_;
}

bool heuristic_asks_for(const struct run *x, const struct reading *r)
{
    const struct noun *noun = &r->rule->main.noun;
    const struct word *w = x->asked.w;
    bool asks = x->asked.n <= ASKED_MAX;
    size_t at = 0;

    assert(noun->n <= NOUN_WORDS_MAX);
    for (size_t i = 0; i < x->asked.n && asks; i++) {
        size_t place = noun_find(noun, &w[i]);

        /* The words are in the order of the noun: a guest reservation is no reserved guest. */
        asks = place >= at || word_is(&w[i], "of");
        at = place < noun->n ? place : word_is(&w[i], "of") ? 0 : at;
        if (w[i].kind != WORD_MARK && !word_among(&w[i], CRITERION_SAYS))
            asks = asks && (closed_topic_has(r, &w[i]) || scope_word_numbers(&w[i]));
    }
    return asks;
}
