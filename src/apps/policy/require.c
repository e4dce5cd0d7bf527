/* require.c - what a clause requires, against the facts it names. See judge.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/judge.h"

#include <math.h>

#define STRICT 1.0
#define LOOSELY 0.93
#define BY_TITLE 0.9

/* The words among which a fact's name is looked for: the lead's, the label's and the main part's;
 * those of guard and exception are about something else. */
static size_t naming(const struct judge *j, const struct reading *r, const struct clause *c,
                     bool title, struct word **out)
{
    size_t lead = r->lead ? r->lead->n : 0, n = 0, label = 0, title_n = 0;
    struct word *w, *titles = NULL;

    if (r->label && r->label != r)
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
    for (size_t i = 0; i < r->n; i++)
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

/* How well a bound suits a fact; less is better, 1000: not at all. */
static double suits(const struct judge *j, const struct fact *f, const struct word *w,
                    const struct bound *b, struct range segment, const struct clause *c,
                    struct used *used)
{
    double d = fact_distance(f, w, c->main.from, c->main.to, b->at);

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
static double times(const struct judge *j, const struct fact *f, const struct word *w,
                    const struct bound *b, struct range segment, struct used *used)
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

static void read_bare(struct bound *b, const struct word *w, const struct clause *c)
{
    static const char at_least[] =
        "complete completed completes undergo undergone have has receive "
        "received fail failed wait provide attend document documented try "
        "tried show";

    if (!b->bare)
        return;
    if (b->each || c->kind == CLAUSE_PERMIT)
        b->low = -INFINITY;
    else if (range_has(w, (struct range){c->main.from, b->at}, at_least))
        b->high = INFINITY;
}

/* Text and lists, where the clause has no number for them. */
static enum truth by_words(const struct judge *j, const struct fact *f, const struct reading *r,
                           const struct clause *c)
{
    size_t at = c->main.from, content = 0;
    struct range list;

    if (f->is_bool)
        return f->yes ? TRUTH_YES : TRUTH_NO;
    if (f->none)
        return TRUTH_NO;
    while (at < c->main.to && !word_among(&r->w[at],
                                          "be is are of following either : to include "
                                          "includes among only"))
        at++;
    list = (struct range){at + 1 < c->main.to ? at + 1 : c->main.to, c->main.to};
    if (range_has(r->w, list, "one any either following among :"))
        while (list.from < list.to && word_among(&r->w[list.from],
                                                 "one any either of the following "
                                                 "among these listed : codes "
                                                 "diagnoses values types"))
            list.from++;
    for (size_t i = list.from; i < list.to; i++)
        content += r->w[i].kind != WORD_MARK && !word_stops(&r->w[i]);
    if (judge_member(f, r->w, list, j->arena) == TRUTH_YES)
        return TRUTH_YES;
    if (content > 0 && (range_has(r->w, list, ", or") || content <= 3) &&
        (f->value_n > 0 || f->field->value.kind == POLICY_LIST || f->is_number) &&
        !range_has(r->w,
                   list,
                   "documented provided included attached submitted completed present "
                   "required recorded signed"))
        return TRUTH_NO;
    return fact_present(f) ? TRUTH_YES : TRUTH_NO;
}

struct fit {
    enum truth t;
    size_t at; /* the bound's number; SIZE_MAX: none */
};

/* One fact against the clause. */
static struct fit fit(const struct judge *j, const struct fact *f, const struct reading *r,
                      const struct clause *c, struct used *used, char say[80])
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
    if (best == n && n == 1 && !b[0].bare)
        best = 0; /* the only one, though its name stands elsewhere */
    if (best == n ||
        (b[best].bare && !b[best].each && judge_member(f, r->w, c->main, j->arena) == TRUTH_YES))
        return (struct fit){by_words(j, f, r, c), SIZE_MAX};
    if (!f->is_number)
        return (struct fit){f->is_bool && !f->yes ? TRUTH_NO
                            : f->is_bool          ? TRUTH_UNKNOWN
                                                  : by_words(j, f, r, c),
                            b[best].at};
    for (size_t i = 0; i < with.n; i++)
        used_add(used, with.facts[i], STRICT);
    factor = times(j, f, r->w, &b[best], segment_of(b, best, n, c), used);
    read_bare(&b[best], r->w, c);
    b[best].low *= isfinite(b[best].low) ? factor : 1;
    b[best].high *= isfinite(b[best].high) ? factor : 1;
    bound_say(&b[best], say);
    return (struct fit){bound_holds(&b[best], f->number, f->unit) ? TRUTH_YES : TRUTH_NO,
                        b[best].at};
}

static str value_text(const struct fact *f)
{
    return f->field->value.kind == POLICY_TEXT ? f->field->value.text : f->field->raw;
}

static void explain(const struct judge *j, const struct fact *f, enum truth t, const char *say,
                    str *why)
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
static bool each_named(const struct judge *j, const struct reading *r, const struct clause *c,
                       const struct word *w, size_t n, double quality, struct used *used,
                       enum truth *t, bool *disagree, str *why)
{
    size_t first_at = SIZE_MAX;
    enum truth first = TRUTH_UNKNOWN;
    bool found = false, any = range_has(r->w, c->main, "either") ||
                              (range_has(r->w, c->main, "or") && !range_has(r->w, c->main, ", :"));

    for (size_t i = 0; i < j->facts->n; i++) {
        const struct fact *f = &j->facts->all[i];
        struct fit one;
        char say[80];

        if (!fact_named(f, w, 0, n, quality < STRICT))
            continue;
        one = fit(j, f, r, c, used, say);
        /* Two facts for one number, one for, one against. */
        if (found && one.at != SIZE_MAX && one.at == first_at && one.t != first &&
            one.t != TRUTH_UNKNOWN && first != TRUTH_UNKNOWN)
            *disagree = true;
        if (!found || first == TRUTH_UNKNOWN) {
            first_at = one.at;
            first = one.t;
        }
        used_add(used, f, quality);
        explain(j, f, one.t, say, why);
        if (!found)
            *t = one.t;
        else if (any && f->is_bool)
            *t = *t == TRUTH_YES || one.t == TRUTH_YES ? TRUTH_YES : one.t;
        else if (one.t != TRUTH_UNKNOWN)
            *t = *t == TRUTH_NO ? TRUTH_NO : one.t;
        found = true;
    }
    return found;
}

enum truth judge_require(const struct judge *j, const struct reading *r, const struct clause *c,
                         struct used *used, bool *disagree, str *why)
{
    enum truth t = TRUTH_UNKNOWN;
    struct bound b[BOUNDS_MAX];
    struct word *w;
    size_t n = naming(j, r, c, false, &w);

    if (each_named(j, r, c, w, n, STRICT, used, &t, disagree, why))
        return t;
    if (bounds_of(r->w, c->main.from, c->main.to, b) == 0)
        return TRUTH_UNKNOWN;
    if (each_named(j, r, c, w, n, LOOSELY, used, &t, disagree, why))
        return t;
    n = naming(j, r, c, true, &w);
    each_named(j, r, c, w, n, BY_TITLE, used, &t, disagree, why);
    return t;
}
