/* lead.c - the filter: one pass over a text.
 *
 * Shift-and, with 16 buckets of four bits in a word: bit 4*b+k of the state says that the last k+1
 * bytes may begin a lead of bucket b. A bucket's leads share their bits, so it may point out what
 * is none of them; whoever is told looks again. So leads are put together that let the least
 * through, by how often characters stand in texts. Bits that are shifted out of a bucket come in
 * where the next one begins, and every beginning is set anyway.
 *
 * Where the machine has AVX2, 16 places are ruled out at once: a byte is looked up by its lower and
 * by its upper half, which lets more through than the byte does, and what is left is looked at the
 * plain way.
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

/* How often each character stands in texts, of 1000; about. */
static unsigned frequency(int c)
{
    static const unsigned char letters[] = {65, 12, 28, 32, 102, 18, 16, 40, 57, 2,  7, 33, 20,
                                            56, 60, 17, 1,  50,  53, 72, 22, 8,  14, 2, 14, 1};

    if (c >= 'a' && c <= 'z')
        return letters[c - 'a'];
    if (c >= 'A' && c <= 'Z')
        return 1 + letters[c - 'A'] / 16;
    if (c >= '0' && c <= '9')
        return 5;
    return c == ' ' ? 150 : c == '\n' ? 20 : c > ' ' && c < 127 ? 4 : 0;
}

/* How often a bucket would point something out, if it had this lead as well: all bytes count whose
 * halves it knows, because these are looked up first. */
static double passes(const struct mask_leads *l, const char *lead, size_t bucket)
{
    double all = 1;

    for (size_t k = 0; k < 4; k++) {
        unsigned lower = 0, upper = 0, sum = 0;

        for (unsigned c = 0; c < 256; c++)
            if ((l->tab[c] >> (4 * bucket + k) & 1) || (lead && lead_char_is(lead[k], (char)c))) {
                lower |= 1u << c % 16;
                upper |= 1u << c / 16;
            }
        for (unsigned c = 0; c < 256; c++)
            if ((lower >> c % 16 & 1) && (upper >> c / 16 & 1))
                sum += frequency((int)c);
        all *= sum / 1000.0;
    }
    return all;
}

static size_t best_bucket(const struct mask_leads *l, const char *lead)
{
    size_t best = 0;
    double least = 1e9;

    for (size_t b = 0; b < MASK_BUCKETS; b++) {
        double more = passes(l, lead, b) - passes(l, NULL, b);

        if (more < least) {
            least = more;
            best = b;
        }
    }
    return best;
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
            if (lead_char_is(lead[k], (char)c)) {
                l->tab[c] |= bit;
                l->halves[k][0][bucket / 8 * 16 + (unsigned)c % 16] |= (uint8_t)(1u << bucket % 8);
                l->halves[k][1][bucket / 8 * 16 + (unsigned)c / 16] |= (uint8_t)(1u << bucket % 8);
            }
    }
}

/* Those that let most through come first, and have the buckets to choose from. */
static int by_frequency(const void *a, const void *b)
{
    const struct mask_row *const *x = a, *const *y = b;
    const struct mask_leads none = {.begin = 0};
    double p = passes(&none, (*x)->lead, 0), q = passes(&none, (*y)->lead, 0);

    if (p != q)
        return p > q ? -1 : 1;
    return *x < *y ? -1 : *x > *y;
}

void mask_leads_init(struct mask_leads *l, unsigned groups)
{
    const struct mask_row **rows = base_alloc((mask_row_count + 1) * sizeof(struct mask_row *));
    size_t *bucket = base_alloc((mask_row_count + 1) * sizeof *bucket), n = 0, at = 0;

    memset(l, 0, sizeof *l);
    l->rows = base_alloc((mask_row_count + 1) * sizeof(struct mask_row *));
    l->words = base_alloc((mask_row_count + 1) * sizeof *l->words);
    for (size_t i = 0; i < mask_row_count; i++)
        if (mask_rows[i].group & groups)
            rows[n++] = &mask_rows[i];
    if (n)
        qsort((void *)(uintptr_t)rows, n, sizeof(struct mask_row *), by_frequency);
    for (size_t i = 0; i < n; i++) {
        bucket[i] = best_bucket(l, rows[i]->lead);
        add_lead(l, rows[i]->lead, bucket[i]);
    }
    for (size_t b = 0; b < MASK_BUCKETS; b++) {
        for (size_t i = 0; i < n; i++)
            if (bucket[i] == b) {
                l->words[at] = lead_word(rows[i]->lead);
                l->rows[at++] = rows[i];
            }
        l->first[b + 1] = at;
    }
    l->row_count = n;
    l->level = simd_best();
    free(bucket);
    free((void *)(uintptr_t)rows);
}

