/* hold.c - a rule held against the facts of a case. See rule.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/rule/rule.h"
#include "base/ctype.h"

#include <strings.h>

struct holder {
    const struct facts *facts;
    const struct rule *const *define;
    size_t define_n;
    struct holding *out;
};

static enum truth hold_doubt(struct holder *h, enum doubt d)
{
    if (h->out->doubt < d)
        h->out->doubt = d;
    return TRUTH_UNKNOWN;
}

static void hold_use(struct holder *h, const struct fact *f)
{
    for (size_t i = 0; i < h->out->used_n; i++)
        if (h->out->used[i] == f)
            return;
    if (h->out->used_n < HOLDING_FACTS_MAX)
        h->out->used[h->out->used_n++] = f;
}

/* ---- limits ---- */

/* One side of a limit: order is how the fact compares with it. */
static enum truth hold_side(int order, bool low, bool open)
{
    if (order == 2)
        return TRUTH_UNKNOWN;
    if (order == 0)
        return open ? TRUTH_NO : TRUTH_YES;
    return (order > 0) == low ? TRUTH_YES : TRUTH_NO;
}

static enum truth hold_quantity(const struct limit *l, const struct quantity *q)
{
    enum truth t = TRUTH_YES;

    if (l->bare) {
        int order = quantity_compare(q, &l->low, l->age);

        /* "Two references are required": more may be meant or not. */
        return order == 0 ? TRUTH_YES : order == -1 ? TRUTH_NO : TRUTH_UNKNOWN;
    }
    if (l->has_low)
        t = truth_both(t, hold_side(quantity_compare(q, &l->low, l->age), true, l->low_open));
    if (l->has_high)
        t = truth_both(t, hold_side(quantity_compare(q, &l->high, l->age), false, l->high_open));
    return t;
}

/* The limit with the other fact's quantity in it; false if they do not go together. */
static bool hold_resolve(struct holder *h, const struct limit *l, const struct quantity *q,
                         struct limit *out, struct quantity *value)
{
    const struct fact *other[BOUND_MAX];
    struct quantity o;
    bool dropped;

    *out = *l;
    *value = *q;
    if (!l->relative)
        return true;
    if (facts_bind(h->facts, &l->other, other, &dropped) != 1 || other[0]->unsure ||
        other[0]->counted || !fact_quantity(other[0], h->facts->arena, &o)) {
        hold_doubt(h, DOUBT_NO_FACT);
        return false;
    }
    hold_use(h, other[0]);
    h->out->dropped = h->out->dropped || dropped;
    if (l->offset) {
        double sign = l->before ? -1 : 1, days;

        if (!q->date || !o.date)
            return hold_doubt(h, DOUBT_UNIT), false;
        days = sign * (q->number - o.number);
        *value = (struct quantity){.number = days};
        out->low.number *= l->low.unit ? l->low.unit->factor : 1;
        out->high.number *= l->high.unit ? l->high.unit->factor : 1;
        out->low.unit = out->high.unit = NULL;
        return days >= 0 || !l->has_high || (hold_doubt(h, DOUBT_UNIT), false);
    }
    if (q->date != o.date || q->unit != o.unit)
        return hold_doubt(h, DOUBT_UNIT), false;
    /* 6 beside "at least 5% of the capital" of 10000 may be a percentage itself. */
    if (!q->unit && !q->date && q->number > 0 && q->number <= 100 && o.number > 1000 &&
        (l->has_low ? l->low.number : l->high.number) < 1)
        return hold_doubt(h, DOUBT_UNIT), false;
    out->low = out->high = o;
    out->low.number *= l->low.number;
    out->high.number *= l->high.number;
    if (o.date)
        out->low.number = out->high.number = o.number;
    return !quantity_may_be_scaled(q, l->has_low ? &out->low : &out->high) ||
           (hold_doubt(h, DOUBT_UNIT), false);
}

