/* relate.c - facts held against each other: "the claim date must be within 30 days of the loss
 * date", "the loan amount must not exceed the property value". See judge.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/judge.h"

#include <math.h>

#define PREPOSITION_REACH 4 /* words between a number's unit and "before", "after", "of" */

static bool policy_relate_is_date(const struct fact *f)
{
    return f->is_number && f->unit && strcmp(f->unit, "date") == 0;
}

/* The number or the day that is named in a range, by the longest name. */
static const struct fact *policy_relate_named_in(const struct judge *j, const struct word *w,
                                                 struct range r, bool date,
                                                 const struct fact *except)
{
    const struct fact *best = NULL;

    for (size_t i = 0; i < j->facts->n && !range_empty(r); i++) {
        const struct fact *f = &j->facts->all[i];

        if (f != except && f->is_number && policy_relate_is_date(f) == date &&
            fact_named(f, w, r.from, r.to, false) && (!best || f->name_n > best->name_n))
            best = f;
    }
    return best;
}

static void use(struct relation *out, struct used *used, enum truth t)
{
    out->shaped = true;
    out->t = t;
    if (out->left)
        used_add(used, out->left, 1.0);
    if (out->right)
        used_add(used, out->right, 1.0);
}

/* "at least 14 days before the departure date": so many days between two of them. */
static void by_days(const struct judge *j, const struct word *w, struct range all, struct range r,
                    struct used *used, struct relation *out)
{
    struct bound b[BOUNDS_MAX];
    size_t n = bounds_of(w, r.from, r.to, b);

    for (size_t i = 0; i < n && !out->shaped; i++) {
        size_t at = b[i].at + 1,
               end = at + PREPOSITION_REACH < r.to ? at + PREPOSITION_REACH : r.to;
        double days;

        if (unit_days(b[i].unit) <= 0 || b[i].bare)
            continue;
        while (at < end && !word_among(&w[at], "before prior after following of from since"))
            at++;
        if (at == end)
            continue;
        out->right = policy_relate_named_in(j, w, (struct range){at + 1, r.to}, true, NULL);
        out->left = policy_relate_named_in(j, w, all, true, out->right);
        if (!out->left || !out->right) {
            if (out->left || out->right)
                use(out, used, TRUTH_UNKNOWN);
            continue;
        }
        days = out->left->number - out->right->number;
        if (word_among(&w[at], "before prior"))
            days = -days;
        else if (!word_among(&w[at], "after following"))
            days = fabs(days);
        use(out, used, bound_holds(&b[i], days, "day") ? TRUTH_YES : TRUTH_NO);
    }
}

/* What compares, without a number behind it: its place. */
static bool compares(const struct word *w, struct range r, size_t i, bool date, size_t *behind,
                     struct bound *b)
{
    size_t n = bound_relation(w, i, r.to, date, b);

    *behind = i + n;
    for (size_t k = *behind; n > 0 && k < r.to; k++)
        if (w[k].kind == WORD_NUMBER)
            return false;
    return n > 0 && *behind < r.to;
}

static void by_order(const struct judge *j, const struct word *w, struct range all, struct range r,
                     bool date, struct used *used, struct relation *out)
{
    for (size_t i = r.from; i < r.to && !out->shaped; i++) {
        struct bound b;
        size_t behind;
        double left, right;

        if (!compares(w, r, i, date, &behind, &b))
            continue;
        out->left = policy_relate_named_in(j, w, (struct range){all.from, i}, date, NULL);
        out->right = policy_relate_named_in(j, w, (struct range){behind, r.to}, date, out->left);
        if (!out->left)
            continue;
        out->negated = range_has(w, (struct range){i, behind}, "no not never cannot");
        if (!out->right) {
            if (word_among(&w[behind], "the its their his her that a an"))
                use(out, used, TRUTH_UNKNOWN);
            continue;
        }
        left = out->left->number;
        right = out->right->number;
        if (unit_days(out->left->unit) > 0 && unit_days(out->right->unit) > 0)
            right *= unit_days(out->right->unit) / unit_days(out->left->unit);
        use(out, used, bound_holds(&b, left - right, NULL) ? TRUTH_YES : TRUTH_NO);
    }
}

void judge_relation(const struct judge *j, const struct word *w, struct range all, struct range r,
                    struct used *used, struct relation *out)
{
    *out = (struct relation){.t = TRUTH_UNKNOWN};
    by_days(j, w, all, r, used, out);
    if (!out->shaped)
        by_order(j, w, all, r, true, used, out);
    if (!out->shaped)
        by_order(j, w, all, r, false, used, out);
}
