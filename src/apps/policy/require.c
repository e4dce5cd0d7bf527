/* require.c - what a clause requires, against the facts it names. See judge.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/judge.h"

#include <math.h>

#define STRICT 1.0
#define LOOSELY 0.93
#define BY_TITLE 0.9
#define BY_STATE 0.96

/* "Income: at least ..." behind "Age: ...": the block's label is not its own. */
static bool has_label(const struct reading *r)
{
    for (size_t i = 0; i < r->n && i < 8; i++)
        if (word_is(&r->w[i], ":"))
            return true;
    return false;
}

/* The words among which a fact's name is looked for: the lead's, the label's and the main part's;
 * those of guard and exception are about something else. */
static size_t naming(const struct judge *j, const struct reading *r, const struct clause *c,
                     bool whole, bool title, struct word **out)
{
    size_t lead = r->lead ? r->lead->n : 0, n = 0, label = 0, title_n = 0;
    struct word *w, *titles = NULL;

    if (r->label && (r->label == r || !has_label(r)))
        while (label < r->label->n && label < 8 && !word_is(&r->label->w[label], ":"))
            label++;
    if (label > 0 && (label == r->label->n || label == 8))
        label = 0;
    if (title)
        title_n = words_of(r->node->title, j->arena, &titles);
    w = arena_alloc(j->arena, (lead + label + title_n + r->n + 1) * sizeof w[0]);
    for (size_t i = 0; i < lead; i++)
        w[n++] = r->lead->w[i];
    for (size_t i = 0; i < label; i++)
        w[n++] = r->label->w[i];
    for (size_t i = 0; i < title_n; i++)
        w[n++] = titles[i];
    for (size_t i = whole ? 0 : c->main.from; i < (whole ? r->n : c->main.to); i++)
        if ((i < c->guard.from || i >= c->guard.to) && (i < c->except.from || i >= c->except.to))
            w[n++] = r->w[i];
    *out = w;
    return n;
}

/* The words that belong to a bound: up to the next one. */
static struct range segment_of(const struct bound *b, size_t i, size_t n, const struct clause *c)
{
    return (struct range){b[i].at + 1, i + 1 < n ? b[i + 1].from : c->main.to};
}

static bool policy_require_is_date(const struct fact *f)
{
    return f->unit && strcmp(f->unit, "date") == 0;
}

/* How well a bound suits a fact; less is better, 1000: not at all. */
static double suits(const struct judge *j, const struct fact *f, const struct word *w,
                    const struct bound *b, struct range segment, const struct clause *c,
                    struct used *used)
{
    double d = fact_distance(f, w, c->main.from, c->main.to, b->at);
    if (f->is_number && policy_require_is_date(f) != word_dates(&w[b->at]))
        return 1000;
    for (size_t i = 0; i < j->facts->n; i++) {
        const struct fact *g = &j->facts->all[i];

        if (g == f || g->value_n == 0 || g->is_number)
            continue;
        if (fact_contrasts(g, w, segment.from, segment.to)) {
            return 1000;
        } else if (fact_valued(g, w, segment.from, segment.to)) {
            used_add(used, g, STRICT);
            d -= 100;
        }
    }
    return b->bare && !b->each ? d + 5 : d;
}

/* "2 for each passenger" where there are 3 passengers is 6. */
static double policy_require_times(const struct judge *j, const struct fact *f,
                                   const struct word *w, const struct bound *b,
                                   struct range segment, struct used *used)
{
    size_t at = segment.from;

    for (size_t i = 0; i < f->name_n; i++)
        if (word_among(&f->name[i], "per each average"))
            return 1;
    while (at < segment.to && !word_among(&w[at], "each per every times"))
        at++;
    if (at == segment.to || !b->each)
        return 1;
    for (size_t i = 0; i < j->facts->n; i++) {
        const struct fact *g = &j->facts->all[i];

        if (g != f && g->is_number && fact_named(g, w, at, segment.to, true)) {
            used_add(used, g, STRICT);
            return g->number;
        }
    }
    return 1;
}