/* 0.41 and 40, both without a unit, of something that may be written either way. */
static bool hold_mixes_ratios(const struct test *t, const struct quantity *q)
{
    const struct quantity *bound = t->limit.has_low ? &t->limit.low : &t->limit.high;
    bool ratio = false;

    for (size_t i = 0; i < t->noun.n; i++)
        ratio =
            ratio || word_among(t->noun.words[i], "ratio rate percentage percent share discount");
    if (!ratio && !q->unit && !t->limit.relative && unit_is_percent(bound->unit))
        return true; /* 500 of a deposit of 10 % are no percent */
    return ratio && !t->limit.relative && !q->unit && !bound->unit &&
           quantity_may_be_ratio(q) != quantity_may_be_ratio(bound);
}

/* A name is a letter, or words that all begin with capitals: "declined" is no reference. */
static bool hold_is_name(const struct policy_value *v)
{
    static const char *const nobody[] = {"none",
                                         "nobody",
                                         "unknown",
                                         "declined",
                                         "pending",
                                         "cancelled",
                                         "withdrawn",
                                         "TBD",
                                         "N.N."};
    str s = str_trim(v->text);
    bool starts = true;

    if (v->kind != POLICY_TEXT || s.n == 0)
        return false;
    for (size_t i = 0; i < s.n; i++) {
        bool space = s.p[i] == ' ';

        if (!space && !char_is_letter(s.p[i]) && !(s.p[i] & 0x80) && !memchr(".'-", s.p[i], 3))
            return false;
        if (starts && s.n > 1 && !space && !char_is_upper(s.p[i]) && !(s.p[i] & 0x80))
            return false;
        starts = space;
    }
    for (size_t i = 0; i < COUNT_OF(nobody); i++)
        if (strlen(nobody[i]) == s.n && strncasecmp(nobody[i], s.p, s.n) == 0)
            return false;
    return true;
}

static bool hold_is_repeated(const struct policy_value *list, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (policy_value_equal(&list->items[i], &list->items[at]))
            return true;
    return false;
}

/* A list of names is their number, if the limit is one of things: "at most two drivers". */
static bool hold_count(const struct test *t, const struct fact *f, struct quantity *out)
{
    const struct policy_value *v = &f->field->value;
    const struct word *last = t->noun.n > 0 ? t->noun.words[t->noun.n - 1] : NULL;
    const struct limit *l = &t->limit;

    if (v->kind != POLICY_LIST || !last || l->age || l->relative || l->low.unit || l->high.unit ||
        l->low.date || l->high.date || !word_is_plural(last))
        return false;
    for (size_t i = 0; i < v->count; i++)
        if (!hold_is_name(&v->items[i]) || hold_is_repeated(v, i))
            return false;
    *out = (struct quantity){.number = (double)v->count};
    return true;
}

/* Whether a number of things can never be what a limit asks for: money, or another fact. */
static bool hold_has_unit(const struct limit *l)
{
    return l->relative || (l->has_low && l->low.unit) || (l->has_high && l->high.unit);
}

static enum truth hold_limit(struct holder *h, const struct test *t, const struct fact *f)
{
    struct quantity q, value;
    struct limit l;
    enum truth truth;

    if (!fact_quantity(f, h->facts->arena, &q) && !hold_count(t, f, &q))
        return fact_says(f) == SAID_NO && f->field->value.kind == POLICY_TEXT
                   ? hold_doubt(h, DOUBT_NO_FACT)
                   : hold_doubt(h, DOUBT_UNIT);
    if (hold_mixes_ratios(t, &q) || (f->counted && hold_has_unit(&t->limit)))
        return hold_doubt(h, DOUBT_UNIT);
    if (!hold_resolve(h, &t->limit, &q, &l, &value))
        return TRUTH_UNKNOWN;
    /* Two plain numbers of unlike things, as in a percentage of an income, compare all the same. */
    truth = hold_quantity(&l, &value);
    return truth == TRUTH_UNKNOWN ? hold_doubt(h, DOUBT_UNIT) : truth;
}

/* ---- values ---- */

static enum truth hold_is(struct holder *h, const struct test *t, const struct fact *f)
{
    const struct policy_value *v = &f->field->value;
    enum truth out = TRUTH_UNKNOWN;

