/* lead.h - the filter: finds the places of a text where a rule may match, in one pass.
 *
 *     mask_hits_init(&hits, from);
 *     while ((hit = mask_hits_next(&m->leads, text, from, &hits))) ...   from may go on ahead
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/simd.h"
#include "base/str.h"

struct mask_row;

#define MASK_BUCKETS 16

/* A lead as a word of four bytes: OR with `set`, AND with `keep`, compare with `want`. */
struct mask_lead_word {
    uint32_t set, keep, want;
    bool plain; /* the word decides: the lead has no class of digits or capitals */
};

struct mask_leads {
    uint64_t tab[256];
    uint64_t begin;                 /* the state before a text */
    size_t first[MASK_BUCKETS + 1]; /* rows of a bucket, in `rows` */
    const struct mask_row **rows;
    struct mask_lead_word *words; /* of the rows */
    size_t row_count;
    enum simd_level level;
    uint8_t halves[4][2][32]; /* buckets of each byte of a lead, by its lower and its upper half */
};

void mask_leads_init(struct mask_leads *l, unsigned groups);
void mask_leads_release(struct mask_leads *l);

/* A place where the four bytes of some lead end: its index, and one bit for each bucket, the last
 * of its four. */
struct mask_hit {
    size_t end;
    uint64_t ends;
};

#define MASK_HITS 32 /* searched at once; half of them is enough */

/* The hits of a text, from one place to the next. Only `at` needs to be initialized. */
struct mask_hits {
    size_t at; /* the search has reached it */
    size_t next, n;
    struct mask_hit hit[MASK_HITS];
};

static inline void mask_hits_init(struct mask_hits *h, size_t from)
{
    h->at = from;
    h->next = h->n = 0;
}

/* The first hit from there on, or NULL; for when all found ones are used up. */
const struct mask_hit *mask_hits_more(const struct mask_leads *l, str s, size_t from,
                                      struct mask_hits *h);

/* The first hit from `from` on, or NULL; `from` must not decrease. */
static inline const struct mask_hit *mask_hits_next(const struct mask_leads *l, str s, size_t from,
                                                    struct mask_hits *h)
{
    while (h->next < h->n)
        if (h->hit[h->next++].end >= from)
            return &h->hit[h->next - 1];
    return mask_hits_more(l, s, from, h);
}

/* The bucket of the lowest bit. */
static inline size_t mask_bucket(uint64_t ends)
{
    return (size_t)__builtin_ctzll(ends) / 4;
}

/* Compares the characters: whether the lead of a row in `rows` ends there. */
bool mask_lead_spelled(const struct mask_leads *l, size_t row, str s, size_t end);

/* The same, decided by the word where possible. */
static inline bool mask_lead_is(const struct mask_leads *l, size_t row, str s, size_t end)
{
    const struct mask_lead_word *w = &l->words[row];
    uint32_t word;

    if (end >= 3) {
        memcpy(&word, s.p + end - 3, sizeof word);
        if (((word | w->set) & w->keep) != w->want)
            return false;
        if (w->plain)
            return true;
    }
    return mask_lead_spelled(l, row, s, end);
}
/* Where to continue after a lead that did not match. No rule begins inside a number: rules for
 * digits start at the first one. */
size_t mask_go_on(str s, size_t end);