/* "complete 6 weeks", "have reached 18 years": that many, or more. */
static bool wants_many(const struct bound *b, const struct word *w, const struct clause *c)
{
    static const char at_least[] =
        "complete completed completes undergo undergone have has receive received fail failed "
        "wait provide attend document documented try tried show reached attained turned";

    return b->bare && !b->each && range_has(w, (struct range){c->main.from, b->at}, at_least);
}

static void policy_require_read_bare(struct bound *b, const struct word *w, const struct clause *c)
{
    if (!b->bare)
        return;
    if (b->each || c->kind == CLAUSE_PERMIT)
        b->low = -INFINITY;
    else if (wants_many(b, w, c))
        b->high = INFINITY;
}

/* Whether all of the name stands together in the main part or its own label, and not only in
 * brackets: the thing itself, not mentioned by the way. */
static bool together(const struct fact *f, const struct reading *r, const struct clause *c)
{
    size_t first = c->main.to, last = c->main.from, depth = 0;
    uint32_t held = 0;

    for (size_t i = 0; i < c->main.to; i++) {
        size_t at = word_find(f->name, f->name_n, &r->w[i]);

        if (i >= c->main.from) {
            depth += word_is(&r->w[i], "(");
            depth -= word_is(&r->w[i], ")") && depth > 0;
        }
        if (depth > 0 || at == f->name_n || (i < c->main.from && r->label != r))
            continue;
        held |= 1u << at;
        if (i < c->main.from)
            continue;
        first = i < first ? i : first;
        last = i;
    }
    for (size_t i = 0; r->lead && i < r->lead->n; i++)
        if (word_find(f->name, f->name_n, &r->lead->w[i]) < f->name_n)
            held |= 1u << word_find(f->name, f->name_n, &r->lead->w[i]);
    return held == (1u << f->name_n) - 1 && (first > last || last - first <= 2 * f->name_n + 3);
}

#define LISTS "one any either following among listed :"
#define THERE                                                                                      \
    "documented provided included attached submitted completed present required recorded signed "  \
    "needed obtained verified available approved mandatory necessary"

/* Where what a fact may be begins: behind "must be one of", "is", "are". r->to: there is none. */
static size_t complement(const struct fact *f, const struct reading *r, const struct clause *c)
{
    size_t at = c->main.from;

    while (at < c->main.to && !word_among(&r->w[at],
                                          "be is are following either : include includes "
                                          "among of"))
        at++;
    if (at == c->main.to ||
        (!fact_named(f, r->w, c->main.from, at, true) && !range_has(r->w, c->main, LISTS)))
        return c->main.to;
    for (at++; at < c->main.to && word_among(&r->w[at],
                                             "one any either of the following among these "
                                             "listed : codes diagnoses values types");)
        at++;
    return at;
}

/* "to gold and platinum members only", "only gold members": of a text for "membership". */
static bool limits_to(const struct fact *f, const struct word *w, struct range r)
{
    for (size_t i = r.from; i < r.to && f->value_n > 0 && !f->is_number; i++) {
        if (!word_is(&w[i], "only"))
            continue;
        for (size_t k = i + 1; k < r.to && k < i + 5; k++)
            if (word_find(f->name, f->name_n, &w[k]) < f->name_n)
                return true;
        if (i > r.from && word_find(f->name, f->name_n, &w[i - 1]) < f->name_n)
            return true;
    }
    return false;
}

