/* closed_world.c - whether the whole document, all facts and the criterion were understood.
 *
 * A rule decides only if nothing else can change it. So each of these must be of a known kind:
 * every sentence, title, label and line of front matter of the document, every fact of the case,
 * every word of the criterion. Anything unknown leaves the criterion uncertain, whatever it says.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/heuristic_run.h"
#include "base/ctype.h"

#define NOUNS_MAX (6 * RULE_TESTS_MAX + 2)
#define SUBJECT_WORDS_MAX 32
#define SECTIONS_MAX 1000 /* a larger number in front of a title is a year */

/* Words of titles that say nothing about the cases that a section is for. */
#define NEUTRAL_TITLE                                                                              \
    "a an the of and or is are to who what when how must be "                                      \
    "general requirement requirements rule rules policy condition conditions criterion criteria "  \
    "eligibility eligible coverage covered scope section article chapter part limit limits "       \
    "minimum maximum term terms regulation regulations"
/* Topics: the whole of a section's title, besides neutral words. "Application fee" is none: another
 * fee than "the fee" may be meant. */
#define TOPIC_TITLE                                                                                \
    "clinical medical financial formal request application admission joining approval document "   \
    "documents documentation paper papers evidence proof fee fees cost costs charge charges "      \
    "price prices payment payments money finance finances amount amounts age income date dates "   \
    "deadline deadlines duration period size weight quantity number enrolment enrollment "         \
    "membership health safety security hygiene equipment conduct behaviour behavior identity "     \
    "identification qualification qualifications experience insurance luggage baggage facility "   \
    "procedure examination diagnosis treatment notice obligations duties"
/* Topics of a whole document, in its title together with those above. */
#define TOPIC_DOCUMENT                                                                             \
    "gym shop library school university hotel clinic hospital pool museum bank camp course "       \
    "courses event events travel trip expense expenses loan loans credit mortgage claim claims "   \
    "hire rental lease housing parking visa grant grants hr leave shipping delivery returns "      \
    "visit visits sport sports plan plans imaging mri spine lumbar"
/* Groups by age: titles of sections whose rules are about ages, but not of one that decides. */
#define TOPIC_AGE "children minors juniors adults seniors"
/* Things of these are different if their first words are: the claim date and the filing date. */
#define MEASURES                                                                                   \
    "date code status score amount weight length height width size number count name distance"
#define PERIODS "hourly daily weekly monthly quarterly annual yearly"
#define AGE_MOST 120
#define TITLE_MARKS ". : - , & /"
#define PLAIN_LABELS "note requirement requirements rule rules policy important"
/* A rule about one of these is about other rules: "No limits on Sundays." */
#define RULES_OF_RULES                                                                             \
    "rule rules requirement requirements exception exceptions exemption exemptions regulation "    \
    "regulations provision provisions criterion criteria limits conditions sections policies"
/* Names of facts that only identify: one of the first, beside any of the others. */
#define IDENTIFIERS "name surname id identifier email phone telephone"
#define IDENTIFIED "first last full case policy e mail number"
/* Words of a criterion that only say that it is one. */
#define CRITERION_SAYS                                                                             \
    "a an the of for to in on at and s requirement requirements criterion criteria policy check "  \
    "checks rule rules verify verification default eligibility eligible compliance crit req item " \
    "id test"
#define CRITERION_WANTS "must be required is are has have needed"

/* ---- words of rules ---- */

/* The nouns of a rule; subject: only those that it is about. */
static size_t closed_nouns(const struct rule *r, bool subject, const struct noun *out[NOUNS_MAX])
{
    const struct tests *parts[] = {&r->main, &r->when, &r->unless};
    size_t n = 0;

    for (size_t p = 0; p < (subject ? 1 : COUNT_OF(parts)); p++)
        for (size_t i = 0; i < parts[p]->n; i++) {
            out[n++] = &parts[p]->all[i].noun;
            if (!subject && parts[p]->all[i].limit.relative)
                out[n++] = &parts[p]->all[i].limit.other;
        }
    if (r->allowed.n > 0)
        out[n++] = &r->allowed;
    if (r->purpose.n > 0 && !subject)
        out[n++] = &r->purpose;
    return n;
}

static bool closed_noun_has(const struct noun *n, const struct word *w)
{
    if (n->also && word_is(w, n->also))
        return true;
    for (size_t i = 0; i < n->n; i++)
        if (noun_word_same(n->words[i], w) || word_same(n->words[i], w))
            return true;
    return false;
}

