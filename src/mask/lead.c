/* lead.c - the filter: one pass over a text.
 *
 * Shift-and, with 16 buckets of four bits in a word: bit 4*b+k of the state says that the last k+1
 * bytes may begin a lead of bucket b. The leads of a bucket share their bits, so a hit may match
 * none of them; the caller checks it. The grouping of leads keeps false hits rare, by the frequency
 * of characters in texts. Bits that are shifted out of a bucket enter the first bit of the next
 * one, which is always set anyway.
 *
 * With AVX2, 16 positions are checked at once. A byte is looked up by its lower and its upper half,
 * which passes more than the whole byte would; the positions that pass are checked byte by byte.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "mask/internal.h"

#define BEGINS 0x1111111111111111u
#define ENDS 0x8888888888888888u
#define CHOICES 2 /* rounds of assigning leads to buckets */
#define AHEAD 256 /* bytes searched after a hit, because the caller may skip them */

static bool lead_char_is(char lead, char c)
{
    if (lead == '~')
        return true;
    if (lead == '#')
        return char_is_digit(c);
    if (lead == '^')
        return c >= 'A' && c <= 'Z';
    if (lead >= 'a' && lead <= 'z')
        return char_is_letter(c) && (c | 32) == lead;
    return lead == c;
}

static bool lead_is(const char *lead, str s, size_t end)
{
    for (size_t k = 0; k < 4; k++)
        if (end + k >= 3 ? !lead_char_is(lead[k], s.p[end + k - 3]) : lead[k] != '~')
            return false;
    return true;
}

bool mask_lead_spelled(const struct mask_leads *l, size_t row, str s, size_t end)
{
    return lead_is(l->rows[row]->lead, s, end);
}

static struct mask_lead_word lead_word(const char *lead)
{
    struct mask_lead_word w = {.plain = true};
    unsigned char set[4], keep[4], want[4];

    for (size_t k = 0; k < 4; k++) {
        char c = lead[k];
        bool kind = c == '#' || c == '^', letter = c >= 'a' && c <= 'z';

        w.plain &= !kind;
        set[k] = letter ? 32 : 0;
        keep[k] = c == '~' || kind ? 0 : 255;
        want[k] = keep[k] ? (unsigned char)c : 0;
    }
    memcpy(&w.set, set, sizeof w.set);
    memcpy(&w.keep, keep, sizeof w.keep);
    memcpy(&w.want, want, sizeof w.want);
    return w;
}

/* Approximate frequency of each character in texts, per 1000. A row for each upper half of a byte;
 * bytes that are not ASCII do not count. */
static const unsigned char frequency[8][16] = {
    {[10] = 20},
    {0},
    {150, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4},
    {5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 4, 4, 4, 4, 4, 4},
    {4, 5, 1, 2, 3, 7, 2, 2, 3, 4, 1, 1, 3, 2, 4, 4},
    {2, 1, 4, 4, 5, 2, 1, 1, 1, 1, 1, 4, 4, 4, 4, 4},
    {4, 65, 12, 28, 32, 102, 18, 16, 40, 57, 2, 7, 33, 20, 56, 60},
    {17, 1, 50, 53, 72, 22, 8, 14, 2, 14, 1, 4, 4, 4, 4, 0},
};

/* For each of four positions: which halves of bytes occur, one bit each, and the summed frequency
 * of all bytes made of two such halves. A byte is first looked up by its halves, so all of these
 * bytes pass. */
struct mask_halves {
    unsigned lower[4], upper[4];
    unsigned sum[4];
};

static unsigned mask_halves_sum(unsigned lower, unsigned upper)
{
    unsigned sum = 0;

    for (upper &= (1U << COUNT_OF(frequency)) - 1; upper; upper &= upper - 1)
        for (unsigned left = lower; left; left &= left - 1)
            sum += frequency[__builtin_ctz(upper)][__builtin_ctz(left)];
    return sum;
}

