/* A piece into tokens, by the ranks.
 *
 * The rule: begin with single bytes; of all neighbours that together are a token, merge those with
 * the lowest rank, of equals the leftmost; until there are none. Done as it says, this is
 * quadratic, so it is only done to short pieces. For the rest, two facts (for any ranks
 * whatsoever):
 *
 * 1. Between two places where the result is cut, merging went on as if nothing else were there:
 *    what is lowest of all is also lowest there. So each token is what its own bytes merge into,
 * the last step of that is always the same pair, and neighbours in a result are *compatible*: the
 *    bytes of the two merge into just these two.
 * 2. The other way round: tokens of which all neighbours are compatible are the result. Otherwise
 *    take the first merge across a cut. Until then both neighbours have taken the steps that they
 *    take when alone, in the same order, so that merge would also come when the two are alone.
 *
 * So the last token of a prefix is the only token that ends there and is compatible with the last
 * token of the prefix before it. That needs a look at the tokens that end at one place, and at no
 * more than TOKENS_SIZE_MAX bytes behind it: linear time, and a window instead of the whole piece.
 * It also yields the count of every prefix on the way, which is what a counter is asked for.
 *
 * Compatible: on the way to the tokens x and y, their ends at the cut were first single bytes, then
 * halves, then halves of which those were halves. The packer has checked that a token ranks behind
 * its halves, so steps come in the order of their ranks and can be walked back: undo the one of the
 * higher rank, of equals the right one, which came last. Two ends that stand face to face would
 * have merged if that ranks before the step which made the left one larger, and not behind the step
 * which made the right one larger (of equals, the leftmost).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tokens/internal.h"

#define NEVER UINT32_MAX /* ranks behind every token */

/* How many bytes are merged by the rule itself, which is quicker while they are few. */
#define SHORT_MAX 64

static inline uint32_t pair_find(const struct tokens_table *t, uint32_t left, uint32_t right)
{
    uint64_t hash = tokens_hash_pair(left, right);
    uint32_t mark = tokens_slot(hash, 0);
    size_t at = (size_t)(hash >> (64 - t->pairs_bits));

    for (;;) {
        uint32_t slot = t->pairs[at];

        if ((slot & ~TOKENS_NONE) == mark && slot != TOKENS_EMPTY) {
            uint64_t info = t->info[slot & TOKENS_NONE];

            if (tokens_info_left(info) == left && tokens_info_right(info) == right)
                return slot & TOKENS_NONE;
        }
        if (slot == TOKENS_EMPTY)
            return NEVER;
        at = (at + 1) & (((size_t)1 << t->pairs_bits) - 1);
    }
}

static inline bool same_bytes(const uint8_t *a, const uint8_t *b, size_t n)
{
    if (n <= 8)
        return tokens_load(a, n) == tokens_load(b, n);
    if (n <= 16)
        return tokens_load8(a) == tokens_load8(b) &&
               tokens_load8(a + n - 8) == tokens_load8(b + n - 8);
    return memcmp(a, b, n) == 0;
}

/* The token of these bytes, or NEVER. */
static inline uint32_t word_find(const struct tokens_table *t, const uint8_t *p, size_t n)
{
    uint64_t hash = tokens_hash(p, n);
    uint32_t mark = tokens_slot(hash, 0);
    size_t at = (size_t)(hash >> (64 - t->words_bits));

    for (;;) {
        uint32_t slot = t->words[at];

        if ((slot & ~TOKENS_NONE) == mark && slot != TOKENS_EMPTY) {
            uint64_t info = t->info[slot & TOKENS_NONE];

            if (tokens_info_size(info) == n && same_bytes(t->bytes + tokens_info_at(info), p, n))
                return slot & TOKENS_NONE;
        }
        if (slot == TOKENS_EMPTY)
            return NEVER;
        at = (at + 1) & (((size_t)1 << t->words_bits) - 1);
    }
}

/* The rule as it stands. Leaves the ids at the start of `ids`, which has room for n. */
static size_t merge_short(const struct tokens_table *t, const uint8_t *p, size_t n, uint32_t *ids)
{
    uint32_t rank[SHORT_MAX]; /* of each with the one behind it */

    assert(n > 0 && n <= SHORT_MAX);
    for (size_t i = 0; i < n; i++)
        ids[i] = t->single[p[i]];
    for (size_t i = 0; i + 1 < n; i++)
        rank[i] = pair_find(t, ids[i], ids[i + 1]);
    while (n > 1) {
        uint32_t best = NEVER;
        size_t at = 0;

        for (size_t i = 0; i + 1 < n; i++)
            if (rank[i] < best)
                best = rank[i], at = i;
        if (best == NEVER)
            break;
        ids[at] = best;
        n--;
        for (size_t i = at + 1; i < n; i++)
            ids[i] = ids[i + 1];
        for (size_t i = at; i + 1 < n; i++)
            rank[i] = rank[i + 1];
        if (at > 0)
            rank[at - 1] = pair_find(t, ids[at - 1], best);
        if (at + 1 < n)
            rank[at] = pair_find(t, best, ids[at + 1]);
    }
    return n;
}

