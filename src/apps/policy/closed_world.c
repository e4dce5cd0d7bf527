/* closed_world.c - whether the whole document was understood.
 *
 * A rule decides only if nothing else can change it. So every sentence, title, label and line of
 * front matter must be of a known kind. Anything unknown leaves all criteria of the document
 * uncertain, whatever it says.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/heuristic_run.h"
#include "apps/policy/rule/subject.h"
#include "base/ctype.h"

#define SECTIONS_MAX 1000 /* a larger number in front of a title is a year */

/* Words of titles that say nothing about the cases that a section is for. */
#define NEUTRAL_TITLE                                                                              \
    "a an the of and or is are to who what when how must be "                                      \
    "general requirement requirements rule rules policy condition conditions criterion criteria "  \
    "eligibility eligible coverage covered scope section article chapter part limit limits "       \
    "minimum maximum term terms regulation regulations"
/* Topics of a whole document, besides the general ones of subject.h. A section's title has a
 * general topic alone: the "Application fee" may be another fee than "the fee". */
#define TOPIC_DOCUMENT                                                                             \
    "gym shop library school university hotel clinic hospital pool museum bank camp course "       \
    "courses event events travel trip expense expenses loan loans credit mortgage claim claims "   \
    "hire rental lease housing parking visa grant grants hr leave shipping delivery returns "      \
    "visit visits sport sports plan plans imaging mri spine lumbar"
/* Groups by age: titles of sections whose rules are about ages, but not of one that decides. */
#define TOPIC_AGE "children minors juniors adults seniors"
#define TITLE_MARKS ". : - , & /"
#define PLAIN_LABELS "note requirement requirements rule rules policy important"
/* A rule about one of these is about other rules: "No limits on Sundays." */
#define RULES_OF_RULES                                                                             \
    "rule rules requirement requirements exception exceptions exemption exemptions regulation "    \
    "regulations provision provisions criterion criteria limits conditions sections policies "     \
    "extension extensions tolerance grace waiver waivers page text version use reliance"
/* What a thing may be asked to be. Others may be about a rule: "Weekends must be excluded." */
#define PARTICIPLES                                                                                \
    "signed notarized certified approved verified registered licensed insured vaccinated "         \
    "accredited qualified employed enrolled completed stamped sealed locked closed paid dated "    \
    "filed unused used expired notified"

/* Words of titles that say that the text does not hold, or for whom or when it holds. */
#define DISOWNING                                                                                  \
    "superseded former formerly old previous obsolete repealed draft example sample history "      \
    "historical archive archived archives withdrawn proposal proposals deprecated expired faq "    \
    "glossary questions myth myths misconceptions past future upcoming template novel satire "     \
    "joke void invalid exception exceptions exemption exemptions partner our your their my we us " \
    "they test demo trial pilot preview beta alpha minutes report summary notes comments "         \
    "discussion news blog story students staff " TOPIC_AGE
#define TITLE_WORDS_MAX 3
/* A sentence with one of these may be about other rules, about what their words mean, or about the
 * text itself. */
#define REFERRING                                                                                  \
    "it its they them their this these those that such same other others another else following "  \
    "here there hereby instead otherwise unless except only until while during either neither "    \
    "nor also too again already still never always if when where who whose which figure figures "  \
    "number numbers value values amount amounts count counts counted counting read reads mean "    \
    "means meaning include includes included exclude excluded apply applies applied waived waive " \
    "double doubled half halved twice document documentation table list form word words unit "     \
    "units term terms limit limits threshold thresholds minimum maximum condition section "        \
    "sections policy decision decisions approval approved council board but"

/* Whether a sentence, or the line that leads to it, names a word in its rule. */
static bool closed_reading_names(const struct reading *r, const struct word *w)
{
    return (r->rule && rule_names(r->rule, w)) || (r->lead && closed_reading_names(r->lead, w));
}

