/* condition.c - conditions: what stands behind "if" and "unless", against the facts. See judge.h.
 *
 * Comma and conjunction bind least ("A or B, and C"), then or, then and. An atom is decided by the
 * fact whose name it holds, or else by a fact whose value, or another value of that kind, it holds.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/judge.h"

#define STRICT 1.0
#define BY_VALUE 0.97
#define LOOSELY 0.93
#define ATOMS_MAX 12
/* Words in an atom that say only that something is there. */
#define BEING                                                                                      \
    "is are was were be been being present exists exist documented noted found met satisfied "     \
    "bought purchased provided attached confirmed reported identified applies apply there has "    \
    "have "                                                                                        \
    "had does do any some one or more a an the evidence of case patient member user known "        \
    "suspected "                                                                                   \
    "diagnosed diagnosis condition conditions indicated"
#define DENIES "no not never without none neither lacks lacking absent n't isn't hasn't aren't"

void used_add(struct used *u, const struct fact *f, double quality)
{
    if (u->n == 0 || quality < u->quality)
        u->quality = quality;
    for (size_t i = 0; i < u->n; i++)
        if (u->facts[i] == f)
            return;
    if (u->n < USED_MAX)
        u->facts[u->n++] = f;
}

static bool atom_denies(const struct word *w, struct range r)
{
    struct bound b[BOUNDS_MAX];
    size_t n = bounds_of(w, r.from, r.to, b);
    bool denies = false;

    for (size_t i = r.from; i < r.to; i++) {
        bool inside = false;

        for (size_t k = 0; k < n; k++)
            inside = inside || (i >= b[k].from && i <= b[k].at);
        if (!inside && word_among(&w[i], DENIES))
            denies = !denies;
    }
    return denies;
}

static enum truth flip(bool yes, bool denies)
{
    return yes != denies ? TRUTH_YES : TRUTH_NO;
}

/* Words beside a fact's name that say more than that it is there: another value of it. */
static bool says_more(const struct fact *f, const struct word *w, struct range r)
{
    for (size_t i = r.from; i < r.to; i++)
        if (w[i].kind == WORD_TEXT && !word_among(&w[i], BEING) && !word_among(&w[i], DENIES) &&
            !word_stops(&w[i]) && word_find(f->name, f->name_n, &w[i]) == f->name_n)
            return true;
    return false;
}

static enum truth policy_condition_list_in(const struct fact *f, const struct word *w,
                                           struct range r, struct arena *a)
{
    const struct policy_value *v = &f->field->value;

    for (size_t i = 0; i < v->count; i++) {
        struct word *item;
        size_t n = words_of_name(v->items[i].text, a, &item), at;

        if (n > 0 && words_phrase(w + r.from, r.to - r.from, item, n, &at))
            return TRUTH_YES;
    }
    return TRUTH_NO;
}

/* An atom that holds a fact's name. */
static enum truth policy_condition_by_name(const struct judge *j, const struct fact *f,
                                           const struct word *w, struct range r, struct used *used)
{
    struct relation rel;
    bool denies = atom_denies(w, r);
    struct bound b[BOUNDS_MAX];
    size_t n = bounds_of(w, r.from, r.to, b);

    if (f->is_bool)
        return flip(f->yes, denies);
    judge_relation(j, w, (struct range){0, r.to}, r, used, &rel);
    if (rel.shaped)
        return rel.t == TRUTH_UNKNOWN ? rel.t : flip(rel.t == TRUTH_YES, denies && !rel.negated);
    if (f->is_number && n > 0 &&
        (f->unit && strcmp(f->unit, "date") == 0) != word_dates(&w[b[0].at]))
        return TRUTH_UNKNOWN; /* a day against a number of days */
    if (f->is_number && n > 0)
        return flip(bound_holds(&b[0], f->number, f->unit), denies);
    if (f->field->value.kind == POLICY_LIST && says_more(f, w, r))
        return flip(policy_condition_list_in(f, w, r, j->arena) == TRUTH_YES, denies);
    if (f->value_n > 0 && !f->is_number && says_more(f, w, r))
        return flip(fact_valued(f, w, r.from, r.to), denies);
    return flip(fact_present(f) && judge_counts(j, f), denies);
}