    if (f->unit) /* a day pass is not any pass */
        return hold_doubt(h, DOUBT_UNIT);
    if (v->kind == POLICY_TEXT || v->kind == POLICY_NUMBER) {
        out = value_holds(t, v->kind == POLICY_TEXT ? v->text : f->field->raw, h->facts->arena);
    } else if (v->kind == POLICY_LIST && v->count > 0) {
        for (size_t i = 0; i < v->count; i++) {
            enum truth one = value_holds(t, v->items[i].text, h->facts->arena);

            if (i > 0 && one != out)
                return hold_doubt(h, DOUBT_CONFLICT);
            out = one;
        }
    }
    return out == TRUTH_UNKNOWN ? hold_doubt(h, DOUBT_UNIT) : out;
}

/* ---- presence and absence ---- */

/* A text that the policy itself defines: red_flag: "fever". */
static enum truth hold_defined(struct holder *h, const struct fact *f)
{
    for (size_t i = 0; i < h->define_n; i++) {
        const struct test *t = &h->define[i]->main.all[0];
        const struct fact *bound[BOUND_MAX];
        bool dropped;
        size_t n = facts_bind(h->facts, &t->noun, bound, &dropped);

        for (size_t k = 0; k < n; k++)
            if (bound[k] == f && hold_is(h, t, f) == TRUTH_YES)
                return TRUTH_YES;
    }
    return TRUTH_UNKNOWN;
}

static enum truth hold_present(struct holder *h, const struct test *t, const struct fact *f)
{
    const struct policy_value *v = &f->field->value;
    enum said said = fact_says(f);
    enum truth out;

    if (f->unit)
        return hold_doubt(h, DOUBT_UNIT);
    if (t->kind == TEST_NONE && v->kind == POLICY_NUMBER)
        return v->number > 0 ? TRUTH_NO : v->number < 0 ? TRUTH_UNKNOWN : TRUTH_YES;
    if (t->kind == TEST_NONE && v->kind == POLICY_LIST && v->count > 0)
        return TRUTH_NO;
    out = said == SAID_YES ? TRUTH_YES : said == SAID_NO ? TRUTH_NO : TRUTH_UNKNOWN;
    for (size_t i = 0; out == TRUTH_UNKNOWN && v->kind == POLICY_TEXT && i < t->noun.n; i++)
        if ((t->noun.neutral >> i & 1) && str_eq(str_trim(v->text), str_c(t->noun.words[i]->lower)))
            out = TRUTH_YES; /* police_report: "attached" */
    if (out == TRUTH_UNKNOWN && v->kind == POLICY_TEXT)
        out = hold_defined(h, f);
    if (out == TRUTH_UNKNOWN)
        return hold_doubt(h, DOUBT_UNIT);
    return t->kind == TEST_NONE ? truth_not(out) : out;
}

/* ---- a test ---- */

static enum truth hold_fact(struct holder *h, const struct test *t, const struct fact *f)
{
    hold_use(h, f);
    if (f->unsure)
        return hold_doubt(h, DOUBT_UNSURE);
    switch (t->kind) {
    case TEST_LIMIT:
        return hold_limit(h, t, f);
    case TEST_IS:
        return hold_is(h, t, f);
    case TEST_PRESENT:
    case TEST_NONE:
        break;
    }
    return hold_present(h, t, f);
}

/* All the facts that a noun binds must say the same. */
static enum truth hold_bound(struct holder *h, const struct test *t, const struct noun *noun,
                             size_t *n)
{
    const struct fact *bound[BOUND_MAX];
    enum truth out = TRUTH_UNKNOWN;
    bool dropped;

    *n = facts_bind(h->facts, noun, bound, &dropped);
    h->out->dropped = h->out->dropped || (dropped && *n > 0);
    for (size_t i = 0; i < *n; i++) {
        enum truth one = hold_fact(h, t, bound[i]);

        if (i > 0 &&
            (one != out || !policy_value_equal(&bound[0]->field->value, &bound[i]->field->value))) {
            struct quantity a, b;

            if (one != out || !fact_quantity(bound[0], h->facts->arena, &a) ||
                !fact_quantity(bound[i], h->facts->arena, &b) || quantity_compare(&a, &b, false))
                return hold_doubt(h, DOUBT_CONFLICT);
        }
        out = one;
    }
    return out;
}

