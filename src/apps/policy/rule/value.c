/* value.c - the text of a fact held against the values that a rule names. See rule.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/rule/rule.h"

#define CODE_STARTS 3 /* letters and digits in which two codes differ that are never the same */

/* Values that are never the same thing. All others may be: a wife is a spouse, a suite is larger
 * than a double, who must be gold may be platinum, and somebody divorced may count as single. */
static const char *const exclusive[] = {
    "yes no",
    "male female",
    "monday tuesday wednesday thursday friday saturday sunday",
    "small medium large",
    "never former current",
    "red blue green yellow black white orange purple pink brown",
    "open closed",
    "open rejected",
    "open void",
    "open cancelled",
    "active inactive",
    "active expired",
    "active closed",
    "approved rejected pending",
    "approved denied pending",
    "paid unpaid",
    "new used",
    "cash card",
    "cash credit-card debit-card direct-debit bank-transfer",
    "full-time part-time",
    "pdf png jpeg docx",
};

/* The words of a text without its marks. Their number; 0 if it has other signs than words: "red?"
 * and "!red" need not be red. */
static size_t value_words(str text, struct arena *a, struct word **out)
{
    size_t n, kept = 0;

    text = str_trim(text);
    if (text.n == 0 || memchr("-(\"'", text.p[0], 4))
        return 0;
    for (size_t i = 0; i < text.n; i++)
        if (memchr("?!~<>=+*#@^|", text.p[i], 12) || (unsigned char)text.p[i] == 0xE2)
            return 0;
    n = words_of(text, a, out);
    for (size_t i = 0; i < n; i++)
        if ((*out)[i].kind != WORD_MARK)
            (*out)[kept++] = (*out)[i];
    return kept;
}

/* Words as one of the values above: "credit-card". Those that are too long are none of them. */
static struct word value_joined(const struct word *w, size_t n)
{
    struct word out = {0};

    for (size_t i = 0; i < n && out.size + w[i].size + 2u < sizeof out.lower; i++)
        if (w[i].kind != WORD_MARK)
            out.size = (uint8_t)(out.size + snprintf(out.lower + out.size,
                                                     sizeof out.lower - out.size,
                                                     "%s%s",
                                                     out.size ? "-" : "",
                                                     w[i].lower));
    return out;
}

/* "inactive", "not active", "unpaid" of "active", "paid". */
static bool value_denies(const struct word *v, size_t n, const struct phrase *p)
{
    static const char *const prefixes[] = {"in", "un", "non"};

    if (p->n != 1 || n == 0)
        return false;
    if (n == 2 && word_among(&v[0], "not non") && word_is(&v[1], p->w[0].lower))
        return true;
    for (size_t i = 0; n == 1 && i < COUNT_OF(prefixes); i++)
        if (str_starts(str_c(v[0].lower), str_c(prefixes[i])) &&
            strcmp(v[0].lower + strlen(prefixes[i]), p->w[0].lower) == 0)
            return true;
    return false;
}

static bool value_has_digit(const struct word *w)
{
    return strpbrk(w->lower, "0123456789") != NULL;
}

/* M54.50 and M545 are not M54.5, and may be meant by it all the same. */
static enum truth value_code_is(const struct word *v, const struct word *code)
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
 * Of a table's rows, those without a word of the value are for others: they decide nothing. */
static enum truth value_is(const struct word *v, size_t n, const struct phrase *p, bool row)
{
    struct word a = value_joined(v, n), b = value_joined(p->w, p->n);
    bool shared = false;
    size_t k = 0, words = 0;

    if (n == 1 && value_has_digit(v) && value_has_digit(&p->w[0]))
        return p->n > 1 && p->w[0].kind == WORD_NUMBER ? TRUTH_UNKNOWN /* "5 digits" */
                                                       : value_code_is(v, &p->w[0]);
    for (size_t i = 0; i < p->n; i++) {
        const struct word *w = &p->w[i];

        if (w->kind == WORD_MARK)
            continue;
        k += words++ == k && k < n && strcmp(v[k].lower, w->lower) == 0;
        shared = shared || (!word_stops(w) && word_find(v, n, w) < n);
    }
    if (k == n && words == n)
        return TRUTH_YES;
    if (value_denies(v, n, p) || (row && !shared))
        return TRUTH_NO;
    for (size_t i = 0; i < COUNT_OF(exclusive); i++)
        if (word_among(&a, exclusive[i]) && word_among(&b, exclusive[i]))
            return TRUTH_NO;
    return TRUTH_UNKNOWN;
}

enum truth value_holds(const struct test *t, str text, struct arena *a)
{
    struct word *v;
    size_t n = value_words(text, a, &v);
    enum truth out = TRUTH_NO;

    for (size_t i = 0; n > 0 && i < t->value_n; i++)
        out = truth_either(out, value_is(v, n, &t->values[i], t->row));
    return n > 0 ? out : TRUTH_UNKNOWN;
}