/* Whether one of a rule's nouns has the word. */
static bool closed_rule_names(const struct rule *r, const struct word *w)
{
    const struct noun *nouns[NOUNS_MAX];
    size_t n = closed_nouns(r, false, nouns);

    for (size_t i = 0; i < n; i++)
        if (closed_noun_has(nouns[i], w))
            return true;
    return r->person && noun_word_same(r->person, w);
}

/* The same, of a sentence and of the line that leads to it. */
static bool closed_reading_names(const struct reading *r, const struct word *w)
{
    return (r->rule && closed_rule_names(r->rule, w)) ||
           (r->lead && closed_reading_names(r->lead, w));
}

/* Whether all tests of a rule ask that something be so, none that it not be so. */
static bool closed_is_positive(const struct rule *r)
{
    for (size_t i = 0; i < r->main.n; i++)
        if (r->main.all[i].not_ || r->main.all[i].kind == TEST_NONE)
            return false;
    return true;
}

static bool closed_is_of_age(const struct rule *r)
{
    for (size_t i = 0; i < r->main.n; i++)
        if (r->main.all[i].limit.age)
            return true;
    return false;
}

/* Whether a title's word is about a rule below it. */
static bool closed_is_titled(const struct reading *r, const struct word *w, bool decides)
{
    return closed_reading_names(r, w) ||
           (r->rule && word_is(w, "exclusions") && !closed_is_positive(r->rule)) ||
           (r->rule && !decides && word_among(w, TOPIC_AGE) && closed_is_of_age(r->rule));
}

/* The words that say what a test is about, without its person; of "must be employed" its value. */
struct subject {
    const struct word *w[SUBJECT_WORDS_MAX];
    size_t n;
    const char *also;
};

static struct subject closed_subject(const struct test *t)
{
    struct subject s = {.also = t->noun.also};

    for (size_t i = 0; i < t->noun.n; i++)
        if (!(t->noun.drop >> i & 1) && !word_among(t->noun.words[i], "number count"))
            s.w[s.n++] = t->noun.words[i];
    for (size_t i = 0; s.n == 0 && t->kind == TEST_IS && i < t->value_n; i++)
        for (size_t k = 0; k < t->values[i].n && s.n < SUBJECT_WORDS_MAX; k++)
            s.w[s.n++] = &t->values[i].w[k];
    return s;
}

static bool closed_subject_has(const struct subject *s, const struct word *w)
{
    bool found = s->also && word_is(w, s->also);

    for (size_t k = 0; k < s->n && !found; k++)
        found = noun_word_same(s->w[k], w) || word_same(s->w[k], w);
    return found;
}

static bool closed_subject_within(const struct subject *a, const struct subject *b)
{
    for (size_t i = 0; i < a->n; i++)
        if (!closed_subject_has(b, a->w[i]))
            return false;
    if (!a->also || (b->also && strcmp(a->also, b->also) == 0))
        return true;
    for (size_t k = 0; k < b->n; k++)
        if (word_is(b->w[k], a->also))
            return true;
    return false;
}

/* The last word of a subject says what it is: "fee" of "monthly fee". Whether the other has it, and
 * is not shown to be another thing: the claim date and the filing date, the annual and the monthly
 * income are. */
static bool closed_subjects_share(const struct subject *a, const struct subject *b)
{
    const struct word *head = a->n > 0 ? a->w[a->n - 1] : NULL;

    if (a->also || !head)
        return a->also && b->also && strcmp(a->also, b->also) == 0;
    if (!closed_subject_has(b, head) || word_among(head, MEASURES))
        return false;
    return !(a->n > 1 && b->n > 1 && word_among(a->w[0], PERIODS) && word_among(b->w[0], PERIODS) &&
             !word_same(a->w[0], b->w[0]));
}

/* "The guest must be over 12": perhaps an age. */
static bool closed_may_be_age(const struct test *t)
{
    const struct quantity *q = t->limit.has_low ? &t->limit.low : &t->limit.high;

    return t->kind == TEST_LIMIT && t->noun.n == 1 && !q->unit && !q->date && !t->limit.relative &&
           q->number <= AGE_MOST && !word_among(t->noun.words[0], TOPIC_TITLE);
}

static bool closed_tests_meet(const struct test *a, const struct test *b)
{
    struct subject x = closed_subject(a), y = closed_subject(b);

    return closed_subject_within(&x, &y) || closed_subject_within(&y, &x) ||
           closed_subjects_share(&x, &y) || closed_subjects_share(&y, &x) ||
           (a->limit.age && closed_may_be_age(b)) || (b->limit.age && closed_may_be_age(a));
}