static void mask_halves_add(struct mask_halves *h, const struct mask_halves *more)
{
    for (size_t k = 0; k < 4; k++) {
        unsigned lower = h->lower[k] | more->lower[k], upper = h->upper[k] | more->upper[k];

        if (lower == h->lower[k] && upper == h->upper[k])
            continue;
        h->sum[k] = lower == more->lower[k] && upper == more->upper[k]
                        ? more->sum[k]
                        : mask_halves_sum(lower, upper);
        h->lower[k] = lower;
        h->upper[k] = upper;
    }
}

static struct mask_halves mask_halves_of(const char *lead)
{
    struct mask_halves h = {.lower = {0}};

    for (size_t k = 0; k < 4; k++) {
        for (unsigned c = 0; c < 256; c++)
            if (lead_char_is(lead[k], (char)c)) {
                h.lower[k] |= 1U << c % 16;
                h.upper[k] |= 1U << c / 16;
            }
        h.sum[k] = mask_halves_sum(h.lower[k], h.upper[k]);
    }
    return h;
}

/* The estimated share of positions that pass. */
static double mask_halves_pass(const struct mask_halves *h)
{
    double all = 1;

    for (size_t k = 0; k < 4; k++)
        all *= h->sum[k] / 1000.0;
    return all;
}

/* The bucket whose load this lead increases least; `all` has the halves of each bucket. */
static size_t mask_best_bucket(struct mask_halves all[MASK_BUCKETS], double busy[MASK_BUCKETS],
                               const struct mask_halves *own)
{
    struct mask_halves both;
    size_t best = 0;
    double least = 1e9;

    for (size_t b = 0; b < MASK_BUCKETS; b++) {
        double more;

        both = all[b];
        mask_halves_add(&both, own);
        more = mask_halves_pass(&both) - busy[b];
        if (more < least) {
            least = more;
            best = b;
        }
    }
    assert(best < MASK_BUCKETS);
    mask_halves_add(&all[best], own);
    busy[best] = mask_halves_pass(&all[best]);
    return best;
}

static void mask_add_lead(struct mask_leads *l, const char *lead, size_t bucket)
{
    bool any = true;

    assert(strlen(lead) == 4 && bucket < MASK_BUCKETS);
    for (size_t k = 0; k < 4; k++) {
        uint64_t bit = (uint64_t)1 << (4 * bucket + k);

        any = any && lead[k] == '~';
        if (any)
            l->begin |= bit;
        for (int c = 0; c < 256; c++)
            if (lead_char_is(lead[k], (char)c)) {
                l->tab[c] |= bit;
                l->halves[k][0][bucket / 8 * 16 + (unsigned)c % 16] |= (uint8_t)(1u << bucket % 8);
                l->halves[k][1][bucket / 8 * 16 + (unsigned)c / 16] |= (uint8_t)(1u << bucket % 8);
            }
    }
}

struct mask_lead_rank {
    const struct mask_row *row;
    struct mask_halves halves;
    double pass;
    size_t bucket;
};

/* Sorts the leads that pass most often first, so they choose among empty buckets. */
static int mask_by_frequency(const void *a, const void *b)
{
    const struct mask_lead_rank *x = a, *y = b;

    if (x->pass != y->pass)
        return x->pass > y->pass ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

/* The combined halves of a bucket's leads, without one of them. */
static struct mask_halves mask_leads_others(const struct mask_lead_rank *ranks, size_t n,
                                            const struct mask_lead_rank *own)
{
    struct mask_halves h = {.lower = {0}};

    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < 4 && ranks[i].bucket == own->bucket && &ranks[i] != own; k++) {
            h.lower[k] |= ranks[i].halves.lower[k];
            h.upper[k] |= ranks[i].halves.upper[k];
        }
    for (size_t k = 0; k < 4; k++)
        h.sum[k] = mask_halves_sum(h.lower[k], h.upper[k]);
    return h;
}

/* Assigns all leads to buckets. The first leads chose before the others were assigned, so each lead
 * is taken out and chooses again; a third round would gain little. */