static const struct fact *policy_condition_named_in(const struct judge *j, const struct word *w,
                                                    struct range r, bool loose)
{
    const struct fact *best = NULL;

    for (size_t i = 0; i < j->facts->n; i++) {
        const struct fact *f = &j->facts->all[i];

        if (fact_named(f, w, r.from, r.to, loose) && (!best || f->name_n > best->name_n))
            best = f;
    }
    return best;
}

/* "An order can be cancelled if its status is pending": of what stood before. */
static const struct fact *named_before(const struct judge *j, const struct word *w, struct range r)
{
    const struct fact *f = policy_condition_named_in(j, w, (struct range){0, r.to}, false);

    for (size_t i = 0; f && i < f->name_n; i++)
        if (word_find(w + r.from, r.to - r.from, &f->name[i]) < r.to - r.from)
            return f;
    return NULL;
}

struct atom {
    struct range r;
    enum truth t;
    const struct fact *fact; /* by whose name it was decided */
    bool linked;
};

static void decide_atom(const struct judge *j, const struct word *w, struct atom *a,
                        struct used *used)
{
    const struct fact *f = policy_condition_named_in(j, w, a->r, false);
    double quality = STRICT;

    a->t = TRUTH_UNKNOWN;
    if (!f && range_has(w, a->r, "its their his her"))
        f = named_before(j, w, a->r);
    for (size_t i = 0; !f && i < j->facts->n; i++) {
        const struct fact *g = &j->facts->all[i];
        bool valued = fact_valued(g, w, a->r.from, a->r.to);

        if (!valued && !fact_contrasts(g, w, a->r.from, a->r.to))
            continue;
        a->t = flip(valued, atom_denies(w, a->r));
        a->linked = true;
        used_add(used, g, BY_VALUE);
        return;
    }
    if (!f) {
        f = policy_condition_named_in(j, w, a->r, true);
        quality = LOOSELY;
    }
    if (!f)
        return;
    a->fact = f;
    a->linked = true;
    a->t = policy_condition_by_name(j, f, w, a->r, used);
    used_add(used, f, quality);
}

/* "delayed or on time": an atom that names nothing speaks of what its neighbour names. */
static void inherit(const struct word *w, struct atom *atoms, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct fact *f = NULL;

        if (atoms[i].linked || atoms[i].r.to - atoms[i].r.from > 6)
            continue;
        for (size_t k = 0; k < n && !f; k++)
            f = atoms[k].fact;
        if (!f || f->value_n == 0)
            continue;
        atoms[i].t =
            flip(fact_valued(f, w, atoms[i].r.from, atoms[i].r.to), atom_denies(w, atoms[i].r));
        atoms[i].linked = true;
    }
}

static enum truth all_of(enum truth a, enum truth b)
{
    if (a == TRUTH_NO || b == TRUTH_NO)
        return TRUTH_NO;
    return a == TRUTH_YES && b == TRUTH_YES ? TRUTH_YES : TRUTH_UNKNOWN;
}

static enum truth any_of(enum truth a, enum truth b)
{
    if (a == TRUTH_YES || b == TRUTH_YES)
        return TRUTH_YES;
    return a == TRUTH_NO && b == TRUTH_NO ? TRUTH_NO : TRUTH_UNKNOWN;
}

/* "or older" joins nothing. */
static bool joins(const struct word *w, struct range r, size_t i, const char *word)
{
    static const char behind[] =
        "older younger more less fewer greater above below over under higher "
        "lower longer later earlier up better equal";

    return word_is(&w[i], word) && i > r.from && i + 1 < r.to && !word_among(&w[i + 1], behind) &&
           !(word_is(&w[i], "and") && i > r.from + 1 && word_is(&w[i - 2], "between"));
}

#define NAME_REACH 5

