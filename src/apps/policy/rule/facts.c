/* facts.c - see facts.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/rule/facts.h"

/* Who a case is about. A rule about any other person needs a fact that names this person. */
#define PERSONS                                                                                    \
    "applicant applicants patient patients member members customer customers client clients user " \
    "users person persons individual individuals employee employees insured policyholder "         \
    "policyholders borrower borrowers driver drivers candidate candidates participant "            \
    "participants claimant claimants cardholder cardholders people"

#define FACT_NAME_MAX 1000    /* bytes */
#define FACT_WORDS_MAX 48     /* of a name with its articles and marks */
#define FACT_QUANTITY_MAX 400 /* bytes of a number with its unit */

/* ---- nouns ---- */

bool noun_insert(struct noun *n, size_t place, const struct word *w)
{
    assert(place <= n->n && n->n <= NOUN_WORDS_MAX);
    if (n->n == NOUN_WORDS_MAX)
        return false;
    memmove(&n->words[place + 1], &n->words[place], (n->n - place) * sizeof n->words[0]);
    n->words[place] = w;
    n->n++;
    return true;
}

bool noun_imply(struct noun *n, const char *text, struct arena *a)
{
    struct word *w = arena_zero(a, 1, sizeof *w);

    word_set(w, str_c(text));
    return noun_insert(n, n->n, w);
}

void noun_finish(struct noun *n)
{
    const struct word *first = n->words[0];

    assert(n->n > 0 && n->n <= NOUN_WORDS_MAX);
    /* "The number of rooms", "the room count", but not "the room number". */
    if (n->n > 1 && (word_is(n->words[n->n - 1], "count") ||
                     (word_is(n->words[n->n - 1], "number") && n->words[n->n - 1] < first))) {
        n->counted = true;
        n->n--;
    }
    /* The applicant's income, the income of applicants; but a member fee is not any fee. */
    n->drop = word_names_person(first) &&
              (n->n == 1 || n->words[1] < first || first->to - first->from > first->size);
}

struct noun noun_without_person(const struct noun *n)
{
    struct noun out = *n;

    assert(n->drop <= n->n && n->n <= NOUN_WORDS_MAX);
    out.n -= n->drop;
    memmove(out.words, out.words + n->drop, out.n * sizeof out.words[0]);
    return out;
}

bool word_names_person(const struct word *w)
{
    return word_among(w, PERSONS);
}

bool noun_is_person(const struct noun *n)
{
    return n->n == 1 && !n->counted && word_names_person(n->words[0]);
}

size_t noun_find(const struct noun *n, const struct word *w)
{
    size_t i = 0;

    while (i < n->n && !word_same(n->words[i], w))
        i++;
    return i;
}

bool noun_has(const struct noun *n, const struct word *w)
{
    return noun_find(n, w) < n->n;
}

bool noun_same(const struct noun *a, const struct noun *b)
{
    for (size_t i = 0; i < a->n && i < b->n; i++)
        if (!word_same(a->words[i], b->words[i]))
            return false;
    return a->n == b->n;
}

/* ---- facts ---- */

/* The last word of a name may be its unit; "visits_per_year" and "fees_last_30_days" have units
 * that belong to the name. */
static const struct unit *facts_name_unit(const struct noun *n)
{
    const struct unit *last = NULL;
    size_t units = 0, took;

    for (size_t i = 0; i < n->n; i++) {
        last = unit_read(n->words[i], 1, &took);
        units += last != NULL;
        if (n->words[i]->kind == WORD_NUMBER || word_is(n->words[i], "per"))
            return NULL;
    }
    return n->n > 1 && units == 1 ? last : NULL;
}

static void facts_read_name(struct fact *f, struct arena *scratch, struct arena *a)
{
    struct noun *name = &f->name;
    struct word *w, *kept;
    size_t n, place = 0;

    if (f->field->name.n > FACT_NAME_MAX)
        return; /* a name that is too long names nothing */
    arena_reset(scratch);
    n = words_of_full_name(f->field->name, scratch, &w);
    if (n > FACT_WORDS_MAX)
        return;
    kept = arena_alloc(a, (n + 1) * sizeof kept[0]);
    for (size_t i = 0; i < n; i++) {
        kept[i] = w[i];
        if (word_is(&w[i], "of")) {
            place = 0;
        } else if (!word_among(&w[i], "a an the") && !noun_insert(name, place++, &kept[i])) {
            name->n = 0;
            return;
        }
    }
    assert(place <= name->n && name->n <= NOUN_WORDS_MAX);
    if (name->n > 0)
        noun_finish(name);
    name->drop = 0;
    f->unit = facts_name_unit(name);
    name->n -= f->unit != NULL;
}