/* Text and lists, where the clause has no number for them. */
static enum truth by_words(const struct judge *j, const struct fact *f, const struct reading *r,
                           const struct clause *c)
{
    struct range list = {complement(f, r, c), c->main.to};
    bool lists = range_has(r->w, c->main, LISTS);
    size_t content = 0, elements = 1;

    if (f->is_bool || f->none)
        return !together(f, r, c) ? TRUTH_UNKNOWN : f->yes ? TRUTH_YES : TRUTH_NO;
    for (size_t i = list.from; i < list.to; i++) {
        content += r->w[i].kind != WORD_MARK && !word_stops(&r->w[i]);
        elements += word_among(&r->w[i], ", or");
    }
    if (content > 0 && judge_member(f, r->w, list, j->arena) == TRUTH_YES)
        return TRUTH_YES;
    if (limits_to(f, r->w, c->main))
        return fact_valued(f, r->w, c->main.from, c->main.to) ? TRUTH_YES : TRUTH_NO;
    if (content > 0 && !range_has(r->w, list, THERE) &&
        ((lists && elements > 1) || content <= 3 * elements))
        return TRUTH_NO;
    if (f->is_number || !together(f, r, c))
        return TRUTH_UNKNOWN;
    /* A document or the like: it is there. */
    return range_has(r->w, c->main, THERE " include includes submit provide have has")
               ? TRUTH_YES
               : TRUTH_UNKNOWN;
}

/* Whether what the clause says of a fact begins with the number: "must be at least 5". */
static bool measured(const struct fact *f, const struct reading *r, const struct clause *c,
                     const struct bound *b)
{
    size_t at = complement(f, r, c);

    return at == c->main.to || at == b->from || at == b->at;
}

struct fit {
    enum truth t;
    size_t at; /* the bound's number; SIZE_MAX: none */
    bool skip; /* it is not what the clause is about */
};

static struct fit by_words_fit(const struct judge *j, const struct fact *f, const struct reading *r,
                               const struct clause *c)
{
    enum truth t = by_words(j, f, r, c);

    return (struct fit){t, SIZE_MAX, t == TRUTH_UNKNOWN};
}

/* "for each passenger": what is counted, not what is bounded. */
static bool policy_require_counted(const struct fact *f, const struct word *w,
                                   const struct bound *b, struct range segment)
{
    size_t at = segment.from;

    while (at < segment.to && !word_among(&w[at], "each per every"))
        at++;
    return b->each && at < segment.to && fact_named(f, w, at, segment.to, true) &&
           !fact_named(f, w, segment.from, at, true);
}

/* "or" and "and" that join, not those of a comparison. */
static bool policy_require_joint(const struct word *w, size_t i, size_t to)
{
    static const char behind[] =
        "older younger more less fewer greater above below over under higher "
        "lower longer later earlier up better equal";

    return word_among(&w[i], ", or and") && (i + 1 == to || !word_among(&w[i + 1], behind));
}

static size_t policy_require_place_of(const struct fact *f, const struct word *w,
                                      const struct clause *c)
{
    for (size_t i = c->main.from; i < c->main.to; i++)
        if (word_find(f->name, f->name_n, &w[i]) < f->name_n)
            return i;
    return c->main.to;
}

/* Whether a fact is another part of the clause than the one with the number. */
static bool apart(const struct fact *f, const struct word *w, const struct bound *b,
                  const struct clause *c)
{
    size_t at = policy_require_place_of(f, w, c), from = at < b->at ? at : b->at,
           to = at < b->at ? b->at : at;

    for (size_t i = from; i < to; i++)
        if (policy_require_joint(w, i, to))
            return true;
    return false;
}

/* Whether two facts are ways of which one is enough: an "or" joins them. */
static bool either_of(const struct word *w, const struct clause *c, size_t a, size_t b)
{
    size_t from = a < b ? a : b, to = a < b ? b : a;
    bool comma = false;

    for (size_t i = from; i < to; i++) {
        if (word_is(&w[i], "and"))
            return false;
        if (word_is(&w[i], "or") && policy_require_joint(w, i, to))
            return true;
        comma = comma || word_is(&w[i], ",");
    }
    for (size_t i = to; comma && i < c->main.to; i++)
        if (word_is(&w[i], "or") && policy_require_joint(w, i, c->main.to))
            return true; /* A, B, or C */
    return false;
}