static bool compatible(const struct tokens_table *t, uint32_t x, uint32_t y)
{
    uint32_t x_grew = NEVER, y_grew = NEVER; /* ranks of the steps that made them larger */

    for (;;) {
        uint32_t both = pair_find(t, x, y);

        if (both < x_grew && both <= y_grew && both != NEVER)
            return false;
        if (x < TOKENS_SINGLE && y < TOKENS_SINGLE)
            return true;
        if (x > y) {
            x_grew = x;
            x = tokens_info_right(t->info[x]);
        } else {
            y_grew = y;
            y = tokens_info_left(t->info[y]);
        }
    }
}

/* The last token of a prefix of n bytes that ends at `end`. last[-k] is the last token of the
 * prefix that ends k bytes before; size is its bytes. */
static uint32_t last_token(const struct tokens_table *t, const uint8_t *end, size_t n,
                           const uint32_t *last, size_t *size)
{
    uint64_t lengths = n >= 3 ? t->ends[tokens_ends_at(end - 3)] : 0;
    size_t from = n < TOKENS_SIZE_MAX ? n : TOKENS_SIZE_MAX;
    uint32_t id;

    if (from > 62 && !(lengths >> 63))
        from = 62;
    for (size_t k = from; k > 1; k--) {
        if (k > 2 && !(lengths & tokens_ends_bit(k)))
            continue;
        id = word_find(t, end - k, k);
        if (id != NEVER && (k == n || compatible(t, last[-(ptrdiff_t)k], id))) {
            *size = k;
            return id;
        }
    }
    *size = 1;
    return t->single[end[-1]];
}

void tokens_window_reset(struct tokens_window *w)
{
    w->base = w->moved = 0;
    w->n = 0;
    w->more[0] = 0;
}

/* Forgets all but what may still be looked back on. */
static void window_move(struct tokens_window *w)
{
    uint32_t by = w->n - TOKENS_SIZE_MAX;
    uint16_t less = w->more[by];

    memmove(w->text, w->text + by, TOKENS_SIZE_MAX);
    memmove(w->last, w->last + by, (TOKENS_SIZE_MAX + 1) * sizeof w->last[0]);
    for (size_t i = 0; i <= TOKENS_SIZE_MAX; i++)
        w->more[i] = (uint16_t)(w->more[i + by] - less);
    w->base += less;
    w->moved += by;
    w->n = TOKENS_SIZE_MAX;
}

void tokens_window_push(const struct tokens_table *t, struct tokens_window *w, uint8_t byte)
{
    size_t size;

    if (w->n == TOKENS_WINDOW_MAX)
        window_move(w);
    w->text[w->n++] = byte;
    w->last[w->n] =
        last_token(t, w->text + w->n, w->moved ? SIZE_MAX : w->n, w->last + w->n, &size);
    w->more[w->n] = (uint16_t)(w->more[w->n - size] + 1);
}

size_t tokens_window_count(const struct tokens_window *w, size_t back)
{
    assert(back <= w->n);
    return w->base + w->more[w->n - back];
}

size_t tokens_piece_count(const struct tokens_table *t, const uint8_t *p, size_t n)
{
    uint32_t ids[SHORT_MAX];
    struct tokens_window w;

    if (n <= TOKENS_SIZE_MAX && word_find(t, p, n) != NEVER)
        return 1;
    if (n <= SHORT_MAX)
        return merge_short(t, p, n, ids);
    tokens_window_reset(&w);
    for (size_t i = 0; i < n; i++)
        tokens_window_push(t, &w, p[i]);
    return tokens_window_count(&w, 0);
}

/* Every prefix' last token, and then back from the end. */
static size_t merge_long(const struct tokens_table *t, const uint8_t *p, size_t n, uint32_t *ids)
{
    uint32_t *last = base_alloc((n + 1) * sizeof *last);
    size_t size, count = 0, at = n;

    for (size_t i = 1; i <= n; i++)
        last[i] = last_token(t, p + i, i, last + i, &size);
    for (; at > 0; at -= tokens_info_size(t->info[last[at]]))
        ids[n - ++count] = last[at];
    memmove(ids, ids + n - count, count * sizeof *ids);
    free(last);
    return count;
}

size_t tokens_piece_ids(const struct tokens_table *t, const uint8_t *p, size_t n, uint32_t *out)
{
    uint32_t id = n <= TOKENS_SIZE_MAX ? word_find(t, p, n) : NEVER;

    if (id != NEVER) {
        *out = id;
        return 1;
    }
    return n <= SHORT_MAX ? merge_short(t, p, n, out) : merge_long(t, p, n, out);
}