/* Whether a title's word is about a rule below it. */
static bool closed_is_titled(const struct reading *r, const struct word *w, bool decides)
{
    return closed_reading_names(r, w) ||
           (r->rule && word_is(w, "exclusions") && !rule_is_positive(r->rule)) ||
           (r->rule && !decides && word_among(w, TOPIC_AGE) && rule_is_of_age(r->rule));
}

/* ---- titles ---- */

static void closed_block(struct run *x, const struct policy_node *n, str text)
{
    static const struct policy_sentence whole;
    struct reading *r;

    if (x->blocked)
        return;
    r = arena_zero(x->a, 1, sizeof *r);
    r->node = n;
    r->sentence = &whole;
    r->text = text;
    x->blocked = r;
}

/* A word in front of which only numbers were: "3.1", "B2". */
static bool closed_numbers(const struct word *w)
{
    return w->kind == WORD_NUMBER
               ? w->number < SECTIONS_MAX
               : w->size < 4 && w->size > 0 && strchr("0123456789", w->lower[w->size - 1]) != NULL;
}

struct title {
    const struct word *w;
    size_t n;
    bool document; /* all sections are below it */
    bool decides;  /* it is above a rule that decides */
};

/* Whether title words other than `at` say something themselves. */
static bool closed_title_is_topic(const struct title *t, size_t at)
{
    for (size_t i = 0; i < t->n && !t->document; i++)
        if (i != at && t->w[i].kind == WORD_TEXT && t->w[i].size > 1 &&
            !word_among(&t->w[i], NEUTRAL_TITLE))
            return false;
    return word_among(&t->w[at], TOPICS) || (t->document && word_among(&t->w[at], TOPIC_DOCUMENT));
}

/* A short title that only names a thing: "Library card". */
static bool closed_title_is_thing(const struct title *t)
{
    for (size_t i = 0; i < t->n; i++) {
        const struct word *w = &t->w[i];

        if (w->kind != WORD_TEXT || w->size < 3 || word_stops(w) || word_among(w, DISOWNING) ||
            strcmp(w->lower + w->size - 2, "ed") == 0)
            return false;
    }
    return t->n <= TITLE_WORDS_MAX;
}

/* Whether each word of a title is neutral, a topic, or named by one of n sentences. */
static bool closed_title_fits(const struct title *t, const struct reading *r, size_t n)
{
    bool front = true; /* only numbers so far */

    for (size_t i = 0; i < t->n; i++) {
        const struct word *w = &t->w[i];
        bool fits;

        if (w->kind == WORD_MARK) {
            if (!word_among(w, TITLE_MARKS))
                return false;
            continue;
        }
        if (front && (closed_numbers(w) || word_is(w, "\xC2\xA7")))
            continue;
        front = front && word_among(w, "section article chapter part");
        if (w->kind != WORD_TEXT)
            return false;
        fits = w->size == 1 || word_among(w, NEUTRAL_TITLE) || closed_title_is_topic(t, i);
        for (size_t k = 0; k < n && !fits; k++)
            fits = closed_is_titled(&r[k], w, t->decides);
        if (!fits)
            return false;
    }
    return true;
}

/* Whether all sections are below this one, whose title is then the document's. */
static bool closed_is_document(const struct run *x, uint32_t node)
{
    const struct policy_tree *t = &x->doc->tree;

    return t->nodes[node].span + node == t->node_count &&
           (node == 0 || (node == 1 && t->nodes[0].level == 0));
}

static struct title closed_title(str text, bool document, struct arena *a)
{
    struct word *w;
    size_t n = words_of(text, a, &w);

    return (struct title){.w = w, .n = n, .document = document};
}

