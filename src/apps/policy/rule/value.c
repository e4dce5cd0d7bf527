/* value.c - the text of a fact held against the values that a rule names. See rule.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/rule/rule.h"

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

/* Those of them that are scales, from the lowest: who must be gold may be platinum. */
static const char *const scales[] = {
    "bronze silver gold platinum diamond",
    "basic standard premium",
    "low medium high critical",
    "poor fair good excellent",
    "mild moderate severe",
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

/* Whether a value is above all of a test's on a scale, and they are not its lower end. */
static bool value_exceeds(const struct word *v, size_t n, const struct test *t)
{
    for (size_t s = 0; n == 1 && s < COUNT_OF(scales); s++) {
        const char *at = word_among(v, scales[s]) ? strstr(scales[s], v->lower) : NULL;
        bool above = at && t->value_n > 0;

        for (size_t i = 0; above && i < t->value_n; i++) {
            const struct word *w = &t->values[i].w[0];
            const char *is = word_among(w, scales[s]) ? strstr(scales[s], w->lower) : NULL;

            above = is && is != scales[s] && is < at;
        }
        if (above)
            return true;
    }
    return false;
}

static enum truth value_among(const struct word *v, size_t n, const struct test *t)
{
    enum truth out = TRUTH_NO;

    for (size_t i = 0; i < t->value_n; i++)
        out = truth_either(out, value_is(v, n, &t->values[i], t->row));
    return out == TRUTH_NO && !t->row && !t->not_ && value_exceeds(v, n, t) ? TRUTH_UNKNOWN : out;
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

enum truth value_holds(const struct test *t, str text, struct arena *a)
{
    struct word *v;
    size_t n = value_words(text, a, &v);
    enum truth in = n > 0 ? value_among(v, n, t) : TRUTH_UNKNOWN;

    if (!value_is_plain(text))
        return TRUTH_UNKNOWN;
    if (in == TRUTH_NO && !t->enumerated)
        return t->value_n == 1 && value_denies(v, n, &t->values[0]) ? TRUTH_NO : TRUTH_UNKNOWN;
    if (in == TRUTH_UNKNOWN && t->value_n == 1 && n > 0 && value_denies(v, n, &t->values[0]))
        return TRUTH_NO;
    return in;
}
