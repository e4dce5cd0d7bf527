/* noun.c - the words that name a thing. See facts.h.
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
#define REQUESTS                                                                                   \
    "application applications claim claims request requests order orders reservation "             \
    "reservations booking bookings submission submissions"

bool noun_insert(struct noun *n, size_t place, const struct word *w)
{
    if (n->n == NOUN_WORDS_MAX)
        return false;
    memmove(&n->words[place + 1], &n->words[place], (n->n - place) * sizeof n->words[0]);
    n->words[place] = w;
    n->n++;
    return true;
}

bool noun_join(struct noun *n, const struct noun *more)
{
    for (size_t i = 0; i < more->n; i++)
        if (!noun_insert(n, n->n, more->words[i]))
            return false;
    n->counted = n->counted || more->counted;
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

void noun_drop_request(struct noun *n)
{
    if (n->n == 1 && word_among(n->words[0], REQUESTS))
        n->drop = 1;
}

bool word_names_person(const struct word *w)
{
    return word_among(w, PERSONS);
}

bool noun_is_person(const struct noun *n)
{
    return n->n == 1 && !n->counted && word_names_person(n->words[0]);
}

bool noun_has(const struct noun *n, const struct word *w)
{
    for (size_t i = 0; i < n->n; i++)
        if (noun_word_same(n->words[i], w) || word_same(n->words[i], w))
            return true;
    return false;
}

static const char *const plurals[][2] = {
    {"children", "child"}, {"people", "person"}, {"women", "woman"}, {"men", "man"}};

/* A plural's singular; of "parties" and "party" without their ends. Gives the word's size. */
static size_t noun_singular(const char **word, bool *y)
{
    const char *s = *word;
    size_t n;

    for (size_t i = 0; i < COUNT_OF(plurals); i++)
        if (strcmp(s, plurals[i][0]) == 0)
            *word = s = plurals[i][1];
    n = strlen(s);
    *y = (n > 4 && strcmp(s + n - 3, "ies") == 0) ||
         (n > 3 && s[n - 1] == 'y' && !strchr("aeiou", s[n - 2]));
    if (*y)
        return s[n - 1] == 'y' ? n - 1 : n - 3;
    if (n > 4 && (strcmp(s + n - 4, "sses") == 0 || strcmp(s + n - 3, "xes") == 0 ||
                  strcmp(s + n - 4, "ches") == 0 || strcmp(s + n - 4, "shes") == 0))
        return n - 2;
    return n > 3 && s[n - 1] == 's' && !strchr("sui", s[n - 2]) ? n - 1 : n;
}

bool noun_word_same(const struct word *a, const struct word *b)
{
    const char *x = a->lower, *y = b->lower;
    bool ends_x, ends_y;
    size_t n = noun_singular(&x, &ends_x), m = noun_singular(&y, &ends_y);

    if (a->kind == WORD_NUMBER && b->kind == WORD_NUMBER)
        return word_same(a, b);
    return a->kind == b->kind && n == m && ends_x == ends_y && memcmp(x, y, n) == 0;
}

bool word_is_plural(const struct word *w)
{
    const char *s = w->lower;
    bool y;

    return noun_singular(&s, &y) < w->size && w->lower[w->size - 1] != 'y';
}

bool noun_same(const struct noun *a, const struct noun *b)
{
    for (size_t i = 0; i < a->n && i < b->n; i++)
        if (!noun_word_same(a->words[i], b->words[i]))
            return false;
    return a->n == b->n;
}
