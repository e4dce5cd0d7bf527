/* fact.c - facts as the reader of sentences sees them. See fact.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/fact.h"

#include <math.h>
#include <strings.h>

#define LOOSE                                                                                      \
    "number count total since after before current currently value flag field case claim status "  \
    "requested request reported documented actual patient member user customer applicant type "    \
    "name "                                                                                        \
    "amount completed duration level present"
#define NONE "none no nil absent negative"
#define HEDGES "or to about around approximately approx maybe ish roughly possibly likely than ? ~"
/* Values that say nothing: as if the fact were not there. */
static const char *const unknowns[] = {
    "",
    "?",
    "-",
    "--",
    "n/a",
    "na",
    "null",
    "unknown",
    "not known",
    "unclear",
    "unspecified",
    "undetermined",
    "undocumented",
    "tbd",
    "not documented",
    "not available",
    "not applicable",
    "not recorded",
    "not reported",
    "not specified",
    "not stated",
    "not sure",
    "illegible",
};

/* Of a document, that it is not there; of a number, nothing. */
static const char *const absents[] = {
    "missing",
    "not provided",
    "not submitted",
    "not attached",
    "not included",
    "not presented",
    "not on file",
};

static bool policy_fact_is_one_of(str s, const char *const *all, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strlen(all[i]) == s.n && strncasecmp(all[i], s.p, s.n) == 0)
            return true;
    return false;
}

/* "100k", as amounts are written. */
static bool thousands(const struct word *w, double *out)
{
    char *end;

    if (w->kind != WORD_TEXT || w->lower[0] < '0' || w->lower[0] > '9')
        return false;
    *out = 1000 * strtod(w->lower, &end);
    return strcmp(end, "k") == 0;
}

/* "6 weeks", "$1,200", "45%", "18": a number and perhaps its unit, nothing else. */
static void number_of(struct fact *f, const struct word *w, size_t n)
{
    const char *unit = NULL;
    bool negative = n > 1 && word_is(&w[0], "-");
    size_t i = negative ? 1 : 0, other = 0;
    double number = 0;
    bool found = false;

    for (; i < n; i++)
        if (w[i].kind == WORD_NUMBER && !found) {
            number = w[i].number;
            found = true;
            unit = word_dates(&w[i]) ? "date" : unit;
        } else if (!found && thousands(&w[i], &number)) {
            found = true;
        } else if (unit_of(&w[i]) && !unit) {
            unit = unit_of(&w[i]);
        } else if (!word_among(&w[i], "old of age")) {
            other += w[i].kind == WORD_TEXT && found;
            if (!found || w[i].kind == WORD_NUMBER || word_among(&w[i], HEDGES))
                return;
        }
    if (!found || other > 2)
        return; /* "40 mg", "1.5 mg/dL"; more is a text that has a number in it */
    f->is_number = true;
    f->number = negative ? -number : number;
    f->unit = unit;
}

static void policy_fact_read_text(struct fact *f, str text, struct arena *a)
{
    struct word *w;
    size_t n;

    text = str_trim(text);
    f->none = text.n == 0;
    if (text.n > 400)
        return;
    n = words_of_name(text, a, &w);
    f->absent = policy_fact_is_one_of(text, absents, COUNT_OF(absents));
    f->none = f->none || f->absent || (n == 1 && word_among(&w[0], NONE));
    if (n == 1 && word_among(&w[0], "yes true y")) {
        f->is_bool = f->yes = true;
        f->none = false;
        return;
    }
    if (n == 1 && word_among(&w[0], "no false n")) {
        f->is_bool = f->none = true;
        return;
    }
    if (n <= FACT_VALUE_MAX && !f->none) {
        f->value = w;
        f->value_n = n;
    }
    if (text.n > 10 && (text.p[10] == 'T' || text.p[10] == ' ') && text.p[4] == '-')
        text = str_slice(text, 0, 10); /* of a time its day */
    n = words_of(text, a, &w);
    if (n <= 6)
        number_of(f, w, n);
}

/* "passengers": a list of them has a number; a list for "score" is something else. */
static bool is_plural(const struct word *w)
{
    return w->kind == WORD_TEXT && w->size > 2 && w->lower[w->size - 1] == 's' &&
           w->lower[w->size - 2] != 's';
}

static bool policy_fact_says_nothing(const struct policy_value *v)
{
    str s = str_trim(v->text);

    if (v->kind == POLICY_NULL)
        return true;
    return v->kind == POLICY_TEXT && policy_fact_is_one_of(s, unknowns, COUNT_OF(unknowns));
}