/* Every title against the rules below it. */
static void closed_titles(struct run *x, struct arena *a)
{
    const struct policy_tree *t = &x->doc->tree;
    size_t from = 0;

    for (uint32_t i = 0; i < t->node_count && !x->blocked; i++) {
        const struct policy_node *n = &t->nodes[i];
        struct title title = closed_title(n->title, closed_is_document(x, i), a);
        size_t to;

        while (from < x->scope.n && x->scope.all[from].node_at < i)
            from++;
        for (to = from; to < x->scope.n && x->scope.all[to].node_at < i + n->span;)
            to++;
        if (n->level > 0 && !closed_title_fits(&title, x->scope.all + from, to - from) &&
            !closed_title_is_thing(&title))
            closed_block(x, n, n->title);
        arena_reset(a);
    }
}

/* The lines of the front matter; a version is a number, such as "2026.1". */
static void closed_front(struct run *x, struct arena *a)
{
    const struct policy_tree *t = &x->doc->tree;
    struct title title = closed_title(t->title, true, a);

    if (t->front_other.n > 0)
        closed_block(x, &t->nodes[0], t->front_other);
    if (!closed_title_fits(&title, x->scope.all, x->scope.n) && !closed_title_is_thing(&title))
        closed_block(x, &t->nodes[0], t->title);
    for (size_t i = 0; i < t->version.n; i++)
        if (!char_is_digit(t->version.p[i]) && !memchr(".-v", t->version.p[i], 3))
            closed_block(x, &t->nodes[0], t->version);
    arena_reset(a);
}

