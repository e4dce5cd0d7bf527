/* subject.c - what a rule is about, and whether two rules may be about the same. See rule.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/rule/rule.h"

/* Things of these are different if their first words are: the claim date and the filing date. */
#define MEASURES                                                                                   \
    "date code status score amount weight length height width size number count name distance"
#define PERIODS "hourly daily weekly monthly quarterly annual yearly"

bool rule_names(const struct rule *r, const struct word *w, bool subject)
{
    const struct test *t;

    for (size_t i = 0; (t = rule_test(r, i)) && !(subject && i > 0); i++)
        if (noun_has(&t->noun, w) || (t->limit.relative && noun_has(&t->limit.other, w)))
            return true;
    return noun_has(&r->purpose, w) || (r->person && word_same_singular(r->person, w));
}

/* The words that say what a test is about, without its person; of "must be employed" its value. */
static struct noun subject_of(const struct test *t)
{
    struct noun s = t->noun;

    if (noun_is_person(&s) && t->kind == TEST_IS && t->value_n > 0)
        s = noun_with_value(t, 0);
    return noun_without_person(&s);
}

static bool subject_within(const struct noun *a, const struct noun *b)
{
    for (size_t i = 0; i < a->n; i++)
        if (!noun_has(b, a->words[i]))
            return false;
    return true;
}

/* The last word of a subject says what it is: "fee" of "monthly fee" and "student fee". Two of a
 * measure or a period are different things if their first words are: the claim date and the filing
 * date, the annual and the monthly income. */
static bool subject_shares_head(const struct noun *a, const struct noun *b)
{
    const struct word *head = a->n > 0 ? a->words[a->n - 1] : NULL;

    return head && noun_has(b, head) && !word_among(head, MEASURES) &&
           !(word_among(a->words[0], PERIODS) && word_among(b->words[0], PERIODS));
}

bool rules_meet(const struct rule *a, const struct rule *b)
{
    struct noun x = subject_of(&a->main), y = subject_of(&b->main);

    return subject_within(&x, &y) || subject_within(&y, &x) || subject_shares_head(&x, &y) ||
           subject_shares_head(&y, &x);
}

bool rules_differ_in_person(const struct rule *a, const struct rule *b)
{
    return a->person && b->person && !word_same_singular(a->person, b->person);
}