static void mask_leads_choose(struct mask_lead_rank *ranks, size_t n)
{
    struct mask_halves all[MASK_BUCKETS] = {{.lower = {0}}};
    double busy[MASK_BUCKETS] = {0};

    for (size_t i = 0; i < n; i++)
        ranks[i].bucket = mask_best_bucket(all, busy, &ranks[i].halves);
    for (size_t i = 0; i < CHOICES * n; i++) {
        struct mask_lead_rank *own = &ranks[i % n];
        size_t b = own->bucket;

        all[b] = mask_leads_others(ranks, n, own);
        busy[b] = mask_halves_pass(&all[b]);
        own->bucket = mask_best_bucket(all, busy, &own->halves);
    }
}

void mask_leads_init(struct mask_leads *l, unsigned groups)
{
    struct mask_lead_rank *ranks = base_alloc((mask_row_count + 1) * sizeof *ranks);
    size_t n = 0, at = 0;

    memset(l, 0, sizeof *l);
    l->rows = base_alloc((mask_row_count + 1) * sizeof(struct mask_row *));
    l->words = base_alloc((mask_row_count + 1) * sizeof *l->words);
    for (size_t i = 0; i < mask_row_count; i++)
        if (mask_rows[i].group & groups) {
            struct mask_halves own = mask_halves_of(mask_rows[i].lead);

            ranks[n++] = (struct mask_lead_rank){&mask_rows[i], own, mask_halves_pass(&own), 0};
        }
    if (n)
        qsort(ranks, n, sizeof *ranks, mask_by_frequency);
    mask_leads_choose(ranks, n);
    for (size_t i = 0; i < n; i++)
        mask_add_lead(l, ranks[i].row->lead, ranks[i].bucket);
    for (size_t b = 0; b < MASK_BUCKETS; b++) {
        for (size_t i = 0; i < n; i++)
            if (ranks[i].bucket == b) {
                l->words[at] = lead_word(ranks[i].row->lead);
                l->rows[at++] = ranks[i].row;
            }
        l->first[b + 1] = at;
    }
    assert(at == n); /* each row is in one bucket */
    l->row_count = n;
    l->level = simd_best();
    free(ranks);
}

void mask_leads_release(struct mask_leads *l)
{
    free((void *)(uintptr_t)l->rows);
    free(l->words);
}

static inline uint64_t mask_lead_step(const struct mask_leads *l, uint64_t state, char c)
{
    return (state << 1 | BEGINS) & l->tab[(unsigned char)c];
}

static void mask_lead_add_hit(struct mask_hits *h, size_t end, uint64_t ends)
{
    assert(h->n < MASK_HITS);
    h->hit[h->n++] = (struct mask_hit){end, ends};
}

/* Finds the first hit up to `to`, byte by byte. */
static void mask_find_plain(const struct mask_leads *l, str s, size_t to, struct mask_hits *h)
{
    assert(h->at <= to && to <= s.n);
    /* Starts three bytes earlier, so that leads that began there are found. */
    size_t i = h->at > 3 ? h->at - 3 : 0;
    uint64_t state = i == 0 ? l->begin : 0;

    for (; i < h->at; i++)
        state = mask_lead_step(l, state, s.p[i]);
    while (i < to && !((state = mask_lead_step(l, state, s.p[i])) & ENDS))
        i++;
    if (i < to)
        mask_lead_add_hit(h, i, state & ENDS);
    h->at = i < to ? i + 1 : to;
}

#if SIMD_HAS_32

/* For each half of a byte: the buckets that have it at position k of a lead. Each half of a vector
 * has half of the buckets. */
struct halves {
    __m256i lower[4], upper[4];
};

SIMD_AVX2 static inline struct halves halves_of(const struct mask_leads *l)
{
    struct halves h;

    for (size_t k = 0; k < 4; k++) {
        h.lower[k] = _mm256_loadu_si256((const __m256i *)(const void *)l->halves[k][0]);
        h.upper[k] = _mm256_loadu_si256((const __m256i *)(const void *)l->halves[k][1]);
    }
    return h;
}

SIMD_AVX2 static inline __m256i mask_lead_match_halves(const struct halves *h, size_t k,
                                                       __m256i lower, __m256i upper)
{
    return _mm256_and_si256(_mm256_shuffle_epi8(h->lower[k], lower),
                            _mm256_shuffle_epi8(h->upper[k], upper));
}

