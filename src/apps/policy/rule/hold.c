/* hold.c - a rule held against the facts of a case. See rule.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/rule/rule.h"

struct holder {
    const struct facts *facts;
    const struct rule *const *define;
    size_t define_n;
    struct holding *out;
};

static enum truth truth_not(enum truth t)
{
    return t == TRUTH_UNKNOWN ? t : t == TRUTH_YES ? TRUTH_NO : TRUTH_YES;
}

static enum truth truth_both(enum truth a, enum truth b)
{
    return a == TRUTH_NO || b == TRUTH_NO     ? TRUTH_NO
           : a == TRUTH_YES && b == TRUTH_YES ? TRUTH_YES
                                              : TRUTH_UNKNOWN;
}

static enum truth truth_either(enum truth a, enum truth b)
{
    return truth_not(truth_both(truth_not(a), truth_not(b)));
}

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
        !fact_quantity(other[0], h->facts->arena, &o)) {
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
        ratio = ratio || word_among(t->noun.words[i], "ratio rate percentage share");
    return ratio && !t->limit.relative && !q->unit && !bound->unit &&
           quantity_may_be_ratio(q) != quantity_may_be_ratio(bound);
}

/* A list of names is their number, if the limit is one of things: "at most two drivers". */
static bool hold_count(const struct test *t, const struct fact *f, struct quantity *out)
{
    const struct policy_value *v = &f->field->value;
    const struct word *last = t->noun.n > 0 ? t->noun.words[t->noun.n - 1] : NULL;
    const struct limit *l = &t->limit;

    if (v->kind != POLICY_LIST || !last || l->age || l->relative || l->low.unit || l->high.unit ||
        l->low.date || l->high.date ||
        !(word_among(last, "children people women men") ||
          (last->size > 3 && last->lower[last->size - 1] == 's' &&
           !strchr("sui", last->lower[last->size - 2]))))
        return false;
    for (size_t i = 0; i < v->count; i++)
        if (v->items[i].kind != POLICY_TEXT)
            return false;
    *out = (struct quantity){.number = (double)v->count};
    return true;
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
    if (hold_mixes_ratios(t, &q))
        return hold_doubt(h, DOUBT_UNIT);
    if (!hold_resolve(h, &t->limit, &q, &l, &value))
        return TRUTH_UNKNOWN;
    /* Two plain numbers of unlike things, as in a percentage of an income, compare all the same. */
    truth = hold_quantity(&l, &value);
    return truth == TRUTH_UNKNOWN ? hold_doubt(h, DOUBT_UNIT) : truth;
}

/* ---- values ---- */

static size_t value_words(str text, struct arena *a, struct word **out)
{
    struct word *w;
    size_t n = words_of(text, a, &w), kept = 0;

    for (size_t i = 0; i < n; i++)
        if (w[i].kind != WORD_MARK)
            w[kept++] = w[i];
    *out = w;
    return kept;
}

/* Whether nothing but words is in a value: "red?" and "!red" need not be red. */
static bool value_is_plain(str text)
{
    text = str_trim(text);
    if (text.n == 0 || memchr("-(\"'", text.p[0], 4))
        return false;
    for (size_t i = 0; i < text.n; i++)
        if (memchr("?!~<>=+*#@^|", text.p[i], 12) || (unsigned char)text.p[i] == 0xE2)
            return false;
    return true;
}

static bool word_exact(const struct word *a, const struct word *b)
{
    return strcmp(a->lower, b->lower) == 0 || (a->kind == WORD_NUMBER && word_same(a, b));
}

static bool word_has_digit(const struct word *w)
{
    return strpbrk(w->lower, "0123456789") != NULL;
}

/* Values that are never the same thing. All others may be: a wife is a spouse, a suite is larger
 * than a double, and somebody who is divorced may count as single. */
static const char *const exclusive[] = {
    "yes no",
    "true false",
    "male female",
    "monday tuesday wednesday thursday friday saturday sunday",
    "january february march april may june july august september october november december",
    "bronze silver gold platinum diamond",
    "basic standard premium",
    "economy business first",
    "small medium large",
    "low medium high critical",
    "poor fair good excellent",
    "never former current",
    "mild moderate severe",
    "red blue green yellow black white orange purple pink brown",
    "open closed",
    "open rejected",
    "open void",
    "open cancelled",
    "active inactive",
    "active suspended",
    "active expired",
    "active closed",
    "active cancelled",
    "active terminated",
    "active revoked",
    "approved rejected pending",
    "approved denied pending",
    "approved declined pending",
    "accepted rejected",
    "paid unpaid",
    "paid overdue",
    "married single",
    "married divorced",
    "new used",
    "domestic international",
    "inpatient outpatient",
    "cash card",
    "cash check",
    "cash credit-card debit-card direct-debit bank-transfer",
    "full-time part-time",
    "employed unemployed",
    "checking savings brokerage",
    "hmo ppo epo",
    "pdf png jpeg docx",
    "car truck motorcycle",
    "dog cat",
    "daily weekly monthly yearly",
    "usd eur gbp jpy chf cad aud",
};

/* Words as one of those values: "credit-card". False: they are too many. */
static bool value_joined(const struct word *w, size_t n, struct word *out)
{
    size_t size = 0;

    *out = (struct word){0};
    for (size_t i = 0; i < n; i++) {
        if (w[i].kind == WORD_MARK)
            continue;
        if (size + w[i].size + 2 > sizeof out->lower)
            return false;
        size += (size_t)snprintf(
            out->lower + size, sizeof out->lower - size, "%s%s", size ? "-" : "", w[i].lower);
    }
    out->size = (uint8_t)size;
    return true;
}

