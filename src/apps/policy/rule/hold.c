/* hold.c - a rule held against the facts of a case. See rule.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/rule/rule.h"

#define DIGITS "0123456789"
#define CODE_STARTS 3 /* letters and digits in which two codes differ that are never the same */

/* Values that are never the same. All others may be: a wife is a spouse, a suite is larger than a
 * double, a gold member may be platinum, and a divorced person may count as single. */
static const char *const exclusive[] = {
    "yes no",
    "male female",
    "monday tuesday wednesday thursday friday saturday sunday",
    "red blue green yellow black white orange purple pink brown",
    "open closed",
    "open rejected",
    "open void",
    "active inactive",
    "valid invalid",
    "employed unemployed",
    "active closed",
    "approved rejected pending",
    "paid unpaid",
    "cash card transfer debit",
};

static enum truth hold_doubt(struct holding *h, enum doubt d)
{
    h->doubt = h->doubt < d ? d : h->doubt;
    return TRUTH_UNKNOWN;
}

/* ---- limits ---- */

/* One side of a limit, which may be absent; beyond: how a quantity inside compares with it. */
static enum truth hold_side(const struct quantity *q, const struct bound *b, int beyond, bool age)
{
    int order = b->is ? quantity_compare(q, &b->q, age) : beyond;

    assert(beyond == 1 || beyond == -1);
    return order == 2                                    ? TRUTH_UNKNOWN
           : order == beyond || (order == 0 && !b->open) ? TRUTH_YES
                                                         : TRUTH_NO;
}

static enum truth hold_quantity(const struct limit *l, const struct quantity *q)
{
    enum truth low = hold_side(q, &l->low, 1, l->age), high = hold_side(q, &l->high, -1, l->age);

    /* "Two references are required": more may be meant or not. */
    return l->bare && high == TRUTH_NO ? TRUTH_UNKNOWN : low < high ? low : high;
}

/* 0.41 may be 41 %: a share without a unit compares with nothing. */
static bool hold_may_be_ratio(const struct test *t, const struct quantity *q)
{
    bool ratio = unit_has(limit_quantity(&t->limit)->unit, UNIT_PERCENT);

    for (size_t i = 0; i < t->noun.n; i++)
        ratio =
            ratio || word_among(t->noun.words[i], "ratio rate percentage percent share discount");
    return ratio && !q->unit;
}

/* A multiple of another fact is not decided here; a number of things is not a sum of money. */
static enum truth hold_limit(struct holding *h, const struct test *t, const struct fact *f)
{
    enum truth truth = TRUTH_UNKNOWN;
    struct quantity q;

    assert(t->kind == TEST_LIMIT);
    if (!t->limit.relative && fact_quantity(f, &q) && !hold_may_be_ratio(t, &q) &&
        !(f->name.counted && limit_quantity(&t->limit)->unit))
        truth = hold_quantity(&t->limit, &q);
    return truth == TRUTH_UNKNOWN ? hold_doubt(h, DOUBT_UNIT) : truth;
}

/* ---- values ---- */

bool phrase_is_plain(const struct word *w, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (w[i].kind == WORD_MARK && word_among(&w[i], "~ ? ! < > <= >= = + # @ ^ | *"))
            return false;
    return true;
}

/* The number of words of a text without its marks; 0 if it is not plain. Characters that begin with
 * E2 are dots, daggers and signs such as "not equal". */
static size_t rule_value_words(str text, struct arena *a, struct word **out)
{
    size_t n = words_of(text, a, out), kept = 0;

    if (n == 0 || word_among(&(*out)[0], "- ( \" '") || !phrase_is_plain(*out, n) ||
        memchr(text.p, 0xE2, text.n))
        return 0;
    for (size_t i = 0; i < n; i++)
        if ((*out)[i].kind != WORD_MARK)
            (*out)[kept++] = (*out)[i];
    return kept;
}

/* M54.50 and M545 are not M54.5, but may mean it. */
static enum truth rule_value_code_is(const struct word *v, const struct word *code)
{
    if (strcmp(v->lower, code->lower) == 0)
        return TRUTH_YES;
    if (v->kind == WORD_NUMBER && code->kind == WORD_NUMBER)
        return word_same(v, code) ? TRUTH_UNKNOWN : TRUTH_NO;
    for (size_t i = 0; i < CODE_STARTS && v->lower[i] && code->lower[i]; i++)
        if (strchr(".-", v->lower[i]) || strchr(".-", code->lower[i]))
            return TRUTH_UNKNOWN;
        else if (v->lower[i] != code->lower[i])
            return TRUTH_NO;
    return TRUTH_UNKNOWN;
}

/* Whether a value is a phrase. A phrase that begins with a code is that code and its description.
 * Rows of a table without a word of the value are for other values, and decide nothing. */
static enum truth rule_value_is(const struct word *v, size_t n, const struct phrase *p, bool row)
{
    bool shared = false;
    size_t k = 0, words = 0;

