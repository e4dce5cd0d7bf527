/* subject.c - see subject.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/rule/subject.h"

/* Things of these are different if their first words are: the claim date and the filing date. */
#define MEASURES                                                                                   \
    "date code status score amount weight length height width size number count name distance"
#define PERIODS "hourly daily weekly monthly quarterly annual yearly"
#define AGE_MOST 120

size_t rule_nouns(const struct rule *r, bool subject, const struct noun *out[NOUNS_MAX])
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

bool noun_names(const struct noun *n, const struct word *w)
{
    if (n->also && word_is(w, n->also))
        return true;
    for (size_t i = 0; i < n->n; i++)
        if (noun_word_same(n->words[i], w) || word_same(n->words[i], w))
            return true;
    return false;
}

bool rule_names(const struct rule *r, const struct word *w)
{
    const struct noun *nouns[NOUNS_MAX];
    size_t n = rule_nouns(r, false, nouns);

    for (size_t i = 0; i < n; i++)
        if (noun_names(nouns[i], w))
            return true;
    return r->person && noun_word_same(r->person, w);
}

bool rule_is_positive(const struct rule *r)
{
    for (size_t i = 0; i < r->main.n; i++)
        if (r->main.all[i].not_ || r->main.all[i].kind == TEST_NONE)
            return false;
    return true;
}

bool rule_is_of_age(const struct rule *r)
{
    for (size_t i = 0; i < r->main.n; i++)
        if (r->main.all[i].limit.age)
            return true;
    return false;
}

struct subject subject_of(const struct test *t)
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

static bool subject_has(const struct subject *s, const struct word *w)
{
    bool found = s->also && word_is(w, s->also);

    for (size_t k = 0; k < s->n && !found; k++)
        found = noun_word_same(s->w[k], w) || word_same(s->w[k], w);
    return found;
}

bool subject_within(const struct subject *a, const struct subject *b)
{
    for (size_t i = 0; i < a->n; i++)
        if (!subject_has(b, a->w[i]))
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
static bool subject_shares_head(const struct subject *a, const struct subject *b)
{
    const struct word *head = a->n > 0 ? a->w[a->n - 1] : NULL;

    if (a->also || !head)
        return a->also && b->also && strcmp(a->also, b->also) == 0;
    if (!subject_has(b, head) || word_among(head, MEASURES))
        return false;
    return !(a->n > 1 && b->n > 1 && word_among(a->w[0], PERIODS) && word_among(b->w[0], PERIODS) &&
             !word_same(a->w[0], b->w[0]));
}

/* "The guest must be over 12": perhaps an age. */
static bool test_may_be_age(const struct test *t)
{
    const struct quantity *q = t->limit.has_low ? &t->limit.low : &t->limit.high;

    return t->kind == TEST_LIMIT && t->noun.n == 1 && !q->unit && !q->date && !t->limit.relative &&
           q->number <= AGE_MOST && !word_among(t->noun.words[0], TOPICS);
}

/* Whether two limits have comparable units; none: neither has a unit. */
static bool limits_compare(const struct test *a, const struct test *b, bool none)
{
    const struct unit *u = a->limit.has_low ? a->limit.low.unit : a->limit.high.unit,
                      *v = b->limit.has_low ? b->limit.low.unit : b->limit.high.unit;

    if (a->kind != TEST_LIMIT || b->kind != TEST_LIMIT || a->limit.age || b->limit.age)
        return false;
    if (!u || !v)
        return none && !u && !v;
    return u->dimension == v->dimension || (unit_is_time(u) && unit_is_time(v));
}

/* "The duration must be at most 10 days": of what? */
static bool subject_is_general(const struct subject *s)
{
    return s->n == 1 && (word_among(s->w[0], TOPICS) || word_among(s->w[0], MEASURES));
}

static bool subjects_share(const struct subject *a, const struct subject *b)
{
    for (size_t i = 0; i < a->n; i++)
        if (subject_has(b, a->w[i]) && !word_among(a->w[i], PERIODS) &&
            !word_among(a->w[i], MEASURES))
            return true;
    return false;
}

static bool tests_meet(const struct test *a, const struct test *b)
{
    struct subject x = subject_of(a), y = subject_of(b);
    bool periods = x.n > 1 && y.n > 1 && word_among(x.w[0], PERIODS) && word_among(y.w[0], PERIODS);

    return subject_within(&x, &y) || subject_within(&y, &x) || subject_shares_head(&x, &y) ||
           subject_shares_head(&y, &x) ||
           (limits_compare(a, b, true) && subjects_share(&x, &y) && !periods) ||
           (limits_compare(a, b, false) && (subject_is_general(&x) || subject_is_general(&y))) ||
           (a->limit.age && test_may_be_age(b)) || (b->limit.age && test_may_be_age(a));
}

bool rules_meet(const struct rule *a, const struct rule *b)
{
    for (size_t i = 0; i < a->main.n; i++)
        for (size_t k = 0; k < b->main.n; k++)
            if (tests_meet(&a->main.all[i], &b->main.all[k]))
                return true;
    return false;
}
