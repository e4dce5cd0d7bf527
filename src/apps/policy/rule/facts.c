/* facts.c - see facts.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/rule/facts.h"

#include <strings.h>

/* A plural's singular, without the y of "parties" and "party"; the word's size. */
static size_t noun_singular(const char *s, size_t n, bool *y)
{
    *y = (n > 4 && strcmp(s + n - 3, "ies") == 0) ||
         (n > 3 && s[n - 1] == 'y' && !strchr("aeiou", s[n - 2]));
    if (*y)
        return s[n - 1] == 'y' ? n - 1 : n - 3;
    if (n > 4 && (strcmp(s + n - 4, "sses") == 0 || strcmp(s + n - 3, "xes") == 0 ||
                  strcmp(s + n - 4, "ches") == 0 || strcmp(s + n - 4, "shes") == 0))
        return n - 2;
    return n > 3 && s[n - 1] == 's' && !strchr("sui", s[n - 2]) ? n - 1 : n;
}

static const char *const plurals[][2] = {
    {"children", "child"}, {"people", "person"}, {"women", "woman"}, {"men", "man"}};

static const char *noun_lower(const struct word *w)
{
    for (size_t i = 0; i < COUNT_OF(plurals); i++)
        if (strcmp(w->lower, plurals[i][0]) == 0)
            return plurals[i][1];
    return w->lower;
}

bool noun_word_same(const struct word *a, const struct word *b)
{
    const char *x = noun_lower(a), *y = noun_lower(b);
    bool ends_x, ends_y;
    size_t n = noun_singular(x, strlen(x), &ends_x), m = noun_singular(y, strlen(y), &ends_y);

    if (a->kind == WORD_NUMBER && b->kind == WORD_NUMBER)
        return word_same(a, b);
    return a->kind == b->kind && n == m && ends_x == ends_y && memcmp(x, y, n) == 0;
}

bool word_is_plural(const struct word *w)
{
    for (size_t i = 0; i < COUNT_OF(plurals); i++)
        if (word_is(w, plurals[i][0]))
            return true;
    return w->size > 3 && w->lower[w->size - 1] == 's' && !strchr("sui", w->lower[w->size - 2]);
}

/* Whether one of a name's words is its unit: "visits_per_year" and "fees_last_30_days" have
 * units that belong to the name. */
static bool facts_name_has_unit(const struct fact *f, const struct word *w, size_t n)
{
    size_t units = 0, numbers = 0, took;

    for (size_t i = 0; i < n; i++) {
        units += unit_read(&w[i], 1, &took) != NULL;
        numbers += w[i].kind == WORD_NUMBER;
    }
    return n > 1 && units == 1 && numbers == 0 && str_find(f->field->key, STR("_per_")) == STR_NONE;
}

/* Whether a name says more than which thing it is about: "gifts_to_suppliers" are no gifts from
 * them, "guests_per_room" no guests, and "weight_from" is one end of a range. */
static bool facts_name_relates(const struct word *w, size_t n)
{
    size_t took;

    for (size_t i = 0; i < n; i++)
        if (word_among(&w[i],
                       "was were had did his her their if or from by for with on at in and any all "
                       "each") ||
            (word_is(&w[i], "to") && !word_is(&w[n - 1], "ratio")) ||
            (word_is(&w[i], "per") && (i + 1 == n || !unit_read(&w[i + 1], 1, &took))))
            return true;
    return false;
}

/* The name without "number of" and its unit; none if it relates several things. */
static void facts_read_name(struct fact *f, struct arena *a)
{
    struct word *all;
    size_t n = words_of_full_name(f->field->name, a, &all), kept = 0, took;
    bool has_unit;

    if (facts_name_relates(all, n))
        return;
    for (size_t i = 1; i < n && !f->of; i++)
        f->of = word_is(&all[i], "of") && !word_is(&all[i - 1], "number") ? i : 0;
    n = words_of_name(f->field->name, a, &all);
    has_unit = facts_name_has_unit(f, all, n);

    for (size_t i = 0; i < n; i++) {
        const struct unit *u = unit_read(&all[i], 1, &took);

        /* A room number is no number of rooms. */
        if (n > 1 && (word_is(&all[i], "count") || (i == 0 && word_is(&all[i], "number")))) {
            f->counted = true;
            continue;
        }
        if (u && has_unit && (i + 1 == n || i == 0)) {
            f->unit = u;
            continue;
        }
        all[kept++] = all[i];
    }
    f->name = all;
    f->name_n = kept;
}

static bool facts_text_among(const struct policy_value *v, const char *const *texts, size_t n)
{
    str s = str_trim(v->text);

    for (size_t i = 0; v->kind == POLICY_TEXT && i < n; i++)
        if (strlen(texts[i]) == s.n && strncasecmp(texts[i], s.p, s.n) == 0)
            return true;
    return false;
}

static bool fact_says_nothing(const struct policy_value *v)
{
    static const char *const texts[] = {"", "unknown", "n/a", "na", "?", "-", "tbd", "null"};

    return v->kind == POLICY_NULL || v->kind == POLICY_MAP ||
           facts_text_among(v, texts, COUNT_OF(texts));
}

void case_facts_read(struct facts *out, const struct policy_case *c, double floor, struct arena *a)
{
    size_t cap = c->field_count < FACTS_MAX ? c->field_count : FACTS_MAX;
    struct fact *all = arena_zero(a, cap + 1, sizeof all[0]);

    *out = (struct facts){.all = all, .arena = a};
    for (size_t i = 0; i < cap; i++) {
        struct fact *f = &all[out->n];

        *f = (struct fact){.field = &c->fields[i], .unsure = c->fields[i].confidence < floor};
        facts_read_name(f, a);
        f->empty = f->name_n == 0 || fact_says_nothing(&c->fields[i].value);
        out->n++;
    }
}