bool heuristic_rules_meet(const struct rule *a, const struct rule *b)
{
    for (size_t i = 0; i < a->main.n; i++)
        for (size_t k = 0; k < b->main.n; k++)
            if (closed_tests_meet(&a->main.all[i], &b->main.all[k]))
                return true;
    return false;
}

/* Whether a text has the word. */
static bool closed_text_has(str text, const struct word *w)
{
    for (size_t at = 0, to; at < text.n; at = to + (to == at)) {
        struct word here = {.kind = WORD_TEXT};

        for (to = at; to < text.n && ((text.p[to] & 0x80) || char_is_letter(text.p[to]) ||
                                      char_is_digit(text.p[to]));)
            to++;
        if (to == at)
            continue;
        word_set(&here, str_slice(text, at, to));
        if (w->kind == WORD_TEXT && word_same(&here, w))
            return true;
    }
    return false;
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
    return word_among(&t->w[at], TOPIC_TITLE) ||
           (t->document && word_among(&t->w[at], TOPIC_DOCUMENT));
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
        if (n->level > 0 && !closed_title_fits(&title, x->scope.all + from, to - from))
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
    if (!closed_title_fits(&title, x->scope.all, x->scope.n))
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
            found = closed_text_has(x->doc->tree.nodes[k].title, noun->words[i]);
        if (!found)
            return false;
    }
    return true;
}