void mask_leads_release(struct mask_leads *l)
{
    free((void *)(uintptr_t)l->rows);
    free(l->words);
}

static inline uint64_t step(const struct mask_leads *l, uint64_t state, char c)
{
    return (state << 1 | BEGINS) & l->tab[(unsigned char)c];
}

static unsigned buckets_of(uint64_t ends)
{
    unsigned buckets = 0;

    for (; ends; ends &= ends - 1)
        buckets |= 1u << (__builtin_ctzll(ends) / 4);
    return buckets;
}

/* One byte after the other, from `from` up to `to`: where the first lead ends, and the state there;
 * `to` if none does. */
static size_t next_plain(const struct mask_leads *l, str s, size_t from, size_t to, uint64_t *ends)
{
    /* Three bytes before, so that what began there is seen to end here. */
    size_t i = from > 3 ? from - 3 : 0;
    uint64_t state = i == 0 ? l->begin : 0;

    for (; i < from; i++)
        state = step(l, state, s.p[i]);
    for (; i < to; i++)
        if ((*ends = (state = step(l, state, s.p[i])) & ENDS))
            return i;
    return to;
}

#if SIMD_HAS_32

/* A bit for each of the 16 places from p on where a lead may end. Half of the buckets are looked up
 * in each half of a vector, by both halves of each of the four bytes. */
SIMD_AVX2 static inline uint32_t may_end(const struct mask_leads *l, const char *p)
{
    const __m256i low = _mm256_set1_epi8(15);
    __m256i all = _mm256_set1_epi8(-1), none;

    for (size_t k = 0; k < 4; k++) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)(p + k - 3));
        __m256i v = _mm256_broadcastsi128_si256(bytes);
        __m256i a = _mm256_loadu_si256((const __m256i *)(const void *)l->halves[k][0]);
        __m256i b = _mm256_loadu_si256((const __m256i *)(const void *)l->halves[k][1]);

        a = _mm256_shuffle_epi8(a, _mm256_and_si256(v, low));
        b = _mm256_shuffle_epi8(b, _mm256_and_si256(_mm256_srli_epi16(v, 4), low));
        all = _mm256_and_si256(all, _mm256_and_si256(a, b));
    }
    none = _mm256_cmpeq_epi8(all, _mm256_setzero_si256());
    none = _mm256_and_si256(none, _mm256_permute2x128_si256(none, none, 1));
    return ~(uint32_t)_mm256_movemask_epi8(none) & 0xFFFF;
}

/* The same as next_plain, from 3 on and in a text of at least 19 bytes. */
SIMD_AVX2 static size_t next_32(const struct mask_leads *l, str s, size_t from, uint64_t *ends)
{
    for (size_t i = from; i < s.n; i += 16) {
        size_t at = s.n - i >= 16 ? i : s.n - 16; /* the last bytes once more */
        uint32_t bits = may_end(l, s.p + at) >> (i - at);

        for (; bits; bits &= bits - 1) {
            size_t end = i + (size_t)__builtin_ctz(bits);
            const unsigned char *p = (const unsigned char *)s.p + end - 3;

            *ends = l->tab[p[0]] << 3 & l->tab[p[1]] << 2 & l->tab[p[2]] << 1 & l->tab[p[3]] & ENDS;
            if (*ends)
                return end;
        }
    }
    return s.n;
}

#endif

bool mask_leads_next(const struct mask_leads *l, str s, size_t from, size_t *end, unsigned *buckets)
{
    uint64_t ends = 0;
    size_t at = from;

#if SIMD_HAS_32
    if (l->level == SIMD_32 && s.n >= 19) {
        if (from < 3)
            at = next_plain(l, s, from, 3, &ends);
        if (!ends)
            at = next_32(l, s, at, &ends);
    } else
#endif
        at = next_plain(l, s, from, s.n, &ends);
    *end = at;
    *buckets = buckets_of(ends);
    return ends != 0;
}
