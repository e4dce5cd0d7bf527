/* lead.c - the filter: one pass over a text, three instructions a byte.
 *
 * Shift-and, with 16 buckets of four bits in a word: bit 4*b+k of the state says that the last k+1
 * bytes may begin a lead of bucket b. A bucket's leads share their bits, so it may point out what
 * is none of them; whoever is told looks again. Bits that are shifted out of a bucket come in where
 * the next one begins, and every beginning is set anyway.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "mask/internal.h"

#define BEGINS 0x1111111111111111u
#define ENDS 0x8888888888888888u

static bool lead_char_is(char lead, char c)
{
    if (lead == '~')
        return true;
    if (lead == '#')
        return mask_is_digit(c);
    if (lead == '^')
        return c >= 'A' && c <= 'Z';
    if (lead >= 'a' && lead <= 'z')
        return mask_is_alpha(c) && (c | 32) == lead;
    return lead == c;
}

bool mask_lead_is(const char *lead, str s, size_t end)
{
    for (size_t k = 0; k < 4; k++)
        if (end + k >= 3 ? !lead_char_is(lead[k], s.p[end + k - 3]) : lead[k] != '~')
            return false;
    return true;
}

static void add_lead(struct mask_leads *l, const char *lead, size_t bucket)
{
    bool any = true;

    for (size_t k = 0; k < 4; k++) {
        uint64_t bit = (uint64_t)1 << (4 * bucket + k);

        any = any && lead[k] == '~';
        if (any)
            l->begin |= bit;
        for (int c = 0; c < 256; c++)
            if (lead_char_is(lead[k], (char)c))
                l->tab[c] |= bit;
    }
}

void mask_leads_init(struct mask_leads *l, unsigned groups)
{
    size_t n = 0;

    memset(l, 0, sizeof *l);
    l->rows = base_alloc((mask_row_count + 1) * sizeof(const struct mask_row *));
    for (size_t i = 0; i < mask_row_count; i++)
        if (mask_rows[i].group & groups)
            l->rows[n++] = &mask_rows[i];
    l->row_count = n;
    for (size_t i = 0; i < n; i++) {
        size_t bucket = i * MASK_BUCKETS / n;

        add_lead(l, l->rows[i]->lead, bucket);
        for (size_t b = bucket + 1; b <= MASK_BUCKETS; b++)
            l->first[b] = i + 1;
    }
}

void mask_leads_release(struct mask_leads *l)
{
    free((void *)(uintptr_t)l->rows);
}

static inline uint64_t step(const struct mask_leads *l, uint64_t state, char c)
{
    return (state << 1 | BEGINS) & l->tab[(unsigned char)c];
}

bool mask_leads_next(const struct mask_leads *l, str s, size_t from, size_t *end, unsigned *buckets)
{
    /* Three bytes before, so that what began there is seen to end here. */
    size_t i = from > 3 ? from - 3 : 0;
    uint64_t state = i == 0 ? l->begin : 0;

    for (; i < from; i++)
        state = step(l, state, s.p[i]);
    while (i < s.n) {
        uint64_t was = state, seen = 0;
        size_t block = s.n - i >= 16 ? 16 : s.n - i;

        if (block == 16) {
            for (size_t k = 0; k < 16; k++)
                seen |= state = step(l, state, s.p[i + k]);
        } else {
            for (size_t k = 0; k < block; k++)
                seen |= state = step(l, state, s.p[i + k]);
        }
        if (seen & ENDS) {
            for (state = was;; i++)
                if ((state = step(l, state, s.p[i])) & ENDS)
                    break;
            *end = i;
            *buckets = 0;
            for (unsigned b = 0; b < MASK_BUCKETS; b++)
                *buckets |= (unsigned)(state >> (4 * b + 3) & 1) << b;
            return true;
        }
        i += block;
    }
    return false;
}