    assert(n > 0 && p->n > 0);
    if (n == 1 && strpbrk(v->lower, DIGITS) && strpbrk(p->w[0].lower, DIGITS))
        return p->n > 1 && p->w[0].kind == WORD_NUMBER ? TRUTH_UNKNOWN /* "5 digits" */
                                                       : rule_value_code_is(v, &p->w[0]);
    for (size_t i = 0; i < p->n; i++) {
        const struct word *w = &p->w[i];

        if (w->kind == WORD_MARK)
            continue;
        k += words++ == k && k < n && strcmp(v[k].lower, w->lower) == 0;
        shared = shared || (!word_stops(w) && word_find(v, n, w) < n);
    }
    if (k == n && words == n)
        return TRUTH_YES;
    if (row && !shared)
        return TRUTH_NO;
    for (size_t i = 0; i < COUNT_OF(exclusive) && n == 1 && !shared; i++)
        if (word_among(v, exclusive[i]) && word_among(&p->w[p->n - 1], exclusive[i]))
            return TRUTH_NO;
    return TRUTH_UNKNOWN;
}

static enum truth hold_is(const struct test *t, const struct fact *f)
{
    const struct policy_value *v = &f->field->value;
    enum truth out = TRUTH_NO;
    struct arena scratch;
    struct word *w;
    size_t n;

    arena_init(&scratch, WORDS_ARENA_MAX);
    n = rule_value_words(v->kind == POLICY_TEXT     ? v->text
                         : v->kind == POLICY_NUMBER ? f->field->raw
                                                    : STR(""),
                         &scratch,
                         &w);
    for (size_t i = 0; n > 0 && i < t->value_n; i++)
        out = truth_either(out, rule_value_is(w, n, &t->values[i], t->row));
    arena_release(&scratch);
    return n > 0 ? out : TRUTH_UNKNOWN;
}

/* ---- facts ---- */

/* Whether a thing exists; a number of things decides that only if there must be none. */
static enum truth hold_present(const struct test *t, const struct fact *f)
{
    const struct policy_value *v = &f->field->value;

    if (t->not_ && v->kind == POLICY_NUMBER && v->number >= 0)
        return v->number > 0 ? TRUTH_YES : TRUTH_NO;
    return fact_says(f);
}

static enum truth hold_fact(struct holding *h, const struct test *t, const struct fact *f,
                            enum test_fact by)
{
    enum truth out;

    assert(by != TEST_OTHER && h->used_n <= HOLDING_FACTS_MAX);
    if (h->used_n < HOLDING_FACTS_MAX)
        h->used[h->used_n++] = f;
    if (f->unsure)
        return hold_doubt(h, DOUBT_UNSURE);
    if (t->kind == TEST_LIMIT)
        return hold_limit(h, t, f);
    out = f->unit                   ? TRUTH_UNKNOWN /* a day pass is not any pass */
          : t->kind == TEST_PRESENT ? hold_present(t, f)
          : by == TEST_NOUN         ? hold_is(t, f)
                                    : fact_says(f);
    /* Who does not pay by card may pay in cash. */
    if (by == TEST_VALUE && out == TRUTH_NO && t->value_n > 1)
        out = TRUTH_UNKNOWN;
    return out == TRUTH_UNKNOWN ? hold_doubt(h, DOUBT_UNIT) : out;
}

/* ---- tests ---- */

struct noun noun_with_value(const struct test *t, size_t value)
{
    const struct phrase *p = &t->values[value];
    struct noun out = t->noun;

    assert(value < t->value_n && t->value_n <= RULE_VALUES_MAX);
    for (size_t k = 0; k < p->n; k++)
        if (p->w[k].kind != WORD_MARK && !noun_insert(&out, out.n, &p->w[k]))
            return (struct noun){0}; /* a noun that is too long names nothing */
    return out;
}

enum test_fact test_names(const struct test *t, const struct fact *f, bool *dropped)
{
    if (fact_is_named(f, &t->noun, dropped))
        return TEST_NOUN;
    /* "The application must be signed" with application_signed: true. */
    for (size_t i = 0; i < t->value_n; i++) {
        struct noun named = noun_with_value(t, i);

        if (fact_is_named(f, &named, dropped))
            return TEST_VALUE;
    }
    return TEST_OTHER;
}

/* All the facts that the test names must say the same. */
static enum truth hold_test(struct holding *h, const struct test *t)
{
    const struct fact *first = NULL;
    enum truth out = TRUTH_UNKNOWN;

    for (size_t i = 0; i < h->facts->n; i++) {
        const struct fact *f = &h->facts->all[i];
        enum test_fact by = f->empty ? TEST_OTHER : test_names(t, f, &h->dropped);
        enum truth one = by == TEST_OTHER ? out : hold_fact(h, t, f, by);

        if (by == TEST_OTHER)
            continue;
        if (first && (one != out || !policy_value_equal(&first->field->value, &f->field->value)))
            return hold_doubt(h, DOUBT_CONFLICT);
        first = f;
        out = one;
    }
    if (!first)
        return hold_doubt(h, DOUBT_NO_FACT);
    return t->not_ ? truth_not(out) : out;
}

struct holding rule_hold(const struct rule *r, const struct facts *f)
{
    struct holding out = {.facts = f};
    enum truth when = r->when.noun.n > 0 ? hold_test(&out, &r->when) : TRUTH_YES;
    enum truth unless = r->unless.noun.n > 0 ? hold_test(&out, &r->unless) : TRUTH_NO;

    assert(r->kind != RULE_ROW || r->when.noun.n > 0);
    out.applies = when != TRUTH_NO;
    out.truth = truth_either(truth_either(truth_not(when), unless), hold_test(&out, &r->main));
    if (r->kind == RULE_ROW && when == TRUTH_UNKNOWN)
        out.truth = TRUTH_UNKNOWN;
    return out;
}