static void policy_fact_read_value(struct fact *f, struct arena *a)
{
    const struct policy_value *v = &f->field->value;

    switch (v->kind) {
    case POLICY_NULL:
        f->none = true;
        break;
    case POLICY_BOOL:
        f->is_bool = true;
        f->yes = v->yes;
        f->none = !v->yes;
        break;
    case POLICY_NUMBER:
        f->is_number = true;
        f->number = v->number;
        break;
    case POLICY_TEXT:
        policy_fact_read_text(f, v->text, a);
        break;
    case POLICY_LIST: /* where a number is wanted, how many there are */
        f->is_number = f->name_n > 0 && is_plural(&f->name[f->name_n - 1]);
        f->number = (double)v->count;
        f->none = v->count == 0;
        break;
    case POLICY_MAP:
        f->none = v->count == 0;
        break;
    }
    for (size_t i = 0; i < f->name_n && !f->unit; i++)
        f->unit = unit_of(&f->name[i]);
}

static void policy_fact_add_word(struct word *set, size_t *n, const struct word *w)
{
    if (*n < FACT_OTHERS_MAX && word_find(set, *n, w) == *n)
        set[(*n)++] = *w;
}

static bool is_content(const struct word *w)
{
    return w->kind == WORD_TEXT && !word_stops(w) &&
           !word_among(w, "not no can may must shall should will only other another such");
}

/* Where its value stands in the document, `at` is its last word's place there. */
static bool value_at(const struct fact *f, const struct word *doc, size_t n, size_t at)
{
    size_t k = f->value_n, i = at + 1;

    while (k > 0 && i > 0) {
        i--;
        if (doc[i].kind == WORD_MARK && word_among(&doc[i], "( ) -"))
            continue;
        if (!word_same(&doc[i], &f->value[k - 1]))
            return false;
        k--;
    }
    return k == 0 && at < n;
}

/* The words that stand before or behind the value, at most so many. */
#define PLACES_MAX 24
struct places {
    struct word behind[PLACES_MAX], before[PLACES_MAX];
    size_t behind_n, before_n;
};

static void policy_fact_add_place(struct word *set, size_t *n, const struct word *w)
{
    if (*n < PLACES_MAX && is_content(w) && word_find(set, *n, w) == *n)
        set[(*n)++] = *w;
}

static void find_places(const struct fact *f, const struct word *doc, size_t n, struct places *p)
{
    for (size_t i = 0; i < n; i++) {
        size_t first = i + 1 - f->value_n;

        if (i + 1 < f->value_n || !value_at(f, doc, n, i))
            continue;
        if (i + 1 < n)
            policy_fact_add_place(p->behind, &p->behind_n, &doc[i + 1]);
        if (first > 0 && first <= i)
            policy_fact_add_place(p->before, &p->before_n, &doc[first - 1]);
    }
}

/* How many different places of the value another word stands in. */
static size_t shared(const struct fact *f, const struct places *p, const struct word *doc, size_t n,
                     const struct word *other)
{
    struct word seen[2 * PLACES_MAX];
    size_t seen_n = 0;

    for (size_t i = 0; i + 1 < n; i++) {
        const struct word *place = NULL;

        if (word_same(&doc[i], other) &&
            word_find(p->behind, p->behind_n, &doc[i + 1]) < p->behind_n)
            place = &doc[i + 1];
        else if (word_same(&doc[i + 1], other) &&
                 word_find(p->before, p->before_n, &doc[i]) < p->before_n)
            place = &doc[i];
        if (place && word_find(seen, seen_n, place) == seen_n && seen_n < COUNT_OF(seen))
            seen[seen_n++] = *place;
    }
    (void)f;
    return seen_n;
}

/* What is done to things stands before their names too: "modify flights" beside "economy flights".
 */
static bool is_verb(const struct word *doc, size_t n, const struct word *w)
{
    size_t size = strlen(w->lower);

    if (size > 4 && strcmp(w->lower + size - 3, "ing") == 0)
        return true;
    for (size_t i = 1; i < n; i++)
        if (word_same(&doc[i], w) &&
            word_among(&doc[i - 1], "can cannot to must may shall should will not could would do"))
            return true;
    return false;
}

static bool own_word(const struct fact *f, const struct word *w)
{
    return word_find(f->value, f->value_n, w) < f->value_n;
}