/* Whether some rule asks for the presence of what a definition defines. */
static bool closed_is_defined(const struct run *x, const struct rule *define)
{
    struct subject of = closed_subject(&define->main.all[0]);

    for (size_t i = 0; i < x->scope.n; i++) {
        const struct rule *r = x->scope.all[i].rule;
        const struct tests *parts[] = {
            r ? &r->main : NULL, r ? &r->when : NULL, r ? &r->unless : NULL};

        for (size_t p = 0; heuristic_rule_decides(r) && p < COUNT_OF(parts); p++)
            for (size_t k = 0; k < parts[p]->n; k++) {
                const struct test *t = &parts[p]->all[k];
                struct subject is = closed_subject(t);

                if ((t->kind == TEST_PRESENT || t->kind == TEST_NONE) &&
                    closed_subject_within(&of, &is) && closed_subject_within(&is, &of))
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
            !closed_text_has(r->node->title_path, &label->w[i]) &&
            !closed_rule_names(r->rule, &label->w[i]))
            return false;
    return true;
}

/* Whether a rule is about things, and not about other rules. */
static bool closed_is_of_things(const struct rule *r)
{
    const struct noun *nouns[NOUNS_MAX];
    size_t n = closed_nouns(r, true, nouns);

    for (size_t i = 0; i < n; i++) {
        bool things = false;

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

static bool closed_sentence_fits(const struct run *x, const struct reading *r)
{
    if (r->part)
        return true;
    if (heuristic_is_header(r))
        return closed_leads(x, r);
    if (!r->rule || !closed_label_fits(r))
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
        if (r->rule->kind == RULE_PERMIT || heuristic_rules_meet(r->rule, j->r->rule))
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
        if (!closed_text_has(r->node->title_path, purpose->words[i]) &&
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

/* ---- facts ---- */

static bool closed_identifies(const struct run *x, const struct fact *f)
{
    struct word *w;
    size_t n = words_of_full_name(f->field->name, x->a, &w);
    bool found = false;

    for (size_t i = 0; i < n; i++) {
        if (!word_among(&w[i], IDENTIFIERS) && !word_among(&w[i], IDENTIFIED) &&
            !word_names_person(&w[i]))
            return false;
        found = found || word_among(&w[i], IDENTIFIERS);
    }
    return found;
}

/* Whether a rule has a noun that is the fact's name. */
static bool closed_binds(const struct rule *r, const struct fact *f)
{
    const struct noun *nouns[NOUNS_MAX];
    const struct tests *parts[] = {&r->main, &r->when, &r->unless};
    size_t n = closed_nouns(r, false, nouns);

    for (size_t i = 0; i < n; i++)
        if (fact_is_named(f, nouns[i]))
            return true;
    /* "The application must be signed" names application_signed. */
    for (size_t p = 0; p < COUNT_OF(parts); p++)
        for (size_t i = 0; i < parts[p]->n; i++)
            for (size_t k = 0; k < parts[p]->all[i].value_n; k++) {
                struct noun named = noun_with_value(&parts[p]->all[i], k);

                if (fact_is_named(f, &named))
                    return true;
            }
    return false;
}

const struct fact *heuristic_foreign_fact(const struct run *x)
{
    for (size_t i = 0; i < x->facts.n; i++) {
        const struct fact *f = &x->facts.all[i];
        bool known = closed_identifies(x, f);

        for (size_t k = 0; k < x->scope.n && !known; k++)
            known = x->scope.all[k].rule && closed_binds(x->scope.all[k].rule, f);
        if (!known)
            return f;
    }
    return NULL;
}

/* ---- the criterion ---- */

static bool quantity_same(const struct quantity *a, const struct quantity *b)
{
    return a->date == b->date && a->number >= b->number && a->number <= b->number &&
           (!a->unit || !b->unit || a->unit == b->unit);
}

static bool limit_same(const struct limit *a, const struct limit *b)
{
    return a->has_low == b->has_low && a->has_high == b->has_high && a->bare == b->bare &&
           a->low_open == b->low_open && a->high_open == b->high_open && !a->relative &&
           !b->relative && (!a->has_low || quantity_same(&a->low, &b->low)) &&
           (!a->has_high || quantity_same(&a->high, &b->high));
}

/* Whether a criterion that is a sentence says what the rule says. */
static bool closed_says_same(const struct rule *c, const struct rule *r)
{
    const struct test *a = &c->main.all[0], *b = &r->main.all[0];

    if (c->kind != r->kind || c->main.n != 1 || r->main.n != 1 || c->has_when || c->has_unless ||
        r->has_when || r->has_unless || a->kind != b->kind || a->not_ != b->not_ ||
        a->value_n != b->value_n)
        return false;
    for (size_t i = 0; i < a->value_n; i++)
        for (size_t k = 0; k < a->values[i].n; k++)
            if (a->values[i].n != b->values[i].n ||
                !word_same(&a->values[i].w[k], &b->values[i].w[k]))
                return false;
    return a->kind != TEST_LIMIT || limit_same(&a->limit, &b->limit);
}

/* A word that a rule's topic may have: of its nouns, its titles, or its only value. */
static bool closed_topic_has(const struct reading *r, const struct word *w)
{
    const struct noun *nouns[NOUNS_MAX];
    size_t n = closed_nouns(r->rule, true, nouns);

    if (closed_text_has(r->node->title_path, w) || closed_noun_has(&r->rule->purpose, w))
        return true;
    for (size_t i = 0; i < n; i++)
        if (closed_noun_has(nouns[i], w))
            return true;
    for (size_t i = 0; i < r->rule->main.n; i++) {
        const struct test *t = &r->rule->main.all[i];

        if (t->value_n == 1 && word_find(t->values[0].w, t->values[0].n, w) < t->values[0].n)
            return true;
    }
    if (word_among(w, "min minimum max maximum"))
        return scope_says(r, w);
    if (word_among(w, CRITERION_WANTS))
        return closed_is_positive(r->rule);
    return (r->rule->person && noun_word_same(r->rule->person, w)) ||
           (r->lead && r->lead->rule && closed_topic_has(r->lead, w));
}

/* A criterion without its namespace: "age" of "elig:age". */
static str closed_criterion(str s)
{
    size_t colon = str_find(s, STR(":"));

    return colon != STR_NONE && colon + 1 < s.n && str_find(s, STR(" ")) == STR_NONE
               ? closed_criterion(str_slice(s, colon + 1, s.n))
               : s;
}

bool heuristic_asks_for(const struct run *x, const struct reading *r)
{
    struct word *w;
    size_t n = words_of_full_name(closed_criterion(x->out->criterion_id), x->a, &w);
    size_t topics = 0, persons = 0;
    struct rule as;

    if (rule_read(w, n, x->a, &as) && closed_says_same(&as, r->rule))
        return true;
    for (size_t i = 0; i < n; i++) {
        if (w[i].kind == WORD_MARK || word_among(&w[i], CRITERION_SAYS))
            continue;
        if (closed_topic_has(r, &w[i]))
            *(word_names_person(&w[i]) ? &persons : &topics) += 1;
        else if (!scope_word_numbers(&w[i]))
            return false;
    }
    /* "members" may be their number, not their age. */
    return topics > 0 || persons == 0 || !closed_is_of_age(r->rule);
}
