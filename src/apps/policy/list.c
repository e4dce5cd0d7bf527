/* list.c - lists of what is accepted: one of A, B or C. See judge.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/judge.h"

static bool has_digit(const char *s)
{
    return strpbrk(s, "0123456789") != NULL;
}

/* "M54.x", "M54.*": all that begin so. */
static bool matches_any(const struct word *w, struct range r, const struct word *code)
{
    size_t n = strlen(w[r.from].lower);

    return r.from + 1 < r.to && has_digit(w[r.from].lower) &&
           (word_among(&w[r.from + 1], "* x") ||
            (r.from + 2 < r.to && word_is(&w[r.from + 1], ".") &&
             word_among(&w[r.from + 2], "* x xx - any"))) &&
           strncmp(code->lower, w[r.from].lower, n) == 0 &&
           (code->lower[n] == 0 || code->lower[n] == '.' || word_is(&w[r.from + 1], "*"));
}

/* "M54.0 to M54.9", "72141-72158". */
static bool policy_list_between(const struct word *w, struct range r, const struct word *code)
{
    const char *low = w[r.from].lower, *high;

    if (r.from + 2 >= r.to || !word_among(&w[r.from + 1], "- to through"))
        return false;
    high = w[r.from + 2].lower;
    return has_digit(low) && has_digit(high) && low[0] == high[0] &&
           strcmp(code->lower, low) >= 0 && strncmp(code->lower, high, strlen(high)) <= 0;
}

/* Its words one behind the other, whatever marks are between: "self-employed". */
static bool has_phrase(const struct word *value, size_t n, const struct word *w, struct range r)
{
    for (size_t i = r.from; i < r.to; i++) {
        size_t at = i, k = 0;

        while (at < r.to && k < n) {
            if (w[at].kind != WORD_MARK && !word_same(&w[at], &value[k++]))
                break;
            at++;
        }
        if (k == n && at > i && word_same(&w[at - 1], &value[n - 1]))
            return true;
    }
    return false;
}

/* One value against one element. */
static bool is_element(const struct word *value, size_t n, const struct word *w, struct range r)
{
    size_t content = 0;

    while (r.from < r.to &&
           (w[r.from].kind == WORD_MARK || word_among(&w[r.from], "a an the either")))
        r.from++;
    while (r.to > r.from && w[r.to - 1].kind == WORD_MARK && !word_is(&w[r.to - 1], "*"))
        r.to--;
    if (range_empty(r))
        return false;
    if (n == 1 && has_digit(value->lower) &&
        (matches_any(w, r, value) || policy_list_between(w, r, value)))
        return true;
    if (!has_phrase(value, n, w, r))
        return false;
    for (size_t i = r.from; i < r.to; i++)
        content += w[i].kind != WORD_MARK && !word_stops(&w[i]);
    return content == n || has_digit(value[0].lower) || n > 1;
}

static bool ends_element(const struct word *w, size_t i)
{
    return word_among(&w[i], ", ; or and |") || (word_is(&w[i], "/") && i > 0);
}

/* Whether a value is one of those in a range, split at commas and conjunctions. */
static bool policy_list_in_range(const struct word *value, size_t n, const struct word *w,
                                 struct range r)
{
    size_t from = r.from;

    if (n == 0)
        return false;
    for (size_t i = r.from; i <= r.to; i++) {
        if (i < r.to && !ends_element(w, i))
            continue;
        if (i > from && is_element(value, n, w, (struct range){from, i}))
            return true;
        from = i + 1;
    }
    /* A value with a conjunction in it. */
    return n > 2 && is_element(value, n, w, r);
}

enum truth judge_member(const struct fact *f, const struct word *w, struct range r, struct arena *a)
{
    const struct policy_value *v = &f->field->value;
    const struct policy_value *items = v->kind == POLICY_LIST ? v->items : v;
    size_t n = v->kind == POLICY_LIST ? v->count : 1;

    if (f->is_bool || v->kind == POLICY_MAP)
        return TRUTH_UNKNOWN;
    for (size_t i = 0; i < n; i++) {
        struct word *value;
        size_t count = words_of(str_trim(items[i].text), a, &value), kept = 0;

        for (size_t k = 0; k < count; k++) /* low_back_pain, "low-back pain" */
            if (value[k].kind != WORD_MARK)
                value[kept++] = value[k];
        if (policy_list_in_range(value, kept, w, r))
            return TRUTH_YES;
    }
    return TRUTH_NO;
}

/* Sentences "red flags are A, B and C", and leads "red flags:" with their items. */
static bool defines(const struct reading *r, const struct fact *f, struct range *list)
{
    size_t at = 0;

    if (r->n == 0 || !fact_named(f, r->w, 0, r->n, false))
        return false;
    while (at < r->n && !word_among(&r->w[at], "include includes are : following"))
        at++;
    *list = (struct range){at + 1, r->n};
    if (r->item_n > 0)
        return true;
    return at < r->n && at <= 8 && fact_named(f, r->w, 0, at, false) && list->to > list->from + 3 &&
           range_has(r->w, *list, ", or and") && !range_has(r->w, *list, "must may can if");
}

bool judge_counts(const struct judge *j, const struct fact *f)
{
    bool listed = false;

    if (f->value_n == 0 && f->field->value.kind != POLICY_LIST)
        return true;
    for (size_t i = 0; i < j->all_n; i++) {
        const struct reading *r = &j->all[i];
        struct range list;

        if (!defines(r, f, &list))
            continue;
        listed = true;
        for (size_t k = 0; k < r->item_n; k++)
            if (judge_member(f, r->items[k].w, (struct range){0, r->items[k].n}, j->arena) ==
                TRUTH_YES)
                return true;
        if (r->item_n == 0 && judge_member(f, r->w, list, j->arena) == TRUTH_YES)
            return true;
    }
    return !listed;
}