/* "basic" economy beside plain economy, both before "flights": the first is another value. */
static void find_before(struct fact *f, const struct places *p, const struct word *doc, size_t n)
{
    for (size_t i = 1; i + 1 < n; i++) {
        bool plain = false;

        if (!value_at(f, doc, n, i) || i < f->value_n || !is_content(&doc[i - f->value_n]))
            continue;
        for (size_t k = f->value_n; k + 1 < n && !plain; k++)
            plain = value_at(f, doc, n, k) && !is_content(&doc[k - f->value_n]) &&
                    word_same(&doc[k + 1], &doc[i + 1]);
        if (plain && is_content(&doc[i + 1]))
            policy_fact_add_word(f->before, &f->before_n, &doc[i - f->value_n]);
    }
    (void)p;
}

static void find_others(struct fact *f, const struct word *doc, size_t n)
{
    struct places p = {.behind_n = 0};

    find_places(f, doc, n, &p);
    find_before(f, &p, doc, n);
    for (size_t i = 0; i + 1 < n; i++) {
        bool here = word_find(p.behind, p.behind_n, &doc[i + 1]) < p.behind_n;

        if (here && is_content(&doc[i]) && !own_word(f, &doc[i]) &&
            shared(f, &p, doc, n, &doc[i]) >= 2 && !is_verb(doc, n, &doc[i]))
            policy_fact_add_word(f->others, &f->other_n, &doc[i]);
        /* silver/gold, silver or gold */
        if (i + 2 < n && word_among(&doc[i + 1], "/ or") && is_content(&doc[i]) &&
            is_content(&doc[i + 2]) && f->value_n == 1) {
            if (own_word(f, &doc[i]))
                policy_fact_add_word(f->others, &f->other_n, &doc[i + 2]);
            else if (own_word(f, &doc[i + 2]))
                policy_fact_add_word(f->others, &f->other_n, &doc[i]);
        }
    }
}

/* "6 weeks" and "42 days", "March 5, 2026" and "2026-03-05" say the same. */
static bool policy_fact_same_number(const struct fact *f, const struct policy_field *other,
                                    struct arena *a)
{
    struct fact g = {.field = other, .name = f->name, .name_n = f->name_n};
    double scale = 1;

    policy_fact_read_value(&g, a);
    if (!f->is_number || !g.is_number || f->field->value.kind == POLICY_LIST ||
        other->value.kind == POLICY_LIST)
        return false;
    if (unit_days(f->unit) > 0 && unit_days(g.unit) > 0)
        scale = unit_days(g.unit) / unit_days(f->unit);
    else if (f->unit && g.unit && strcmp(f->unit, g.unit) != 0)
        return false;
    return fabs(f->number - g.number * scale) <= 1e-6 * fabs(f->number);
}

static struct fact *fact_of_key(struct facts *fs, str key)
{
    for (size_t i = 0; i < fs->n; i++)
        if (str_eq(fs->all[i].field->key, key))
            return &fs->all[i];
    return NULL;
}

void facts_of(struct facts *out, const struct policy_case *c, double floor, const struct word *doc,
              size_t doc_n, struct arena *a)
{
    size_t max = c->field_count < FACTS_MAX ? c->field_count : FACTS_MAX;

    out->all = arena_zero(a, max + 1, sizeof out->all[0]);
    out->n = 0;
    for (size_t i = 0; i < c->field_count; i++) {
        const struct policy_field *field = &c->fields[i];
        struct fact *f = fact_of_key(out, field->key);
        struct word *name;

        if (policy_fact_says_nothing(&field->value))
            continue;
        if (f) {
            f->conflict = f->conflict || !(policy_value_equal(&f->field->value, &field->value) ||
                                           policy_fact_same_number(f, field, a));
            f->unsure = f->unsure || field->confidence < floor;
            continue;
        }
        if (out->n == max)
            continue;
        f = &out->all[out->n++];
        f->field = field;
        f->name_n = words_of_name(field->name, a, &name);
        f->name_n = f->name_n < FACT_NAME_MAX ? f->name_n : FACT_NAME_MAX;
        f->name = name;
        f->unsure = field->confidence < floor;
        for (size_t k = 0; k < f->name_n; k++)
            f->loose |= (uint32_t)word_among(&f->name[k], LOOSE) << k;
        policy_fact_read_value(f, a);
        if (f->value_n > 0 && !f->is_number) {
            f->others = arena_alloc(a, FACT_OTHERS_MAX * sizeof f->others[0]);
            f->before = arena_alloc(a, FACT_OTHERS_MAX * sizeof f->before[0]);
            find_others(f, doc, doc_n);
        }
    }
}

static bool any_duration(const struct word *w, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        if (unit_days(unit_of(&w[i])) > 0)
            return true;
    return false;
}

