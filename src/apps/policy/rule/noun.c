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

size_t noun_find(const struct noun *n, const struct word *w)
{
    size_t i = 0;

    while (i < n->n && !word_same_singular(n->words[i], w) && !word_same(n->words[i], w))
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
        if (!word_same_singular(a->words[i], b->words[i]))
            return false;
    return a->n == b->n;
}