/* The titles above a rule that decides: the rule itself must have their words. */
static bool closed_path_fits(const struct run *x, const struct reading *r, struct arena *a)
{
    for (const struct policy_node *n = r->node; n; n = policy_parent(&x->doc->tree, n)) {
        uint32_t at = (uint32_t)(n - x->doc->tree.nodes);
        struct title title = closed_title(n->title, false, a);

        title.decides = true;
        if (n->level > 0 && !closed_is_document(x, at) && !closed_title_fits(&title, r, 1))
            return false;
    }
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

/* Whether some rule asks for the presence of what a definition defines. */
static bool closed_is_defined(const struct run *x, const struct rule *define)
{
    struct subject of = subject_of(&define->main.all[0]);

    for (size_t i = 0; i < x->scope.n; i++) {
        const struct rule *r = x->scope.all[i].rule;
        const struct tests *parts[] = {
            r ? &r->main : NULL, r ? &r->when : NULL, r ? &r->unless : NULL};

        for (size_t p = 0; heuristic_rule_decides(r) && p < COUNT_OF(parts); p++)
            for (size_t k = 0; k < parts[p]->n; k++) {
                const struct test *t = &parts[p]->all[k];
                struct subject is = subject_of(t);

                if ((t->kind == TEST_PRESENT || t->kind == TEST_NONE) && subject_within(&of, &is) &&
                    subject_within(&is, &of))
                    return true;
            }
    }
    return false;
}

/* Whether a waiver is about a rule of the document, by name or by its place. */
static bool closed_waives(const struct run *x, const struct reading *waiver)
{
    for (size_t i = 0; i < x->scope.n; i++) {
        struct judged j = {.r = &x->scope.all[i]};

        if (heuristic_rule_decides(j.r->rule) && heuristic_waiver_is_about(waiver, &j) == TRUTH_YES)
            return true;
    }
    return false;
}

/* Whether a label only repeats the rule or its titles: "Payment: each order ...". */
static bool closed_label_fits(const struct reading *r)
{
    const struct phrase *label = &r->rule->label;

    for (size_t i = 0; i < label->n; i++)
        if (!word_among(&label->w[i], PLAIN_LABELS) &&
            !words_text_has(r->node->title_path, &label->w[i]) &&
            !rule_names(r->rule, &label->w[i]))
            return false;
    return true;
}

/* Whether a test may say how other rules are read: "Weekends must not be included." */
static bool closed_is_about_reading(const struct test *t)
{
    const struct word *w = t->kind == TEST_IS && t->value_n == 1 ? &t->values[0].w[0] : NULL;

    return (t->kind == TEST_PRESENT && t->not_ && t->noun.neutral) ||
           (w && w->size > 4 && strcmp(w->lower + w->size - 2, "ed") == 0 &&
            !word_among(w, PARTICIPLES));
}

/* Whether a rule is about things, and not about other rules or their units. */
static bool closed_is_of_things(const struct rule *r)
{
    const struct noun *nouns[NOUNS_MAX];
    size_t n = rule_nouns(r, true, nouns), took;

    for (size_t i = 0; i < r->main.n; i++)
        if (closed_is_about_reading(&r->main.all[i]))
            return false;
    for (size_t i = 0; i < n; i++) {
        bool things = false;

        if (nouns[i]->n == 1 && unit_read(nouns[i]->words[0], 1, &took))
            return false;
        for (size_t k = 0; k < nouns[i]->n; k++) {
            if (word_among(nouns[i]->words[k], RULES_OF_RULES))
                return false;
            things = things || !word_among(nouns[i]->words[k], NEUTRAL_TITLE);
        }
        if (!things)
            return false;
    }
    return true;
}

static bool closed_leads(const struct run *x, const struct reading *r)
{
    return r + 1 < x->scope.all + x->scope.n && r[1].lead == r;
}

/* Whether a number of a sentence that was not read may be what a rule that decides limits. */
static bool closed_number_touches(const struct run *x, const struct reading *r,
                                  const struct word *w)
{
    size_t took;
    const struct unit *u = unit_read(w + 1, (size_t)(r->w + r->n - w - 1), &took);

    for (size_t k = 0; u && k < x->n; k++)
        for (size_t i = 0; i < x->rules[k].r->n; i++) {
            const struct unit *other = unit_read(&x->rules[k].r->w[i], 1, &took);

            if (other && other->dimension == u->dimension)
                return true;
        }
    return !u;
}

/* Whether a word of a sentence that was not read may be about a rule that decides. */
static bool closed_touches(const struct run *x, const struct reading *r, const struct word *w)
{
    for (size_t k = 0; k < x->n; k++) {
        const struct judged *j = &x->rules[k];

        if (r->node == j->r->node || (!word_stops(w) && word_find(j->r->w, j->r->n, w) < j->r->n &&
                                      !word_is(w, "must") && !word_names_person(w)))
            return true;
    }
    return w->kind == WORD_NUMBER ? closed_number_touches(x, r, w)
                                  : w->kind == WORD_MARK && !word_is(w, ".");
}

/* Whether a sentence that was not read only asks for one more thing: "Each parcel must carry an
 * address label." It begins with what it is about, refers to nothing, and has no word of the rules
 * that decide. */
static bool closed_asks_more(const struct run *x, const struct reading *r)
{
    size_t must = r->n, took;

    if (r->lead)
        return false;
    for (size_t i = 0; i < r->n; i++) {
        if (word_is(&r->w[i], "must")) {
            if (must < r->n)
                return false;
            must = i;
        }
        if (word_among(&r->w[i], REFERRING) || word_among(&r->w[i], RULES_OF_RULES) ||
            (word_among(&r->w[i], "above below") &&
             (i + 1 == r->n || r->w[i + 1].kind != WORD_NUMBER)) ||
            closed_touches(x, r, &r->w[i]))
            return false;
    }
    for (size_t i = 0; i < must && must < r->n; i++)
        if (r->w[i].kind != WORD_TEXT || unit_read(&r->w[i], 1, &took) ||
            (word_stops(&r->w[i]) && !(i == 0 && word_among(&r->w[i], "a an the each every all"))))
            return false;
    return must > 0 && must < r->n;
}

static bool closed_sentence_fits(const struct run *x, const struct reading *r)
{
    if (r->part)
        return true;
    if (heuristic_is_header(r))
        return closed_leads(x, r);
    if (!r->rule)
        return closed_asks_more(x, r);
    if (!closed_label_fits(r))
        return false;
    switch (r->rule->kind) {
    case RULE_NOTE:
        return r->rule->main.n == 0 || closed_points(x, &r->rule->main.all[0].noun);
    case RULE_DEFINE:
        return closed_is_defined(x, r->rule);
    case RULE_WAIVE:
        return closed_waives(x, r);
    case RULE_ALL:
    case RULE_ANY:
        return closed_leads(x, r);
    case RULE_REQUIRE:
    case RULE_PERMIT:
    case RULE_ROW:
        break;
    }
    return closed_is_of_things(r->rule) && (!r->rule->wants_items || closed_leads(x, r));
}

static bool closed_is_judged(const struct run *x, const struct reading *r)
{
    for (size_t k = 0; k < x->n; k++)
        if (x->rules[k].r == r)
            return true;
    return false;
}

/* Whether a rule is in another's section, and the title names the other one only: "Period" of "the
 * hire period must be ..." and of "weekends must be free". */
static bool closed_is_beside(const struct run *x, const struct reading *r,
                             const struct reading *decides)
{
    const struct noun *nouns[NOUNS_MAX];
    size_t n = rule_nouns(decides->rule, true, nouns);

    if (r->node != decides->node || closed_is_document(x, r->node_at))
        return false;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < nouns[i]->n; k++)
            if (words_text_has(r->node->title, nouns[i]->words[k]) &&
                !word_among(nouns[i]->words[k], NEUTRAL_TITLE) &&
                !closed_reading_names(r, nouns[i]->words[k]))
                return true;
    return false;
}