struct noun noun_with_value(const struct test *t, size_t value)
{
    const struct phrase *p = &t->values[value];
    struct noun out = t->noun;

    for (size_t k = 0; k < p->n; k++)
        if (p->w[k].kind != WORD_MARK && out.n < NOUN_WORDS_MAX) {
            out.words[out.n++] = &p->w[k];
            out.values++;
        }
    return out;
}

/* "The application must be signed" with application_signed: true. */
static enum truth hold_named(struct holder *h, const struct test *t, size_t *n)
{
    enum truth out = TRUTH_NO;

    *n = 0;
    for (size_t i = 0; i < t->value_n; i++) {
        struct test one = {.kind = TEST_PRESENT, .noun = noun_with_value(t, i)};
        size_t bound;
        enum truth is;

        is = hold_bound(h, &one, &one.noun, &bound);
        *n += bound;
        out = truth_either(out, bound ? is : TRUTH_UNKNOWN);
    }
    return out;
}

static enum truth hold_test(struct holder *h, const struct test *t)
{
    size_t n, more = 0;
    enum truth out = hold_bound(h, t, &t->noun, &n), named;

    if (t->kind == TEST_IS) {
        named = hold_named(h, t, &more);
        if (more > 0 && n > 0 && named != out)
            return hold_doubt(h, DOUBT_CONFLICT);
        out = more > 0 ? named : out;
    }
    if (n + more == 0)
        return hold_doubt(h, DOUBT_NO_FACT);
    return t->not_ ? truth_not(out) : out;
}

static enum truth hold_tests(struct holder *h, const struct tests *t)
{
    enum truth out = t->any ? TRUTH_NO : TRUTH_YES;

    for (size_t i = 0; i < t->n; i++) {
        enum truth one = hold_test(h, &t->all[i]);

        out = t->any ? truth_either(out, one) : truth_both(out, one);
    }
    return t->n > 0 ? out : TRUTH_UNKNOWN;
}

/* "Pets are allowed only if ..." asks nothing of a case without pets. */
static bool hold_is_absent(const struct facts *f, const struct noun *noun)
{
    const struct fact *bound[BOUND_MAX];
    bool dropped;
    size_t n = facts_bind(f, noun, bound, &dropped);

    for (size_t i = 0; i < n; i++)
        if (fact_says(bound[i]) != SAID_YES)
            return true;
    return false;
}

struct holding rule_hold(const struct rule *r, const struct facts *f,
                         const struct rule *const *define, size_t define_n)
{
    struct holding out = {.applies = true};
    struct holder h = {f, define, define_n, &out};
    enum truth when = r->has_when ? hold_tests(&h, &r->when) : TRUTH_YES, unless;

    if (r->kind == RULE_WAIVE) {
        out.truth = when;
        return out;
    }
    out.applies = when != TRUTH_NO;
    unless = r->has_unless ? hold_tests(&h, &r->unless) : TRUTH_NO;
    out.truth = hold_tests(&h, &r->main);
    out.truth = truth_either(truth_either(truth_not(when), unless), out.truth);
    if (r->allowed.n > 0 && out.truth == TRUTH_NO && hold_is_absent(f, &r->allowed))
        out.truth = TRUTH_UNKNOWN;
    /* A fact without a person's name, in a rule about several: it may be the other's. */
    if (out.dropped && out.doubt == DOUBT_NO_FACT)
        out.truth = out.truth == TRUTH_NO ? TRUTH_UNKNOWN : out.truth;
    if ((r->kind == RULE_PERMIT && out.truth == TRUTH_NO) ||
        (r->kind == RULE_ROW && when == TRUTH_UNKNOWN))
        out.truth = TRUTH_UNKNOWN;
    return out;
}