/* One fact against the clause. */
static struct fit policy_require_fit(const struct judge *j, const struct fact *f,
                                     const struct reading *r, const struct clause *c,
                                     double quality, struct used *used, char say[80])
{
    struct bound b[BOUNDS_MAX];
    size_t n = bounds_of(r->w, c->main.from, c->main.to, b), best = n;
    double least = 1000, factor;
    struct used with = {.quality = STRICT};

    say[0] = 0;
    for (size_t i = 0; i < n; i++) {
        struct used seen = {.quality = STRICT};
        double d = suits(j, f, r->w, &b[i], segment_of(b, i, n, c), c, &seen);

        if (d < least || (best == n && d <= least && least >= 1000 && seen.n > 0)) {
            least = d;
            best = i;
            with = seen;
        }
    }
    if (n == 1 && best == n && !b[0].bare &&
        policy_require_is_date(f) != word_dates(&r->w[b[0].at]) &&
        f->is_number) /* a number for a day, or a day for a number */
        return (struct fit){TRUTH_UNKNOWN, SIZE_MAX, false};
    if (best == n && n == 1 && !b[0].bare)
        best = 0; /* the only one, though its name stands elsewhere */
    if (best == n || (b[best].bare && !b[best].each && !wants_many(&b[best], r->w, c) &&
                      judge_member(f, r->w, c->main, j->arena) == TRUTH_YES))
        return by_words_fit(j, f, r, c);
    if (policy_require_counted(f, r->w, &b[best], segment_of(b, best, n, c)) ||
        (quality == BY_TITLE && f->unit && b[best].unit && strcmp(f->unit, b[best].unit) != 0))
        return (struct fit){TRUTH_UNKNOWN, SIZE_MAX, true};
    if (!f->is_number && !f->is_bool && (!f->none || f->absent) && !b[best].bare &&
        measured(f, r, c, &b[best])) /* a text where a number is wanted */
        return (struct fit){TRUTH_UNKNOWN, SIZE_MAX, false};
    if (!f->is_number && !f->is_bool)
        return by_words_fit(j, f, r, c);
    if (f->is_bool && apart(f, r->w, &b[best], c))
        return by_words_fit(j, f, r, c);
    if (f->is_bool) /* no treatment at all is not enough of it; some may be */
        return (struct fit){f->yes ? TRUTH_UNKNOWN : TRUTH_NO, SIZE_MAX, false};
    for (size_t i = 0; i < with.n; i++)
        used_add(used, with.facts[i], STRICT);
    factor = policy_require_times(j, f, r->w, &b[best], segment_of(b, best, n, c), used);
    policy_require_read_bare(&b[best], r->w, c);
    b[best].low *= isfinite(b[best].low) ? factor : 1;
    b[best].high *= isfinite(b[best].high) ? factor : 1;
    bound_say(&b[best], say);
    return (struct fit){
        bound_holds(&b[best], f->number, f->unit) ? TRUTH_YES : TRUTH_NO, b[best].at, false};
}

static str value_text(const struct fact *f)
{
    return f->field->value.kind == POLICY_TEXT ? f->field->value.text : f->field->raw;
}

static void policy_require_explain(const struct judge *j, const struct fact *f, enum truth t,
                                   const char *say, str *why)
{
    str value = str_slice(value_text(f), 0, 80);

    if (say[0])
        *why = arena_printf(j->arena,
                            STR_FMT "%s" STR_FMT " is " STR_FMT ", the policy says %s",
                            STR_ARG(*why),
                            why->n > 0 ? "; " : "",
                            STR_ARG(f->field->name),
                            STR_ARG(value),
                            say);
    else
        *why = arena_printf(j->arena,
                            STR_FMT "%s" STR_FMT " is " STR_FMT ", which %s",
                            STR_ARG(*why),
                            why->n > 0 ? "; " : "",
                            STR_ARG(f->field->name),
                            STR_ARG(value),
                            t == TRUTH_YES  ? "the policy asks for"
                            : t == TRUTH_NO ? "is not what the policy asks for"
                                            : "does not say enough");
}