/* Whether a text is one of some words. */
static bool fact_text_is(const struct policy_value *v, const char *names)
{
    struct word w = {0};

    word_set(&w, str_trim(v->text));
    return v->kind == POLICY_TEXT && word_among(&w, names);
}

void case_facts_read(struct facts *out, const struct policy_case *c, double floor, struct arena *a)
{
    struct fact *all = arena_zero(a, c->field_count + 1, sizeof all[0]);
    struct arena scratch;

    *out = (struct facts){.all = all};
    arena_init(&scratch, WORDS_ARENA_MAX);
    for (size_t i = 0; i < c->field_count; i++) {
        const struct policy_value *v = &c->fields[i].value;
        struct fact *f = &all[out->n++];

        *f = (struct fact){.field = &c->fields[i], .unsure = c->fields[i].confidence < floor};
        facts_read_name(f, &scratch, a);
        f->empty = f->name.n == 0 || v->kind == POLICY_NULL || v->kind == POLICY_MAP ||
                   (v->kind == POLICY_TEXT && str_trim(v->text).n == 0) ||
                   fact_text_is(v, "unknown n/a na ? - tbd null");
    }
    arena_release(&scratch);
}

static bool fact_follows(const struct fact *f, struct noun n)
{
    assert(f->name.n <= NOUN_WORDS_MAX && n.n <= NOUN_WORDS_MAX);
    /* "Page" is no number of pages. */
    return n.n > 0 && noun_same(&f->name, &n) &&
           (!n.counted || f->name.counted ||
            word_is(n.words[n.n - 1], f->name.words[n.n - 1]->lower));
}

bool fact_is_named(const struct fact *f, const struct noun *n, bool *dropped)
{
    bool whole = fact_follows(f, *n);

    if (!whole && !fact_follows(f, noun_without_person(n)))
        return false;
    *dropped = *dropped || !whole;
    return true;
}

enum truth fact_says(const struct fact *f)
{
    const struct policy_value *v = &f->field->value;

    if (v->kind == POLICY_BOOL && !f->name.counted)
        return v->yes ? TRUTH_YES : TRUTH_NO;
    return fact_text_is(v, "yes true y") ? TRUTH_YES
           : fact_text_is(v, "no false n none absent missing") ||
                   (v->kind == POLICY_LIST && v->count == 0)
               ? TRUTH_NO
               : TRUTH_UNKNOWN;
}

/* Whether the whole text is a quantity. */
static bool fact_text_quantity(str text, struct quantity *out)
{
    struct arena scratch;
    struct word *w;
    bool ok;
    size_t n;

    if (text.n > FACT_QUANTITY_MAX)
        return false;
    arena_init(&scratch, WORDS_ARENA_MAX);
    n = words_of(text, &scratch, &w);
    ok = n > 0 && quantity_read(w, n, out) == n;
    arena_release(&scratch);
    return ok;
}

bool fact_quantity(const struct fact *f, struct quantity *out)
{
    const struct policy_value *v = &f->field->value;

    *out = (struct quantity){.number = v->number};
    if (v->kind == POLICY_TEXT) {
        if (!fact_text_quantity(v->text, out))
            return false;
    } else if (v->kind != POLICY_NUMBER) {
        return false;
    }
    if (out->unit && f->unit && out->unit != f->unit)
        return false;
    if (!out->unit && unit_has(f->unit, UNIT_PERCENT) && out->number > 0 && out->number <= 1)
        return false; /* 0.2 may be 20 % */
    out->unit = out->unit ? out->unit : f->unit;
    if (f->unit && unit_is_year(f->unit) && out->number >= 1000)
        return false; /* a year, and no number of years */
    return !(out->date && out->unit) && !(f->name.counted && out->unit);
}