/* "wants to change or cancel": a name that stands around the conjunction is one atom. */
static bool inside_name(const struct judge *j, const struct word *w, struct range r, size_t i)
{
    size_t from = i > r.from + NAME_REACH ? i - NAME_REACH : r.from;
    size_t to = i + 1 + NAME_REACH < r.to ? i + 1 + NAME_REACH : r.to;

    for (size_t k = 0; k < j->facts->n; k++) {
        const struct fact *f = &j->facts->all[k];

        if (f->name_n > 1 && fact_named(f, w, from, to, false) &&
            !fact_named(f, w, from, i, false) && !fact_named(f, w, i, to, false))
            return true;
    }
    return false;
}

/* Atoms joined by one word; gives how many, at most max. */
static size_t split_by(const struct judge *j, const struct word *w, struct range r,
                       const char *word, struct atom *out, size_t max)
{
    size_t n = 0, from = r.from;

    for (size_t i = r.from; i < r.to && n + 1 < max; i++)
        if (joins(w, r, i, word) && !inside_name(j, w, r, i)) {
            out[n++] = (struct atom){.r = {from, i}};
            from = i + 1;
        }
    if (n > 0 || from < r.to)
        out[n++] = (struct atom){.r = {from, r.to}};
    return n;
}

/* Atoms joined by and, of which those that say nothing that is known are passed over if others do
 * not. */
static enum truth conjunction(const struct judge *j, const struct word *w, struct range r,
                              struct used *used, bool *linked)
{
    struct atom atoms[ATOMS_MAX];
    size_t n = split_by(j, w, r, "and", atoms, ATOMS_MAX);
    enum truth t = TRUTH_YES;

    for (size_t i = 0; i < n; i++)
        decide_atom(j, w, &atoms[i], used);
    inherit(w, atoms, n);
    for (size_t i = 0; i < n; i++) {
        *linked = *linked || atoms[i].linked;
        t = all_of(t, atoms[i].t);
    }
    return n > 0 ? t : TRUTH_UNKNOWN;
}

static enum truth disjunction(const struct judge *j, const struct word *w, struct range r,
                              struct used *used, bool *linked)
{
    struct atom atoms[ATOMS_MAX];
    size_t n = split_by(j, w, r, "or", atoms, ATOMS_MAX);
    enum truth t = TRUTH_NO;

    for (size_t i = 0; i < n; i++) {
        bool here = false;

        atoms[i].t = conjunction(j, w, atoms[i].r, used, &here);
        atoms[i].linked = here;
        atoms[i].fact = here ? policy_condition_named_in(j, w, atoms[i].r, false) : NULL;
        *linked = *linked || here;
    }
    inherit(w, atoms, n);
    for (size_t i = 0; i < n; i++)
        t = any_of(t, atoms[i].t);
    return n > 0 ? t : TRUTH_UNKNOWN;
}

/* Parts set off by a comma: the conjunction behind it is the outermost. */
enum truth judge_condition(const struct judge *j, const struct word *w, struct range r,
                           struct used *used)
{
    enum truth t = TRUTH_UNKNOWN;
    bool begun = false, is_or = false, linked = false;

    while (r.from < r.to) {
        size_t end = r.from;
        enum truth part;

        while (end < r.to && !(word_is(&w[end], ",") && end + 1 < r.to))
            end++;
        part = disjunction(j, w, (struct range){r.from, end}, used, &linked);
        t = !begun ? part : is_or ? any_of(t, part) : all_of(t, part);
        begun = true;
        r.from = end + (end < r.to);
        if (r.from < r.to && word_among(&w[r.from], "and or")) {
            is_or = word_is(&w[r.from], "or");
            r.from++;
        } else {
            /* "A, B, or C": the conjunction before the last is that of all. */
            is_or = false;
            for (size_t i = r.from; i + 1 < r.to; i++)
                if (word_is(&w[i], ",") && word_among(&w[i + 1], "or"))
                    is_or = true;
        }
    }
    return t;
}
