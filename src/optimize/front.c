/* The fronts and their reduction; front.h explains the idea.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "optimize/front.h"

#define WORD_BITS 64

static size_t front_words_for(size_t bits)
{
    return (bits + WORD_BITS - 1) / WORD_BITS;
}

static void front_bit_set(uint64_t *row, size_t i)
{
    row[i / WORD_BITS] |= (uint64_t)1 << i % WORD_BITS;
}

static void front_bit_clear(uint64_t *row, size_t i)
{
    row[i / WORD_BITS] &= ~((uint64_t)1 << i % WORD_BITS);
}

static bool front_bit_has(const uint64_t *row, size_t i)
{
    return row[i / WORD_BITS] >> i % WORD_BITS & 1;
}

/* In halves, quarters and so on: not every machine we are compiled for has an instruction. */
static size_t optimize_front_word_count(uint64_t w)
{
    w -= w >> 1 & 0x5555555555555555u;
    w = (w & 0x3333333333333333u) + (w >> 2 & 0x3333333333333333u);
    w = (w + (w >> 4)) & 0x0F0F0F0F0F0F0F0Fu;
    return (size_t)(w * 0x0101010101010101u >> 56);
}

static size_t front_bit_count(const uint64_t *row, size_t words)
{
    size_t n = 0;

    for (size_t w = 0; w < words; w++)
        n += optimize_front_word_count(row[w]);
    return n;
}

/* Clears the lowest bit of a word that is not 0; returns its place in the row. */
static size_t front_bit_take(uint64_t *word, size_t w)
{
    size_t i = w * WORD_BITS + (size_t)__builtin_ctzll(*word);

    *word &= *word - 1;
    return i;
}

void front_init(struct front *f)
{
    *f = (struct front){0};
}

void front_release(struct front *f)
{
    free(f->keys);
    free(f->sets);
    free(f->held);
    front_init(f);
}

/* Copies the rows into new ones of another width or number. */
static uint64_t *front_resize_rows(uint64_t *rows, size_t count, size_t words, size_t count_new,
                                   size_t words_new)
{
    uint64_t *out = base_alloc(count_new * words_new * sizeof *out + 1);

    memset(out, 0, count_new * words_new * sizeof *out);
    for (size_t i = 0; i < count; i++)
        memcpy(out + i * words_new, rows + i * words, words * sizeof *out);
    free(rows);
    return out;
}

size_t front_key_add(struct front *f, uint32_t example, uint32_t objective)
{
    assert(f->key_count <= f->key_cap && f->held_words >= front_words_for(f->key_cap));
    if (f->key_count == f->key_cap) {
        size_t cap = f->key_cap ? f->key_cap * 2 : 64;
        size_t words = f->set_words ? f->set_words : 1;

        f->keys = base_realloc(f->keys, cap * sizeof *f->keys);
        f->sets = front_resize_rows(f->sets, f->key_count, f->set_words, cap, words);
        f->held = front_resize_rows(
            f->held, f->held_cap, f->held_words, f->held_cap, front_words_for(cap));
        f->set_words = words;
        f->held_words = front_words_for(cap);
        f->key_cap = cap;
    }
    f->keys[f->key_count] = (struct front_key){.example = example, .objective = objective};
    return f->key_count++;
}

static void optimize_front_make_room(struct front *f, uint32_t candidate)
{
    size_t words = front_words_for((size_t)candidate + 1);

    if (words > f->set_words) {
        words = words > f->set_words * 2 ? words : f->set_words * 2;
        f->sets = front_resize_rows(f->sets, f->key_count, f->set_words, f->key_cap, words);
        f->set_words = words;
    }
    if (candidate >= f->held_cap) {
        size_t cap = f->held_cap ? f->held_cap * 2 : 16;

        cap = cap > candidate ? cap : (size_t)candidate + 1;
        f->held = front_resize_rows(f->held, f->held_cap, f->held_words, cap, f->held_words);
        f->held_cap = cap;
    }
}

static void front_empty_set(struct front *f, size_t key)
{
    uint64_t *row = f->sets + key * f->set_words;

    assert(key < f->key_count);
    for (size_t w = 0; w < f->set_words; w++)
        while (row[w])
            front_bit_clear(f->held + front_bit_take(&row[w], w) * f->held_words, key);
}

void front_offer(struct front *f, size_t key, uint32_t candidate, double score)
{
    struct front_key *k = &f->keys[key];

    assert(key < f->key_count);
    optimize_front_make_room(f, candidate);
    if (candidate >= f->candidates)
        f->candidates = (size_t)candidate + 1;
    if (k->filled && score < k->best)
        return;
    if (!k->filled || score > k->best) {
        front_empty_set(f, key);
        k->best = score;
        k->filled = true;
    }
    assert(candidate < f->held_cap && candidate < f->set_words * WORD_BITS);
    front_bit_set(f->sets + key * f->set_words, candidate);
    front_bit_set(f->held + candidate * f->held_words, key);
}

uint32_t front_next(const struct front *f, size_t key, uint32_t from)
{
    const uint64_t *row = f->sets + key * f->set_words;

    assert(key < f->key_count);
    for (size_t w = from / WORD_BITS; w < f->set_words; w++) {
        uint64_t word = row[w];

        if (w == from / WORD_BITS)
            word &= UINT64_MAX << from % WORD_BITS;
        if (word)
            return (uint32_t)front_bit_take(&word, w);
    }
    return FRONT_NONE;
}

/* ---- reduction ---- */

void front_reduced_init(struct front_reduced *r)
{
    *r = (struct front_reduced){0};
}