/* The 16 bytes from i on, or those that are left and zeros. */
SIMD_AVX2 static inline __m256i block_at(str s, size_t i)
{
    static const unsigned char down[32] = {0,   1,   2,   3,   4,   5,   6,   7,   8,   9,   10,
                                           11,  12,  13,  14,  15,  128, 128, 128, 128, 128, 128,
                                           128, 128, 128, 128, 128, 128, 128, 128, 128, 128};
    simd16 bytes;

    if (s.n - i >= 16)
        return _mm256_broadcastsi128_si256(simd_load(s.p + i));
    bytes = simd_load((const char *)down + 16 - (s.n - i));
    return _mm256_broadcastsi128_si256(_mm_shuffle_epi8(simd_load(s.p + s.n - 16), bytes));
}

/* The positions from i on where a lead may end, reduced to those where a lead does end. */
SIMD_AVX2 static inline void add_sure(const struct mask_leads *l, str s, size_t i, __m256i may,
                                      struct mask_hits *h)
{
    simd16 both = _mm_or_si128(_mm256_castsi256_si128(may), _mm256_extracti128_si256(may, 1));
    uint32_t bits = ~simd_bits(simd_eq(both, 0)) & 0xFFFF;

    for (; bits; bits &= bits - 1) {
        size_t end = i + (size_t)__builtin_ctz(bits);
        const unsigned char *p = (const unsigned char *)s.p + end - 3;
        uint64_t ends;

        if (end >= s.n)
            break;
        ends = l->tab[p[0]] << 3 & l->tab[p[1]] << 2 & l->tab[p[2]] << 1 & l->tab[p[3]] & ENDS;
        if (ends)
            mask_lead_add_hit(h, end, ends);
    }
}

/* Finds leads that end at h->at or later, 16 positions at a time: h->at is at least 3, the text has
 * at least 16 bytes. It may stop before the end of the text, at the next position for h->at. The
 * matches of a lead's first three bytes are shifted to the position where the lead would end;
 * before the first block they are empty, so no lead is found that ends before h->at. */
SIMD_AVX2 static void find_32(const struct mask_leads *l, str s, struct mask_hits *h)
{
    const struct halves all = halves_of(l);
    const __m256i low = _mm256_set1_epi8(15);
    __m256i first = _mm256_setzero_si256(), second = first, third = first;
    size_t i = h->at - 3, to = s.n;

    assert(h->at >= 3 && s.n >= 16);
    for (; i < to; i += 16) {
        __m256i v = block_at(s, i), lower = _mm256_and_si256(v, low);
        __m256i upper = _mm256_and_si256(_mm256_srli_epi16(v, 4), low);
        __m256i a = mask_lead_match_halves(&all, 0, lower, upper),
                b = mask_lead_match_halves(&all, 1, lower, upper);
        __m256i c = mask_lead_match_halves(&all, 2, lower, upper),
                may = mask_lead_match_halves(&all, 3, lower, upper);

        may = _mm256_and_si256(may, _mm256_alignr_epi8(c, third, 15));
        may = _mm256_and_si256(may, _mm256_alignr_epi8(b, second, 14));
        may = _mm256_and_si256(may, _mm256_alignr_epi8(a, first, 13));
        if (!_mm256_testz_si256(may, may)) {
            add_sure(l, s, i, may, h);
            if (h->n > 0 && to > i + AHEAD)
                to = i + AHEAD;
            if (h->n >= MASK_HITS / 2)
                to = i;
        }
        first = a;
        second = b;
        third = c;
    }
    h->at = i < s.n ? i : s.n;
}

#endif

const struct mask_hit *mask_hits_more(const struct mask_leads *l, str s, size_t from,
                                      struct mask_hits *h)
{
    if (h->at < from)
        h->at = from;
    h->n = 0;
#if SIMD_HAS_32
    if (l->level == SIMD_32 && s.n >= 16) {
        if (h->at < 3)
            mask_find_plain(l, s, 3, h);
        if (h->n == 0 && h->at < s.n)
            find_32(l, s, h);
    } else
#endif
        if (h->at < s.n)
        mask_find_plain(l, s, s.n, h);
    h->next = h->n > 0;
    return h->n > 0 ? &h->hit[0] : NULL;
}