static bool fact_named_by(const struct fact *f, const struct word *w)
{
    for (size_t i = 0; i < f->name_n; i++)
        if (noun_word_same(&f->name[i], w))
            return true;
    return false;
}

static bool noun_has(const struct noun *n, const struct word *w, uint32_t without)
{
    if (n->also && strcmp(w->lower, n->also) == 0)
        return true;
    for (size_t i = 0; i < n->n; i++)
        if (!(without >> i & 1) && noun_word_same(n->words[i], w))
            return true;
    return false;
}

/* Whether a name, read from one of its words on and around, has the words of a noun, read in the
 * same way, in their order. */
static bool fact_follows_from(const struct fact *f, size_t name_at, const struct noun *n,
                              size_t noun_at)
{
    size_t k = 0;

    for (size_t i = 0; i <= n->n && k < f->name_n; i++) {
        const struct word *w = &f->name[(name_at + k) % f->name_n];

        if (n->also && strcmp(w->lower, n->also) == 0) {
            if (++k == f->name_n)
                break;
            w = &f->name[(name_at + k) % f->name_n];
        }
        k += i < n->n && noun_word_same(n->words[(noun_at + i) % n->n], w);
    }
    return k == f->name_n;
}

/* Whether a name has the noun's words in their order. "The purpose of imaging" is the imaging
 * purpose, and an electric vehicle is a vehicle that is electric; but a dog house has no dogs. */
static bool fact_follows(const struct fact *f, const struct noun *n)
{
    for (size_t value = 0; value <= (n->values > 0); value++) {
        size_t noun_at = value ? n->n - n->values : 0;

        if ((!(f->of && n->drop) && fact_follows_from(f, 0, n, noun_at)) ||
            (f->of && fact_follows_from(f, f->of, n, noun_at)))
            return true;
    }
    return false;
}

/* "Page" is no number of pages. */
static bool fact_counts(const struct fact *f, const struct noun *n)
{
    const struct word *last = f->name_n > 0 ? &f->name[f->name_n - 1] : NULL;

    if (!last || f->counted || n->n < 2 || !word_is(n->words[0], "number"))
        return true;
    for (size_t i = 1; i < n->n; i++)
        if (strcmp(n->words[i]->lower, last->lower) == 0)
            return true;
    return false;
}

/* Whether the words of both are the same, without some of the noun's. */
static bool fact_binds(const struct fact *f, const struct noun *n, uint32_t without)
{
    bool also = !n->also;

    for (size_t i = 0; i < n->n; i++)
        if (!((without | n->neutral) >> i & 1) && !word_among(n->words[i], "number count") &&
            !fact_named_by(f, n->words[i]))
            return false;
    for (size_t i = 0; i < f->name_n; i++) {
        if (!noun_has(n, &f->name[i], without))
            return false;
        also = also || strcmp(f->name[i].lower, n->also) == 0;
    }
    return also && fact_follows(f, n) && fact_counts(f, n);
}

size_t facts_bind(const struct facts *f, const struct noun *n, const struct fact *out[BOUND_MAX],
                  bool *dropped)
{
    size_t count = 0;

    *dropped = false;
    for (size_t i = 0; i < f->n && count < BOUND_MAX; i++) {
        bool whole = fact_binds(&f->all[i], n, 0);

        if (f->all[i].empty || (!whole && (!n->drop || !fact_binds(&f->all[i], n, n->drop))))
            continue;
        *dropped = *dropped || !whole;
        out[count++] = &f->all[i];
    }
    return count;
}

bool fact_is_named(const struct fact *f, const struct noun *n)
{
    return f->name_n > 0 && (fact_binds(f, n, 0) || (n->drop != 0 && fact_binds(f, n, n->drop)));
}

enum said fact_says(const struct fact *f)
{
    static const char *const yes[] = {"yes", "true", "y"};
    static const char *const no[] = {
        "no", "false", "n", "none", "absent", "missing", "not provided", "not present"};
    const struct policy_value *v = &f->field->value;

    if (v->kind == POLICY_BOOL)
        return f->counted ? SAID_ELSE : v->yes ? SAID_YES : SAID_NO;
    if (v->kind == POLICY_LIST && v->count == 0)
        return SAID_NO;
    return facts_text_among(v, yes, COUNT_OF(yes)) ? SAID_YES
           : facts_text_among(v, no, COUNT_OF(no)) ? SAID_NO
                                                   : SAID_ELSE;
}

bool fact_quantity(const struct fact *f, struct arena *a, struct quantity *out)
{
    const struct policy_value *v = &f->field->value;
    struct word *w;
    size_t n;
    str text = str_trim(v->text);

    *out = (struct quantity){.number = v->number};
    if (v->kind == POLICY_TEXT) {
        if (text.n > 10 && text.p[10] == 'T' && text.p[4] == '-') {
            /* A day and its time; in another time zone it may be another day. */
            for (size_t i = 11; i < text.n; i++)
                if (!memchr("0123456789:", text.p[i], 11))
                    return false;
            text = str_slice(text, 0, 10);
        }
        n = words_of(text, a, &w);
        if (n == 0 || quantity_read(w, n, out) != n)
            return false;
    } else if (v->kind != POLICY_NUMBER) {
        return false;
    }
    if (out->unit && f->unit && out->unit != f->unit)
        return false;
    if (!out->unit && unit_is_percent(f->unit) && out->number > 0 && out->number <= 1)
        return false; /* 0.2 may be 20 % */
    out->unit = out->unit ? out->unit : f->unit;
    if (f->unit && unit_is_year(f->unit) && out->number >= 1000)
        return false; /* a year, and no number of years */
    return !(out->date && out->unit) && !(f->counted && out->unit);
}