static bool value_excludes(const struct word *v, size_t n, const struct phrase *p)
{
    struct word a, b;

    if (!value_joined(v, n, &a) || !value_joined(p->w, p->n, &b))
        return false;
    for (size_t i = 0; i < COUNT_OF(exclusive); i++)
        if (word_among(&a, exclusive[i]) && word_among(&b, exclusive[i]))
            return true;
    return false;
}

/* How many letters and digits two codes have in common from the start; *ends: one has no more. */
static size_t value_code_shared(const char *a, const char *b, bool *ends)
{
    size_t n = 0;

    for (;; n++, a++, b++) {
        a += strspn(a, ".-");
        b += strspn(b, ".-");
        if (*a != *b || *a == 0) {
            *ends = *a == 0 || *b == 0;
            return n;
        }
    }
}

/* M54.50 and M545 are not M54.5, and may be meant by it all the same. */
static enum truth value_code_is(const struct word *v, const struct word *code)
{
    bool ends, number = v->kind == WORD_NUMBER && code->kind == WORD_NUMBER;

    if (strcmp(v->lower, code->lower) == 0 ||
        (number && word_same(v, code) && v->lower[0] != '0' && code->lower[0] != '0'))
        return TRUTH_YES;
    if (number)
        return word_same(v, code) ? TRUTH_UNKNOWN : TRUTH_NO;
    return value_code_shared(v->lower, code->lower, &ends) > 0 && ends ? TRUTH_UNKNOWN : TRUTH_NO;
}

/* Whether a value is a phrase. A phrase that begins with a code is that code and its description.
 * Of a table's rows, those without a word of the value are for others: they decide nothing. */
static enum truth value_is(const struct word *v, size_t n, const struct phrase *p, bool row)
{
    size_t k = 0, words = 0;
    bool shared = false;

    if (n == 1 && word_has_digit(v) && word_has_digit(&p->w[0]))
        return p->n > 1 && p->w[0].kind == WORD_NUMBER ? TRUTH_UNKNOWN /* "5 digits" */
                                                       : value_code_is(v, &p->w[0]);
    for (size_t i = 0; i < p->n; i++) {
        if (p->w[i].kind == WORD_MARK)
            continue;
        words++;
        if (k < n && word_exact(&v[k], &p->w[i]))
            k++;
        for (size_t j = 0; j < n && !word_stops(&p->w[i]); j++)
            shared = shared || word_same(&v[j], &p->w[i]);
    }
    if (k == n && words == n)
        return TRUTH_YES;
    return value_excludes(v, n, p) || (row && !shared) ? TRUTH_NO : TRUTH_UNKNOWN;
}

static enum truth value_among(const struct word *v, size_t n, const struct test *t)
{
    enum truth out = TRUTH_NO;

    for (size_t i = 0; i < t->value_n; i++)
        out = truth_either(out, value_is(v, n, &t->values[i], t->row));
    return out;
}

/* "inactive", "not active", "unpaid" of "active", "paid". */
static bool value_denies(const struct word *v, size_t n, const struct phrase *p)
{
    static const char *const prefixes[] = {"in", "un", "non"};

    if (p->n != 1)
        return false;
    if (n == 2 && word_among(&v[0], "not non") && word_exact(&v[1], &p->w[0]))
        return true;
    for (size_t i = 0; n == 1 && i < COUNT_OF(prefixes); i++)
        if (str_starts(str_c(v[0].lower), str_c(prefixes[i])) &&
            strcmp(v[0].lower + strlen(prefixes[i]), p->w[0].lower) == 0)
            return true;
    return false;
}

static enum truth hold_text(struct holder *h, const struct test *t, str text)
{
    struct word *v;
    size_t n = value_words(text, h->facts->arena, &v);
    enum truth in = n > 0 ? value_among(v, n, t) : TRUTH_UNKNOWN;

    if (!value_is_plain(text))
        return TRUTH_UNKNOWN;
    if (in == TRUTH_NO && !t->enumerated)
        return t->value_n == 1 && value_denies(v, n, &t->values[0]) ? TRUTH_NO : TRUTH_UNKNOWN;
    if (in == TRUTH_UNKNOWN && t->value_n == 1 && n > 0 && value_denies(v, n, &t->values[0]))
        return TRUTH_NO;
    return in;
}

static enum truth hold_is(struct holder *h, const struct test *t, const struct fact *f)
{
    const struct policy_value *v = &f->field->value;
    enum truth out = TRUTH_UNKNOWN;

    if (f->unit) /* a day pass is not any pass */
        return hold_doubt(h, DOUBT_UNIT);
    if (v->kind == POLICY_TEXT || v->kind == POLICY_NUMBER) {
        out = hold_text(h, t, v->kind == POLICY_TEXT ? v->text : f->field->raw);
    } else if (v->kind == POLICY_LIST && v->count > 0) {
        for (size_t i = 0; i < v->count; i++) {
            enum truth one = hold_text(h, t, v->items[i].text);

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

/* "The application must be signed" with application_signed: true. */
static enum truth hold_named(struct holder *h, const struct test *t, size_t *n)
{
    enum truth out = TRUTH_NO;

    *n = 0;
    for (size_t i = 0; i < t->value_n; i++) {
        struct test one = {.kind = TEST_PRESENT, .noun = t->noun};
        size_t bound;
        enum truth is;

        for (size_t k = 0; k < t->values[i].n; k++)
            if (t->values[i].w[k].kind != WORD_MARK && one.noun.n < NOUN_WORDS_MAX)
                one.noun.words[one.noun.n++] = &t->values[i].w[k];
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