void front_reduced_release(struct front_reduced *r)
{
    free(r->order);
    free(r->count);
    front_reduced_init(r);
}

#define PLANES 32 /* a set has fewer than 2^32 */

/* For each key, how many candidates of its set remain: a bit-sliced counter. Bit p of the counters
 * of 64 keys is one word of plane p, so 64 counters change at once. */
struct reduction {
    const struct front *f;
    uint64_t *alive; /* of candidates */
    uint64_t *left;  /* PLANES words for each word of keys */
    unsigned planes; /* that may have bits */
};

/* The remaining candidates, in the order of their first appearance in the sets. */
static size_t front_first_appearance(const struct reduction *d, uint32_t *out)
{
    const struct front *f = d->f;
    uint64_t *unseen = base_alloc(f->set_words * sizeof *unseen + 1);
    size_t n = 0;

    memcpy(unseen, d->alive, f->set_words * sizeof *unseen);
    for (size_t k = 0; k < f->key_count; k++)
        for (size_t w = 0; w < f->set_words; w++) {
            uint64_t fresh = f->sets[k * f->set_words + w] & unseen[w];

            unseen[w] &= ~fresh;
            while (fresh)
                out[n++] = (uint32_t)front_bit_take(&fresh, w);
        }
    free(unseen);
    assert(n <= f->set_words * WORD_BITS);
    return n;
}

/* A stable merge sort by ascending mean; ties are frequent and lists are long. */
static void front_sort_by_mean(uint32_t *list, size_t n, const double *means, uint32_t *spare)
{
    for (size_t width = 1; width < n; width *= 2) {
        for (size_t from = 0; from < n; from += 2 * width) {
            size_t mid = from + width < n ? from + width : n;
            size_t to = mid + width < n ? mid + width : n;
            size_t a = from, b = mid;

            for (size_t i = from; i < to; i++)
                spare[i] = a < mid && (b >= to || means[list[a]] <= means[list[b]]) ? list[a++]
                                                                                    : list[b++];
        }
        memcpy(list, spare, n * sizeof *list);
    }
}

/* Increments the counter of each key that the candidate holds; carries go up the planes. */
static void front_count_in(struct reduction *d, uint32_t candidate)
{
    const uint64_t *held = d->f->held + candidate * d->f->held_words;

    for (size_t w = 0; w < d->f->held_words; w++) {
        uint64_t carry = held[w], *left = d->left + w * PLANES;

        for (unsigned p = 0; carry; p++) {
            assert(p < PLANES);
            uint64_t was = left[p];

            left[p] = was ^ carry;
            carry &= was;
            d->planes = p >= d->planes ? p + 1 : d->planes;
        }
    }
}

/* Decrements them; borrows go up the planes. */
static void front_take_out(struct reduction *d, uint32_t candidate)
{
    const uint64_t *held = d->f->held + candidate * d->f->held_words;

    assert(front_bit_has(d->alive, candidate));
    front_bit_clear(d->alive, candidate);
    for (size_t w = 0; w < d->f->held_words; w++) {
        uint64_t borrow = held[w], *left = d->left + w * PLANES;

        for (unsigned p = 0; borrow; p++) {
            assert(p < PLANES); /* a counter below 0 would borrow for ever */
            uint64_t was = left[p];

            left[p] = was ^ borrow;
            borrow &= ~was;
        }
    }
}

/* None of its keys has a counter of 1. */
static bool front_is_dominated(const struct reduction *d, uint32_t candidate)
{
    const uint64_t *held = d->f->held + candidate * d->f->held_words;

    for (size_t w = 0; w < d->f->held_words; w++) {
        const uint64_t *left = d->left + w * PLANES;
        uint64_t more = 0;

        for (unsigned p = 1; p < d->planes; p++)
            more |= left[p];
        if (held[w] & left[0] & ~more)
            return false;
    }
    return true;
}

static void front_reserve_reduced(struct front_reduced *r, size_t n)
{
    if (n <= r->cap)
        return;
    r->cap = n * 2;
    r->order = base_realloc(r->order, r->cap * sizeof *r->order);
    r->count = base_realloc(r->count, r->cap * sizeof *r->count);
}

void front_reduce(const struct front *f, const double *means, const uint64_t *only,
                  struct front_reduced *r)
{
    struct reduction d = {.f = f};
    size_t n;

    front_reserve_reduced(r, f->candidates + 1);
    d.alive = base_alloc(f->set_words * sizeof *d.alive + 1);
    d.left = base_alloc(f->held_words * PLANES * sizeof *d.left + 1);
    for (size_t w = 0; w < f->set_words; w++)
        d.alive[w] = !only ? UINT64_MAX : w < front_words_for(f->candidates) ? only[w] : 0;
    memset(d.left, 0, f->held_words * PLANES * sizeof *d.left);
    n = front_first_appearance(&d, r->order);
    front_sort_by_mean(r->order, n, means, r->count);
    for (size_t i = 0; i < n; i++)
        front_count_in(&d, r->order[i]);
    for (size_t i = 0; i < n; i++)
        if (front_is_dominated(&d, r->order[i]))
            front_take_out(&d, r->order[i]);
    r->n = front_first_appearance(&d, r->order);
    r->total = 0;
    for (size_t i = 0; i < r->n; i++) {
        r->count[i] =
            (uint32_t)front_bit_count(f->held + r->order[i] * f->held_words, f->held_words);
        r->total += r->count[i];
    }
    assert(r->n <= n && (r->n > 0 || n == 0));
    free(d.alive);
    free(d.left);
}