/* "children under 12", "the member is over 65": somebody, and a number of nothing else. */
static bool ages(const struct word *w, size_t from, size_t to, size_t at)
{
    static const char people[] =
        "member members patient patients applicant applicants driver drivers child children "
        "person persons people policyholder policyholders insured employee employees customer "
        "customers student students passenger passengers guest guests user users resident "
        "residents individual individuals anyone nobody one who those kid kids";
    const char *unit = at + 2 < to ? unit_of(&w[at + 2]) : NULL;
    size_t i = at;

    if (at + 1 >= to || w[at + 1].kind != WORD_NUMBER || word_dates(&w[at + 1]) ||
        w[at + 1].number > 120 || (unit && strcmp(unit, "year") != 0))
        return false;
    while (i > from && word_among(&w[i - 1], "is are be must not may shall should was"))
        i--;
    return i > from && word_among(&w[i - 1], people);
}

bool words_tell_age(const struct word *w, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        if (word_among(&w[i], "older younger aged age adult adults minor minors old") ||
            (word_among(&w[i], "under over above below") && ages(w, from, to, i)) ||
            (i > from + 1 && word_is(&w[i], "+") && ages(w, from, to, i - 2)))
            return true;
    return false;
}

/* Whether a name's word may be missing because something else says it. */
static bool implied(const struct word *name, const struct word *w, size_t from, size_t to)
{
    if (strcmp(name->stem, "age") == 0 || word_among(name, "age aged"))
        return words_tell_age(w, from, to);
    return unit_days(unit_of(name)) > 0 && any_duration(w, from, to);
}

bool fact_named(const struct fact *f, const struct word *w, size_t from, size_t to, bool loose)
{
    size_t held = 0;

    for (size_t i = 0; i < f->name_n; i++) {
        if (word_find(w + from, to - from, &f->name[i]) < to - from)
            held++;
        else if (implied(&f->name[i], w, from, to))
            held += strcmp(f->name[i].stem, "age") == 0 || word_is(&f->name[i], "age");
        else if (!loose || !(f->loose >> i & 1))
            return false;
    }
    return held > 0;
}

bool fact_stated(const struct fact *f, const struct word *w, size_t from, size_t to)
{
    bool stated = false, subject = false;

    for (size_t i = from + 1; i < to; i++)
        subject = subject || (word_among(&w[i], "must shall should may can cannot is are") &&
                              word_find(f->name, f->name_n, &w[i - 1]) < f->name_n);
    for (size_t i = 0; i < f->name_n; i++) {
        bool here = word_find(w + from, to - from, &f->name[i]) < to - from;

        if (!here && !word_among(&f->name[i], "status state"))
            return false;
        stated = stated || !here;
    }
    return stated && subject && f->name_n > 1;
}

double fact_distance(const struct fact *f, const struct word *w, size_t from, size_t to, size_t at)
{
    double best = 1000;

    for (size_t i = from; i < to; i++) {
        double d = i > at ? (double)(i - at) : (double)(at - i) + 0.5;

        if (i != at && word_find(f->name, f->name_n, &w[i]) < f->name_n && d < best)
            best = d;
    }
    return best;
}

/* Whether the value ends at w[at] within the range, and is not part of a longer one. */
static bool valued_at(const struct fact *f, const struct word *w, size_t from, size_t to, size_t at)
{
    size_t k = f->value_n, i = at + 1;

    while (k > 0) {
        if (i == from)
            return false;
        i--;
        if (w[i].kind == WORD_MARK && word_among(&w[i], "( ) -"))
            continue;
        if (!word_same(&w[i], &f->value[k - 1]))
            return false;
        k--;
    }
    (void)to;
    return i == from || word_find(f->before, f->before_n, &w[i - 1]) == f->before_n;
}

bool fact_valued(const struct fact *f, const struct word *w, size_t from, size_t to)
{
    for (size_t i = from; f->value_n > 0 && i < to; i++)
        if (valued_at(f, w, from, to, i))
            return true;
    return false;
}

bool fact_contrasts(const struct fact *f, const struct word *w, size_t from, size_t to)
{
    if (f->value_n == 0 || fact_valued(f, w, from, to))
        return false;
    for (size_t i = from; i < to; i++) {
        if (word_find(f->others, f->other_n, &w[i]) < f->other_n)
            return true;
        /* The value itself, but as part of a longer one. */
        if (i > from && word_find(f->before, f->before_n, &w[i - 1]) < f->before_n &&
            word_same(&w[i], &f->value[0]))
            return true;
    }
    return false;
}

bool fact_present(const struct fact *f)
{
    if (f->is_bool)
        return f->yes;
    if (f->field->value.kind == POLICY_NUMBER)
        return fabs(f->number) > 0;
    return !f->none;
}
