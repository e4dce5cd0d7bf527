/* scan.c - finds the spans to mask in a text, and writes the text without them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "mask/internal.h"

/* ---- spans ---- */

void mask_spans_release(struct mask_spans *f)
{
    free(f->p);
}

void mask_spans_add(struct mask_spans *f, struct mask_span one)
{
    assert(f->n <= f->cap);
    assert(one.from <= one.to && one.rule < MASK_RULES_MAX);
    f->p = base_grow(f->p, f->n, &f->cap, sizeof f->p[0]);
    f->p[f->n++] = one;
}

void mask_spans_hold(struct mask_spans *f, size_t at, size_t rule, struct mask_open open)
{
    assert(rule < MASK_RULES_MAX && open.end != MASK_END_NOW);
    if (at >= f->hold)
        return;
    f->hold = at;
    f->hold_rule = rule;
    f->hold_open = open;
}

static int mask_scan_by_place(const void *a, const void *b)
{
    const struct mask_span *x = a, *y = b;

    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    return x->to > y->to ? -1 : x->to < y->to;
}

/* Sorts the spans. Overlapping spans become one, with the bytes of all and the rule of the
 * first. */
static void mask_scan_settle(struct mask_spans *f)
{
    size_t n = 0;
    bool sorted = true;

    for (size_t i = 1; i < f->n; i++)
        sorted &= f->p[i - 1].to <= f->p[i].from;
    if (sorted)
        return;
    qsort(f->p, f->n, sizeof f->p[0], mask_scan_by_place);
    for (size_t i = 0; i < f->n; i++) {
        if (n > 0 && f->p[i].from < f->p[n - 1].to) {
            if (f->p[i].to > f->p[n - 1].to)
                f->p[n - 1].to = f->p[i].to;
            if (f->p[i].seen < f->p[n - 1].seen)
                f->p[n - 1].seen = f->p[i].seen;
        } else {
            f->p[n++] = f->p[i];
        }
    }
    assert(n <= f->n);
    f->n = n;
}

/* ---- the built-in rules ---- */

/* Tries the rows of these buckets at the place where a lead ends. */
static enum mask_found mask_try_rows(const struct mask *m, const struct mask_view *t,
                                     const struct mask_hit *hit, struct mask_span *out, bool *whole)
{
    const struct mask_leads *l = &m->leads;
    size_t end = hit->end;

    for (uint64_t ends = hit->ends; ends; ends &= ends - 1) {
        size_t b = mask_bucket(ends);

        assert(l->first[b] <= l->first[b + 1] && l->first[b + 1] <= l->row_count);
        for (size_t i = l->first[b]; i < l->first[b + 1]; i++) {
            const struct mask_row *row = l->rows[i];
            /* May be negative: a lead can begin with any characters, before the text. */
            int64_t at = (int64_t)end - 3 + row->shift;
            enum mask_found f;

            if (at < 0 || !mask_lead_is(l, i, t->s, end))
                continue;
            *whole |= !row->match;
            if (!row->match)
                continue;
            out->open = (struct mask_open){.end = MASK_END_WORD};
            f = row->match(t, (size_t)at, row->arg, out);
            if (f == MASK_YES && row->match == mask_match_assign)
                f = mask_extend_value(t, m->groups, out);
            if (f == MASK_MORE)
                out->from = (size_t)at;
            if (f == MASK_MORE || (f == MASK_YES && out->to > t->floor))
                return f;
        }
    }
    return MASK_NO;
}

size_t mask_go_on(str s, size_t end)
{
    for (size_t k = 0; k < 4; k++)
        if (end < 3 || !char_is_digit(s.p[end - k]))
            return end + 1;
    do
        end++;
    while (end < s.n && char_is_digit(s.p[end]));
    return end;
}

static void scan_rules(const struct mask *m, const struct mask_view *t, struct mask_spans *out)
{
    size_t at = t->floor, done = at; /* a stream writes a private key as soon as it ends */
    const struct mask_hit *hit;
    struct mask_hits hits;

    mask_hits_init(&hits, at);
    while ((hit = mask_hits_next(&m->leads, t->s, at, &hits))) {
        struct mask_span one;
        size_t end = hit->end, lead = end > 3 ? end - 3 : 0;

        assert(end < t->s.n);
        at = end + 1;
        switch (mask_try_rows(m, t, hit, &one, &out->whole)) {
        case MASK_NO:
            at = mask_go_on(t->s, end);
            break;
        case MASK_MORE:
            /* A lead may begin before the floor, in text that was already written. */
            one.from = one.from < lead ? one.from : lead;
            one.from = one.from > t->floor ? one.from : t->floor;
            mask_spans_hold(out, one.from, MASK_RULE_SECRET, one.open);
            return;
        case MASK_YES:
            one.from = one.from > done ? one.from : done;
            one.seen = lead < one.from ? lead : one.from;
            one.seen = one.seen > t->floor ? one.seen : t->floor;
            mask_spans_add(out, one);
            if (one.rule == MASK_RULE_PRIVATE_KEY)
                done = one.to;
            if (one.to > at)
                at = one.to;
            break;
        }
    }
}

void mask_scan(const struct mask *m, const struct mask_view *t, struct mask_spans *out)
{
    assert(t->floor <= t->s.n);
    out->n = 0;
    out->whole = false;
    out->hold = t->s.n;
    if (m->leads.row_count)
        scan_rules(m, t, out);
    if ((m->groups & MASK_KUBERNETES) && (out->whole || !t->final))
        mask_secrets_scan(t, out);
    if (m->custom_count)
        mask_customs_scan(m, t, out);
    if (out->n > 1)
        mask_scan_settle(out);
}

/* ---- the masked text ---- */

void mask_count(struct mask_counts *counts, size_t rule)
{
    assert(rule < COUNT_OF(counts->n));
    if (!counts)
        return;
    counts->n[rule]++;
    counts->all++;
}

void mask_render(const struct mask *m, str s, struct mask_range range, const struct mask_spans *f,
                 struct buf *out, struct mask_counts *counts)
{
    size_t from = range.from, to = range.to;

    assert(range.from <= range.to && range.to <= s.n);
    for (size_t i = 0; i < f->n; i++) {
        const struct mask_span *one = &f->p[i];

        assert(one->to <= s.n && one->rule < m->rule_count);
        assert(i == 0 || f->p[i - 1].to <= one->from); /* sorted, none overlaps */
        if (one->from < from || one->from >= to)
            continue;
        buf_add(out, str_slice(s, from, one->from));
        buf_add(out, m->placeholders[one->rule]);
        mask_count(counts, one->rule);
        from = one->to;
    }
    if (from < to)
        buf_add(out, str_slice(s, from, to));
}

bool mask_text(const struct mask *m, str in, struct buf *out, struct mask_counts *counts)
{
    const struct mask_view t = {in, true, 0};
    struct mask_spans f = {0};
    bool found;

    mask_scan(m, &t, &f);
    found = f.n > 0;
    if (found)
        mask_render(m, in, (struct mask_range){0, in.n}, &f, out, counts);
    mask_spans_release(&f);
    return found;
}