/* Facts that the words name, each against the clause. */
static bool policy_require_is_named(const struct fact *f, const struct word *w, size_t n,
                                    double quality)
{
    return quality == BY_STATE ? fact_stated(f, w, 0, n) : fact_named(f, w, 0, n, quality < STRICT);
}

static bool each_named(const struct judge *j, const struct reading *r, const struct clause *c,
                       const struct word *w, size_t n, double quality, struct used *used,
                       enum truth *t, bool *disagree, str *why)
{
    size_t first_at = SIZE_MAX, before = c->main.to;
    enum truth first = TRUTH_UNKNOWN;
    bool found = false;

    for (size_t i = 0; i < j->facts->n; i++) {
        const struct fact *f = &j->facts->all[i];
        struct fit one;
        char say[80];

        if (!policy_require_is_named(f, w, n, quality))
            continue;
        one = policy_require_fit(j, f, r, c, quality, used, say);
        if (one.skip)
            continue;
        /* Two facts for one number, one for, one against. */
        if (found && one.at != SIZE_MAX && one.at == first_at && one.t != first &&
            one.t != TRUTH_UNKNOWN && first != TRUTH_UNKNOWN)
            *disagree = true;
        if (!found || first == TRUTH_UNKNOWN) {
            first_at = one.at;
            first = one.t;
        }
        used_add(used, f, quality);
        policy_require_explain(j, f, one.t, say, why);
        if (!found)
            *t = one.t;
        else if (either_of(r->w, c, before, policy_require_place_of(f, r->w, c)))
            *t = *t == TRUTH_YES || one.t == TRUTH_YES ? TRUTH_YES : one.t;
        else if (one.t != TRUTH_UNKNOWN)
            *t = *t == TRUTH_NO ? TRUTH_NO : one.t;
        before = policy_require_place_of(f, r->w, c);
        found = true;
    }
    return found;
}

/* Two facts that the clause compares with each other. */
static bool by_relation(const struct judge *j, const struct reading *r, const struct clause *c,
                        struct used *used, enum truth *t, str *why)
{
    struct relation rel;
    str left, right;

    judge_relation(j, r->w, (struct range){0, r->n}, c->main, used, &rel);
    if (!rel.shaped)
        return false;
    *t = rel.t;
    if (c->kind == CLAUSE_FORBID && !rel.negated && *t != TRUTH_UNKNOWN)
        *t = *t == TRUTH_YES ? TRUTH_NO : TRUTH_YES;
    if (rel.left && rel.right) {
        left = str_slice(value_text(rel.left), 0, 80);
        right = str_slice(value_text(rel.right), 0, 80);
        *why = arena_printf(j->arena,
                            STR_FMT " is " STR_FMT ", " STR_FMT " is " STR_FMT ", which %s",
                            STR_ARG(rel.left->field->name),
                            STR_ARG(left),
                            STR_ARG(rel.right->field->name),
                            STR_ARG(right),
                            *t == TRUTH_YES ? "the policy asks for"
                                            : "is not what the policy asks for");
    }
    return true;
}

enum truth judge_require(const struct judge *j, const struct reading *r, const struct clause *c,
                         struct used *used, bool *disagree, str *why)
{
    enum truth t = TRUTH_UNKNOWN;
    struct bound b[BOUNDS_MAX];
    struct word *w;
    size_t n = naming(j, r, c, false, false, &w);

    if (by_relation(j, r, c, used, &t, why))
        return t;
    if (each_named(j, r, c, w, n, STRICT, used, &t, disagree, why))
        return t;
    if (bounds_of(r->w, c->main.from, c->main.to, b) == 0) {
        each_named(j, r, c, w, n, BY_STATE, used, &t, disagree, why);
        return t;
    }
    n = naming(j, r, c, true, false, &w);
    if (each_named(j, r, c, w, n, STRICT, used, &t, disagree, why) ||
        each_named(j, r, c, w, n, LOOSELY, used, &t, disagree, why))
        return t;
    n = naming(j, r, c, true, true, &w);
    each_named(j, r, c, w, n, BY_TITLE, used, &t, disagree, why);
    return t;
}