/* Whether a rule that the criterion is not about may change one that it is about. */
static bool closed_interferes(const struct run *x, const struct reading *r)
{
    if (!heuristic_rule_decides(r->rule) || closed_is_judged(x, r))
        return false;
    for (size_t k = 0; k < x->n; k++) {
        const struct judged *j = &x->rules[k];
        const struct word *p = j->r->rule->person, *q = r->rule->person;

        /* The fact may be that of the other person. */
        if (j->h.dropped && p && q && !noun_word_same(p, q))
            return true;
        if (r->rule->kind == RULE_PERMIT || closed_is_beside(x, r, j->r) ||
            rules_meet(r->rule, j->r->rule))
            return true;
    }
    return false;
}

/* Rows of one table that both apply are alternatives, perhaps. */
static bool closed_rows_compete(const struct run *x, const struct judged *j)
{
    for (size_t k = 0; k < x->n; k++)
        if (&x->rules[k] != j && j->r->rule->kind == RULE_ROW && j->h.applies &&
            x->rules[k].r->lead == j->r->lead && x->rules[k].h.applies)
            return true;
    return false;
}

/* What somebody is eligible for must be in the titles, or asked about. */
static bool closed_purpose_fits(const struct run *x, const struct reading *r)
{
    const struct noun *purpose = &r->rule->purpose;

    for (size_t i = 0; i < purpose->n; i++)
        if (!words_text_has(r->node->title_path, purpose->words[i]) &&
            word_find(x->question.w, x->question.n, purpose->words[i]) == x->question.n)
            return false;
    return true;
}

void heuristic_close_document(struct run *x)
{
    struct arena titles;

    arena_init(&titles, POLICY_ARENA_MAX);
    if (x->scope.unread.n > 0)
        closed_block(x, x->scope.unread_node, x->scope.unread);
    for (size_t i = 0; i < x->scope.n && !x->blocked; i++)
        if (!closed_sentence_fits(x, &x->scope.all[i]))
            heuristic_block(x, &x->scope.all[i]);
    closed_front(x, &titles);
    closed_titles(x, &titles);
    for (size_t i = 0; i < x->n && !x->blocked; i++)
        if (!closed_path_fits(x, x->rules[i].r, &titles) ||
            !closed_purpose_fits(x, x->rules[i].r) || closed_rows_compete(x, &x->rules[i]))
            heuristic_block(x, x->rules[i].r);
    for (size_t i = 0; i < x->scope.n && !x->blocked; i++)
        if (closed_interferes(x, &x->scope.all[i]))
            heuristic_block(x, &x->scope.all[i]);
    arena_release(&titles);
}
